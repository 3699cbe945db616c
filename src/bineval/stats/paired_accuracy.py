"""Which of two raters is right more often on the same yes/no answers, with an interval over groups."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from bineval.stats.intervals import mean_test
from bineval.stats.significance import mcnemar
from bineval.types import Estimate

Judged = tuple[Hashable, bool, bool]
"""The group of an answer, whether the first rater is right, and whether the second is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PairedAccuracy:
    """How often each of two raters is right on the same answers.

    Attributes:
        n: Answers.
        first_only: Those on which only the first is right.
        second_only: Those on which only the second is right.
        difference: The first one's share of right answers less the second one's, with a 95 % interval over groups.
        test: "McNemar" (exact; 1947) where each answer is its own group, else "bootstrap", over groups: McNemar's test
            takes answers as independent, which those of one group are not.
        p_value: Two-sided, of both being right equally often; None where groups hold several answers and there are
            fewer than five of them.
        p_adjusted: The p-value adjusted for several comparisons.
    """

    n: int
    first_only: int
    second_only: int
    difference: Estimate
    test: str
    p_value: float | None
    p_adjusted: float | None = None


def paired_accuracy(items: Sequence[Judged], *, seed: int = 0) -> PairedAccuracy:
    """Returns how often each of two raters is right on `items`, one or more.

    Args:
        items: One an answer.
        seed: The same seed and items give the same interval.
    """
    difference, p_value = mean_test(
        ((group, float(first) - float(second)) for group, first, second in items), seed=seed
    )
    alone = mcnemar((first, second) for _, first, second in items)
    independent = len({group for group, _, _ in items}) == len(items)
    return PairedAccuracy(
        n=alone.n,
        first_only=alone.first_only,
        second_only=alone.second_only,
        difference=difference,
        test="McNemar" if independent else "bootstrap",
        p_value=alone.p_value if independent else p_value,
    )
