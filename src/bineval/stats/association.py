"""How questions go together: Pearson's r, which is φ for answers of 0 and 1, and a question against the rest.

Missing values are NaN in the arrays that come in, and are left out pair by pair; no result has a NaN.
"""

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from bineval.stats.bootstrap import Replicates
from bineval.stats.coefficients import PooledItems
from bineval.stats.intervals import bootstrap_estimate, draw_counts, resampling_units
from bineval.types import Estimate

Values = NDArray[np.float64]

# Rounding leaves a spread of about this size, relative to the values, where there is none.
_NO_SPREAD = 1e-12
# Rows of coefficients computed at once, which bounds the memory.
_AT_ONCE = 100


def pearson_intervals(groups: Sequence[Hashable], first: Values, second: Values, *, seed: int = 0) -> list[Estimate]:
    """Returns Pearson's r of each column of `first` with its column of `second`, with bootstrap intervals over groups.

    Of columns that hold 0 and 1 alone it is φ. The resamples are the same for all columns.

    Args:
        groups: The group of each row.
        first: Shape (rows, columns); NaN where a value is missing.
        second: The same shape.
        seed: The same seed and values give the same intervals.
    """
    n_columns = first.shape[1]
    if n_columns == 0:
        return []
    places, n_groups = _numbered(groups)
    units = resampling_units(n_groups, seed=seed)[places]
    sums = _sums(first, second)
    by_unit = np.zeros((int(units.max(initial=-1)) + 1, 6, n_columns))
    np.add.at(by_unit, units, sums)
    total = by_unit.sum(axis=0)
    value = _coefficients(total[None])[0]
    draws = _in_blocks(draw_counts(len(by_unit), seed=seed), lambda times: _coefficients(_weighted(times, by_unit)))
    left_out = _in_blocks(by_unit, lambda block: _coefficients(total - block))
    known = sums[:, 0] > 0
    return [
        _estimate(
            value[i], draws[:, i], left_out[:, i], n=int(total[0, i]), n_groups=len(np.unique(places[known[:, i]]))
        )
        for i in range(n_columns)
    ]


def spearman(first: Values, second: Values) -> float | None:
    """Spearman's rho of two columns; None with fewer than two pairs or a constant one."""
    known = ~(np.isnan(first) | np.isnan(second))
    if known.sum() < 2:
        return None
    items = PooledItems(np.zeros(known.sum(), dtype=np.intp), first[known], second[known], n_units=1)
    value = float(items.coefficients(np.ones((1, 1)), ("spearman",))["spearman"][0])
    return None if np.isnan(value) else value


def rank_correlation(groups: Sequence[Hashable], first: Values, second: Values, *, seed: int = 0) -> Estimate:
    """Returns Spearman's rho of two columns over all rows together, with an interval as in `pearson_intervals`."""
    known = np.flatnonzero(~(np.isnan(first) | np.isnan(second)))
    places, n_groups = _numbered([groups[i] for i in known.tolist()])
    if len(known) < 2:
        return _estimate(np.nan, np.empty(0), np.empty(0), n=len(known), n_groups=n_groups)
    units = resampling_units(n_groups, seed=seed)[places]
    n_units = int(units.max()) + 1
    items = PooledItems(units, first[known], second[known], n_units=n_units)

    def coefficients(times: Values) -> Values:
        return items.coefficients(times, ("spearman",))["spearman"]

    value = float(coefficients(np.ones((1, n_units)))[0])
    return _estimate(
        value,
        coefficients(draw_counts(n_units, seed=seed)),
        coefficients(1 - np.eye(n_units)),
        n=len(known),
        n_groups=n_groups,
    )


def rest_means(values: Values) -> Values:
    """For each question the mean of the other known ones of the same row; shape (rows, questions), NaN without any."""
    known = ~np.isnan(values)
    filled = np.where(known, values, 0.0)
    n_others = known.sum(axis=1, keepdims=True) - known
    totals = filled.sum(axis=1, keepdims=True) - filled
    return np.where(n_others > 0, totals / np.maximum(n_others, 1), np.nan)


def _numbered(groups: Sequence[Hashable]) -> tuple[NDArray[np.intp], int]:
    """A number for the group of each row, and how many groups there are."""
    numbers = {group: i for i, group in enumerate(dict.fromkeys(groups))}
    return np.array([numbers[group] for group in groups], dtype=np.intp), len(numbers)


def _sums(first: Values, second: Values) -> Values:
    """The parts of r of each row, shape (rows, 6, columns): n, x, y, x², y², xy; x and y less their means."""
    known = ~(np.isnan(first) | np.isnan(second))
    n = np.maximum(known.sum(axis=0), 1)
    x, y = (np.where(known, column, 0.0) for column in (first, second))
    x, y = (np.where(known, column - column.sum(axis=0) / n, 0.0) for column in (x, y))
    # What is left of a constant column is rounding.
    x, y = (np.where(np.abs(column) < _NO_SPREAD, 0.0, column) for column in (x, y))
    return np.stack([known.astype(float), x, y, x * x, y * y, x * y], axis=1)


def _weighted(times: Values, by_unit: Values) -> Values:
    """The parts of r of each resample, shape (resamples, 6, columns)."""
    n_units, n_parts, n_columns = by_unit.shape
    return (times @ by_unit.reshape(n_units, -1)).reshape(len(times), n_parts, n_columns)


def _coefficients(sums: Values) -> Values:
    """Pearson's r from its parts, of shape (…, 6, columns); NaN where it is undefined."""
    n, x, y, xx, yy, xy = np.moveaxis(sums, -2, 0)
    n = np.maximum(n, 1)
    spread_x, spread_y = xx - x * x / n, yy - y * y / n
    defined = np.logical_and.reduce(
        [spread > _NO_SPREAD * np.maximum(whole, _NO_SPREAD) for spread, whole in ((spread_x, xx), (spread_y, yy))]
    )
    scale = np.sqrt(np.where(defined, spread_x * spread_y, 1.0))
    return np.where(defined, np.clip((xy - x * y / n) / scale, -1.0, 1.0), np.nan)


def _in_blocks(rows: Values, compute: Callable[[Values], Values]) -> Values:
    return np.concatenate([compute(rows[start : start + _AT_ONCE]) for start in range(0, len(rows), _AT_ONCE)])


def _estimate(value: float, draws: Values, left_out: Values, *, n: int, n_groups: int) -> Estimate:
    if np.isnan(value):
        why = "fewer than 2 examples" if n < 2 else "all values are equal"
        return Estimate(value=None, low=None, high=None, n=n, method=f"undefined: {why}")
    return bootstrap_estimate(Replicates(value=float(value), draws=draws, left_out=left_out, n_groups=n_groups), n=n)
