import numpy as np
import pytest

from bineval.diagnose.pairs import phi_matrix
from support.answered import answered


def test_pairs_are_put_side_by_side() -> None:
    # c1 and c2: both yes 2, only c1 1, only c2 1, none 2: φ = (2·2 - 1·1) / √(3·3·3·3) = 1/3.
    item = answered({"c1": "yyynnn", "c2": "yynynn", "c3": "yyyyyy"}).dimensions()["c"]
    assert item.phi.questions == ("c1", "c2", "c3")
    third = pytest.approx(1 / 3)
    assert item.phi.values == ((1.0, third, None), (third, 1.0, None), (None, None, 1.0))
    assert item.constant == ("c3",)
    # Of three pairs only one has a φ, and it is not weak.
    assert (item.n_pairs, item.mean_phi, item.weak_share) == (1, third, 0.0)
    assert item.pairs[1].phi.method == "undefined: all values are equal"


def test_coverage_is_the_share_of_a_pairs_failures_that_one_of_the_two_catches() -> None:
    item = answered({"c1": "nnnnyy", "c2": "nnyyny", "c3": "yyyyyy"}).dimensions()["c"]
    # c1 and c2 fail 5 examples, 2 together; c1 and c3 fail 4, none together; c2 and c3 fail 3, none together.
    assert [(pair.n_failed, pair.n_one_only) for pair in item.pairs] == [(5, 3), (4, 4), (3, 3)]
    assert item.coverage == pytest.approx((3 / 5 + 1 + 1) / 3)
    assert item.n_failed == 5
    assert item.spread == pytest.approx(1 - 2 / 6)


def test_what_one_of_a_pair_does_not_answer_is_not_compared() -> None:
    [pair] = answered({"c1": "nuny", "c2": "yyun"}).dimensions()["c"].pairs
    assert (pair.n_failed, pair.n_one_only, pair.phi.n) == (2, 2, 2)
    assert pair.fewest == 1


def test_weak_pairs_are_those_below_three_tenths_on_either_side() -> None:
    # c1 and c2: φ = 0; c1 and c3: φ = -1; c2 and c3: φ = 0.
    item = answered({"c1": "yynn", "c2": "ynyn", "c3": "nnyy"}).dimensions()["c"]
    assert item.weak_share == pytest.approx(2 / 3)
    assert item.mean_phi == pytest.approx(-1 / 3)


def test_probabilities_have_a_matrix_of_their_own() -> None:
    one, two = [0.9, 0.8, 0.7, 0.6], [0.95, 0.9, 0.8, 0.75]
    item = answered({"c1": one, "c2": two}).dimensions()["c"]
    assert item.phi.values == ((1.0, None), (None, 1.0))
    assert item.probability is not None
    assert item.probability.values[0][1] == pytest.approx(np.corrcoef(one, two)[0, 1])
    assert item.mean_probability == pytest.approx(np.corrcoef(one, two)[0, 1])
    assert answered({"c1": "yn", "c2": "yn"}).dimensions()["c"].probability is None


def test_a_single_question_has_no_pairs() -> None:
    item = answered({"c1": "yn"}).dimensions()["c"]
    assert (item.pairs, item.spread, item.mean_phi, item.weak_share, item.coverage) == ((), None, None, None, None)
    assert item.phi == phi_matrix("c", ["c1"], [])
    assert item.phi.values == ((1.0,),)


def test_the_bias_is_score_less_rating_both_in_zero_to_one() -> None:
    item = answered({"c1": "yynnu", "c2": "ynynu"}, human={"c": [5, 4, 3, 3, 1]}, scale=(1, 5)).dimensions()["c"]
    # Scores 1, ½, ½, 0; ratings 1, ¾, ½, ½: differences 0, -¼, 0, -½.
    assert (item.human_bias.value, item.human_bias.n) == (pytest.approx(-0.1875), 4)
    without = answered({"c1": "yn"}).dimensions()["c"].human_bias
    assert without.method == "undefined: no human ratings of it"
    unscaled = answered({"c1": "yn"}, human={"c": [2, 3]}).dimensions()["c"].human_bias
    assert unscaled.method == "undefined: ratings lie outside of [0, 1], and the dimension has no scale"
