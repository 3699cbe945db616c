"""The loop: judge, collect cases, draw lessons, change the rules, keep what dev confirms, report test once.

BinEval (arXiv 2606.27226), section 3.3 and Algorithm 1. The paper stops by the correlation on its test data; here test
is looked at once, when all is chosen.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Literal, get_args

import numpy as np

from bineval.errors import ConfigError
from bineval.generation.drafting import Drafter
from bineval.judging.runs import Run
from bineval.optimize.cases import Case
from bineval.optimize.edits import UPDATES, Update, update_rules
from bineval.optimize.guards import interval_words, refusals, severity_drift
from bineval.optimize.lessons import Lesson, remember, settled, to_be_tried, write_lessons
from bineval.optimize.objectives import Objective, yes_rates
from bineval.optimize.record import Ending, Iteration, LoopRecord, TestResult
from bineval.optimize.subjects import Subject
from bineval.templates import Prompt
from bineval.types import Estimate

Accept = Literal["certain", "any"]
ACCEPTS: tuple[Accept, ...] = get_args(Accept)

_LEAST_GAIN = 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class LoopSettings:
    """How a loop looks for better rules.

    Attributes:
        iterations: Most attempts.
        patience: Attempts in a row without progress after which it ends.
        epsilon: How near to the objective is near enough, on dev.
        most_cases: Cases that lessons are drawn from in one attempt, drawn by seed.
        batch_size: Cases shown to the note-taker at once.
        most_lessons: Lessons kept.
        update: "edits" replaces a part of the rules for each lesson; "rewrite" writes them anew with all lessons.
        most_growth: How many times as long as at the start the rules may become.
        accept: "certain" keeps rules whose gain on dev is beyond noise; "any" keeps every gain.
        seed: Of the split and of the draws of cases.
    """

    iterations: int = 5
    patience: int = 2
    epsilon: float = 0.02
    most_cases: int = 24
    batch_size: int = 4
    most_lessons: int = 10
    update: Update = "edits"
    most_growth: float = 2.0
    accept: Accept = "certain"
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("iterations", "patience", "most_cases", "batch_size", "most_lessons"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.update not in UPDATES:
            raise ConfigError(f"update {self.update!r} must be one of {', '.join(UPDATES)}")
        if self.accept not in ACCEPTS:
            raise ConfigError(f"accept {self.accept!r} must be one of {', '.join(ACCEPTS)}")
        if not 1 <= self.most_growth < inf:
            raise ConfigError(f"most_growth must be at least 1 and finite, not {self.most_growth}")
        if self.seed < 0:
            raise ConfigError(f"seed must be at least 0, not {self.seed}")
        if not self.epsilon >= 0:
            raise ConfigError(f"epsilon must be at least 0, not {self.epsilon}")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Best:
    """The best rules so far, what comes of them on dev, and the value of that."""

    prompt: Prompt
    dev: Run
    value: Estimate

    @property
    def rules(self) -> str:
        return self.prompt.rules or ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Loop:
    """The rules of a prompt, and everything that it takes to improve them.

    Attributes:
        subject: Whose prompt it is.
        objective: What its runs should be like.
        drafter: Asks the note-taker.
        settings: How to look.
        keep: Saves the record, after each attempt.
    """

    subject: Subject
    objective: Objective
    drafter: Drafter
    settings: LoopSettings
    keep: Callable[[LoopRecord], None]

    def run(self) -> LoopRecord:
        """Returns the record of the finished loop; every step of it is kept on the way.

        Called again after an interruption it goes the same way: runs are found in the store, replies in its cache.

        Raises:
            ConfigError: The prompt has no rules that could be changed.
            ModelError: A model cannot be used; what is finished is kept.
            BudgetExceeded: A cap was reached; what is finished is kept.
        """
        best = start = self._judged(self.subject.start)
        record = self._begun(start)
        self.keep(record)
        memory: tuple[Lesson, ...] = ()
        ending: Ending | None = None
        n_idle = 0
        while ending is None:
            cases: list[Case] = []
            if self.objective.reached(best.dev, self.settings.epsilon):
                ending = "nothing left to gain"
            elif n_idle >= self.settings.patience:
                ending = "no progress"
            elif len(record.iterations) >= self.settings.iterations:
                ending = "iterations used up"
            elif not (cases := self.objective.cases(self.subject.run(best.prompt, "train"))):
                ending = "no case left to learn from"
            else:
                attempt, tried = self._attempt(1 + len(record.iterations), best, start, memory, cases)
                memory, n_idle = attempt.memory, self._idle(n_idle, attempt)
                best = tried or best
                record = replace(record, iterations=(*record.iterations, attempt), best_prompt=best.prompt.text)
                self.keep(record)
        record = replace(record, ending=ending, test=self._tested(start, best))
        self.keep(record)
        return record

    def _idle(self, n_idle: int, attempt: Iteration) -> int:
        """Attempts in a row without progress; one that leaves suspects to be tried alone is not yet one of them."""
        if attempt.kept:
            return 0
        return n_idle if any(lesson.state == "suspect" for lesson in attempt.memory) else n_idle + 1

    def _begun(self, start: _Best) -> LoopRecord:
        return LoopRecord(
            target=self.subject.name,
            objective=self.objective.words,
            writer=self.drafter.model.name,
            prompt=start.prompt.name,
            n_examples=self.subject.n_examples,
            start_rules=start.rules,
            start_value=start.value,
            best_prompt=start.prompt.text,
        )

    def _attempt(
        self, number: int, best: _Best, start: _Best, memory: Sequence[Lesson], cases: Sequence[Case]
    ) -> tuple[Iteration, _Best | None]:
        """Draws lessons from cases and tries rules that say them; the new best, if they are."""
        settings = self.settings
        attempt = Iteration(number=number, n_cases=len(cases), n_shown=0, memory=tuple(memory), rules=best.rules)
        role = self.subject.role
        if not any(lesson.state == "suspect" for lesson in memory):
            chosen = _drawn(cases, settings, number)
            fresh, problems = write_lessons(self.drafter, role, best.rules, chosen, batch_size=settings.batch_size)
            remembered = remember(self.drafter, memory, fresh, most=settings.most_lessons)
            attempt = replace(
                attempt,
                n_shown=len(chosen),
                problems=tuple(problems),
                memory=remembered.memory,
                contradictions=remembered.contradictions,
                dropped=remembered.dropped,
            )
        lessons = to_be_tried(attempt.memory)
        if not lessons:
            return replace(attempt, refusals=("no new lesson",)), None
        most_chars = round(settings.most_growth * len(start.rules))
        updated = update_rules(self.drafter, role, best.rules, lessons, update=settings.update, most_chars=most_chars)
        attempt = replace(attempt, changes=updated.changes, rules=updated.rules)
        # A lesson that could not be worked in would not be the next time either.
        for lesson in lessons:
            if lesson.text not in attempt.lessons_done:
                attempt = replace(attempt, memory=settled(attempt.memory, {lesson.text}, kept=False))
        if updated.rules == best.rules:
            return replace(attempt, refusals=("no lesson could be worked into the rules",)), None
        tried = self._judged(best.prompt.with_rules(updated.rules))
        attempt = self._compared(attempt, tried, best, start)
        memory = settled(attempt.memory, attempt.lessons_done, kept=not attempt.refusals)
        return replace(attempt, memory=memory), None if attempt.refusals else tried

    def _compared(self, attempt: Iteration, tried: _Best, best: _Best, start: _Best) -> Iteration:
        """The attempt with what its rules did on dev, and why they are refused, if they are."""
        gain = self.objective.gain(tried.dev, best.dev)
        found = refusals(tried.dev, best.dev, self.objective)
        if problem := self._no_gain(gain, before=best.value, after=tried.value):
            found.insert(0, problem)
        return replace(
            attempt,
            value=tried.value,
            gain=gain,
            by_question=_beside(self.objective.by_question(best.dev), self.objective.by_question(tried.dev)),
            yes_rates=_beside(yes_rates(best.dev), yes_rates(tried.dev)),
            unanswered=(best.dev.status().unanswered_share, tried.dev.status().unanswered_share),
            refusals=tuple(found),
            drift=severity_drift(tried.dev, start.dev, self.objective),
        )

    def _no_gain(self, gain: Estimate, *, before: Estimate, after: Estimate) -> str | None:
        """Why new rules are no better; None when they are."""
        if gain.value is None:
            # A judge that told nothing apart has no correlation, and one that does has.
            if before.value is None and after.value is not None and after.value > 0:
                return None
            return gain.method
        if gain.value < _LEAST_GAIN:
            return f"no gain on dev ({gain.value:+.3f})"
        if self.settings.accept == "certain" and gain.direction != "above":
            return f"no gain beyond noise on dev ({interval_words(gain)})"
        return None

    def _tested(self, start: _Best, best: _Best) -> TestResult:
        before, after = self.subject.run(start.prompt, "test"), self.subject.run(best.prompt, "test")
        return TestResult(
            start=self.objective.value(before),
            best=self.objective.value(after),
            gain=self.objective.gain(after, before),
            by_question=_beside(self.objective.by_question(before), self.objective.by_question(after)),
            dimensions=self.objective.dimension_gains(after, before),
        )

    def _judged(self, prompt: Prompt) -> _Best:
        run = self.subject.run(prompt, "dev")
        return _Best(prompt=prompt, dev=run, value=self.objective.value(run))


def _drawn(cases: Sequence[Case], settings: LoopSettings, number: int) -> list[Case]:
    """The cases of one attempt, others in each, in the order of the data."""
    order = np.random.default_rng([settings.seed, number]).permutation(len(cases))[: settings.most_cases]
    return [cases[place] for place in sorted(order)]


def _beside(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, tuple[float | None, float | None]]:
    return {name: (before.get(name), after.get(name)) for name in dict.fromkeys((*before, *after))}
