"""The scale of whole numbers on which a rating is asked for, and the way from a number on it to [0, 1]."""

from collections.abc import Mapping
from dataclasses import dataclass

from bineval.types import Checklist, Scale

_USUAL: Scale = (1, 5)
_FEWEST_STEPS, _MOST_STEPS = 2, 100


@dataclass(frozen=True, kw_only=True, slots=True)
class RatingScale:
    """Whole numbers from `low` (worst) to `high` (best)."""

    low: int
    high: int

    def numbers(self) -> range:
        """All numbers on it."""
        return range(self.low, self.high + 1)

    def unit(self, number: float) -> float:
        """The number mapped to [0, 1]."""
        return (number - self.low) / (self.high - self.low)


def rating_scale(scale: Scale | None) -> RatingScale:
    """The scale on which a dimension is rated: its own if its ends are whole numbers 2 to 100 apart, else 1 to 5.

    A scale of 0 and 1 leaves nothing to weigh between them, so texts are rated from 1 to 5 for it too.
    """
    low, high = scale or _USUAL
    if low != int(low) or high != int(high) or not _FEWEST_STEPS <= high - low <= _MOST_STEPS:
        low, high = _USUAL
    return RatingScale(low=int(low), high=int(high))


def rating_scales(checklist: Checklist) -> Mapping[str, RatingScale]:
    """The scale of each dimension of a checklist."""
    return {name: rating_scale(dimension.scale) for name, dimension in checklist.dimensions.items()}
