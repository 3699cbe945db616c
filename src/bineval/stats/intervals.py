"""Means over examples with 95 % intervals that respect groups (bootstrap over source documents, not items)."""

from collections import defaultdict
from collections.abc import Hashable, Iterable

import numpy as np
from numpy.typing import NDArray

from bineval.types import Estimate

# Resampling fewer gives hardly more than their least and greatest mean, which covers far less than it says.
_FEWEST_GROUPS = 5
_RESAMPLES = 2000
_RESAMPLES_AT_ONCE = 100


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
    if len(totals) < _FEWEST_GROUPS:
        method = f"no interval: fewer than {_FEWEST_GROUPS} groups"
        return Estimate(value=mean, low=None, high=None, n=n, method=method)
    if np.ptp(totals / sizes) < 1e-12:
        return Estimate(value=mean, low=None, high=None, n=n, method="no interval: all groups are equal")
    low, high = _bootstrap(totals, sizes, seed)
    method = f"percentile bootstrap over {len(totals)} groups, {_RESAMPLES} resamples, 95 %"
    return Estimate(value=mean, low=low, high=high, n=n, method=method)


def _bootstrap(totals: NDArray[np.float64], sizes: NDArray[np.float64], seed: int) -> tuple[float, float]:
    # The same draws and ends as scipy.stats.bootstrap with `paired` and "percentile", whose import alone takes longer
    # than all other work of `bineval show`.
    rng = np.random.default_rng(seed)
    n_groups = len(totals)
    means: list[NDArray[np.float64]] = []
    for _ in range(_RESAMPLES // _RESAMPLES_AT_ONCE):
        drawn = rng.integers(n_groups, size=(_RESAMPLES_AT_ONCE, n_groups))
        means.append(totals[drawn].sum(axis=1) / sizes[drawn].sum(axis=1))
    low, high = np.percentile(np.concatenate(means), [2.5, 97.5])
    return float(low), float(high)
