"""Correlation of a judge's values with human ratings at a stated level, with intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bineval.stats.bootstrap import Floats
from bineval.stats.coefficients import COEFFICIENTS, Coefficient
from bineval.stats.levels import Level, Rated, at_level, n_examples
from bineval.stats.paired_differences import Difference, correlation_difference
from bineval.stats.replication import level_estimate, over_units, replicate
from bineval.types import Estimate

__all__ = [
    "Coefficient",
    "Correlations",
    "Difference",
    "Level",
    "Rated",
    "correlation_average",
    "correlation_difference",
    "correlations",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Correlations:
    """The three coefficients of one set of examples at one level.

    Attributes:
        level: "pooled" over all examples, "group" for the plain mean of the groups' own coefficients, "system" for the
            coefficient of the systems' means.
        n: Examples; at level "system", those that name their system.
        groups_used: Groups that the coefficients rest on (systems at level "system"); over several dimensions, the
            least.
        groups_skipped: Groups left out of the mean at level "group", as all their human ratings or all their values are
            equal, or as they have one output; over several dimensions, the most. 0 at the other levels.
        pearson: Pearson's r.
        spearman: Spearman's rho with average ranks.
        kendall: Kendall's tau-b.
    """

    level: Level
    n: int
    groups_used: int
    groups_skipped: int
    pearson: Estimate
    spearman: Estimate
    kendall: Estimate


def correlations(
    items: Sequence[Rated], *, level: Level, constant_is_zero: bool = False, seed: int = 0
) -> Correlations:
    """Returns how well the judge's values follow the human ratings.

    Values are rounded to nine digits before ranking, so that float noise breaks no tie. The 95 % intervals come from a
    bootstrap over groups (`bineval.stats.bootstrap`). At level "system" it is over systems, at least eight: a document
    drawn twice doubles its noise in every system's mean, which pulls the coefficient far below what it should cover.
    Over so few systems the intervals of rank coefficients are wide, and cover more than 95 %: `method` says "about".

    Args:
        items: One per example.
        level: Over what the coefficient is taken; see `Correlations`.
        constant_is_zero: At level "group", a group of several outputs whose human ratings or values are all equal
            counts as 0 in the mean, in place of being skipped.
        seed: The same seed and items give the same intervals.

    Returns:
        A coefficient that is undefined has the value None and a `method` that says why.
    """
    return correlation_average({"": items}, level=level, constant_is_zero=constant_is_zero, seed=seed)


def correlation_average(
    by_dimension: Mapping[str, Sequence[Rated]], *, level: Level, constant_is_zero: bool = False, seed: int = 0
) -> Correlations:
    """Returns each coefficient's plain mean over dimensions; intervals draw the same groups in every dimension.

    Undefined where it is undefined in one dimension. Arguments are those of `correlations`; `n` counts the examples
    that have a rating in any dimension.
    """
    parts = {name: at_level(items, level, constant_is_zero=constant_is_zero) for name, items in by_dimension.items()}
    n = n_examples((item for items in by_dimension.values() for item in items), level)
    problems = [f"{name}: {part.problem}" if name else part.problem for name, part in parts.items() if part.problem]
    if problems or not parts:
        method = f"undefined: {'; '.join(problems) or 'no dimensions'}"
        undefined = Estimate(value=None, low=None, high=None, n=n, method=method)
        estimates = dict.fromkeys(COEFFICIENTS, undefined)
    else:
        statistics, n_units = over_units(list(parts.values()), seed=seed)

        def mean(weights: Floats, wanted: Sequence[Coefficient]) -> dict[Coefficient, Floats]:
            found = [statistic(weights, wanted) for statistic in statistics]
            return {name: np.mean([one[name] for one in found], axis=0) for name in wanted}

        used = min(part.used for part in parts.values())
        replicated = replicate(mean, COEFFICIENTS, n_units=n_units, n_groups=used, seed=seed)
        estimates = {name: level_estimate(replicates, level, n=n) for name, replicates in replicated.items()}
    return Correlations(
        level=level,
        n=n,
        groups_used=min((part.used for part in parts.values()), default=0),
        groups_skipped=max((part.skipped for part in parts.values()), default=0),
        **estimates,
    )
