import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, recall_score

from bineval.stats.classification import RatedAnswer, answer_figures, calibration_error, equal_mass_bins
from bineval.types import Estimate


def rated(pairs: list[tuple[float, bool]], threshold: float = 0.5) -> list[RatedAnswer]:
    """Answers in groups of their own."""
    return [
        RatedAnswer(group=i, probability=probability, answer=probability > threshold, label=label)
        for i, (probability, label) in enumerate(pairs)
    ]


def drawn(n: int, seed: int = 0, shift: float = 0.0) -> list[RatedAnswer]:
    """Probabilities that are right, or too low by `shift`."""
    generator = random.Random(seed)
    chances = [generator.random() * (1 - shift) for _ in range(n)]
    return rated([(chance, generator.random() < chance + shift) for chance in chances])


def test_four_answers_worked_by_hand() -> None:
    figures = answer_figures(rated([(0.9, True), (0.6, False), (0.4, True), (0.2, False)]))
    # Brier: (0.1² + 0.6² + 0.6² + 0.2²) / 4 = (0.01 + 0.36 + 0.36 + 0.04) / 4 = 0.1925
    assert figures.brier.value == pytest.approx(0.1925)
    # Fewer than 20 answers are one bin: |(0.9 + 0.6 + 0.4 + 0.2) / 4 - 2 / 4| = |0.525 - 0.5|
    assert (figures.ece.value, figures.n_bins) == (pytest.approx(0.025), 1)
    # Yes is answered to the first two: one of two yes labels, one of two no labels, two of four in all.
    assert (figures.tpr.value, figures.tnr.value, figures.accuracy.value) == (0.5, 0.5, 0.5)
    assert (figures.n, figures.n_yes) == (4, 2)


def test_two_bins_worked_by_hand() -> None:
    # Ten times 0.1, of which two are yes: |0.1 - 0.2| = 0.1. Ten times 0.8, of which five are yes: |0.8 - 0.5| = 0.3.
    low = [(0.1, i < 2) for i in range(10)]
    high = [(0.8, i < 5) for i in range(10)]
    error, n_bins = calibration_error(rated(low + high))
    assert (error.value, n_bins) == (pytest.approx((10 * 0.1 + 10 * 0.3) / 20), 2)


def test_the_figures_are_those_of_scikit_learn() -> None:
    items = drawn(200)
    probabilities, labels = [item.probability for item in items], [item.label for item in items]
    figures = answer_figures(items)
    assert figures.brier.value == pytest.approx(brier_score_loss(labels, probabilities))
    assert figures.tpr.value == pytest.approx(recall_score(labels, [item.answer for item in items]))
    assert figures.tnr.value == pytest.approx(recall_score(labels, [item.answer for item in items], pos_label=0))
    # 200 distinct probabilities are ten bins of twenty each, so the mean over items is the mean over bins.
    true, predicted = calibration_curve(labels, probabilities, n_bins=10, strategy="quantile")
    assert figures.ece.value == pytest.approx(float(np.abs(true - predicted).mean()))
    assert figures.n_bins == 10


def test_a_rate_without_its_labels_is_undefined_with_the_reason() -> None:
    figures = answer_figures(rated([(0.9, True), (0.3, True)]))
    assert figures.tnr == Estimate(value=None, low=None, high=None, n=0, method="undefined: no label is no")
    assert figures.tpr.value == 0.5
    nothing = answer_figures([])
    assert {nothing.brier.value, nothing.ece.value, nothing.tpr.value, nothing.accuracy.value} == {None}
    assert (nothing.n, nothing.n_bins, nothing.ece.method) == (0, 0, "undefined: no items")


def test_the_interval_of_the_error_holds_nothing_for_a_judge_that_is_right_and_not_for_one_that_is_wrong() -> None:
    right = [calibration_error(drawn(300, seed))[0] for seed in range(20)]
    # Chance alone makes an error of about 0.06 of 300 answers, and no interval may take it for a fault of the judge.
    assert min(item.value or 0 for item in right) > 0.03
    assert sum(item.low == 0 for item in right) >= 18
    wrong = [calibration_error(drawn(300, seed, shift=0.2))[0] for seed in range(20)]
    assert all(item.low is not None and item.high is not None and 0 < item.low <= 0.2 <= item.high for item in wrong)


def test_few_groups_have_an_error_without_an_interval() -> None:
    items = [RatedAnswer(group=i % 4, probability=0.7, answer=True, label=True) for i in range(40)]
    error, n_bins = calibration_error(items)
    assert (error.value, error.low, n_bins) == (pytest.approx(0.3), None, 1)
    assert error.method == "no interval: fewer than 5 groups"


def test_equal_probabilities_share_a_bin_in_any_order() -> None:
    values = [0.3] * 15 + [0.7] * 5
    assert equal_mass_bins(values).tolist() == [0] * 20, "five alone would be too few for a bin"
    assert equal_mass_bins(values * 2).tolist() == ([0] * 15 + [1] * 5) * 2
    items = drawn(60)
    coarse = [
        RatedAnswer(group=i.group, probability=round(i.probability, 1), answer=i.answer, label=i.label) for i in items
    ]
    assert calibration_error(coarse)[0].value == pytest.approx(calibration_error(coarse[::-1])[0].value)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=120))
def test_all_figures_stay_in_range_and_intervals_hold_them(pairs: list[tuple[float, bool]]) -> None:
    figures = answer_figures(rated(pairs))
    for estimate in (figures.brier, figures.ece, figures.tpr, figures.tnr, figures.accuracy):
        if estimate.value is not None and estimate.low is not None and estimate.high is not None:
            assert 0 <= estimate.low <= estimate.value + 1e-9
            assert estimate.value - 1e-9 <= estimate.high <= 1


@given(st.lists(st.floats(0, 1), min_size=1, max_size=300))
def test_bins_follow_the_order_and_leave_no_gap(values: list[float]) -> None:
    bins = equal_mass_bins(values)
    assert set(bins.tolist()) == set(range(int(bins.max()) + 1))
    order = np.argsort(values, kind="stable")
    assert (np.diff(bins[order]) >= 0).all()
    assert bins.max() < 10
    assert len(values) < 10 or np.bincount(bins).min() >= 10
