"""How far raters agree on yes/no answers: raw, Cohen's kappa, Krippendorff's alpha, Gwet's AC1, TPR and TNR."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from bineval.errors import MissingDependencyError
from bineval.stats.bootstrap import Floats, Replicates
from bineval.stats.intervals import (
    bootstrap_estimate,
    draw_counts,
    mean_interval,
    proportion_interval,
    resampling_units,
)
from bineval.types import Estimate

# Beyond these, agreement by chance is so likely that kappa and alpha fall with a few disagreements.
_EXTREME_LOW, _EXTREME_HIGH = 0.1, 0.9


@dataclass(frozen=True, kw_only=True, slots=True)
class RatedUnit:
    """What several raters said about one thing.

    Attributes:
        group: Group that intervals resample.
        ratings: Whether each rater says yes, always in the same order of raters; None where one says nothing.
    """

    group: Hashable
    ratings: tuple[bool | None, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Agreement:
    """How far raters agree; every figure has a 95 % interval over groups.

    Attributes:
        n: Units with at least two ratings; all figures but TPR and TNR rest on these.
        n_raters: Raters.
        yes_rate: Mean over the units of the share of yes among their ratings; None without units.
        raw: Mean over the units of the share of pairs of raters that agree, in [0, 1].
        kappa: Cohen's kappa, in [-1, 1] (Cohen 1960); of two raters only.
        alpha: Krippendorff's alpha for nominal values, at most 1 (Krippendorff 2004).
        ac1: Gwet's AC1, in [-1, 1] (Gwet 2008). Its yes-rate is that of these units; Gwet's own formula for missing
            ratings takes units with one rating for that rate as well.
        tpr: Share that the first rater calls yes, of the units that the second, who is right, calls yes.
        tnr: Share that the first rater calls no, of the units that the second calls no.
        caution: What must be known to read kappa and alpha; None when nothing must.
    """

    n: int
    n_raters: int
    yes_rate: float | None
    raw: Estimate
    kappa: Estimate
    alpha: Estimate
    ac1: Estimate
    tpr: Estimate
    tnr: Estimate
    caution: str | None


def agreement(units: Sequence[RatedUnit], *, second_is_right: bool = False, seed: int = 0) -> Agreement:
    """Returns how far the raters of `units` agree.

    Units with fewer than two ratings tell nothing and are left out. Raw agreement, kappa, alpha and AC1 share one
    resampling of the groups; shares of units have Wilson's interval where each unit is its own group.

    Args:
        units: Each with as many ratings as there are raters, two or more.
        second_is_right: Whether the second of two raters is a person whose answer counts as true; without it TPR and
            TNR are undefined.
        seed: The same seed and units give the same intervals.

    Raises:
        MissingDependencyError: krippendorff is not installed.
    """
    paired = [unit for unit in units if _n_ratings(unit) >= 2]
    n_raters = len(units[0].ratings) if units else 0
    if not paired:
        nothing = _undefined("no unit has two ratings", n=0)
        return Agreement(
            n=0, n_raters=n_raters, yes_rate=None, raw=nothing, kappa=nothing, alpha=nothing, ac1=nothing,
            tpr=nothing, tnr=nothing, caution=None,
        )  # fmt: skip
    counts, n_groups = _counts(paired, seed)
    total = counts.sum(axis=0)
    weights = draw_counts(len(counts), seed=seed)
    resampled, left_out = weights @ counts, total - counts
    yes_rate = float(total[_YES_SHARES] / total[_UNITS])

    def figure(value: float | None, function: Callable[[Floats], Floats], undefined: str) -> Estimate:
        if value is None:
            return _undefined(undefined, n=len(paired))
        replicates = Replicates(value=value, draws=function(resampled), left_out=function(left_out), n_groups=n_groups)
        return bootstrap_estimate(replicates, n=len(paired))

    alike = f"all ratings are {'yes' if yes_rate == 1 else 'no'}"
    kappa = _value(_kappa, total)
    return Agreement(
        n=len(paired),
        n_raters=n_raters,
        yes_rate=yes_rate,
        raw=_raw(paired, n_raters, seed),
        kappa=figure(kappa, _kappa, alike) if n_raters == 2 else _undefined("Cohen's kappa is of two raters", n=0),
        alpha=figure(_alpha_value(paired) if 0 < yes_rate < 1 else None, _alpha, alike),
        ac1=figure(_value(_ac1, total), _ac1, alike),
        tpr=_rate(paired, truth=True, known=second_is_right, seed=seed),
        tnr=_rate(paired, truth=False, known=second_is_right, seed=seed),
        caution=_caution(yes_rate),
    )


# Columns of the counts of a group.
_UNITS, _AGREEING, _YES_SHARES, _RATINGS, _YES, _DISAGREEING, _BOTH_YES, _FIRST_YES, _SECOND_YES = range(9)


def _counts(units: Sequence[RatedUnit], seed: int) -> tuple[Floats, int]:
    """Sums from which every coefficient follows, shape (units of resampling, columns); and the number of groups."""
    groups = list(dict.fromkeys(unit.group for unit in units))
    drawn_with = resampling_units(len(groups), seed=seed)
    places = dict(zip(groups, drawn_with, strict=True))
    counts = np.zeros((int(drawn_with.max()) + 1, 9))
    for unit in units:
        m, k = _n_ratings(unit), _n_yes(unit)
        # The last three matter where there are two raters.
        first, second = unit.ratings[0] is True, unit.ratings[1] is True
        row = (1, _agreeing_share(unit), k / m, m, k, 2 * k * (m - k) / (m - 1), first and second, first, second)
        counts[places[unit.group]] += row
    return counts, len(groups)


def _kappa(sums: Floats) -> Floats:
    n, first, second = _some(sums[..., _UNITS]), sums[..., _FIRST_YES], sums[..., _SECOND_YES]
    by_chance = (first * second + (n - first) * (n - second)) / n**2
    return _beyond_chance(sums[..., _AGREEING] / n, by_chance)


def _alpha(sums: Floats) -> Floats:
    n, yes = _some(sums[..., _RATINGS]), sums[..., _YES]
    return _beyond_chance(1 - sums[..., _DISAGREEING] / n, 1 - 2 * yes * (n - yes) / (n * (n - 1)))


def _ac1(sums: Floats) -> Floats:
    n = _some(sums[..., _UNITS])
    share = sums[..., _YES_SHARES] / n
    return _beyond_chance(sums[..., _AGREEING] / n, 2 * share * (1 - share))


def _some(counts: Floats) -> Floats:
    """The counts, with NaN where nothing is left when the only group is left out."""
    return np.where(counts > 0, counts, np.nan)


def _beyond_chance(observed: Floats, by_chance: Floats) -> Floats:
    """(observed - by chance) / (1 - by chance); NaN where chance alone makes all agree."""
    rest = np.asarray(1 - by_chance)
    return np.divide(observed - by_chance, rest, out=np.full_like(rest, np.nan), where=rest > 1e-12)


def _value(function: Callable[[Floats], Floats], total: Floats) -> float | None:
    value = float(function(total))
    return None if np.isnan(value) else value


def _alpha_value(units: Sequence[RatedUnit]) -> float:
    try:
        import krippendorff
    except ImportError as error:
        raise MissingDependencyError("krippendorff", "meta", "Krippendorff's alpha") from error
    value_counts = [[unit.ratings.count(False), unit.ratings.count(True)] for unit in units]
    return float(krippendorff.alpha(value_counts=np.array(value_counts), level_of_measurement="nominal"))


def _raw(units: Sequence[RatedUnit], n_raters: int, seed: int) -> Estimate:
    if n_raters == 2:
        return proportion_interval(((unit.group, unit.ratings[0] == unit.ratings[1]) for unit in units), seed=seed)
    return mean_interval(((unit.group, _agreeing_share(unit)) for unit in units), seed=seed)


def _rate(units: Sequence[RatedUnit], *, truth: bool, known: bool, seed: int) -> Estimate:
    if not known:
        return _undefined("no rater is taken for right", n=0)
    rated = [(unit.group, unit.ratings[0] is truth) for unit in units if unit.ratings[1] is truth]
    if not rated:
        return _undefined(f"no label is {'yes' if truth else 'no'}", n=0)
    return proportion_interval(rated, seed=seed)


def _caution(yes_rate: float) -> str | None:
    if _EXTREME_LOW <= yes_rate <= _EXTREME_HIGH:
        return None
    return (
        f"{yes_rate:.0%} of the ratings are yes: so much agreement is expected by chance that few disagreements make "
        "kappa and alpha low; read AC1 beside them"
    )


def _agreeing_share(unit: RatedUnit) -> float:
    """Share of the pairs of raters that agree."""
    m, k = _n_ratings(unit), _n_yes(unit)
    return (k * (k - 1) + (m - k) * (m - k - 1)) / (m * (m - 1))


def _n_ratings(unit: RatedUnit) -> int:
    return sum(rating is not None for rating in unit.ratings)


def _n_yes(unit: RatedUnit) -> int:
    return sum(rating is True for rating in unit.ratings)


def _undefined(why: str, *, n: int) -> Estimate:
    return Estimate(value=None, low=None, high=None, n=n, method=f"undefined: {why}")
