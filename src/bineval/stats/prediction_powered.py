"""The mean of people's ratings, from few of them together with a judge's values for many examples."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bineval.stats.bootstrap import Floats, Replicates
from bineval.stats.intervals import FEWEST_GROUPS, bootstrap_estimate, draw_counts, resampling_units
from bineval.types import Estimate

Labeled = tuple[Hashable, float, float]
Unlabeled = tuple[Hashable, float]


class _Tuned(NamedTuple):
    """Estimates, less the plain mean of all labels, and the lambda of each; NaN where no label counts."""

    shifts: Floats
    tunings: Floats


def prediction_powered_mean(labeled: Sequence[Labeled], unlabeled: Sequence[Unlabeled], *, seed: int = 0) -> Estimate:
    """Returns the mean human rating of all examples, with an interval that is honest whatever the judge is worth.

    It is prediction-powered inference (Angelopoulos et al. 2023) with power tuning (PPI++, Angelopoulos, Duchi & Zrnic
    2023). With n labeled and N unlabeled examples it is

        mean human on the labeled + lambda * (mean judge on the unlabeled - mean judge on the labeled).

    With lambda = N / (n + N) this would be the judge's mean on all plus the mean of human - judge on the labeled; with
    0 it is the labels alone. Here lambda is where the variance is least: the covariance of human and judge on the
    labeled over (1 + n / N) times the variance of the judge on all, both of sums over groups, clipped to [0, 1].

    The interval is a bootstrap that draws the groups with labels and those without each among themselves, and finds
    lambda anew each time.

    Args:
        labeled: `(group, human, judge's value)` of each labeled example. Where the two have different units, a lambda
            that stops at 1 may gain less than it could, but the interval stays honest.
        unlabeled: `(group, judge's value)` of each other example.
        seed: The same seed and examples give the same interval.

    Returns:
        `n` counts all examples, and `method` names lambda. Without labels the value is None; with fewer than five
        groups with labels, or one to four without, there is no interval, and `method` says why.
    """
    n = len(labeled) + len(unlabeled)
    if not labeled:
        return Estimate(value=None, low=None, high=None, n=n, method="undefined: no labeled examples")
    mean = sum(human for _, human, _ in labeled) / len(labeled)
    sums, has_labels = _group_sums(labeled, unlabeled, mean)
    found = _tuned(sums.sum(axis=0, keepdims=True))
    value, n_with, n_without = mean + float(found.shifts[0]), int(has_labels.sum()), int((~has_labels).sum())
    for kind, n_groups in (("labeled", n_with), ("unlabeled", n_without or FEWEST_GROUPS)):
        if n_groups < FEWEST_GROUPS:
            method = f"no interval: fewer than {FEWEST_GROUPS} {kind} groups"
            return Estimate(value=value, low=None, high=None, n=n, method=method)
    units = [_in_units(sums[has_labels], seed=seed)]
    drawn = draw_counts(len(units[0]), seed=seed) @ units[0]
    if n_without:
        units.append(_in_units(sums[~has_labels], seed=seed))
        # Another seed, so that equally many groups of both kinds are not drawn alike.
        drawn += draw_counts(len(units[1]), seed=seed + 1) @ units[1]
    left_out = sums.sum(axis=0) - np.concatenate(units)
    replicates = Replicates(
        value=value,
        draws=mean + _tuned(drawn).shifts,
        left_out=mean + _tuned(left_out).shifts,
        n_groups=n_with,
    )
    estimate = bootstrap_estimate(replicates, n=n, units="labeled groups")
    if estimate.low is None:
        return estimate
    return replace(estimate, method=f"prediction-powered, lambda {found.tunings[0]:.2f}, {estimate.method}")


def _group_sums(
    labeled: Sequence[Labeled], unlabeled: Sequence[Unlabeled], mean: float
) -> tuple[Floats, NDArray[np.bool_]]:
    """What `_tuned` adds up of each group, shape (groups, sums), and whether it has labels; ratings less their mean."""
    members = [*((group, value) for group, _, value in labeled), *unlabeled]
    place = {group: i for i, group in enumerate(dict.fromkeys(group for group, _ in members))}
    of_all = np.array([place[group] for group, _ in members], dtype=np.intp)
    of_labeled = of_all[: len(labeled)]
    values: Floats = np.array([value for _, value in members], dtype=np.float64)
    # A large common part would cost digits.
    values -= values.mean()
    ratings: Floats = np.array([human for _, human, _ in labeled], dtype=np.float64) - mean
    columns = ((of_labeled, ratings), (of_labeled, values[: len(labeled)]), (of_labeled, None), (of_all, values))
    y, f, n, judged, size = (
        np.bincount(where, what, len(place)).astype(float) for where, what in (*columns, (of_all, None))
    )
    products = (y * f, y * n, f * n, n * n, judged * judged, judged * size, size * size)
    return np.stack([np.ones(len(place)), y, f, n, judged, size, *products], axis=1), n > 0


def _tuned(sums: Floats) -> _Tuned:
    """The estimates of sums over groups, shape (estimates, sums)."""
    n_groups, y, f, n, judged, size, yf, yn, fn, nn, judged_2, judged_size, size_2 = np.moveaxis(sums, 1, 0)
    n = np.where(n > 0, n, np.nan)
    human, judge, of_all, n_others = y / n, f / n, judged / size, size - n
    covariance = (yf - human * fn - judge * yn + human * judge * nn) / n
    variance = (judged_2 - 2 * of_all * judged_size + of_all**2 * size_2) / size
    variance *= n_groups / np.maximum(n_groups - 1, 1)
    some = (n_others > 0) & (variance > 1e-12)
    others = np.where(some, n_others, 1.0)
    tunings = np.where(some, covariance / np.where(some, variance * (1 + n / others), 1.0), 0.0)
    tunings = np.clip(tunings, 0.0, 1.0)
    return _Tuned(human + tunings * ((judged - f) / others - judge), tunings)


def _in_units(sums: Floats, *, seed: int) -> Floats:
    """The sums of the units that are drawn; shape (units, sums)."""
    units = resampling_units(len(sums), seed=seed)
    result = np.zeros((int(units.max()) + 1, sums.shape[1]))
    np.add.at(result, units, sums)
    return result
