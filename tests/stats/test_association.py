import numpy as np
import pytest
from scipy import stats

from bineval.stats.association import pearson_intervals, rank_correlation, rest_means, spearman

NAN = float("nan")


def column(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)


def pearson(first: np.ndarray, second: np.ndarray) -> float | None:
    return pearson_intervals(range(len(first)), first[:, None], second[:, None])[0].value


def draws(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    first = generator.normal(size=n)
    return first, first + generator.normal(size=n)


def test_of_answers_it_is_phi() -> None:
    # Both yes 3, only the first 1, only the second 2, none 4: φ = (3·4 - 1·2) / √(4·6·5·5) = 10 / √600.
    first = column(1, 1, 1, 1, 0, 0, 0, 0, 0, 0)
    second = column(1, 1, 1, 0, 1, 1, 0, 0, 0, 0)
    assert pearson(first, second) == pytest.approx(10 / 600**0.5)


def test_it_is_that_of_scipy() -> None:
    first, second = draws(40)
    assert pearson(first, second) == pytest.approx(stats.pearsonr(first, second).statistic)
    assert spearman(first, second) == pytest.approx(stats.spearmanr(first, second).statistic)


def test_a_row_with_a_missing_value_is_left_out_of_its_pair_alone() -> None:
    first, second = draws(30)
    gaps = second.copy()
    gaps[:7] = NAN
    both, other = pearson_intervals(range(30), np.stack([first, first], 1), np.stack([gaps, second], 1))
    assert both.value == pytest.approx(stats.pearsonr(first[7:], second[7:]).statistic)
    assert (both.n, other.n) == (23, 30)
    assert spearman(first, gaps) == pytest.approx(stats.spearmanr(first[7:], second[7:]).statistic)


@pytest.mark.parametrize(
    ("first", "second", "n", "why"),
    [
        (column(1, 1, 1), column(0, 1, 0), 3, "undefined: all values are equal"),
        (column(0.1, 0.1, 0.1), column(0, 1, 0), 3, "undefined: all values are equal"),
        (column(1, NAN), column(0, 1), 1, "undefined: fewer than 2 examples"),
        (column(NAN, 1), column(0, NAN), 0, "undefined: fewer than 2 examples"),
    ],
)
def test_without_two_different_values_it_is_undefined(first: np.ndarray, second: np.ndarray, n: int, why: str) -> None:
    [estimate] = pearson_intervals(range(len(first)), first[:, None], second[:, None])
    assert (estimate.value, estimate.low, estimate.n, estimate.method) == (None, None, n, why)
    assert rank_correlation(range(len(first)), first, second) == estimate
    assert pearson(first, second) is None
    assert spearman(first, second) is None


def test_the_interval_is_a_bootstrap_over_groups() -> None:
    first, second = draws(60)
    single = pearson_intervals(range(60), first[:, None], second[:, None])[0]
    # The same rows six times: as sixty groups of six they say no more, as 360 groups they would seem to.
    groups = [i % 60 for i in range(360)]
    grouped = pearson_intervals(groups, np.tile(first, 6)[:, None], np.tile(second, 6)[:, None])[0]
    assert (grouped.low, grouped.high) == (pytest.approx(single.low), pytest.approx(single.high))
    assert grouped.n == 360
    assert grouped.method == "BCa bootstrap over 60 groups, 2000 resamples, 95 %"
    ranked = rank_correlation(groups, np.tile(first, 6), np.tile(second, 6))
    assert ranked.low is not None
    assert ranked.high is not None
    assert ranked.high - ranked.low > 0.2


def test_the_interval_agrees_with_scipys_bootstrap() -> None:
    first, second = draws(80)
    ours = pearson_intervals(range(80), first[:, None], second[:, None])[0]
    theirs = stats.bootstrap(
        (first, second),
        lambda x, y: stats.pearsonr(x, y).statistic,
        paired=True,
        vectorized=False,
        method="BCa",
        n_resamples=1000,
        rng=np.random.default_rng(1),
    ).confidence_interval
    assert (ours.low, ours.high) == (pytest.approx(theirs.low, abs=0.03), pytest.approx(theirs.high, abs=0.03))


def test_many_columns_at_once_are_each_column_alone() -> None:
    first, second = draws(50)
    table, other = np.stack([first, second, first], 1), np.stack([second, first * 2, first], 1)
    together = pearson_intervals(range(50), table, other, seed=3)
    alone = [pearson_intervals(range(50), table[:, [i]], other[:, [i]], seed=3)[0] for i in range(3)]
    assert [(e.low, e.high) for e in together] == [(pytest.approx(e.low), pytest.approx(e.high)) for e in alone]
    assert (together[2].value, together[2].low) == (1.0, None)
    assert pearson_intervals(range(50), table[:, :0], other[:, :0]) == []


def test_the_same_seed_gives_the_same_interval() -> None:
    first, second = draws(50)
    one, again, other = (rank_correlation(range(50), first, second, seed=seed) for seed in (1, 1, 2))
    assert one == again
    assert one != other


def test_few_groups_give_no_interval() -> None:
    estimate = rank_correlation(["a", "a", "b", "c"], column(1, 2, 3, 4), column(1, 2, 4, 3))
    assert (estimate.value, estimate.low, estimate.method) == (
        pytest.approx(0.8),
        None,
        "no interval: fewer than 5 groups",
    )


def test_a_single_exception_gives_no_interval() -> None:
    # One "no" of 20 is in none of (19/20)^20 = 36 % of the resamples.
    first, second = column(0, *[1] * 19), column(0, 0, *[1] * 18)
    [estimate] = pearson_intervals(range(20), first[:, None], second[:, None])
    assert estimate.value is not None
    assert (estimate.low, estimate.high) == (None, None)
    assert estimate.method == "no interval: undefined in 704 of 2000 resamples"


def test_the_rest_is_the_mean_of_the_other_known_values() -> None:
    values = np.array([[1.0, 0.0, 0.5], [1.0, NAN, 0.0], [NAN, NAN, 1.0]])
    assert rest_means(values) == pytest.approx(
        np.array([[0.25, 0.75, 0.5], [0.0, 0.5, 1.0], [1.0, 1.0, NAN]]), nan_ok=True
    )
    assert np.isnan(rest_means(values[:, :1])).all()
