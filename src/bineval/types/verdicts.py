"""Answers of judges, and the numbers made from them."""

from dataclasses import dataclass, field
from math import isfinite
from typing import Literal

from bineval.types.calls import Usage

Answer = Literal["yes", "no"]
Reason = Literal["unparsed", "refused", "truncated", "error", "not_applicable"]
Side = Literal["above", "below", "unclear"]

_NEVER_VARIES = ("no interval: all groups are equal", "no interval: all resamples are equal")
# What rounding leaves of a difference that is none.
_ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """A quote that the judge gives for its answer.

    Attributes:
        quote: The words as the judge wrote them.
        field: The example's field that holds them ("output", "input", …), or None.
        verified: Whether they stand in that field, up to white space and quotation marks.
    """

    quote: str
    field: str | None = None
    verified: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """One judge's answer to one question about one example.

    Attributes:
        answer: "yes", "no", or None when there is none.
        rating: The number given by a question that asks for one: in [0, 1] where it was given on a scale, whose low end
            is 0 and whose high end 1; else in the unit of the method. None for yes/no questions.
        reason: Why there is neither; set exactly then.
        probability: P(yes) in [0, 1], from judges that give one; a probability, not a degree.
        threshold: P(yes) above which the answer was yes; None where no probability decided.
        raw_probability: What `probability` was before a calibration changed it; None without one.
        outside_mass: Probability that the judge gave to neither yes nor no, in [0, 1]; None where it is not known.
        explanation: The judge's words; for `reason` "error", what went wrong.
        evidence: Quotes, verified or not.
        judge: Name of the judge.
        usage: Tokens paid for this verdict in this run; zero when `cached`.
        cached: Whether every reply under it came from the reply cache, paid for by other work.
        replies: Keys of the raw replies in the store, in order of asking.
        disputed: Whether an explanation asked for after the answer disagrees with it; it never changes the answer.
        under: Verdicts that this one was made from: the members of a panel, or the one that a cascade replaced.
    """

    answer: Answer | None
    rating: float | None = None
    reason: Reason | None = None
    probability: float | None = None
    threshold: float | None = None
    raw_probability: float | None = None
    outside_mass: float | None = None
    explanation: str | None = None
    evidence: tuple[Evidence, ...] = ()
    judge: str = ""
    usage: Usage = field(default_factory=Usage)
    cached: bool = False
    replies: tuple[str, ...] = ()
    disputed: bool = False
    under: tuple["Verdict", ...] = ()

    def __post_init__(self) -> None:
        if sum(value is not None for value in (self.answer, self.rating, self.reason)) != 1:
            raise ValueError("a verdict has either an answer, or a rating, or a reason for having neither")
        if self.rating is not None and not isfinite(self.rating):
            raise ValueError(f"a rating must be a finite number, not {self.rating}")


@dataclass(frozen=True, kw_only=True, slots=True)
class VerdictRow:
    """A verdict in its place in a run.

    Attributes:
        unit: Index of the sentence the question was asked of; None for the whole output.
        sentence: That sentence; None for the whole output.
        repeat: 0 for the first time of asking, 1 for the second, …
    """

    example_id: str
    question_id: str
    dimension: str
    unit: int | None = None
    sentence: str | None = None
    repeat: int = 0
    verdict: Verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """A number for one example and one dimension (or overall).

    Attributes:
        value: From the answers, in [0, 1], or from ratings, in their unit; None when nothing was answered, never 0
            for that.
        soft: The same from the probabilities; None unless every answer has one.
        scaled: `value` on the dimension's scale; None without value or scale.
        n_answered: Questions answered yes or no, or with a rating.
        n_asked: Questions planned; those found not applicable are in neither.
    """

    value: float | None
    soft: float | None = None
    scaled: float | None = None
    n_answered: int
    n_asked: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """A number over examples, with its uncertainty.

    Attributes:
        value: None when undefined.
        low: Lower end of the 95 % interval; None when it cannot be given.
        high: Upper end.
        n: Examples the number rests on.
        method: How the interval was made, or why there is none.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    method: str

    @property
    def direction(self) -> Side:
        """On which side of 0 the number certainly lies; see `side_of`."""
        return self.side_of(0.0)

    def side_of(self, limit: float) -> Side:
        """On which side of a limit the whole interval lies; unclear when it holds the limit or there is none.

        A number that is the same in every group, or in every resample of enough of them, has no interval, since nothing
        varies: it lies on its side with certainty.
        """
        low, high = (self.value, self.value) if self.never_varies else (self.low, self.high)
        if low is None or high is None or low - _ROUNDING <= limit <= high + _ROUNDING:
            return "unclear"
        return "above" if low > limit else "below"

    @property
    def never_varies(self) -> bool:
        """Whether there is no interval because the number is the same in every group or resample."""
        return self.value is not None and self.method in _NEVER_VARIES
