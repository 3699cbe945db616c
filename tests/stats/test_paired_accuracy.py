import random

import pytest

from bineval.stats.paired_accuracy import Judged, paired_accuracy


def test_answers_that_are_their_own_groups_are_compared_by_mcnemar() -> None:
    items: list[Judged] = [(i, i < 9, i >= 8) for i in range(12)]
    found = paired_accuracy(items)
    # The first is right on 9, the second on 4 of which one is right with both.
    assert (found.n, found.first_only, found.second_only, found.test) == (12, 8, 3, "McNemar")
    assert found.difference.value == pytest.approx(5 / 12)
    # 2 * (C(11, 0) + C(11, 1) + C(11, 2) + C(11, 3)) / 2^11
    assert found.p_value == pytest.approx(2 * (1 + 11 + 55 + 165) / 2**11)


def test_copies_within_a_group_know_no_more() -> None:
    rng = random.Random(4)
    items: list[Judged] = [(i, rng.random() < 0.8, rng.random() < 0.6) for i in range(30)]
    once, often = paired_accuracy(items), paired_accuracy(items * 10)
    assert (often.n, often.test) == (300, "bootstrap")
    assert (often.difference.low, often.difference.high) == pytest.approx((once.difference.low, once.difference.high))
    # McNemar's test would take ten copies for ten times as much evidence.
    assert often.p_value == pytest.approx(once.p_value, abs=0.05)


def test_few_groups_of_several_answers_have_no_p_value() -> None:
    found = paired_accuracy([(i % 4, i % 3 > 0, i % 2 > 0) for i in range(24)])
    assert (found.p_value, found.difference.low) == (None, None)
    assert found.difference.method == "no interval: fewer than 5 groups"


def test_one_that_is_always_right_alone_has_the_p_value_of_the_sign_test() -> None:
    found = paired_accuracy([(i // 2, True, False) for i in range(20)])
    assert (found.difference.value, found.p_value) == (1.0, pytest.approx(2 * 0.5**10))
    assert paired_accuracy([(i // 2, True, True) for i in range(20)]).p_value == 1.0
