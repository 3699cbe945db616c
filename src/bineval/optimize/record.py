"""What a loop tried, kept as JSON: prompts, lessons, changes, gains, and why each prompt was kept or not."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal

from pydantic import TypeAdapter

from bineval.hashing import Json
from bineval.optimize.edits import Change
from bineval.optimize.lessons import Contradiction, Lesson
from bineval.types import Estimate

Ending = Literal["nothing left to gain", "no case left to learn from", "no progress", "iterations used up"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Iteration:
    """One attempt at better rules.

    Attributes:
        number: From 1 on.
        n_cases: Cases on train with the best rules so far.
        n_shown: Of these, the ones that lessons were drawn from; 0 where suspects of before were tried one by one.
        problems: Cases that the note-taker failed at.
        memory: All lessons kept after this attempt.
        contradictions: Lessons left out, as they contradict a kept one.
        dropped: Lessons that no longer fitted into the memory.
        changes: What lessons did to the rules.
        rules: The rules that were tried; those of before where nothing could be changed.
        value: Of the objective on dev; None where nothing was judged.
        gain: Over the best rules so far, paired.
        by_question: How good the answers to each question are on dev, before and after, in [0, 1].
        yes_rates: Share of yes for each question on dev, before and after.
        unanswered: Share of the questions on dev without an answer, before and after, in [0, 1].
        refusals: Why the rules were not kept; empty when they were.
        drift: What to say when the judge has become stricter about everything.
    """

    number: int
    n_cases: int
    n_shown: int
    problems: tuple[str, ...] = ()
    memory: tuple[Lesson, ...]
    contradictions: tuple[Contradiction, ...] = ()
    dropped: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    rules: str
    value: Estimate | None = None
    gain: Estimate | None = None
    by_question: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)
    yes_rates: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)
    unanswered: tuple[float, float] | None = None
    refusals: tuple[str, ...] = ()
    drift: str | None = None

    @property
    def lessons_done(self) -> frozenset[str]:
        """The lessons that the rules of this attempt say."""
        return frozenset(text for change in self.changes if change.problem is None for text in change.lessons)

    @property
    def kept(self) -> bool:
        """Whether these rules became the best."""
        return self.value is not None and not self.refusals


@dataclass(frozen=True, kw_only=True, slots=True)
class TestResult:
    """Start and best rules on test, which nothing was chosen by.

    Attributes:
        start: Value of the objective with the start rules.
        best: With the best rules.
        gain: Paired.
        by_question: How good the answers to each question are, with start and best rules.
        dimensions: Gain by dimension.
    """

    start: Estimate
    best: Estimate
    gain: Estimate
    by_question: Mapping[str, tuple[float | None, float | None]]
    dimensions: Mapping[str, Estimate]


@dataclass(frozen=True, kw_only=True, slots=True)
class LoopRecord:
    """The story of a prompt.

    Attributes:
        target: Name of the judge.
        objective: What it was improved by, in words.
        writer: Name of the note-taker.
        prompt: Name of the prompt.
        n_examples: Examples by split.
        start_rules: The rules that it began with.
        start_value: Of the objective on dev.
        iterations: In order.
        ending: Why it ended; None while it is unfinished.
        test: None until it has ended.
        best_prompt: The whole prompt file with the best rules.
    """

    target: str
    objective: str
    writer: str
    prompt: str
    n_examples: Mapping[str, int]
    start_rules: str
    start_value: Estimate
    iterations: tuple[Iteration, ...] = ()
    ending: Ending | None = None
    test: TestResult | None = None
    best_prompt: str

    @property
    def best_rules(self) -> str:
        """The rules that are kept."""
        return next((item.rules for item in reversed(self.iterations) if item.kept), self.start_rules)

    def to_json(self) -> dict[str, Json]:
        """All fields as JSON values."""
        return asdict(self)


def record_from_json(value: Mapping[str, Json]) -> LoopRecord:
    """The record that `to_json` made."""
    return TypeAdapter(LoopRecord).validate_python(value)
