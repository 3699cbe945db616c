"""Numbers over examples with 95 % intervals that respect groups (bootstrap over source documents, not items)."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from bineval.stats.bootstrap import ALIKE, Replicates
from bineval.types import Estimate, Example

# Resampling fewer gives hardly more than their least and greatest mean, which covers far less than it says.
FEWEST_GROUPS = 5
RESAMPLES = 2000
_RESAMPLES_AT_ONCE = 100
# More groups are joined at random into so many units: the joined ones vary as they do, at a bounded cost.
_MOST_UNITS = 2000
# A number that is undefined in more resamples has no interval: what is left of them is no fair sample.
_MOST_UNDEFINED = 0.05
# The 97.5 % point of the normal distribution.
_Z = 1.959963984540054


def resampling_group(example: Example) -> Hashable:
    """The group that intervals resample: an example without a group is its own."""
    # In a pair, so that no group is taken for the example that has its name as an id.
    return ("example", example.id) if example.group is None else ("group", example.group)


def mean_interval(items: Iterable[tuple[Hashable, float]], *, seed: int = 0) -> Estimate:
    """Returns the mean of the values with a bootstrap interval over their groups.

    Items of one group (outputs for one source document) are not independent, so whole groups are resampled.

    Args:
        items: `(group, value)`; items without a group are their own group.
        seed: The same seed and items give the same interval.

    Returns:
        `n` counts items. Without items the value is None. With fewer than five groups, or when all have the same mean,
        there is no interval, and `method` says why.
    """
    n, replicates = _mean_replicates(items, seed)
    return _mean_estimate(n, replicates)


def mean_test(items: Iterable[tuple[Hashable, float]], *, seed: int = 0) -> tuple[Estimate, float | None]:
    """Returns `mean_interval` and the two-sided p-value of the mean being 0; None with fewer than five groups."""
    n, replicates = _mean_replicates(items, seed)
    tested = replicates is not None and replicates.n_groups >= FEWEST_GROUPS
    return _mean_estimate(n, replicates), replicates.p_value() if replicates is not None and tested else None


def _mean_replicates(items: Iterable[tuple[Hashable, float]], seed: int) -> tuple[int, Replicates | None]:
    """The number of items, and their mean on resamples of the groups; None without items."""
    sums: dict[Hashable, float] = defaultdict(float)
    counts: dict[Hashable, int] = defaultdict(int)
    for group, value in items:
        sums[group] += value
        counts[group] += 1
    n, n_groups = sum(counts.values()), len(counts)
    if n == 0:
        return 0, None
    totals, sizes = np.array(list(sums.values())), np.array(list(counts.values()), dtype=float)
    mean = float(totals.sum() / n)
    if np.ptp(totals / sizes) < ALIKE:
        # Without the work of drawing: no resample differs.
        return n, Replicates(value=mean, draws=np.array([mean]), left_out=np.array([mean]), n_groups=n_groups)
    unit = resampling_units(n_groups, seed=seed)
    totals, sizes = np.bincount(unit, totals), np.bincount(unit, sizes)
    draws = [totals[drawn].sum(axis=1) / sizes[drawn].sum(axis=1) for drawn in group_draws(len(totals), seed=seed)]
    left_out = (totals.sum() - totals) / np.maximum(n - sizes, 1)
    return n, Replicates(value=mean, draws=np.concatenate(draws), left_out=left_out, n_groups=n_groups)


def _mean_estimate(n: int, replicates: Replicates | None) -> Estimate:
    if replicates is None:
        return Estimate(value=None, low=None, high=None, n=0, method="undefined: no items")
    estimate = bootstrap_estimate(replicates, n=n)
    # What a mean rests on is known more plainly than its resamples.
    return replace(estimate, method=estimate.method.replace("all resamples", "all groups"))


def bootstrap_estimate(
    replicates: Replicates, *, n: int, units: str = "groups", fewest: int = FEWEST_GROUPS
) -> Estimate:
    """Returns a defined number with its 95 % bootstrap interval, or with the reason why it has none.

    Args:
        replicates: The number, and what it is on resamples of its groups.
        n: Examples that it rests on.
        units: What was resampled, in the plural.
        fewest: How many of them an interval needs.
    """

    def without(reason: str) -> Estimate:
        return Estimate(value=replicates.value, low=None, high=None, n=n, method=f"no interval: {reason}")

    n_undefined = int(np.isnan(replicates.draws).sum())
    if replicates.n_groups < fewest:
        return without(f"fewer than {fewest} {units}")
    if n_undefined > _MOST_UNDEFINED * len(replicates.draws):
        return without(f"undefined in {n_undefined} of {len(replicates.draws)} resamples")
    if np.nanmax(replicates.draws) - np.nanmin(replicates.draws) < ALIKE:
        return without("all resamples are equal")
    low, high = replicates.interval()
    method = f"BCa bootstrap over {replicates.n_groups} {units}, {len(replicates.draws)} resamples, 95 %"
    return Estimate(value=replicates.value, low=low, high=high, n=n, method=method)


def proportion_interval(items: Iterable[tuple[Hashable, bool]], *, seed: int = 0) -> Estimate:
    """Returns the share of true items with Wilson's interval, or a bootstrap over groups where groups hold several.

    Args:
        items: `(group, whether)`; items without a group are their own group.
        seed: For the bootstrap.

    Returns:
        `n` counts items. Without items the value is None. Where groups hold several items, and all of them are true or
        none is, a bootstrap knows no spread: then it is Wilson's interval with each group counted once, which takes the
        items of a group for alike, and so is wider than with one true item. With fewer than five groups of several
        items there is no interval.
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


def resampling_units(n_groups: int, *, seed: int) -> NDArray[np.intp]:
    """Returns the unit that each group is drawn with, from 0 on: its own, or with very many groups one of 2,000."""
    if n_groups <= _MOST_UNITS:
        return np.arange(n_groups)
    return np.random.default_rng(seed).permutation(n_groups) % _MOST_UNITS


def group_draws(n_groups: int, *, seed: int) -> Iterator[NDArray[np.intp]]:
    """Yields the resamples of a bootstrap over groups, as indexes of shape (resamples at once, groups)."""
    rng = np.random.default_rng(seed)
    for _ in range(RESAMPLES // _RESAMPLES_AT_ONCE):
        yield rng.integers(n_groups, size=(_RESAMPLES_AT_ONCE, n_groups))


def draw_counts(n_groups: int, *, seed: int) -> NDArray[np.float64]:
    """Returns how often each group is in each resample of `group_draws`; shape (resamples, groups)."""
    drawn = np.concatenate(list(group_draws(n_groups, seed=seed)))
    places = drawn + n_groups * np.arange(len(drawn))[:, None]
    return np.bincount(places.ravel(), minlength=drawn.size).reshape(drawn.shape).astype(float)
