"""The mean of people's ratings, estimated from few of them and all scores."""

from dataclasses import dataclass

from bineval.metaeval.series import Series
from bineval.scoring import to_scale
from bineval.stats.intervals import mean_interval
from bineval.stats.prediction_powered import prediction_powered_mean
from bineval.stats.splits import groups_for_test
from bineval.types import Estimate


@dataclass(frozen=True, kw_only=True, slots=True)
class HumanMean:
    """Estimates of people's mean rating, in the unit of their ratings, over the outputs that have a score.

    Attributes:
        n_labeled: Rated outputs that count as labeled.
        n_unlabeled: All others, whose ratings are not looked at.
        prediction_powered: From the labeled ones and all scores (Angelopoulos et al. 2023).
        labels_alone: From the labeled ones alone.
        all_labels: From all ratings there are, to compare with.
    """

    n_labeled: int
    n_unlabeled: int
    prediction_powered: Estimate
    labels_alone: Estimate
    all_labels: Estimate


def human_mean(series: Series, *, share: float, seed: int) -> HumanMean:
    """Draws the groups that count as labeled, and estimates people's mean from them and from all scores.

    Args:
        series: Scores and ratings; a score counts on the dimension's scale where there is one, else as it is.
        share: Share of the groups with ratings to draw, in (0, 1).
        seed: Of the draw and of the intervals.

    Raises:
        ConfigError: The ratings are of fewer than two groups.
    """
    drawn = groups_for_test((pair.group for pair in series.pairs), share=share, seed=seed)
    scored = [(item, _on_scale(item.value, series)) for item in series.outputs]
    labeled = [
        (item.group, item.human, value)
        for item, value in scored
        if item.human is not None and value is not None and item.group in drawn
    ]
    unlabeled = [
        (item.group, value)
        for item, value in scored
        if value is not None and (item.human is None or item.group not in drawn)
    ]
    return HumanMean(
        n_labeled=len(labeled),
        n_unlabeled=len(unlabeled),
        prediction_powered=prediction_powered_mean(labeled, unlabeled, seed=seed),
        labels_alone=mean_interval(((group, human) for group, human, _ in labeled), seed=seed),
        all_labels=mean_interval(((pair.group, pair.human) for pair in series.pairs), seed=seed),
    )


def _on_scale(value: float | None, series: Series) -> float | None:
    return value if series.scale is None else to_scale(value, series.scale)
