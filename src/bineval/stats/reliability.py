"""How far probabilities can be relied on: the share labeled yes in bins of P(yes)."""

from collections.abc import Sequence
from dataclasses import dataclass

from bineval.stats.classification import RatedAnswer, equal_mass_bins
from bineval.stats.intervals import proportion_interval
from bineval.types import Estimate


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
