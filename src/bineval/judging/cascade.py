"""The cascade: a cheap judge answers everything, and a strong one takes over where the cheap one is unsure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bineval.errors import ConfigError
from bineval.hashing import Json, tagged_hash
from bineval.judging.base import Judge
from bineval.judging.members import asked, distinct_names, largest_concurrency, paid_together, prefixed
from bineval.models.base import Model
from bineval.stats.bands import Band
from bineval.types import Example, Question, Reason, Request, Verdict

FAILURES: frozenset[Reason] = frozenset({"refused", "unparsed", "truncated", "error"})
"""Reasons for which a cheap verdict without an answer can go to the strong judge."""

_HASH_DIGITS = 13  # 52 bits, which a float holds exactly


@dataclass(frozen=True, kw_only=True, slots=True)
class CascadeSettings:
    """Which questions the strong judge gets.

    Attributes:
        low: Lower end of the band of P(yes) in which the cheap judge is unsure, in [0, 1].
        high: Upper end; both ends are in the band.
        on: Reasons of cheap verdicts without an answer that go to the strong judge too.
        audit: Share of the kept answers, in [0, 1], about which the strong judge is asked as well. They stay as they
            are: the band never sees confident errors, and this measures them.
        seed: Another one audits other answers.
    """

    low: float
    high: float
    on: frozenset[Reason] = FAILURES
    audit: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        Band(low=self.low, high=self.high)  # refuses ends that make no band
        if unknown := sorted(self.on - FAILURES):
            raise ConfigError(f"a cascade cannot escalate on {unknown[0]!r}, only on {', '.join(sorted(FAILURES))}")
        if not 0 <= self.audit <= 1:  # false for NaN too
            raise ConfigError(f"audit is a share of the kept answers, in [0, 1], not {self.audit}")


class Cascade:
    """Asks the cheap judge, then the strong one about what is left; see `bineval.judging.base.Judge`.

    A verdict of the strong judge has the cheap one first in `under`. It stands whatever it is: where the strong judge
    has no answer there is none. An audited verdict is the cheap judge's, with the strong one first in `under`.

    A judge that cannot be reached raises, and the questions are asked again by the same command: an outage of the cheap
    judge does not send everything to the strong one.

    Raises:
        ConfigError: The cheap judge gives no probabilities, or both judges are the same.
    """

    def __init__(self, cheap: Judge, strong: Judge, *, settings: CascadeSettings) -> None:
        if not cheap.gives_probability:
            raise ConfigError(
                f"{cheap.name} gives no probabilities, so a cascade cannot tell where it is unsure: use --kind logprob"
            )
        self.cheap, self.strong, self.cascade = cheap, strong, settings
        self._band = Band(low=settings.low, high=settings.high)
        self._cheap_name, self._strong_name = distinct_names([cheap, strong])

    @property
    def name(self) -> str:
        """Names of both judges."""
        return cascade_name(self.cheap.name, self.strong.name)

    @property
    def max_concurrency(self) -> int | None:
        """The larger limit; None when one judge has none."""
        return largest_concurrency([self.cheap, self.strong])

    @property
    def gives_probability(self) -> bool:
        """Whether both judges do."""
        return self.cheap.gives_probability and self.strong.gives_probability

    @property
    def settings(self) -> Mapping[str, Json]:
        """Those of both judges, and what goes from one to the other."""
        return {
            "kind": "cascade",
            "cheap": {"name": self._cheap_name, **self.cheap.settings},
            "strong": {"name": self._strong_name, **self.strong.settings},
            "low": self.cascade.low,
            "high": self.cascade.high,
            "on": sorted(self.cascade.on),
            "audit": self.cascade.audit,
            "seed": self.cascade.seed,
        }

    def batches(self, questions: Sequence[Question]) -> list[list[Question]]:
        """Those of the cheap judge."""
        return self.cheap.batches(questions)

    def parameters_changed(self) -> Mapping[str, str]:
        """Those of both judges, each after its judge's name."""
        return prefixed(
            {
                self._cheap_name: self.cheap.parameters_changed(),
                self._strong_name: self.strong.parameters_changed(),
            }
        )

    def first_requests(
        self, example: Example, questions: Sequence[Question], *, repeat: int = 0
    ) -> list[tuple[Model, Request]]:
        """Those of the cheap judge: what goes to the strong one is known only then."""
        return self.cheap.first_requests(example, questions, repeat=repeat)

    def ask(self, example: Example, questions: Sequence[Question], *, repeat: int = 0) -> list[Verdict]:
        """Answers `questions` about `example`; see `Judge.ask`."""
        answers = self.cheap.ask(example, questions, repeat=repeat)
        first = [replace(verdict, judge=self._cheap_name) for verdict in answers]
        wanted = [
            question
            for question, verdict in zip(questions, first, strict=True)
            if self._is_escalated(verdict) or self._is_audited(example, question, verdict)
        ]
        second = dict(asked(self.strong, example, wanted, repeat=repeat))
        return [
            self._together(verdict, second[question]) if question in second else verdict
            for question, verdict in zip(questions, first, strict=True)
        ]

    def _is_escalated(self, verdict: Verdict) -> bool:
        if verdict.answer is None:
            return verdict.reason in self.cascade.on
        return verdict.probability is not None and self._band.holds(verdict.probability)

    def _is_audited(self, example: Example, question: Question, verdict: Verdict) -> bool:
        if verdict.answer is None:
            return False
        key = tagged_hash("audit/1", [self.cascade.seed, example.id, question.id, question.sentence])
        return int(key[:_HASH_DIGITS], 16) / 16.0**_HASH_DIGITS < self.cascade.audit

    def _together(self, cheap: Verdict, strong: Verdict) -> Verdict:
        """The verdict that counts, with the other one first in `under`."""
        strong = replace(strong, judge=self._strong_name)
        counts, other = (strong, cheap) if self._is_escalated(cheap) else (cheap, strong)
        return paid_together(replace(counts, under=(other, *counts.under)), [cheap, strong])


def cascade_name(cheap: str, strong: str) -> str:
    """Name of the cascade of two judges."""
    return f"cascade({cheap}, {strong})"
