import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bineval.stats.bootstrap import Floats, Replicates, t_point, t_share

# Enough groups that the ends are not widened.
MANY = 10**6


def of_a_mean(values: Floats, *, n_groups: int | None = None, seed: int = 0) -> Replicates:
    """The mean of single values, with its bootstrap and jackknife."""
    n = len(values)
    draws = values[np.random.default_rng(seed).integers(n, size=(2000, n))].mean(axis=1)
    left_out = (values.sum() - values) / (n - 1)
    return Replicates(value=float(values.mean()), draws=draws, left_out=left_out, n_groups=n_groups or n)


@pytest.mark.parametrize("degrees", [1, 2, 4, 19, 239, 100_000])
def test_points_and_shares_of_student_are_those_of_scipy(degrees: int) -> None:
    assert t_point(0.975, degrees) == pytest.approx(stats.t.ppf(0.975, degrees), abs=1e-5)
    for point in (-3.0, -0.4, 0.0, 0.4, 3.0):
        assert t_share(point, degrees) == pytest.approx(stats.t.cdf(point, degrees), abs=1e-6)


def test_with_very_many_groups_the_ends_are_those_of_scipys_bca() -> None:
    values = np.random.default_rng(4).exponential(size=30)
    oracle = stats.bootstrap((values,), np.mean, method="BCa", n_resamples=2000, rng=np.random.default_rng(1))
    found = of_a_mean(values, n_groups=MANY)
    found = Replicates(
        value=found.value, draws=oracle.bootstrap_distribution, left_out=found.left_out, n_groups=found.n_groups
    )
    ends = (oracle.confidence_interval.low, oracle.confidence_interval.high)
    assert found.interval() == pytest.approx(ends, abs=1e-4)


def test_with_few_groups_the_ends_are_those_of_student() -> None:
    # Symmetric, so neither bias nor acceleration: the mean ± t(0.975, 9) s / √10, which BCa alone would not reach.
    values = np.array([-4.0, -3.0, -2.0, -1.0, -0.5, 0.5, 1.0, 2.0, 3.0, 4.0])
    half = stats.t.ppf(0.975, 9) * values.std(ddof=1) / math.sqrt(10)
    low, high = of_a_mean(values).interval()
    assert (low, high) == pytest.approx((-half, half), rel=0.06)
    narrow_low, narrow_high = of_a_mean(values, n_groups=MANY).interval()
    assert low < narrow_low < narrow_high < high


def test_at_the_end_of_the_interval_the_p_value_is_five_percent() -> None:
    found = of_a_mean(np.random.default_rng(2).exponential(size=25))
    low, high = found.interval()
    for end in (low, high):
        moved = Replicates(value=found.value - end, draws=found.draws - end, left_out=found.left_out - end, n_groups=25)
        assert moved.p_value() == pytest.approx(0.05, abs=0.003)


def test_the_p_value_of_a_mean_is_near_that_of_the_t_test() -> None:
    values = np.random.default_rng(3).normal(0.45, 1.0, size=30)
    assert of_a_mean(values).p_value() == pytest.approx(stats.ttest_1samp(values, 0).pvalue, rel=0.3)


@pytest.mark.parametrize(("n", "mean"), [(30, 0.7), (100, 0.45), (100, 0.6), (300, 0.25)])
def test_where_no_draw_lies_beyond_zero_the_tail_of_the_draws_goes_on(n: int, mean: float) -> None:
    values = np.random.default_rng(3).normal(mean, 1.0, size=n)
    found = of_a_mean(values)
    assert (found.draws <= 0).sum() < 3
    # The number of draws alone would never give less than .0009.
    ratio = np.log10(found.p_value()) / np.log10(stats.ttest_1samp(values, 0).pvalue)
    assert 0.8 < ratio < 1.25


def test_what_is_the_same_in_all_resamples_has_the_p_value_of_the_sign_test() -> None:
    same = Replicates(value=-1.0, draws=np.full(2000, -1.0), left_out=np.full(8, -1.0), n_groups=8)
    assert same.p_value() == stats.binomtest(0, 8).pvalue
    nothing = Replicates(value=0.0, draws=np.zeros(2000), left_out=np.zeros(8), n_groups=8)
    assert nothing.p_value() == 1.0


def test_a_p_value_is_never_zero_and_one_at_zero() -> None:
    assert of_a_mean(np.linspace(50, 51, 20)).p_value() == 2e-10
    values = np.array([-1.0, 1.0] * 5)
    assert of_a_mean(values).p_value() == 1.0
    # Its sign does not matter.
    positive = of_a_mean(np.random.default_rng(3).normal(0.45, 1.0, size=30))
    negative = Replicates(
        value=-positive.value, draws=-positive.draws, left_out=-positive.left_out, n_groups=positive.n_groups
    )
    assert negative.p_value() == positive.p_value()


def test_undefined_resamples_are_left_out() -> None:
    found = of_a_mean(np.arange(12.0))
    holed = Replicates(
        value=found.value,
        draws=np.concatenate([found.draws, [np.nan] * 5]),
        left_out=np.concatenate([found.left_out, [np.nan]]),
        n_groups=12,
    )
    assert holed.interval() == found.interval()
    assert holed.p_value() == found.p_value()


@given(st.lists(st.integers(0, 3), min_size=5, max_size=40))
def test_the_interval_holds_the_value_and_lies_within_the_draws(values: list[int]) -> None:
    found = of_a_mean(np.array(values, dtype=float))
    low, high = found.interval()
    assert low <= found.value <= high
    assert min(found.draws.min(), found.value) <= low
    assert high <= max(found.draws.max(), found.value)
    assert 0 < found.p_value() <= 1
