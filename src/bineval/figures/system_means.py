"""Mean scores of systems, ordered by what people say: one panel a method, with people beside it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bineval.errors import ConfigError
from bineval.figures.drawing import (
    INK,
    PEOPLE,
    WIDTH,
    Drawing,
    color_of,
    finished,
    marker_of,
    new_figure,
    people_first,
    shared_style,
)
from bineval.figures.labels import short_label, short_labels
from bineval.types import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_COLUMNS = 4
_ROW_HEIGHT = 0.17
# How far people and a method stand from the middle of a system's row.
_APART = 0.17


@dataclass(frozen=True, kw_only=True, slots=True)
class SystemMean:
    """What one rater says of one system.

    Attributes:
        system: Name of the system.
        name: Name of the method, or that of people.
        estimate: Mean score of its outputs; all on the same scale.
    """

    system: str
    name: str
    estimate: Estimate


def systems(means: Sequence[SystemMean], *, people: str = PEOPLE) -> Drawing:
    """Draws the systems from the lowest human mean, at the bottom, to the highest, with 95 % intervals.

    A mean without an interval is a bare point, and one that is undefined a dash at the left. Systems without a human
    mean stand at the top, marked.

    Args:
        means: At most one for each name and system.
        people: The name that is drawn in every panel and orders the systems.

    Raises:
        ConfigError: There are two means of one name and system, or none by people or by a method.
    """
    by_place = {(item.name, item.system): item.estimate for item in means}
    if len(by_place) < len(means):
        raise ConfigError("the plot of systems takes one mean for each name and system at most")
    names = people_first([item.name for item in means], people)
    if len(names) < 2 or names[0] != people:
        raise ConfigError(f"the plot of systems needs means by {people!r} and by at least one method")
    order = _ascending(means, people)
    labels = short_labels(order, most=24)
    unrated = {system for system in order if _value(by_place.get((people, system))) is None}
    ticks = [f"{labels[system]} (no ratings)" if system in unrated else labels[system] for system in order]
    methods = names[1:]
    titles = short_labels(methods, most=34 if len(methods) < 3 else 20)
    n_columns = min(len(methods), _MOST_COLUMNS)
    n_rows = -(-len(methods) // n_columns)
    with shared_style():
        figure = new_figure(0.35 + n_rows * (0.6 + _ROW_HEIGHT * len(order)), width=min(WIDTH, 3.0 + 1.6 * n_columns))
        panels = figure.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False)
        for place, (panel, method) in enumerate(zip(panels.flat, methods, strict=False)):
            panel.set_title(titles[method])
            panel.set_ylim(-0.6, len(order) - 0.4)
            panel.set_yticks(range(len(order)), ticks)
            panel.tick_params(axis="x", labelbottom=True)
            panel.grid(axis="y", color="0.9", linewidth=0.5)
            panel.set_axisbelow(True)
            panel.margins(x=0.08)
            _draw(panel, order, by_place, people, color=INK, marker="o", offset=_APART)
            _draw(panel, order, by_place, method, color=color_of(place), marker=marker_of(place), offset=-_APART)
        for panel in panels.flat[len(methods) :]:
            panel.set_axis_off()
        shown = short_label(people, most=24)
        figure.supxlabel(f"mean score and 95 % interval: {shown} ● (above), the method (below)", fontsize=8)
        return finished(
            figure, alt=f"Mean score of each system by {shown} and by {', '.join(titles.values())}, lowest first."
        )


def _ascending(means: Sequence[SystemMean], people: str) -> list[str]:
    """The systems by ascending human mean, those without one last; equal ones in the order given."""
    human = {item.system: item.estimate.value for item in means if item.name == people}

    def place(system: str) -> tuple[bool, float]:
        value = human.get(system)
        return (True, 0.0) if value is None else (False, value)

    return sorted(dict.fromkeys(item.system for item in means), key=place)


def _draw(
    panel: "Axes",
    order: Sequence[str],
    by_place: Mapping[tuple[str, str], Estimate],
    name: str,
    *,
    color: str,
    marker: str,
    offset: float,
) -> None:
    for row, system in enumerate(order):
        estimate = by_place.get((name, system))
        value = _value(estimate)
        if estimate is None or value is None:
            panel.text(
                0.03, row + offset, "–", transform=panel.get_yaxis_transform(), color=color, va="center", fontsize=9
            )
            continue
        if estimate.low is not None and estimate.high is not None:
            panel.hlines(row + offset, estimate.low, estimate.high, color=color, linewidth=0.9)
        panel.plot(value, row + offset, marker=marker, color=color, markersize=3.2, linestyle="none")


def _value(estimate: Estimate | None) -> float | None:
    return None if estimate is None else estimate.value
