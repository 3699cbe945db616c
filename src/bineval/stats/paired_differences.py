"""How much better one judge's values follow human ratings than another's, in one dimension or on several' average."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bineval.stats.bootstrap import Floats, Replicates
from bineval.stats.coefficients import COEFFICIENTS, Coefficient
from bineval.stats.levels import Level, Rated, at_level, defined_groups, n_examples
from bineval.stats.replication import level_estimate, over_units, replicate
from bineval.types import Estimate


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """One judge's coefficient less another's, on the same examples and the same resamples.

    Attributes:
        coefficient: Of which coefficient.
        estimate: First less second.
        p_value: Two-sided, of no difference: the level at which the interval just reaches 0, or that of the sign test
            over groups where all resamples are equal; else None without an interval.
        p_adjusted: The p-value adjusted for several comparisons.
    """

    coefficient: Coefficient
    estimate: Estimate
    p_value: float | None
    p_adjusted: float | None = None


def correlation_difference(
    first: Sequence[Rated],
    second: Sequence[Rated],
    *,
    level: Level,
    coefficient: Coefficient,
    constant_is_zero: bool = False,
    seed: int = 0,
) -> Difference:
    """Returns `paired_differences` of one dimension and one coefficient."""
    [difference] = paired_differences(
        {"": first},
        {"": second},
        level=level,
        wanted=[coefficient],
        constant_is_zero=constant_is_zero,
        seed=seed,
    )
    return difference


def paired_differences(
    first: Mapping[str, Sequence[Rated]],
    second: Mapping[str, Sequence[Rated]],
    *,
    level: Level,
    wanted: Sequence[Coefficient] = COEFFICIENTS,
    constant_is_zero: bool = False,
    seed: int = 0,
) -> list[Difference]:
    """Returns each coefficient's mean over dimensions of `first` less that of `second`, by a paired bootstrap.

    In each dimension both are taken on the examples that both have and, at level "group" unless constants count as 0,
    on the groups that both define. The same groups are drawn for both and in every dimension.

    Args:
        first: Examples by dimension.
        second: Examples of the same dimensions.
        level: See `bineval.stats.correlation.correlations`.
        wanted: Which coefficients, in the order of the result.
        constant_is_zero: As there.
        seed: As there.

    Returns:
        Undefined where a coefficient is undefined in one dimension; `n` counts the examples of any dimension.
    """
    shared = {name: _shared(first[name], second[name], level, skip=not constant_is_zero) for name in first}
    parts = {
        name: [at_level(items, level, constant_is_zero=constant_is_zero) for items in pair]
        for name, pair in shared.items()
    }
    n = n_examples((item for items, _ in shared.values() for item in items), level)
    problems = [
        (f"{name}: " if len(parts) > 1 else "")
        + (part.problem if shared[name][0] else "no example or group that both define")
        for name, pair in parts.items()
        for part in pair
        if part.problem is not None
    ]
    if problems or not parts:
        method = f"undefined: {'; '.join(dict.fromkeys(problems)) or 'no dimensions'}"
        undefined = Estimate(value=None, low=None, high=None, n=n, method=method)
        return [Difference(coefficient=name, estimate=undefined, p_value=None) for name in wanted]
    statistics, n_units = over_units([part for pair in parts.values() for part in pair], seed=seed)

    def difference(weights: Floats, wanted: Sequence[Coefficient]) -> dict[Coefficient, Floats]:
        found = [statistic(weights, wanted) for statistic in statistics]
        return {
            name: np.mean([more[name] - less[name] for more, less in zip(found[::2], found[1::2], strict=True)], axis=0)
            for name in wanted
        }

    used = min(part.used for pair in parts.values() for part in pair)
    replicated = replicate(difference, wanted, n_units=n_units, n_groups=used, seed=seed)
    return [_difference(name, replicates, level, n) for name, replicates in replicated.items()]


def _shared(
    first: Sequence[Rated], second: Sequence[Rated], level: Level, *, skip: bool
) -> tuple[list[Rated], list[Rated]]:
    """The examples of both, in the order of the first, without those of groups that one of the two leaves undefined."""
    of_second = {item.example_id: item for item in second}
    pairs = [(item, of_second[item.example_id]) for item in first if item.example_id in of_second]
    if level == "group" and skip:
        both = defined_groups(one for one, _ in pairs) & defined_groups(other for _, other in pairs)
        pairs = [pair for pair in pairs if pair[0].group in both]
    return [one for one, _ in pairs], [other for _, other in pairs]


def _difference(coefficient: Coefficient, replicates: Replicates, level: Level, n: int) -> Difference:
    estimate = level_estimate(replicates, level, n=n)
    # Equal resamples have no interval, and yet tell whether there is a difference.
    tested = estimate.low is not None or estimate.never_varies
    return Difference(coefficient=coefficient, estimate=estimate, p_value=replicates.p_value() if tested else None)
