"""Which of many estimates lie beyond a limit, when as many as there are give chance as many turns."""

from collections.abc import Hashable, Mapping
from math import atanh, sqrt
from statistics import NormalDist
from typing import TypeVar

from bineval.stats.bootstrap import t_point, t_share
from bineval.stats.significance import holm
from bineval.types import Estimate, Side

Key = TypeVar("Key", bound=Hashable)

_SIGNIFICANT = 0.05
_TAIL = 0.025
# Where the transformation would be infinite.
_NEARLY_ONE = 1 - 1e-12


def p_beyond(estimate: Estimate, limit: float, side: Side, *, n_groups: int, correlation: bool = False) -> float | None:
    """Returns the two-sided p-value of an estimate against a limit, from its interval.

    The interval is moved out until it reaches the limit, as the points of Student's distribution move: a bootstrap's
    own p-value ends at one in some hundred, which many questions would never get under.

    Args:
        estimate: A number with a 95 % interval, or one that never varies.
        limit: What it may lie beyond.
        side: On which side of it; on the other, p is 1.
        n_groups: Groups that were resampled, at most.
        correlation: Whether it is one: then p is not below that of Fisher's transformation, since resamples of answers
            that are rarely no hardly vary where r is below 0 by chance.

    Returns:
        At most 0.05 exactly when the interval lies beyond the limit; None where nothing can be said.
    """
    if estimate.value is None or (estimate.low is None and not estimate.never_varies):
        return None
    if estimate.side_of(limit) != side:
        return 1.0
    if estimate.low is None or estimate.high is None:
        return 0.0
    # The shorter side of a skewed interval, moved out, would promise more than is known of the far end.
    end = estimate.low if side == "above" else estimate.high
    reach = max(abs(estimate.value - end), (estimate.high - estimate.low) / 2)
    degrees = max(min(n_groups, estimate.n) - 1, 1)
    point = t_point(1 - _TAIL, degrees) * abs(estimate.value - limit) / reach
    p_value = 2 * t_share(-point, degrees)
    if correlation and estimate.n > 3:
        p_value = max(p_value, _fisher(estimate.value, limit, estimate.n))
    return min(p_value, _SIGNIFICANT)


def _fisher(value: float, limit: float, n: int) -> float:
    """The two-sided p-value of a correlation of `n` independent pairs against a limit (Fisher 1921)."""
    near = [min(max(r, -_NEARLY_ONE), _NEARLY_ONE) for r in (value, limit)]
    return 2 * NormalDist().cdf(-abs(atanh(near[0]) - atanh(near[1])) * sqrt(n - 3))


def beyond_chance(p_values: Mapping[Key, float | None]) -> set[Key]:
    """Returns those that are significant at 5 % together: adjusted (Holm) for all that have a p-value."""
    tested = {key: p_value for key, p_value in p_values.items() if p_value is not None}
    adjusted = holm(list(tested.values()))
    return {key for key, p_value in zip(tested, adjusted, strict=True) if p_value <= _SIGNIFICANT}
