import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, pearsonr, spearmanr

from bineval.stats.coefficients import COEFFICIENTS, Coefficient, Floats, PooledItems, row_coefficients

ORACLES = {"pearson": pearsonr, "spearman": spearmanr, "kendall": kendalltau}
SMALL = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=2, max_size=12)


def by_scipy(x: Floats, y: Floats) -> dict[Coefficient, float]:
    """NaN where one of the two is constant, which scipy warns of."""
    if len(np.unique(x)) < 2 or len(np.unique(y)) < 2:
        return dict.fromkeys(COEFFICIENTS, math.nan)
    return {name: float(ORACLES[name](x, y).statistic) for name in COEFFICIENTS}


def tied(seed: int, n: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=n)
    human = np.clip(np.round(3 + quality), 1, 5)
    return human, rng.binomial(6, 1 / (1 + np.exp(-quality))) / 6


def all_items(x: Floats, y: Floats) -> dict[Coefficient, float]:
    """All items in one unit."""
    items = PooledItems(np.zeros(len(x), dtype=np.intp), x, y, n_units=1)
    return {name: float(values[0]) for name, values in items.coefficients(np.ones((1, 1))).items()}


def assert_equal(found: dict[Coefficient, float], expected: dict[Coefficient, float]) -> None:
    assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_the_coefficients_of_five_worked_items() -> None:
    # x = 1 2 2 3 4, y = 1 3 2 2 5; means 2.4 and 2.6.
    # r: Σ(x-x̄)(y-ȳ) = 37 - 5·2.4·2.6 = 5.8, Σ(x-x̄)² = 34 - 28.8 = 5.2, Σ(y-ȳ)² = 43 - 33.8 = 9.2; 5.8 / √47.84
    # ranks 1 2.5 2.5 4 5 and 1 4 2.5 2.5 5, mean 3: Σ = (-2)² - .5 + .25 - .5 + 4 = 7.25, squares 9.5 each; 7.25 / 9.5
    # tau-b: of 10 pairs (2,3) is tied in x, (3,4) in y; (2,4) disagrees, 7 agree; 6 / √(9·9)
    x, y = np.array([1.0, 2, 2, 3, 4]), np.array([1.0, 3, 2, 2, 5])
    expected: dict[Coefficient, float] = {
        "pearson": 5.8 / math.sqrt(47.84),
        "spearman": 7.25 / 9.5,
        "kendall": 6 / 9,
    }
    assert_equal(all_items(x, y), expected)
    assert_equal({name: float(row[0]) for name, row in row_coefficients(x[None], y[None]).items()}, expected)


@given(SMALL)
def test_they_are_those_of_scipy_with_ties(pairs: list[tuple[int, int]]) -> None:
    x, y = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    expected = by_scipy(x, y)
    assert_equal(all_items(x, y), expected)
    assert_equal({name: float(row[0]) for name, row in row_coefficients(x[None], y[None]).items()}, expected)


def test_they_are_those_of_scipy_on_many_items() -> None:
    x, y = tied(1, 900)
    assert_equal(all_items(x, y), by_scipy(x, y))
    assert_equal(all_items(x + 1e6, y - 1e6), by_scipy(x, y) | {"pearson": pytest.approx(pearsonr(x, y)[0], abs=1e-9)})


def test_weights_count_the_items_of_a_unit_as_often() -> None:
    x, y = tied(2, 9)
    unit = np.array([0, 1, 2, 0, 1, 2, 2, 3, 3], dtype=np.intp)
    weights = np.array(list(itertools.product([0, 1, 2], repeat=4))[1:], dtype=float)
    found = PooledItems(unit, x, y, n_units=4).coefficients(weights)
    for i, each in enumerate(weights):
        repeats = each[unit].astype(int)
        expected = by_scipy(np.repeat(x, repeats), np.repeat(y, repeats))
        assert_equal({name: float(found[name][i]) for name in COEFFICIENTS}, expected)


def test_many_weightings_in_blocks_are_each_as_if_alone() -> None:
    x, y = tied(3, 3000)
    unit = np.arange(3000, dtype=np.intp) % 40
    weights = np.random.default_rng(0).integers(0, 3, size=(700, 40)).astype(float)
    items = PooledItems(unit, x, y, n_units=40)
    together = items.coefficients(weights)
    for i in (0, 332, 333, 334, 699):
        for name, values in items.coefficients(weights[i : i + 1]).items():
            assert values[0] == pytest.approx(together[name][i], abs=1e-13)


def test_each_row_is_correlated_by_itself() -> None:
    pairs = [tied(seed, 7) for seed in range(30)]
    found = row_coefficients(np.stack([x for x, _ in pairs]), np.stack([y for _, y in pairs]))
    for i, (x, y) in enumerate(pairs):
        assert_equal({name: float(found[name][i]) for name in COEFFICIENTS}, by_scipy(x, y))


def test_only_what_is_wanted_is_returned() -> None:
    x, y = tied(4, 6)
    assert list(row_coefficients(x[None], y[None], ["kendall"])) == ["kendall"]
    items = PooledItems(np.arange(6, dtype=np.intp), x, y, n_units=6)
    assert list(items.coefficients(np.ones((1, 6)), ["spearman", "pearson"])) == ["spearman", "pearson"]


@pytest.mark.parametrize("constant", [0.25, 0.1 + 0.2])
def test_a_constant_has_no_coefficient(constant: float) -> None:
    x, y = np.full(4, constant), np.array([1.0, 2, 3, 4])
    # Different only by float noise.
    x[0] = 0.3 if constant > 0.3 else constant
    for found in (all_items(x, y), all_items(y, x)):
        assert all(math.isnan(value) for value in found.values())
    assert all(np.isnan(row[0]) for row in row_coefficients(x[None], y[None]).values())


def test_float_noise_breaks_no_tie() -> None:
    noisy, clean = np.array([0.1 + 0.2, 0.3, 0.5, 0.7]), np.array([0.3, 0.3, 0.5, 0.7])
    y = np.array([1.0, 2, 2, 3])
    assert_equal(all_items(noisy, y), by_scipy(clean, y))
    assert_equal(
        {name: float(row[0]) for name, row in row_coefficients(noisy[None], y[None]).items()}, by_scipy(clean, y)
    )
