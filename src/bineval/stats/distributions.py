"""How scores and people's ratings are distributed: mean, sd, share at the ceiling, distance, order of systems."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import stdev

from bineval.errors import MissingDependencyError
from bineval.stats.intervals import mean_interval, proportion_interval
from bineval.stats.levels import Rated
from bineval.types import Estimate

# Float noise: means over repeats that differ by less are equal, and a value so near to 1 is at the ceiling.
_DIGITS = 9


@dataclass(frozen=True, kw_only=True, slots=True)
class Distribution:
    """How values in [0, 1] are distributed.

    Attributes:
        n: Values.
        mean: With a 95 % interval over groups.
        sd: Standard deviation of a sample (divided by n - 1); without an interval.
        ceiling_share: Share of values that are 1, with a 95 % interval.
    """

    n: int
    mean: Estimate
    sd: Estimate
    ceiling_share: Estimate


@dataclass(frozen=True, kw_only=True, slots=True)
class SystemMeans:
    """Means of one system over the outputs that have both values, each with a 95 % interval over groups."""

    system: str
    human: Estimate
    score: Estimate


@dataclass(frozen=True, kw_only=True, slots=True)
class SystemOrder:
    """Systems in the order that people put them in, and whether the scores do the same.

    Attributes:
        means: By ascending human mean; equal ones by name.
        n_pairs: Pairs of systems that differ in their human mean.
        n_alike: Of these, the ones whose score means differ in the same direction.
        n_tied: Of these, the ones whose score means are equal.
    """

    means: tuple[SystemMeans, ...]
    n_pairs: int
    n_alike: int
    n_tied: int


def distribution(items: Sequence[tuple[Hashable, float]], *, seed: int = 0) -> Distribution:
    """Returns how the values of `(group, value)` are distributed; values are in [0, 1]."""
    values = [value for _, value in items]
    n = len(values)
    if n < 2:
        sd = Estimate(value=None, low=None, high=None, n=n, method="undefined: fewer than two values")
    else:
        sd = Estimate(value=stdev(values), low=None, high=None, n=n, method="no interval is made")
    return Distribution(
        n=n,
        mean=mean_interval(items, seed=seed),
        sd=sd,
        ceiling_share=proportion_interval(((group, round(value, _DIGITS) >= 1) for group, value in items), seed=seed),
    )


def wasserstein(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """Returns the Wasserstein-1 (earth mover's) distance of two samples in [0, 1], in [0, 1]; without an interval.

    It is how far values must be moved on the mean to turn one distribution into the other, whichever example has which.

    Raises:
        MissingDependencyError: scipy is not installed.
    """
    n = len(first)
    if not first or not second:
        return Estimate(value=None, low=None, high=None, n=n, method="undefined: no items")
    try:
        from scipy.stats import wasserstein_distance
    except ImportError as error:
        raise MissingDependencyError("scipy", "meta", "the Wasserstein distance") from error
    distance = float(wasserstein_distance(first, second))
    return Estimate(value=distance, low=None, high=None, n=n, method="no interval is made")


def system_order(items: Iterable[Rated], *, seed: int = 0) -> SystemOrder:
    """Returns the order of the systems of `items`; those of no system are left out."""
    by_system: dict[str, list[Rated]] = defaultdict(list)
    for item in items:
        if item.system is not None:
            by_system[item.system].append(item)
    means = [
        SystemMeans(
            system=system,
            human=mean_interval(((item.group, item.human) for item in members), seed=seed),
            score=mean_interval(((item.group, item.value) for item in members), seed=seed),
        )
        for system, members in by_system.items()
    ]
    means.sort(key=lambda item: (_rounded(item.human), item.system))
    # In this order a later system is never below an earlier one for people.
    pairs = [(low, high) for low, high in combinations(means, 2) if _rounded(low.human) < _rounded(high.human)]
    changes = [_rounded(high.score) - _rounded(low.score) for low, high in pairs]
    return SystemOrder(
        means=tuple(means),
        n_pairs=len(pairs),
        n_alike=sum(change > 0 for change in changes),
        n_tied=sum(change == 0 for change in changes),
    )


def _rounded(mean: Estimate) -> float:
    return round(mean.value or 0.0, _DIGITS)  # of one output at least, so that it is defined
