"""Pearson's r, Spearman's rho and Kendall's tau-b of the same items under many weightings at once."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Coefficient = Literal["pearson", "spearman", "kendall"]
COEFFICIENTS: tuple[Coefficient, ...] = ("pearson", "spearman", "kendall")

Floats = NDArray[np.float64]

# Values that differ only by float noise are tied.
_DIGITS = 9
# Numbers in one intermediate array: few enough for a processor's cache, whatever the number of items.
_AT_ONCE = 200_000


def row_coefficients(x: Floats, y: Floats, wanted: Sequence[Coefficient] = COEFFICIENTS) -> dict[Coefficient, Floats]:
    """Returns the coefficients of each row of `x` with the same row of `y`.

    Spearman's rho uses average ranks, Kendall's tau is tau-b; values are rounded to nine digits before ranking.

    Args:
        x: Shape (rows, items).
        y: The same shape.
        wanted: Which of them.

    Returns:
        For each wanted coefficient shape (rows,); NaN where a row of `x` or `y` holds fewer than two distinct values,
        or a NaN.
    """
    ranked_x, ranked_y = np.round(x, _DIGITS), np.round(y, _DIGITS)
    n_rows, n_items = x.shape
    above_x, above_y = np.zeros(x.shape), np.zeros(x.shape)
    untied_x, untied_y, agreement = np.zeros(n_rows), np.zeros(n_rows), np.zeros(n_rows)
    for lag in range(1, n_items):
        sign_x = np.sign(ranked_x[:, lag:] - ranked_x[:, :-lag])
        sign_y = np.sign(ranked_y[:, lag:] - ranked_y[:, :-lag])
        untied_x += np.abs(sign_x).sum(axis=1)
        untied_y += np.abs(sign_y).sum(axis=1)
        agreement += (sign_x * sign_y).sum(axis=1)
        # The items below less the items above: twice the average rank, but for a constant.
        above_x[:, lag:] += sign_x
        above_x[:, :-lag] -= sign_x
        above_y[:, lag:] += sign_y
        above_y[:, :-lag] -= sign_y
    defined = (untied_x > 0) & (untied_y > 0)
    numbers = {
        "pearson": lambda: _plain_pearson(x, y, defined),
        "spearman": lambda: _plain_pearson(above_x, above_y, defined),
        "kendall": lambda: _ratio(agreement, untied_x, untied_y, defined),
    }
    return {name: numbers[name]() for name in wanted}


class PooledItems:
    """Items in units of resampling, whose coefficients are wanted for many weightings of the units.

    A bootstrap over units counts each item as often as its unit was drawn. With these weights Pearson's r comes from
    sums per unit, Spearman's rho from weighted mid-ranks, and the numerator of Kendall's tau-b is w'Aw, where A holds
    the sums of sign(x_i - x_j) sign(y_i - y_j) over the items i and j of two units; so no resample is ever built.
    """

    def __init__(self, unit: NDArray[np.intp], x: Floats, y: Floats, *, n_units: int) -> None:
        """Takes one unit in [0, n_units), one x and one y per item."""
        order = np.argsort(unit, kind="stable")
        self._unit, self._n_units = unit[order], n_units
        self._x, self._y = _Ranked(x[order], self._unit), _Ranked(y[order], self._unit)
        # Less their mean, so that a large common part costs no digits.
        x, y = x[order] - x.mean(), y[order] - y.mean()
        columns = (np.ones(len(x)), x, y, x * x, y * y, x * y)
        self._sums = np.stack([np.bincount(self._unit, column, n_units) for column in columns], axis=1)
        self._agreement: Floats | None = None

    def coefficients(self, weights: Floats, wanted: Sequence[Coefficient] = COEFFICIENTS) -> dict[Coefficient, Floats]:
        """Returns each wanted coefficient for each weighting.

        Args:
            weights: Whole numbers of shape (weightings, units): how often the items of a unit count.
            wanted: Which coefficients.

        Returns:
            Shape (weightings,) each; NaN where the items that count hold fewer than two distinct x or y.
        """
        step = max(1, _AT_ONCE // len(self._unit))
        parts = [self._block(weights[start : start + step], wanted) for start in range(0, len(weights), step)]
        return {name: np.concatenate([part[name] for part in parts]) for name in wanted}

    def _block(self, weights: Floats, wanted: Sequence[Coefficient]) -> dict[Coefficient, Floats]:
        count_x, count_y = self._x.counts(weights), self._y.counts(weights)
        total = weights @ self._sums[:, 0]
        # Twice the pairs that are not tied: whole numbers, so exactly 0 where all that counts is equal.
        untied_x = total**2 - (count_x**2).sum(axis=1)
        untied_y = total**2 - (count_y**2).sum(axis=1)
        defined = (untied_x > 0) & (untied_y > 0)
        numbers = {
            "pearson": lambda: self._pearson(weights, defined),
            "spearman": lambda: self._spearman(weights, count_x, count_y, defined),
            "kendall": lambda: _ratio(self._agreements(weights), untied_x, untied_y, defined),
        }
        return {name: numbers[name]() for name in wanted}

    def _pearson(self, weights: Floats, defined: NDArray[np.bool_]) -> Floats:
        total, x, y, xx, yy, xy = np.moveaxis(weights @ self._sums, 1, 0)
        total = np.where(defined, total, 1.0)
        return _ratio(xy - x * y / total, xx - x * x / total, yy - y * y / total, defined)

    def _spearman(self, weights: Floats, count_x: Floats, count_y: Floats, defined: NDArray[np.bool_]) -> Floats:
        rank_x, rank_y = _middle_ranks(count_x), _middle_ranks(count_y)
        products = rank_x[:, self._x.place]
        products *= rank_y[:, self._y.place]
        products *= weights[:, self._unit]
        spread_x, spread_y = (count_x * rank_x**2).sum(axis=1), (count_y * rank_y**2).sum(axis=1)
        return _ratio(products.sum(axis=1), spread_x, spread_y, defined)

    def _agreements(self, weights: Floats) -> Floats:
        if self._agreement is None:
            self._agreement = self._pair_agreement()
        result: Floats = ((weights @ self._agreement) * weights).sum(axis=1)
        return result

    def _pair_agreement(self) -> Floats:
        """The matrix A, of shape (units, units)."""
        agreement = np.zeros((self._n_units, self._n_units))
        present, starts = np.unique(self._unit, return_index=True)
        x, y = self._x.place.astype(np.int32), self._y.place.astype(np.int32)
        for unit, start, end in zip(present, starts, [*starts[1:], len(x)], strict=True):
            sums = np.zeros(len(x))
            for i in range(start, end):
                sums += np.sign(x[i] - x) * np.sign(y[i] - y)
            agreement[unit, present] = np.add.reduceat(sums, starts)
        return agreement


class _Ranked:
    """One series of values: the place of each item's value among the distinct ones, and how much counts at each."""

    def __init__(self, values: Floats, unit: NDArray[np.intp]) -> None:
        _, self.place = np.unique(np.round(values, _DIGITS), return_inverse=True)
        order = np.argsort(self.place, kind="stable")
        self._unit = unit[order]
        self._starts = np.unique(self.place[order], return_index=True)[1]

    def counts(self, weights: Floats) -> Floats:
        """Sum of the weights at each distinct value, in ascending order; shape (weightings, distinct values)."""
        result: Floats = np.add.reduceat(weights[:, self._unit], self._starts, axis=1)
        return result


def _middle_ranks(counts: Floats) -> Floats:
    """The average rank at each distinct value less the mean rank of all, by how much counts at each."""
    ends = np.cumsum(counts, axis=1)
    result: Floats = ends - counts / 2 - ends[:, -1:] / 2
    return result


def _plain_pearson(x: Floats, y: Floats, defined: NDArray[np.bool_]) -> Floats:
    x, y = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
    return _ratio((x * y).sum(axis=1), (x * x).sum(axis=1), (y * y).sum(axis=1), defined)


def _ratio(together: Floats, of_x: Floats, of_y: Floats, defined: NDArray[np.bool_]) -> Floats:
    result: Floats = np.full(len(together), np.nan)
    result[defined] = together[defined] / np.sqrt(of_x[defined] * of_y[defined])
    # Rounding may leave a perfect correlation a little above 1.
    np.clip(result, -1.0, 1.0, out=result)
    return result
