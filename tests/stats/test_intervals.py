import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bineval.stats.intervals import mean_interval, proportion_interval, resampling_group, wilson
from bineval.types import Estimate, Example

TOO_FEW = "no interval: fewer than 5 groups"


def own_groups(values: list[float]) -> list[tuple[int, float]]:
    return list(enumerate(values))


def test_the_mean_is_over_items_and_not_over_groups() -> None:
    # (1 + 1 + 1 + 0) / 4 = 0.75; the mean of the groups' means would be (1 + 0) / 2 = 0.5
    estimate = mean_interval([("a", 1.0), ("a", 1.0), ("a", 1.0), ("b", 0.0)])
    assert (estimate.value, estimate.n) == (0.75, 4)


def test_twelve_groups_resampled_give_the_ends_worked_by_hand() -> None:
    # Six ones and six zeros: the mean of a resample is k/12 with k binomial (12, 0.5). All is symmetric, so neither the
    # bias nor the skewness corrects anything, and the share cut off is Phi(-sqrt(12 / 11) * 2.201) = 0.0108, with 2.201
    # the 97.5 % point of Student's distribution with 11 degrees of freedom. P(k <= 1) = 0.0032 and P(k <= 2) = 0.0193,
    # so the lower end is 2/12, and the upper one 10/12.
    estimate = mean_interval(own_groups([1.0, 0.0] * 6))
    assert (estimate.low, estimate.high) == (2 / 12, 10 / 12)
    assert estimate.method == "BCa bootstrap over 12 groups, 2000 resamples, 95 %"


@pytest.mark.parametrize("seed", [7, 8])
def test_the_ends_are_those_of_scipy_on_the_same_draws(seed: int) -> None:
    generator = random.Random(3)
    items = [(generator.randrange(12), generator.random() ** 3) for _ in range(50)]
    groups = sorted({group for group, _ in items}, key=[group for group, _ in items].index)
    sums = np.array([sum(value for group, value in items if group == name) for name in groups])
    sizes = np.array([sum(group == name for group, _ in items) for name in groups], dtype=float)
    n = len(groups)
    # Each tail is cut where twelve groups ask for it (Hesterberg 2014), not at 2.5 %.
    tail = stats.norm.cdf(-np.sqrt(n / (n - 1)) * stats.t.ppf(0.975, n - 1))
    oracle = stats.bootstrap(
        (sums, sizes),
        lambda totals, counts, axis: totals.sum(axis=axis) / counts.sum(axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=2000,
        batch=100,
        method="BCa",
        confidence_level=1 - 2 * tail,
        rng=np.random.default_rng(seed),
    ).confidence_interval
    estimate = mean_interval(items, seed=seed)
    assert estimate.low == pytest.approx(oracle.low, abs=1e-6)
    assert estimate.high == pytest.approx(oracle.high, abs=1e-6)
    assert estimate.value == pytest.approx(np.mean([value for _, value in items]))


def test_very_many_groups_are_drawn_in_2000_units_and_know_as_much() -> None:
    generator = random.Random(2)
    values = [generator.random() for _ in range(5000)]
    error = np.std(values) / np.sqrt(len(values))
    estimate = mean_interval(own_groups(values))
    assert estimate.low is not None
    assert estimate.high is not None
    assert (estimate.high - estimate.low) / (2 * 1.96 * error) == pytest.approx(1, abs=0.06)
    assert estimate.method == "BCa bootstrap over 5000 groups, 2000 resamples, 95 %"


def test_the_interval_of_many_single_items_is_that_of_the_normal_theory() -> None:
    generator = random.Random(1)
    values = [float(generator.random() < 0.7) for _ in range(400)]
    mean, error = np.mean(values), np.std(values, ddof=1) / np.sqrt(len(values))
    estimate = mean_interval(own_groups(values))
    assert estimate.low == pytest.approx(mean - 1.96 * error, abs=0.01)
    assert estimate.high == pytest.approx(mean + 1.96 * error, abs=0.01)


def test_groups_are_resampled_and_not_items() -> None:
    # Ten documents with ten equal outputs each know no more than ten single outputs.
    values = [float(i % 2) for i in range(10)]
    single = mean_interval(own_groups(values))
    copied = mean_interval([(group, value) for group, value in own_groups(values) for _ in range(10)])
    assert (copied.value, copied.low, copied.high) == (single.value, single.low, single.high)
    assert copied.n == 100
    as_items = mean_interval(own_groups(values * 10))
    assert as_items.high is not None
    assert copied.high is not None
    assert as_items.high < copied.high


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([], Estimate(value=None, low=None, high=None, n=0, method="undefined: no items")),
        ([("a", 0.5)], Estimate(value=0.5, low=None, high=None, n=1, method=TOO_FEW)),
        ([("a", 0.0), ("a", 1.0)], Estimate(value=0.5, low=None, high=None, n=2, method=TOO_FEW)),
        ([(i, float(i % 2)) for i in range(4)], Estimate(value=0.5, low=None, high=None, n=4, method=TOO_FEW)),
        (
            [(i % 5, 1.0) for i in range(6)],
            Estimate(value=1.0, low=None, high=None, n=6, method="no interval: all groups are equal"),
        ),
        (
            [(0, 0.0), (0, 1.0), *((i, 0.5) for i in range(1, 5))],
            Estimate(value=0.5, low=None, high=None, n=6, method="no interval: all groups are equal"),
        ),
    ],
)
def test_where_there_is_no_interval_the_method_says_why(items: list[tuple[object, float]], expected: Estimate) -> None:
    assert mean_interval(items) == expected


