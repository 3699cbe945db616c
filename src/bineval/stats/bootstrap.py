"""95 % interval and p-value of a number from its bootstrap replicates: BCa with ends widened for few groups."""

from dataclasses import dataclass
from math import exp, lgamma, log, pi, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_TAIL = 0.025
_NORMAL = NormalDist()
# Keeps a correction finite where a division would blow up; the end is then the outermost replicate.
_SMALL = 1e-3
# Fewer draws beyond a point give no share of them that could be relied on.
_FEWEST_BEYOND = 10
# Smaller shares of a tail are lost among the errors of the sum that gives them.
_LEAST_SHARE = 1e-10
ALIKE = 1e-12
"""Numbers that differ by less are equal but for float noise."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Replicates:
    """A number with what it becomes on other groups; NaN where it is undefined there.

    Attributes:
        value: On the groups as they are.
        draws: On resamples of the groups, shape (resamples,).
        left_out: With one group left out, shape (groups,).
        n_groups: Groups that the number rests on.
    """

    value: float
    draws: Floats
    left_out: Floats
    n_groups: int

    def interval(self) -> tuple[float, float]:
        """Returns the ends of the 95 % interval, which holds the value.

        It is the bias-corrected and accelerated interval (BCa, Efron 1987). A bootstrap of n groups knows a spread that
        is too small by sqrt((n - 1) / n), with normal tails where Student's are right; so the share that it cuts off at
        each end is Phi(-sqrt(n / (n - 1)) t) in place of 2.5 %, with t the 97.5 % point of Student's distribution with
        n - 1 degrees of freedom (Hesterberg 2014, "expanded percentile").
        """
        draws = self.draws[~np.isnan(self.draws)]
        bias, acceleration = self._bias(draws), self._acceleration()
        point = sqrt(self.n_groups / (self.n_groups - 1)) * t_point(1 - _TAIL, self.n_groups - 1)
        shares = []
        for shifted in (bias - point, bias + point):
            corrected = bias + shifted / max(1 - acceleration * shifted, _SMALL)
            shares.append(_NORMAL.cdf(corrected))
        low, high = np.quantile(draws, shares)
        return min(float(low), self.value), max(float(high), self.value)

    def p_value(self) -> float:
        """Returns the two-sided p-value against 0: the level at which the interval of this kind just reaches 0.

        Where fewer than ten draws lie beyond 0, their number tells no more than that it is small: there the tail of the
        draws is continued as a normal one, so that many comparisons can be adjusted for; it is not below 2e-10. Where
        all draws are equal, and not 0, it is that of the sign test over groups, 2 ** (1 - n_groups).
        """
        draws = self.draws[~np.isnan(self.draws)]
        sign = 1.0 if self.value > 0 else -1.0
        if self.value == 0:
            return 1.0
        if np.ptp(draws) < ALIKE:
            return float(min(1.0, 2.0 ** (1 - self.n_groups)))
        position = _position_of_zero(sign * draws)
        if position is None:
            return 1.0
        bias, acceleration = sign * self._bias(draws), sign * self._acceleration()
        # The steps of `interval`, backwards.
        moved = position - bias
        point = moved / max(1 + acceleration * moved, _SMALL) - bias
        p_value = min(1.0, 2 * t_share(point * sqrt((self.n_groups - 1) / self.n_groups), self.n_groups - 1))
        low, high = self.interval()
        # The last draws decide both, and with few groups not quite alike: the interval has the last word.
        return max(p_value, 2 * _TAIL) if low <= 0 <= high else min(p_value, 2 * _TAIL)

    def _bias(self, draws: Floats) -> float:
        """How far the value is from the median of the draws, in standard deviations; equal draws count half."""
        below = (int((draws < self.value).sum()) + int((draws == self.value).sum()) / 2) / len(draws)
        edge = 0.5 / len(draws)
        return _NORMAL.inv_cdf(min(max(below, edge), 1 - edge))

    def _acceleration(self) -> float:
        """A sixth of the skewness of the groups' influence, from the jackknife."""
        left_out = self.left_out[~np.isnan(self.left_out)]
        influence = left_out.mean() - left_out if len(left_out) else np.zeros(1)
        spread = float((influence**2).sum())
        return float((influence**3).sum()) / (6 * spread**1.5) if spread > 0 else 0.0


def _position_of_zero(draws: Floats) -> float | None:
    """Where 0 lies among draws of a positive number, as a point of the normal distribution; None above them all."""
    # One more, so that no finite number of resamples makes it 0 (Davison & Hinkley 1997).
    beyond = 1 + int((draws <= 0).sum())
    if beyond > len(draws):
        return None
    if beyond > _FEWEST_BEYOND:
        return _NORMAL.inv_cdf(beyond / (1 + len(draws)))
    ordered = np.sort(draws)
    near, middle = float(ordered[_FEWEST_BEYOND - 1]), float(np.median(ordered))
    reached = _NORMAL.inv_cdf(_FEWEST_BEYOND / (1 + len(draws)))
    return reached * middle / max(middle - near, ALIKE)


def t_share(point: float, degrees: int) -> float:
    """The share of Student's distribution below `point`, good to 1e-6; not below 1e-10."""
    if point > 0:
        return 1 - t_share(-point, degrees)
    points, shares = _upper_half(degrees)
    return max(float(np.interp(-point, points, 1 - shares)), _LEAST_SHARE)


def t_point(share: float, degrees: int) -> float:
    """The point below which `share` (at least half) of Student's distribution lies; good to 1e-6 up to 40."""
    points, shares = _upper_half(degrees)
    return float(np.interp(share, shares, points))


def _upper_half(degrees: int) -> tuple[Floats, Floats]:
    """Points from 0 on, with the share of Student's distribution below each.

    By the trapezoid rule, as importing scipy takes longer than all other work of `bineval show`.
    """
    points, step = np.linspace(0, 40, 40_001, retstep=True)
    constant = lgamma((degrees + 1) / 2) - lgamma(degrees / 2) - log(degrees * pi) / 2
    density = exp(constant) * (1 + points**2 / degrees) ** (-(degrees + 1) / 2)
    areas = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)]) * step
    return points, 0.5 + areas
