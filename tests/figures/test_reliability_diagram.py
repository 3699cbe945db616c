import pytest

from bineval.errors import ConfigError
from bineval.figures import ReliabilityCurve, reliability
from bineval.stats.classification import RatedAnswer
from bineval.stats.reliability import reliability_bins

# Ten answers of P(yes) = .2, of which three are labeled yes, and ten of .9, of which eight are.
ITEMS = [
    RatedAnswer(group=(p, i), probability=p, answer=p > 0.5, label=i < n_yes)
    for p, n_yes in ((0.2, 3), (0.9, 8))
    for i in range(10)
]
BINS = reliability_bins(ITEMS)


def test_each_bin_is_a_point_with_its_interval_and_its_n_below() -> None:
    made = reliability([ReliabilityCurve(name="raw", bins=BINS)])
    upper, lower = made.figure.axes
    diagonal, line = upper.lines
    assert list(diagonal.get_xdata()) == [0, 1]
    assert list(zip(line.get_xdata(), line.get_ydata(), strict=True)) == [
        (pytest.approx(0.2), 0.3),
        (pytest.approx(0.9), 0.8),
    ]
    assert len(upper.collections) == 2
    # Wilson's interval of 3 of 10: (.108, .603).
    low, high = upper.collections[0].get_segments()[0][:, 1]
    assert (low, high) == (pytest.approx(0.108, abs=5e-4), pytest.approx(0.603, abs=5e-4))
    assert list(lower.lines[0].get_ydata()) == [10, 10]
    assert [text.get_text() for text in upper.get_legend().get_texts()] == ["raw (n = 20)"]


def test_curves_are_told_apart_without_color() -> None:
    made = reliability([ReliabilityCurve(name=name, bins=BINS) for name in ("raw", "_calibrated")])
    _, raw, calibrated = made.figure.axes[0].lines
    assert (raw.get_marker(), raw.get_linestyle()) != (calibrated.get_marker(), calibrated.get_linestyle())
    shown = [text.get_text() for text in made.figure.axes[0].get_legend().get_texts()]
    assert shown == ["raw (n = 20)", "_calibrated (n = 20)"]


def test_the_two_parts_have_the_same_width() -> None:
    upper, lower = reliability([ReliabilityCurve(name="raw", bins=BINS)]).figure.axes
    assert upper.get_position().x0 == pytest.approx(lower.get_position().x0)
    assert upper.get_position().x1 == pytest.approx(lower.get_position().x1)


def test_nothing_and_two_of_one_name_cannot_be_drawn() -> None:
    for curves in ([], [ReliabilityCurve(name="raw", bins=())]):
        with pytest.raises(ConfigError, match="there are none"):
            reliability(curves)
    with pytest.raises(ConfigError, match="the same name"):
        reliability([ReliabilityCurve(name="raw", bins=BINS)] * 2)
