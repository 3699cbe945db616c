import math
import random

import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import log_loss as sklearn_log_loss

from bineval.stats.classification import RatedAnswer, log_loss
from bineval.stats.intervals import wilson
from bineval.stats.reliability import reliability_bins


def rated(pairs: list[tuple[float, bool]]) -> list[RatedAnswer]:
    """Answers in groups of their own."""
    return [RatedAnswer(group=i, probability=p, answer=p > 0.5, label=label) for i, (p, label) in enumerate(pairs)]


def drawn(n: int) -> list[RatedAnswer]:
    generator = random.Random(1)
    chances = [generator.random() for _ in range(n)]
    return rated([(chance, generator.random() < chance) for chance in chances])


def test_two_bins_worked_by_hand() -> None:
    # Ten answers of .1 and .3 in turn, two of them labeled yes; ten of .8, seven of them.
    items = rated([(0.1 if i % 2 else 0.3, i < 2) for i in range(10)] + [(0.8, i < 7) for i in range(10)])
    low, high = reliability_bins(items)
    assert (low.probability, low.share.value, low.share.n) == (pytest.approx(0.2), 0.2, 10)
    assert (high.probability, high.share.value, high.share.n) == (pytest.approx(0.8), 0.7, 10)
    assert (low.share.low, low.share.high) == wilson(2, 10)
    assert low.share.method == "Wilson, 95 %"


def test_the_bins_are_those_of_sklearn() -> None:
    items = drawn(1000)
    shares, means = calibration_curve(
        [item.label for item in items], [item.probability for item in items], n_bins=10, strategy="quantile"
    )
    bins = reliability_bins(items)
    assert [item.share.value for item in bins] == pytest.approx(list(shares))
    assert [item.probability for item in bins] == pytest.approx(list(means))


def test_answers_of_one_group_are_not_independent() -> None:
    items = [
        RatedAnswer(group=i // 4, probability=0.9, answer=True, label=generator.random() < 0.8)
        for generator in [random.Random(3)]
        for i in range(40)
    ]
    (only,) = reliability_bins(items, seed=1)
    assert "bootstrap over 10 groups" in only.share.method
    assert reliability_bins(items, seed=1) == reliability_bins(items, seed=1)


def test_without_answers_there_is_no_bin_and_no_loss() -> None:
    assert reliability_bins([]) == ()
    estimate = log_loss([])
    assert (estimate.value, estimate.n) == (None, 0)


def test_log_loss_worked_by_hand() -> None:
    # -(ln .8 + ln(1 - .25)) / 2 = (.2231 + .2877) / 2 = .2554
    assert log_loss(rated([(0.8, True), (0.25, False)])).value == pytest.approx(0.2554, abs=5e-5)
    assert log_loss(rated([(0.5, True), (0.5, False)])).value == pytest.approx(math.log(2))


def test_log_loss_is_that_of_sklearn() -> None:
    items = drawn(200)
    expected = sklearn_log_loss([item.label for item in items], [item.probability for item in items])
    estimate = log_loss(items)
    assert estimate.value == pytest.approx(expected)
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.low < expected < estimate.high
    assert estimate.method.endswith("P(yes) clipped to [1e-06, 1 - 1e-06]")


@pytest.mark.parametrize(("probability", "label"), [(0.0, True), (1.0, False)])
def test_a_certain_answer_that_is_wrong_costs_a_finite_loss(probability: float, label: bool) -> None:
    # -ln 1e-6 = 13.8155
    assert log_loss(rated([(probability, label)])).value == pytest.approx(13.8155, abs=1e-4)


def test_a_certain_answer_that_is_right_costs_next_to_nothing() -> None:
    assert log_loss(rated([(1.0, True), (0.0, False)])).value == pytest.approx(0, abs=2e-6)
