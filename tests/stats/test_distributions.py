import random

import pytest

from bineval.stats.distributions import distribution, system_order, wasserstein
from bineval.stats.levels import Rated


def test_mean_sd_and_ceiling_of_worked_values() -> None:
    # 0, 0.5, 0.5, 1, 1, 1: mean 4/6; squared differences 0.4444 + 2·0.0278 + 3·0.1111 = 0.8333, / 5 = 0.16667.
    found = distribution(list(enumerate([0, 0.5, 0.5, 1, 1, 1])))
    assert found.n == 6
    assert found.mean.value == pytest.approx(2 / 3)
    assert found.sd.value == pytest.approx((1 / 6) ** 0.5)
    assert (found.sd.low, found.sd.method) == (None, "no interval is made")
    assert found.ceiling_share.value == 0.5
    assert (found.ceiling_share.low, found.ceiling_share.high) == (
        pytest.approx(0.1876, abs=1e-4),
        pytest.approx(0.8124, abs=1e-4),
    )


def test_a_mean_of_repeats_that_misses_1_by_float_noise_is_at_the_ceiling() -> None:
    assert distribution([("a", 0.1 + 0.2 + 0.7), ("b", 1 - 1e-12), ("c", 0.999)]).ceiling_share.value == pytest.approx(
        2 / 3
    )


def test_of_one_value_there_is_no_sd_and_of_none_nothing() -> None:
    one, none = distribution([("a", 0.5)]), distribution([])
    assert (one.mean.value, one.sd.value, one.sd.method) == (0.5, None, "undefined: fewer than two values")
    assert (none.n, none.mean.value, none.sd.value, none.ceiling_share.value) == (0, None, None, None)
    assert wasserstein([], [0.5]).method == "undefined: no items"


def test_the_distance_is_how_far_values_are_moved() -> None:
    # Sorted, they are 0, 0.5, 1 and 0.25, 0.5, 1: one value of three is moved by 0.25.
    assert wasserstein([1, 0, 0.5], [0.5, 0.25, 1]).value == pytest.approx(0.25 / 3)
    assert wasserstein([0.0] * 4, [1.0] * 4).value == 1
    assert wasserstein([0.2, 0.8], [0.8, 0.2]).value == 0


def test_the_distance_of_equally_many_values_is_the_mean_distance_of_the_sorted_ones() -> None:
    rng = random.Random(0)
    first, second = ([rng.random() for _ in range(50)] for _ in range(2))
    expected = sum(abs(a - b) for a, b in zip(sorted(first), sorted(second), strict=True)) / 50
    assert wasserstein(first, second).value == pytest.approx(expected)


def output(system: str | None, human: float, score: float) -> Rated:
    return Rated(example_id=f"{system}{human}", group=(system, human), system=system, human=human, value=score)


def test_systems_stand_in_the_order_of_people() -> None:
    # Means: a (human 2, score 0.5), b (human 4, score 0.4), c (human 5, score 0.9), d (human 5, score 0.1).
    # Pairs that people tell apart: a-b against, a-c alike, a-d against, b-c alike, b-d against; c-d is tied for people.
    rows: tuple[tuple[str | None, float, float], ...] = (
        ("c", 5, 0.9),
        ("a", 1, 0.4),
        ("a", 3, 0.6),
        ("d", 5, 0.1),
        ("b", 4, 0.4),
        (None, 9, 9.0),
    )
    found = system_order([output(*row) for row in rows])
    assert [item.system for item in found.means] == ["a", "b", "c", "d"]
    first = found.means[0]
    assert (first.human.value, first.score.value, first.human.n) == (2, pytest.approx(0.5), 2)
    assert first.human.method == "no interval: fewer than 5 groups"
    assert (found.n_pairs, found.n_alike, found.n_tied) == (5, 2, 0)


def test_score_means_that_differ_by_float_noise_are_tied() -> None:
    found = system_order([output("a", 1, 0.1 + 0.2), output("b", 2, 0.3)])
    assert (found.n_pairs, found.n_alike, found.n_tied) == (1, 0, 1)


def test_without_systems_there_is_no_order() -> None:
    assert system_order([]).means == ()
