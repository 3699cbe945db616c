"""Scores with a checklist's own weights and with learned ones held side by side, on the same rated examples."""

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bineval.diagnose.values import Values, unit_ratings, weighted_scores
from bineval.stats.correlation import Rated, correlation_difference, correlations
from bineval.stats.intervals import mean_interval
from bineval.stats.positive_fits import FitKind
from bineval.types import USUAL_THRESHOLD, Estimate, Scale


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RatedValues:
    """The rated examples of a dimension.

    Attributes:
        ids: Of the examples.
        groups: The group of each that intervals and folds keep together.
        values: Of the dimension's questions, shape (examples, questions), in [0, 1]; NaN where unknown.
        ratings: Of people, shape (examples,), on the dimension's scale.
        scale: That scale; None without one.
        weights: Of the questions in the checklist, shape (questions,), positive.
    """

    ids: tuple[str, ...]
    groups: tuple[Hashable, ...]
    values: Values
    ratings: Values
    scale: Scale | None
    weights: Values

    @property
    def fit(self) -> FitKind:
        """How weights are fitted: as labels where all ratings are 0 or 1."""
        is_label = np.isin(self.ratings, (0.0, 1.0)).all() and self.scale in (None, (0, 1))
        return "logistic" if is_label else "ridge"

    @property
    def filled(self) -> Values:
        """Unknown values replaced by the mean of the example's known ones, for a fit that cannot do without."""
        means = weighted_scores(self.values, np.ones(self.values.shape[1]))
        return np.where(np.isnan(self.values), means[:, None], self.values)

    def part(self, rows: NDArray[np.bool_]) -> "RatedValues":
        """Those examples whose place in `rows` is true."""
        places = np.flatnonzero(rows)
        return replace(
            self,
            ids=tuple(self.ids[i] for i in places),
            groups=tuple(self.groups[i] for i in places),
            values=self.values[places],
            ratings=self.ratings[places],
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """One figure with the checklist's own weights and with learned ones, which were not fitted on any of its examples.

    Attributes:
        figure: "spearman", "pearson", "mae" (mean absolute error on the dimension's scale), or for labels of 0 and 1
            in place of the last "brier" and "accuracy".
        own: With the weights of the run's checklist.
        learned: With weights fitted on the other folds.
        change: Learned less own; for "mae" and "brier" below 0 is better.
    """

    figure: str
    own: Estimate
    learned: Estimate
    change: Estimate


def compare(items: RatedValues, learned: Values, *, seed: int = 0) -> list[Comparison]:
    """Holds learned weights against the checklist's own, by paired bootstrap.

    Args:
        items: The rated examples.
        learned: Score of each with weights that it was not fitted on, in [0, 1], shape (examples,); those with NaN are
            left out on both sides.
        seed: Of the intervals.

    Returns:
        Spearman's rho first, then Pearson's r, and the errors.
    """
    own = weighted_scores(items.values, items.weights)
    both = ~np.isnan(learned)
    items, own, learned = items.part(both), np.round(own[both], 9), np.round(learned[both], 9)
    of_own, of_learned = _rated(items, own), _rated(items, learned)
    plain, fitted = (correlations(rated, level="pooled", seed=seed) for rated in (of_own, of_learned))
    found = [
        Comparison(
            figure=name,
            own=getattr(plain, name),
            learned=getattr(fitted, name),
            change=correlation_difference(of_learned, of_own, level="pooled", coefficient=name, seed=seed).estimate,
        )
        for name in ("spearman", "pearson")
    ]
    return found + _compare_errors(items, own, learned, seed)


def _compare_errors(items: RatedValues, own: Values, learned: Values, seed: int) -> list[Comparison]:
    mapped, why = unit_ratings(items.ratings, items.scale)
    if mapped is None:
        undefined = Estimate(value=None, low=None, high=None, n=0, method=why)
        return [Comparison(figure="mae", own=undefined, learned=undefined, change=undefined)]

    def compared(figure: str, of_own: Values, of_learned: Values) -> Comparison:
        means = [
            mean_interval(zip(items.groups, column.tolist(), strict=True), seed=seed)
            for column in (of_own, of_learned, of_learned - of_own)
        ]
        return Comparison(figure=figure, own=means[0], learned=means[1], change=means[2])

    if items.fit == "ridge":
        low, high = items.scale or (0.0, 1.0)
        return [compared("mae", *(np.abs(scores - mapped) * abs(high - low) for scores in (own, learned)))]
    right = [((scores > USUAL_THRESHOLD) == mapped).astype(float) for scores in (own, learned)]
    return [
        compared("brier", *((scores - mapped) ** 2 for scores in (own, learned))),
        compared("accuracy", *right),
    ]


def _rated(items: RatedValues, scores: Values) -> list[Rated]:
    columns = zip(items.ids, items.groups, items.ratings.tolist(), scores.tolist(), strict=True)
    return [
        Rated(example_id=example_id, group=group, system=None, human=human, value=value)
        for example_id, group, human, value in columns
    ]
