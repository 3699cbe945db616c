"""What is correlated at each level, as coefficients that depend on how often each unit of resampling counts."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Literal, Protocol

import numpy as np

from bineval.stats.bootstrap import Floats
from bineval.stats.coefficients import COEFFICIENTS, Coefficient, PooledItems, row_coefficients

Level = Literal["pooled", "group", "system"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rated:
    """One example with a human rating and a judge's value; repeats are averaged before.

    Attributes:
        example_id: Its id; differences pair examples by it.
        group: The source document that intervals resample, and within which level "group" correlates.
        system: What made the output; None when unknown.
        human: The human rating, on any scale.
        value: The judge's value, on any scale.
    """

    example_id: str
    group: Hashable
    system: str | None
    human: float
    value: float


class Statistic(Protocol):
    """Coefficients for weightings of the units, shape (weightings, units): NaN where they are undefined."""

    def __call__(self, weights: Floats, wanted: Sequence[Coefficient]) -> dict[Coefficient, Floats]:
        """Returns shape (weightings,) for each wanted coefficient."""


class Leveled(Protocol):
    """Examples at one level.

    Attributes:
        problem: Why their coefficients are undefined; None when they are not.
        keys: What is resampled: groups, or systems.
        used: How many of them the coefficients rest on.
        skipped: How many are left out.
    """

    problem: str | None
    keys: list[Hashable]
    used: int
    skipped: int

    def statistic(self, unit: Mapping[Hashable, int], n_units: int) -> Statistic:
        """The coefficients, where each key counts as often as its unit; only without a problem."""


def at_level(items: Sequence[Rated], level: Level, *, constant_is_zero: bool) -> Leveled:
    """Returns the examples as `level` takes them; those that name no system are left out of level "system"."""
    if level == "group":
        return _WithinGroups(items, constant_is_zero=constant_is_zero)
    if level == "pooled":
        return _Pooled([(item.group, item.human, item.value) for item in items])
    named = [item for item in items if item.system is not None]
    problem = "no example names its system" if items and not named else None
    return _Pooled([(system, *means) for system, means in _system_means(named).items()], problem=problem)


def n_examples(items: Iterable[Rated], level: Level) -> int:
    """How many examples coefficients at `level` rest on."""
    return len({item.example_id for item in items if level != "system" or item.system is not None})


def defined_groups(items: Iterable[Rated]) -> set[Hashable]:
    """The groups whose own coefficients are defined."""
    within = _WithinGroups(list(items), constant_is_zero=False)
    return {within.keys[i] for i in np.flatnonzero(within.defined)}


class _Pooled:
    """One coefficient over all rows of (key, human, value)."""

    def __init__(self, rows: Sequence[tuple[Hashable, float, float]], *, problem: str | None = None) -> None:
        self._rows = rows
        self.keys = list(dict.fromkeys(key for key, _, _ in rows))
        self.used, self.skipped = len(self.keys), 0
        self.problem = problem or self._undefined()

    def _undefined(self) -> str | None:
        if not self._rows:
            return "no items"
        if len({round(human, 9) for _, human, _ in self._rows}) < 2:
            return "all human ratings are equal"
        if len({round(value, 9) for _, _, value in self._rows}) < 2:
            return "all predicted values are equal"
        return None

    def statistic(self, unit: Mapping[Hashable, int], n_units: int) -> Statistic:
        place = np.array([unit[key] for key, _, _ in self._rows], dtype=np.intp)
        human: Floats = np.array([human for _, human, _ in self._rows], dtype=np.float64)
        value: Floats = np.array([value for _, _, value in self._rows], dtype=np.float64)
        return PooledItems(place, human, value, n_units=n_units).coefficients


class _WithinGroups:
    """The mean over groups of the coefficient within each."""

    def __init__(self, items: Sequence[Rated], *, constant_is_zero: bool) -> None:
        groups: dict[Hashable, list[Rated]] = defaultdict(list)
        for item in items:
            groups[item.group].append(item)
        self.keys = list(groups)
        self._values = _own_coefficients(list(groups.values()))
        # All coefficients are undefined in the same groups.
        self.defined = ~np.isnan(self._values["kendall"])
        # Were no group defined, a mean of zeros alone would be no correlation either.
        if constant_is_zero and self.defined.any():
            self._values = {name: np.nan_to_num(values) for name, values in self._values.items()}
            # A single output has nothing to be put in order with.
            self.defined = np.array([len(members) > 1 for members in groups.values()])
        self.used = int(self.defined.sum())
        self.skipped = len(groups) - self.used
        self.problem = None
        if not self.used:
            problem = "no group has two distinct human ratings and two distinct predicted values"
            self.problem = problem if items else "no items"

    def statistic(self, unit: Mapping[Hashable, int], n_units: int) -> Statistic:
        place = np.array([unit[key] for key in self.keys], dtype=np.intp)[self.defined]
        counts = np.bincount(place, minlength=n_units).astype(float)
        sums = {name: np.bincount(place, values[self.defined], n_units) for name, values in self._values.items()}

        def mean(weights: Floats, wanted: Sequence[Coefficient]) -> dict[Coefficient, Floats]:
            drawn = weights @ counts
            drawn[drawn == 0] = np.nan
            return {name: (weights @ sums[name]) / drawn for name in wanted}

        return mean


def _own_coefficients(groups: Sequence[Sequence[Rated]]) -> dict[Coefficient, Floats]:
    """Each group's coefficients; NaN where they are undefined."""
    values = {name: np.full(len(groups), np.nan) for name in COEFFICIENTS}
    sizes = np.array([len(group) for group in groups], dtype=int)
    for size in np.unique(sizes):
        places = np.flatnonzero(sizes == size)
        members = [groups[int(place)] for place in places]
        human: Floats = np.array([[item.human for item in group] for group in members], dtype=np.float64)
        value: Floats = np.array([[item.value for item in group] for group in members], dtype=np.float64)
        for name, found in row_coefficients(human, value).items():
            values[name][places] = found
    return values


def _system_means(items: Iterable[Rated]) -> dict[Hashable, tuple[float, float]]:
    systems: dict[Hashable, list[Rated]] = defaultdict(list)
    for item in items:
        systems[item.system].append(item)
    return {
        system: (
            fsum(item.human for item in members) / len(members),
            fsum(item.value for item in members) / len(members),
        )
        for system, members in systems.items()
    }
