"""Means over examples with 95 % intervals that respect groups (bootstrap over source documents, not items)."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from bineval.types import Estimate, Example

# Resampling fewer gives hardly more than their least and greatest mean, which covers far less than it says.
FEWEST_GROUPS = 5
RESAMPLES = 2000
_RESAMPLES_AT_ONCE = 100
# The 97.5 % point of the normal distribution.
_Z = 1.959963984540054


def resampling_group(example: Example) -> Hashable:
    """The group that intervals resample: an example without a group is its own."""
    # In a pair, so that no group is taken for the example that has its name as an id.
    return ("example", example.id) if example.group is None else ("group", example.group)


def mean_interval(items: Iterable[tuple[Hashable, float]], *, seed: int = 0) -> Estimate:
    """Returns the mean of the values with a percentile bootstrap interval over their groups.

    Items of one group (outputs for one source document) are not independent, so whole groups are resampled.

    Args:
        items: `(group, value)`; items without a group are their own group.
        seed: The same seed and items give the same interval.

    Returns:
        `n` counts items. Without items the value is None. With fewer than five groups, or when all have the same mean,
        there is no interval, and `method` says why.
    """
    sums: dict[Hashable, float] = defaultdict(float)
    counts: dict[Hashable, int] = defaultdict(int)
    for group, value in items:
        sums[group] += value
        counts[group] += 1
    n = sum(counts.values())
    if n == 0:
        return Estimate(value=None, low=None, high=None, n=0, method="undefined: no items")
    totals, sizes = np.array(list(sums.values())), np.array(list(counts.values()), dtype=float)
    mean = float(totals.sum() / n)
    if len(totals) < FEWEST_GROUPS:
        method = f"no interval: fewer than {FEWEST_GROUPS} groups"
        return Estimate(value=mean, low=None, high=None, n=n, method=method)
    if np.ptp(totals / sizes) < 1e-12:
        return Estimate(value=mean, low=None, high=None, n=n, method="no interval: all groups are equal")
    low, high = _bootstrap(totals, sizes, seed)
    method = f"percentile bootstrap over {len(totals)} groups, {RESAMPLES} resamples, 95 %"
    return Estimate(value=mean, low=low, high=high, n=n, method=method)


def proportion_interval(items: Iterable[tuple[Hashable, bool]], *, seed: int = 0) -> Estimate:
    """Returns the share of true items with Wilson's interval, or a bootstrap over groups where groups hold several.

    Args:
        items: `(group, whether)`; items without a group are their own group.
        seed: For the bootstrap.

    Returns:
        `n` counts items. Without items the value is None. Where groups hold several items, and all of them are true or
        none is, a bootstrap knows no spread: then it is Wilson's interval with each group counted once. With fewer than
        five groups of several items there is no interval.
    """
    items = list(items)
    n, n_true, n_groups = len(items), sum(whether for _, whether in items), len({group for group, _ in items})
    estimate = mean_interval(((group, float(whether)) for group, whether in items), seed=seed)
    if estimate.value is None or (n_groups < n and (n_groups < FEWEST_GROUPS or 0 < n_true < n)):
        return estimate
    low, high = wilson(n_true * n_groups / n, n_groups)
    method = "Wilson, 95 %" if n_groups == n else f"Wilson over {n_groups} groups, 95 %"
    return Estimate(value=estimate.value, low=low, high=high, n=n, method=method)


def wilson(n_true: float, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a proportion, `n_true` of `n` (Wilson 1927); `n` is at least 1."""
    share = n_true / n
    middle = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z * sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2)) / (1 + _Z**2 / n)
    # Exact at the ends, where rounding would leave the share outside.
    return (0.0 if n_true == 0 else middle - half), (1.0 if n_true == n else middle + half)


def group_draws(n_groups: int, *, seed: int) -> Iterator[NDArray[np.intp]]:
    """Yields the resamples of a bootstrap over groups, as indexes of shape (resamples at once, groups)."""
    rng = np.random.default_rng(seed)
    for _ in range(RESAMPLES // _RESAMPLES_AT_ONCE):
        yield rng.integers(n_groups, size=(_RESAMPLES_AT_ONCE, n_groups))


def _bootstrap(totals: NDArray[np.float64], sizes: NDArray[np.float64], seed: int) -> tuple[float, float]:
    # The same draws and ends as scipy.stats.bootstrap with `paired` and "percentile", whose import alone takes longer
    # than all other work of `bineval show`.
    draws = group_draws(len(totals), seed=seed)
    means = [totals[drawn].sum(axis=1) / sizes[drawn].sum(axis=1) for drawn in draws]
    low, high = np.percentile(np.concatenate(means), [2.5, 97.5])
    return float(low), float(high)
