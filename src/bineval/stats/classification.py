"""How good yes/no answers and their probabilities are against labels: losses, calibration error, TPR, TNR, accuracy."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import log

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bineval.stats.intervals import FEWEST_GROUPS, RESAMPLES, group_draws, mean_interval, proportion_interval
from bineval.types import Estimate

_MOST_BINS = 10
_FEWEST_IN_BIN = 10
# One certain answer that is wrong would make the log loss infinite.
_LEAST = 1e-6


@dataclass(frozen=True, kw_only=True, slots=True)
class RatedAnswer:
    """An answer with its label.

    Attributes:
        group: Group that intervals resample.
        probability: P(yes) in [0, 1].
        answer: Whether the answer is yes.
        label: Whether the true answer is yes.
    """

    group: Hashable
    probability: float
    answer: bool
    label: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerFigures:
    """Figures of answers against labels.

    Attributes:
        n: Answers.
        n_yes: Of these, the ones whose label is yes.
        brier: Mean squared difference of P(yes) and label, in [0, 1] (Brier 1950); 0.25 is what P(yes) = 0.5 gets.
        log_loss: Mean of -ln P(label), at least 0; see `log_loss`.
        ece: Expected calibration error with equal-mass bins, in [0, 1]; see `calibration_error`.
        n_bins: Its bins.
        tpr: Share answered yes of those whose label is yes.
        tnr: Share answered no of those whose label is no.
        accuracy: Share of right answers.
    """

    n: int
    n_yes: int
    brier: Estimate
    log_loss: Estimate
    ece: Estimate
    n_bins: int
    tpr: Estimate
    tnr: Estimate
    accuracy: Estimate


def answer_figures(items: Sequence[RatedAnswer], *, seed: int = 0) -> AnswerFigures:
    """Returns the figures of `items`, each with its 95 % interval; without items every value is None."""
    ece, n_bins = calibration_error(items, seed=seed)
    return AnswerFigures(
        n=len(items),
        n_yes=sum(item.label for item in items),
        brier=mean_interval(((item.group, squared_error(item)) for item in items), seed=seed),
        log_loss=log_loss(items, seed=seed),
        ece=ece,
        n_bins=n_bins,
        tpr=_rate(items, label=True, seed=seed),
        tnr=_rate(items, label=False, seed=seed),
        accuracy=proportion_interval(((item.group, item.answer == item.label) for item in items), seed=seed),
    )


def squared_error(item: RatedAnswer) -> float:
    """The item's part of the Brier score, in [0, 1]."""
    return (item.probability - item.label) ** 2


def log_loss(items: Sequence[RatedAnswer], *, seed: int = 0) -> Estimate:
    """Returns the mean of -ln P(label) with its 95 % interval, at least 0; ln 2 = 0.693 is what P(yes) = 0.5 gets.

    P(yes) is clipped to [1e-6, 1 - 1e-6] first, so that one wrong certain answer costs at most 13.8; `method` says so.
    Good (1952), "Rational decisions".
    """
    estimate = mean_interval(((item.group, _loss(item)) for item in items), seed=seed)
    return replace(estimate, method=f"{estimate.method}; P(yes) clipped to [{_LEAST:g}, 1 - {_LEAST:g}]")


def calibration_error(items: Sequence[RatedAnswer], *, seed: int = 0) -> tuple[Estimate, int]:
    """Returns the expected calibration error with equal-mass bins, and the number of bins.

    Items are sorted by P(yes) into at most ten bins of about the same number, at least ten items each; equal
    probabilities share a bin. The error is the mean over items of |mean P(yes) - share of yes| of their bin (Naeini et
    al. 2015, with bins of equal mass).

    The error of a small sample is too large, since chance never leaves a bin's difference at exactly 0. So the lower
    end is the error less what chance alone makes: the 97.5 % point of the mean |difference in a resample - difference|,
    which by the triangle inequality bounds how far the error is off. The upper end is that of the percentile
    bootstrap. Both resample groups.
    """
    n = len(items)
    if n == 0:
        return Estimate(value=None, low=None, high=None, n=0, method="undefined: no items"), 0
    bins = equal_mass_bins([item.probability for item in items])
    n_bins = int(bins.max()) + 1
    groups = {group: i for i, group in enumerate(dict.fromkeys(item.group for item in items))}
    excess, counts = np.zeros((len(groups), n_bins)), np.zeros(len(groups))
    for item, place in zip(items, bins, strict=True):
        excess[groups[item.group], place] += item.probability - item.label
        counts[groups[item.group]] += 1
    value = float(np.abs(excess.sum(axis=0)).sum() / n)
    if len(groups) < FEWEST_GROUPS:
        method = f"no interval: fewer than {FEWEST_GROUPS} groups"
        return Estimate(value=value, low=None, high=None, n=n, method=method), n_bins
    noises, errors = [], []
    for drawn in group_draws(len(groups), seed=seed):
        # How often each group was drawn; a product with these is many times faster than to gather the groups.
        times = np.stack([np.bincount(row, minlength=len(groups)) for row in drawn])
        resampled = (times @ excess) / (times @ counts)[:, None]
        errors.append(np.abs(resampled).sum(axis=1))
        noises.append(np.abs(resampled - excess.sum(axis=0) / n).sum(axis=1))
    return (
        Estimate(
            value=value,
            low=max(value - float(np.percentile(np.concatenate(noises), 97.5)), 0.0),
            high=max(float(np.percentile(np.concatenate(errors), 97.5)), value),
            n=n,
            method=f"bootstrap over {len(groups)} groups, {RESAMPLES} resamples, 95 %; {n_bins} equal-mass bins",
        ),
        n_bins,
    )


def equal_mass_bins(probabilities: ArrayLike) -> NDArray[np.intp]:
    """Returns the bin of each probability, from 0 without gaps; see `calibration_error`."""
    values = np.asarray(probabilities, dtype=float)
    n = len(values)
    n_bins = min(_MOST_BINS, max(1, n // _FEWEST_IN_BIN))
    _, first_of, counts = np.unique(values, return_inverse=True, return_counts=True)
    # The middle rank of equal values, so that the order of the items cannot tear them apart.
    middle = np.cumsum(counts) - (counts + 1) / 2
    wished = np.floor(middle / n * n_bins).astype(int)
    _, bins = np.unique(wished[first_of], return_inverse=True)
    return _without_small(bins)


def _without_small(bins: NDArray[np.intp]) -> NDArray[np.intp]:
    """Joins bins that equal probabilities have left with too few items to their smaller neighbour, smallest first."""
    sizes = np.bincount(bins).tolist()
    place = list(range(len(sizes)))
    while len(sizes) > 1 and min(sizes) < _FEWEST_IN_BIN:
        small = sizes.index(min(sizes))
        neighbours = [i for i in (small - 1, small + 1) if 0 <= i < len(sizes)]
        low = min(small, min(neighbours, key=lambda i: sizes[i]))
        sizes[low : low + 2] = [sizes[low] + sizes[low + 1]]
        place = [i - (i > low) for i in place]
    return np.array(place, dtype=np.intp)[bins]


def _rate(items: Iterable[RatedAnswer], *, label: bool, seed: int) -> Estimate:
    right = [(item.group, item.answer == label) for item in items if item.label == label]
    if not right:
        problem = f"undefined: no label is {'yes' if label else 'no'}"
        return Estimate(value=None, low=None, high=None, n=0, method=problem)
    return proportion_interval(right, seed=seed)


def _loss(item: RatedAnswer) -> float:
    of_label = item.probability if item.label else 1 - item.probability
    return -log(min(max(of_label, _LEAST), 1 - _LEAST))
