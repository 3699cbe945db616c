"""The band of a cascade: which probabilities go to the strong judge, learned and tested by replaying both judges."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from bineval.errors import ConfigError
from bineval.stats.intervals import mean_interval, proportion_interval
from bineval.types import Estimate

# So that 0.2 of 10 is 2, whatever its last bit.
_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class Band:
    """Where the cheap judge of a cascade is unsure: its P(yes) from `low` to `high`, both ends included.

    Raises:
        ConfigError: The ends are not 0 ≤ low ≤ high ≤ 1.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.high <= 1:
            raise ConfigError(f"a band needs 0 ≤ low ≤ high ≤ 1, not low {self.low} and high {self.high}")

    def holds(self, probability: float) -> bool:
        """Whether a question with this P(yes) goes to the strong judge."""
        return self.low <= probability <= self.high


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayedPair:
    """The answers of both judges to one question about one example.

    Attributes:
        group: Group that splits keep together and intervals resample.
        probability: The cheap judge's P(yes); None where it has no answer, which always goes to the strong judge.
        cheap: Whether the cheap judge is right; None where it has no answer.
        strong: Whether the strong judge is right.
    """

    group: Hashable
    probability: float | None
    cheap: bool | None
    strong: bool

    def escalated(self, band: Band) -> bool:
        """Whether the strong judge answers."""
        return self.probability is None or band.holds(self.probability)

    def cascade(self, band: Band) -> bool:
        """Whether the cascade is right."""
        return self.strong if self.cheap is None or self.escalated(band) else self.cheap


@dataclass(frozen=True, kw_only=True, slots=True)
class BandFigures:
    """What a cascade does on pairs; accuracies are shares of right answers, intervals are over groups.

    Attributes:
        n: Pairs.
        escalated: Share of the pairs that the strong judge answers.
        cheap: Accuracy of the cheap judge alone, on the pairs it answers.
        strong: Accuracy of the strong judge alone.
        cascade: Accuracy of both together.
        cascade_less_cheap: Difference of accuracy on the same pairs.
        cascade_less_strong: Difference of accuracy on the same pairs.
        kept_cheap: Accuracy of the cheap judge on the pairs that stay with it.
        kept_strong: That of the strong judge on the same pairs.
        deferred_cheap: Accuracy of the cheap judge on the pairs that go to the strong one, where it answers.
        deferred_strong: That of the strong judge on all these pairs.
        both_wrong: Share of the pairs that no band can get right.
    """

    n: int
    escalated: Estimate
    cheap: Estimate
    strong: Estimate
    cascade: Estimate
    cascade_less_cheap: Estimate
    cascade_less_strong: Estimate
    kept_cheap: Estimate
    kept_strong: Estimate
    deferred_cheap: Estimate
    deferred_strong: Estimate
    both_wrong: Estimate


def learn_band(pairs: Sequence[ReplayedPair], *, share: float) -> Band | None:
    """Returns the band with the best accuracy among those that send at most `share` of the pairs to the strong judge.

    All bands between neighboring probabilities are tried. Of equally accurate ones it is the one with the fewest strong
    calls, then the one whose middle is nearest to 0.5. Its ends lie halfway to the next probability outside.

    Args:
        pairs: Those to choose on, never those to report on.
        share: In (0, 1]; pairs without a cheap answer count in it.

    Returns:
        None when no such band gets more pairs right than the cheap judge alone.
    """
    sure = [pair for pair in pairs if pair.probability is not None and pair.cheap is not None]
    budget = int(share * len(pairs) + _ROUNDING) - (len(pairs) - len(sure))
    values, place = np.unique(np.array([pair.probability for pair in sure], dtype=float), return_inverse=True)
    gained = [float(pair.strong) - float(bool(pair.cheap)) for pair in sure]
    # How many more are right, and how many go to the strong judge, up to each probability.
    gains = np.concatenate([[0.0], np.cumsum(np.bincount(place, weights=gained, minlength=len(values)))])
    counts = np.concatenate([[0], np.cumsum(np.bincount(place, minlength=len(values)))])
    best: tuple[float, int, float] = (0.0, 0, 0.0)
    band = None
    for first in range(len(values)):
        end = int(np.searchsorted(counts, counts[first] + budget, side="right"))
        window = gains[first + 1 : end] - gains[first]
        if not len(window):
            continue
        last = first + int(np.argmax(window))
        low = 0.0 if first == 0 else float(values[first - 1] + values[first]) / 2
        high = 1.0 if last == len(values) - 1 else float(values[last] + values[last + 1]) / 2
        found = (float(window.max()), -int(counts[last + 1] - counts[first]), -abs(low + high - 1))
        if found[0] > 0 and (band is None or found > best):
            best, band = found, Band(low=low, high=high)
    return band


def replay(pairs: Sequence[ReplayedPair], band: Band, *, seed: int = 0) -> BandFigures:
    """Returns what the cascade with `band` does on `pairs`, which the band was not chosen on."""

    def share(items: Sequence[tuple[ReplayedPair, bool | None]]) -> Estimate:
        answered = [(pair.group, whether) for pair, whether in items if whether is not None]
        return proportion_interval(answered, seed=seed)

    def difference(items: Sequence[tuple[ReplayedPair, bool | None]]) -> Estimate:
        answered = [(pair.group, float(pair.cascade(band)) - whether) for pair, whether in items if whether is not None]
        return mean_interval(answered, seed=seed)

    cheap, strong = [(pair, pair.cheap) for pair in pairs], [(pair, pair.strong) for pair in pairs]
    deferred = [pair for pair in pairs if pair.escalated(band)]
    kept = [pair for pair in pairs if not pair.escalated(band)]
    return BandFigures(
        n=len(pairs),
        escalated=share([(pair, pair.escalated(band)) for pair in pairs]),
        cheap=share(cheap),
        strong=share(strong),
        cascade=share([(pair, pair.cascade(band)) for pair in pairs]),
        cascade_less_cheap=difference(cheap),
        cascade_less_strong=difference(strong),
        kept_cheap=share([(pair, pair.cheap) for pair in kept]),
        kept_strong=share([(pair, pair.strong) for pair in kept]),
        deferred_cheap=share([(pair, pair.cheap) for pair in deferred]),
        deferred_strong=share([(pair, pair.strong) for pair in deferred]),
        both_wrong=share([(pair, pair.cheap is False and not pair.strong) for pair in pairs]),
    )
