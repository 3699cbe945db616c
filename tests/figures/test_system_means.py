from itertools import pairwise
from typing import Any

import pytest

from bineval.errors import ConfigError
from bineval.figures import SystemMean, systems
from bineval.types import Estimate


def mean(system: str, name: str, value: float | None, half: float | None = 0.1) -> SystemMean:
    low, high = (None, None) if value is None or half is None else (value - half, value + half)
    return SystemMean(
        system=system, name=name, estimate=Estimate(value=value, low=low, high=high, n=9, method="made up")
    )


def points(panel: Any) -> list[float]:
    return [float(line.get_xdata()[0]) for line in panel.lines]


MEANS = [
    mean("middle", "binary", 0.6),
    mean("best", "binary", 0.5),
    mean("worst", "binary", None),
    mean("new", "binary", 0.7),
    mean("best", "people", 0.9),
    mean("worst", "people", 0.1),
    mean("middle", "people", 0.5, None),
]


def test_systems_ascend_by_what_people_say_and_those_without_ratings_come_last() -> None:
    (panel,) = systems(MEANS).figure.axes
    assert [label.get_text() for label in panel.get_yticklabels()] == ["worst", "middle", "best", "new (no ratings)"]
    # People first, then the method, each in the order of the systems.
    assert points(panel) == [0.1, 0.5, 0.9, 0.6, 0.5, 0.7]


def test_an_interval_that_is_not_known_is_not_drawn_and_an_undefined_mean_is_a_dash() -> None:
    (panel,) = systems(MEANS).figure.axes
    # Seven means, of which one is undefined and one has no interval.
    assert len(panel.collections) == 5
    # The dash of people for "new", which they did not rate, and that of the method for "worst".
    assert [text.get_text() for text in panel.texts] == ["–", "–"]


def test_each_method_has_a_panel_with_people_in_it() -> None:
    means = [
        mean(f"s{i}", name, 0.4 + 0.03 * i) for i in range(16) for name in ("people", *(f"m{k}" for k in range(8)))
    ]
    made = systems(means)
    assert [panel.get_title() for panel in made.figure.axes] == [f"m{k}" for k in range(8)]
    assert all(len(panel.lines) == 32 for panel in made.figure.axes)
    assert made.figure.get_size_inches()[0] == 7


def test_labels_of_sixteen_systems_do_not_overlap() -> None:
    made = systems([mean(f"system-{i}", name, 0.5) for i in range(16) for name in ("people", "binary")])
    made.figure.draw_without_rendering()
    boxes = sorted((label.get_window_extent() for label in made.figure.axes[0].get_yticklabels()), key=lambda b: b.y0)
    assert all(lower.y1 <= upper.y0 for lower, upper in pairwise(boxes))


def test_people_may_have_another_name() -> None:
    made = systems([mean("a", "experts", 0.5), mean("a", "people", 0.4)], people="experts")
    assert [panel.get_title() for panel in made.figure.axes] == ["people"]


@pytest.mark.parametrize(
    ("means", "problem"),
    [
        ([], "needs means by 'people'"),
        ([mean("a", "binary", 0.5), mean("a", "geval", 0.5)], "needs means by 'people'"),
        ([mean("a", "people", 0.5)], "at least one method"),
        ([mean("a", "people", 0.5)] * 2, "one mean for each name and system"),
    ],
)
def test_what_cannot_be_drawn_is_refused(means: list[SystemMean], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        systems(means)
