import numpy as np
import pytest
from scipy import stats

from bineval.diagnose.chance import beyond_chance, p_beyond
from bineval.types import Estimate


def estimate(value: float, low: float | None, high: float | None, method: str = "BCa", n: int = 1000) -> Estimate:
    return Estimate(value=value, low=low, high=high, n=n, method=method)


def test_p_is_that_of_students_distribution_with_the_spread_that_the_interval_shows() -> None:
    # The end is 0.2 away, the limit 0.3: so t is half as far again as the point of the interval.
    found = p_beyond(estimate(0.4, 0.2, 0.6), 0.1, "above", n_groups=20)
    assert found == pytest.approx(2 * stats.t.sf(1.5 * stats.t.ppf(0.975, 19), 19), rel=1e-3)
    below = p_beyond(estimate(-0.4, -0.6, -0.2), -0.1, "below", n_groups=20)
    assert below == pytest.approx(found)
    # No more groups than examples.
    fewer = p_beyond(estimate(0.4, 0.2, 0.6, n=6), 0.1, "above", n_groups=20)
    assert fewer == pytest.approx(2 * stats.t.sf(1.5 * stats.t.ppf(0.975, 5), 5), rel=1e-3)


@pytest.mark.parametrize("low", [0.099, 0.101])
def test_p_is_below_one_in_twenty_when_the_interval_lies_beyond_the_limit(low: float) -> None:
    found = p_beyond(estimate(0.4, low, 0.7), 0.1, "above", n_groups=20)
    assert found is not None
    assert (found <= 0.05) == (low > 0.1)


def test_the_shorter_side_of_a_skewed_interval_promises_no_more_than_half_of_it() -> None:
    skewed, even = estimate(0.4, 0.3, 0.7), estimate(0.4, 0.2, 0.6)
    assert p_beyond(skewed, 0.0, "above", n_groups=20) == pytest.approx(p_beyond(even, 0.0, "above", n_groups=20))
    # Of one alone the interval decides.
    assert p_beyond(skewed, 0.25, "above", n_groups=20) == 0.05
    assert beyond_chance({"a": 0.05}) == {"a"}


def test_a_correlation_is_no_surer_than_fishers_transformation() -> None:
    narrow = estimate(-0.32, -0.48, -0.13, n=60)
    alone = p_beyond(narrow, 0.0, "below", n_groups=60)
    fisher = 2 * stats.norm.sf(np.arctanh(0.32) * np.sqrt(57))
    assert alone is not None
    assert alone < 0.002 < fisher
    assert p_beyond(narrow, 0.0, "below", n_groups=60, correlation=True) == pytest.approx(fisher)
    assert p_beyond(estimate(1.0, 0.9, 1.0), 0.7, "above", n_groups=60, correlation=True) == pytest.approx(
        p_beyond(estimate(1.0, 0.9, 1.0), 0.7, "above", n_groups=60), abs=1e-6
    )


def test_only_the_side_that_is_asked_for_counts() -> None:
    assert p_beyond(estimate(0.4, 0.2, 0.7), 0.1, "below", n_groups=20) == 1.0
    assert p_beyond(estimate(0.4, 0.2, 0.7), 0.9, "above", n_groups=20) == 1.0


def test_what_never_varies_is_certain_and_what_has_no_interval_is_not_tested() -> None:
    same = estimate(-1.0, None, None, "no interval: all groups are equal")
    assert p_beyond(same, 0.0, "below", n_groups=5) == 0.0
    assert p_beyond(same, 0.0, "above", n_groups=5) == 1.0
    assert p_beyond(estimate(-1.0, None, None, "no interval: fewer than 5 groups"), 0.0, "below", n_groups=4) is None


def test_one_among_many_must_be_clearer() -> None:
    # Holm: 0.01 of four must be below 0.0125, then 0.02 of three below 0.0167.
    assert beyond_chance({"a": 0.02, "b": 0.01, "c": 0.9, "d": 1.0, "e": None}) == {"b"}
    assert beyond_chance({"a": 0.02, "b": 0.01, "c": None}) == {"a", "b"}
    assert beyond_chance({}) == set()