def test_values_that_differ_only_by_float_noise_are_equal() -> None:
    assert mean_interval(own_groups([0.3, 0.1 + 0.2] * 3)).method == "no interval: all groups are equal"


def test_the_same_seed_gives_the_same_interval_and_another_seed_another() -> None:
    items = own_groups([0.1, 0.4, 0.35, 0.8, 0.9, 0.05, 0.6])
    assert mean_interval(items, seed=5) == mean_interval(items, seed=5)
    assert mean_interval(items, seed=5) != mean_interval(items, seed=6)
    assert mean_interval(iter(items)) == mean_interval(items)


@given(st.lists(st.tuples(st.integers(0, 4), st.floats(0, 1)), min_size=1, max_size=30))
def test_the_interval_holds_the_mean_and_stays_within_the_values(items: list[tuple[int, float]]) -> None:
    estimate = mean_interval(items)
    values = [value for _, value in items]
    assert estimate.value == pytest.approx(sum(values) / len(values))
    assert (estimate.low is None) == (estimate.high is None)
    if estimate.low is not None and estimate.high is not None:
        assert min(values) - 1e-9 <= estimate.low <= estimate.high <= max(values) + 1e-9


def test_wilson_is_that_of_the_book_and_of_scipy() -> None:
    # Wilson for 81 of 263 at 95 % (Newcombe 1998, table I): 0.2553 to 0.3662
    low, high = wilson(81, 263)
    assert (round(low, 4), round(high, 4)) == (0.2553, 0.3662)
    for n_true, n in ((0, 7), (3, 8), (5, 5)):
        oracle = stats.binomtest(n_true, n).proportion_ci(method="wilson")
        assert wilson(n_true, n) == pytest.approx((oracle.low, oracle.high))


def test_a_proportion_of_single_items_has_the_interval_of_wilson() -> None:
    estimate = proportion_interval([(i, i < 3) for i in range(8)])
    assert (estimate.value, estimate.n, estimate.method) == (0.375, 8, "Wilson, 95 %")
    assert (estimate.low, estimate.high) == wilson(3, 8)


def test_a_proportion_of_grouped_items_has_the_interval_of_its_groups() -> None:
    items = [(i // 3, i % 2 == 0) for i in range(30)]
    assert proportion_interval(items) == mean_interval((group, float(whether)) for group, whether in items)


def test_where_all_grouped_items_are_true_each_group_counts_once() -> None:
    estimate = proportion_interval([(i % 6, True) for i in range(60)])
    assert (estimate.value, estimate.n, estimate.method) == (1.0, 60, "Wilson over 6 groups, 95 %")
    assert (estimate.low, estimate.high) == wilson(6, 6)


@pytest.mark.parametrize(
    ("items", "method"),
    [([], "undefined: no items"), ([("a", True), ("a", False)], TOO_FEW), ([("a", True), ("a", True)], TOO_FEW)],
)
def test_a_proportion_without_an_interval_says_why(items: list[tuple[object, bool]], method: str) -> None:
    estimate = proportion_interval(items)
    assert (estimate.low, estimate.method) == (None, method)


def test_an_example_without_a_group_is_not_in_the_group_that_has_its_name() -> None:
    alone, member = Example(id="a", output=""), Example(id="b", output="", group="a")
    assert resampling_group(alone) != resampling_group(member)
    assert resampling_group(member) == resampling_group(Example(id="c", output="", group="a"))
