"""Significance of paired comparisons: Holm's adjustment for several, McNemar's exact test for yes/no answers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb


@dataclass(frozen=True, kw_only=True, slots=True)
class McNemar:
    """Two series of right or wrong answers to the same questions.

    Attributes:
        n: Pairs.
        first_only: Pairs in which only the first is right.
        second_only: Pairs in which only the second is right.
        p_value: Two-sided, of the two being right equally often; 1 when they never differ.
    """

    n: int
    first_only: int
    second_only: int
    p_value: float


def mcnemar(pairs: Iterable[tuple[bool, bool]]) -> McNemar:
    """Returns McNemar's exact test (McNemar 1947, with the binomial distribution) of (first, second) answers.

    It takes pairs as independent; see `bineval.stats.paired_accuracy` for pairs in groups.
    """
    pairs = list(pairs)
    first_only = sum(first and not second for first, second in pairs)
    second_only = sum(second and not first for first, second in pairs)
    n_differing, fewer = first_only + second_only, min(first_only, second_only)
    # Whole numbers of any size, so exact; true division of them rounds once.
    tail = sum(comb(n_differing, k) for k in range(fewer + 1))
    p_value = min(1.0, 2 * tail / 2**n_differing)
    return McNemar(n=len(pairs), first_only=first_only, second_only=second_only, p_value=p_value)


def holm_defined(p_values: Sequence[float | None]) -> list[float | None]:
    """Returns `holm` of the p-values that there are, in the same order; None stays None and does not count."""
    adjusted = iter(holm([p_value for p_value in p_values if p_value is not None]))
    return [None if p_value is None else next(adjusted) for p_value in p_values]


def holm(p_values: Sequence[float]) -> list[float]:
    """Returns p-values adjusted for being several (Holm 1979), in the same order.

    Each, from the smallest up, is multiplied by the number of those not yet seen, itself included; none is below the
    one before, and none above 1.
    """
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted
