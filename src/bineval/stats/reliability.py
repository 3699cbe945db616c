"""How far probabilities can be relied on: the share labeled yes in bins of P(yes), and the log loss."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log

from bineval.stats.classification import RatedAnswer, equal_mass_bins
from bineval.stats.intervals import mean_interval, proportion_interval
from bineval.types import Estimate

# One certain answer that is wrong would make the loss infinite.
_LEAST = 1e-6


@dataclass(frozen=True, kw_only=True, slots=True)
class ReliabilityBin:
    """One bin of a reliability diagram.

    Attributes:
        probability: Mean P(yes) of its answers, in [0, 1].
        share: Share of its answers whose label is yes; `n` counts them.
    """

    probability: float
    share: Estimate


def reliability_bins(items: Sequence[RatedAnswer], *, seed: int = 0) -> tuple[ReliabilityBin, ...]:
    """Returns the equal-mass bins of `items`, by ascending P(yes); none without items.

    The bins are those of `bineval.stats.classification.calibration_error`. The interval of a share is Wilson's, or a
    bootstrap over groups where groups hold several items (`bineval.stats.intervals.proportion_interval`).
    """
    if not items:
        return ()
    by_bin: dict[int, list[RatedAnswer]] = {}
    for item, place in zip(items, equal_mass_bins([item.probability for item in items]), strict=True):
        by_bin.setdefault(int(place), []).append(item)
    return tuple(
        ReliabilityBin(
            probability=sum(item.probability for item in inside) / len(inside),
            share=proportion_interval(((item.group, item.label) for item in inside), seed=seed),
        )
        for _, inside in sorted(by_bin.items())
    )


def log_loss(items: Sequence[RatedAnswer], *, seed: int = 0) -> Estimate:
    """Returns the mean of -ln P(label) with its 95 % interval, at least 0; ln 2 = 0.693 is what P(yes) = 0.5 gets.

    P(yes) is clipped to [1e-6, 1 - 1e-6] first, so that one wrong certain answer costs at most 13.8; `method` says so.
    Good (1952), "Rational decisions".
    """
    estimate = mean_interval(((item.group, _loss(item)) for item in items), seed=seed)
    return replace(estimate, method=f"{estimate.method}; P(yes) clipped to [{_LEAST:g}, 1 - {_LEAST:g}]")


def _loss(item: RatedAnswer) -> float:
    of_label = item.probability if item.label else 1 - item.probability
    return -log(min(max(of_label, _LEAST), 1 - _LEAST))
