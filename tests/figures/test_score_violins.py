import math
from typing import Any

import pytest

from bineval.errors import ConfigError, DataError
from bineval.figures import Distribution, Drawing, violins

WAVE = tuple(0.5 + 0.4 * math.sin(i) for i in range(40))


def panels(drawing: Drawing) -> list[Any]:
    return [panel for panel in drawing.figure.axes if panel.axison]


def shapes(panel: Any) -> tuple[int, int]:
    """Number of densities and of rows drawn as points."""
    kinds = [type(item).__name__ for item in panel.collections]
    return kinds.count("FillBetweenPolyCollection"), kinds.count("PathCollection")


def means(panel: Any) -> list[float]:
    return [float(line.get_xdata()[0]) for line in panel.lines]


def rows(panel: Any) -> list[str]:
    return [label.get_text() for label in panel.get_yticklabels()]


def test_there_is_one_panel_a_dimension_with_people_first() -> None:
    names = ("binary", "people", "geval")
    made = violins([Distribution(name=name, dimension=d, values=WAVE) for d in ("flu", "con") for name in names])
    assert [panel.get_title() for panel in panels(made)] == ["flu", "con"]
    assert rows(panels(made)[0]) == ["people", "binary", "geval"]
    assert [shapes(panel) for panel in panels(made)] == [(3, 0), (3, 0)]
    assert made.alt == "Distributions of the scores of people, binary, geval, by dimension."


def test_a_constant_and_a_tiny_sample_are_points_and_not_a_made_up_density() -> None:
    made = violins(
        [
            Distribution(name="constant", dimension="d", values=(1.0,) * 40),
            Distribution(name="tiny", dimension="d", values=(0.1, 0.5, 0.9)),
            Distribution(name="two-valued", dimension="d", values=(0.0, 1.0, 1.0, 1.0) * 10),
            Distribution(name="many", dimension="d", values=WAVE),
        ]
    )
    (panel,) = panels(made)
    assert shapes(panel) == (1, 3)
    # The area of a point is the share of the values there: .25 and .75.
    areas = panel.collections[2].get_sizes()
    assert areas[1] == pytest.approx(3 * areas[0])
    assert means(panel)[:3] == [1.0, 0.5, 0.75]


def test_n_is_stated_and_a_row_without_values_says_so() -> None:
    made = violins(
        [Distribution(name="people", dimension="d", values=WAVE), Distribution(name="none", dimension="d", values=())]
    )
    (panel,) = panels(made)
    assert [text.get_text() for text in panel.texts] == ["40", "0", "–"]
    assert len(means(panel)) == 1


def test_a_method_without_a_dimension_leaves_its_row_empty() -> None:
    made = violins(
        [
            Distribution(name="people", dimension="flu", values=WAVE),
            Distribution(name="people", dimension="con", values=WAVE),
            Distribution(name="binary", dimension="con", values=WAVE),
        ]
    )
    flu, con = panels(made)
    assert (shapes(flu), shapes(con)) == ((1, 0), (2, 0))


def test_more_than_four_dimensions_go_on_in_another_row_of_panels() -> None:
    made = violins([Distribution(name="people", dimension=f"d{i}", values=WAVE) for i in range(5)])
    assert len(panels(made)) == 5
    assert made.figure.get_size_inches()[0] == 7


@pytest.mark.parametrize("value", [-0.1, 1.01, math.nan])
def test_a_score_outside_of_its_range_is_refused(value: float) -> None:
    with pytest.raises(DataError, match=r"binary, flu: the score .* is not in \[0, 1\]"):
        Distribution(name="binary", dimension="flu", values=(0.5, value))


def test_nothing_and_two_of_the_same_cannot_be_drawn() -> None:
    with pytest.raises(ConfigError, match="at least one distribution"):
        violins([])
    with pytest.raises(ConfigError, match="one for each name and dimension"):
        violins([Distribution(name="a", dimension="d", values=WAVE)] * 2)
