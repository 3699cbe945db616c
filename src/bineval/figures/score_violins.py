"""Distributions of scores, one panel a dimension: people first, then each method."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bineval.errors import ConfigError, DataError
from bineval.figures.drawing import (
    INK,
    MUTED,
    PEOPLE,
    WIDTH,
    Drawing,
    color_of,
    finished,
    new_figure,
    people_first,
    shared_style,
)
from bineval.figures.labels import short_label, short_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Fewer values or fewer distinct ones have no shape: a density would be made up.
_FEWEST_FOR_DENSITY = 10
_FEWEST_DISTINCT = 3
_MOST_COLUMNS = 4
_ROW_HEIGHT = 0.27
_LARGEST_POINT = 60.0
_PEOPLE_COLOR = "#8c8c8c"


@dataclass(frozen=True, kw_only=True, slots=True)
class Distribution:
    """The scores of one rater in one dimension.

    Attributes:
        name: Name of the method, or that of people.
        dimension: Name of the dimension.
        values: Scores, mapped to [0, 1]; may be empty.

    Raises:
        DataError: A value lies outside [0, 1] or is NaN.
    """

    name: str
    dimension: str
    values: Sequence[float]

    def __post_init__(self) -> None:
        for value in self.values:
            if not 0 <= value <= 1:  # false for NaN too
                raise DataError(f"{self.name}, {self.dimension}: the score {value} is not in [0, 1]")


def violins(distributions: Sequence[Distribution], *, people: str = PEOPLE) -> Drawing:
    """Draws the distributions, one panel a dimension, one row a rater; a line marks the mean, n stands at the right.

    A density (Gaussian kernel, Scott's bandwidth, cut at the least and greatest value) is drawn from ten values on of
    which three are distinct. Fewer are drawn as points, whose area is the share of the values there.

    Args:
        distributions: At most one for each name and dimension; names and dimensions are drawn in this order.
        people: The name that is drawn first, in gray.

    Raises:
        ConfigError: There is no distribution, or there are two of one name and dimension.
    """
    by_place = {(item.dimension, item.name): item for item in distributions}
    if not by_place or len(by_place) < len(distributions):
        raise ConfigError("violins need at least one distribution, and one for each name and dimension at most")
    dimensions = list(dict.fromkeys(item.dimension for item in distributions))
    names = people_first([item.name for item in distributions], people)
    labels = short_labels(names, most=28)
    colors = {name: color_of(i) for i, name in enumerate(name for name in names if name != people)}
    n_columns = min(len(dimensions), _MOST_COLUMNS)
    n_rows = -(-len(dimensions) // n_columns)
    with shared_style():
        figure = new_figure(n_rows * (0.55 + _ROW_HEIGHT * len(names)), width=min(WIDTH, 2.0 + 1.25 * n_columns))
        panels = figure.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False)
        for panel, dimension in zip(panels.flat, dimensions, strict=False):
            panel.set_title(short_label(dimension, most=28 if n_columns < _MOST_COLUMNS else 20))
            panel.set_xlim(0, 1)
            panel.set_ylim(len(names) - 0.4, -0.6)
            panel.set_xticks([0, 0.5, 1], ["0", ".5", "1"])
            panel.set_yticks(range(len(names)), [labels[name] for name in names])
            panel.tick_params(axis="y", length=0)
            panel.tick_params(axis="x", labelbottom=True)
            for row, name in enumerate(names):
                _draw(panel, row, by_place.get((dimension, name)), colors.get(name, _PEOPLE_COLOR))
        for panel in panels.flat[len(dimensions) :]:
            panel.set_axis_off()
        figure.supxlabel("score; the line is the mean, the number at the right is n", fontsize=8)
        return finished(figure, alt=f"Distributions of the scores of {', '.join(labels.values())}, by dimension.")


def _draw(panel: "Axes", row: int, distribution: Distribution | None, color: str) -> None:
    """Draws one row: the shape or the points, the mean, and n behind the right end."""
    if distribution is None:
        return
    values = [float(value) for value in distribution.values]
    panel.text(1.09, row, f"{len(values)}", transform=panel.get_yaxis_transform(), fontsize=6, color=MUTED, va="center")
    if not values:
        panel.text(0.5, row, "–", ha="center", va="center", color=MUTED)
        return
    if len(values) >= _FEWEST_FOR_DENSITY and len(set(values)) >= _FEWEST_DISTINCT:
        parts = panel.violinplot([values], [row], orientation="horizontal", widths=0.85, showextrema=False)
        for body in parts["bodies"]:  # type: ignore[attr-defined]  # the stubs know only single collections
            body.set(facecolor=color, edgecolor=INK, alpha=0.75, linewidth=0.5)
    else:
        counts = Counter(values)
        areas = [_LARGEST_POINT * count / len(values) for count in counts.values()]
        panel.scatter(
            list(counts), [row] * len(counts), s=areas, color=color, edgecolor=INK, linewidth=0.5, clip_on=False
        )
    mean = sum(values) / len(values)
    panel.plot([mean, mean], [row - 0.36, row + 0.36], color=INK, linewidth=1.4, clip_on=False, zorder=3)
