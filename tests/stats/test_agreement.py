import math
import random
from collections.abc import Sequence

import krippendorff
import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score, recall_score

from bineval.stats.agreement import Agreement, RatedUnit, agreement
from bineval.stats.bootstrap import Replicates

Y, N = True, False


def units(*ratings: tuple[bool | None, ...]) -> list[RatedUnit]:
    return [RatedUnit(group=i, ratings=item) for i, item in enumerate(ratings)]


def table(both_yes: int, first_yes: int, second_yes: int, both_no: int) -> list[RatedUnit]:
    return units(*[(Y, Y)] * both_yes, *[(Y, N)] * first_yes, *[(N, Y)] * second_yes, *[(N, N)] * both_no)


def drawn(n: int, *, n_raters: int, missing: float = 0.0, seed: int = 0, yes: float = 0.6) -> list[RatedUnit]:
    """Raters who mostly see the same truth."""
    rng = random.Random(seed)
    found = []
    for i in range(n):
        truth = rng.random() < yes
        ratings = [truth if rng.random() < 0.8 else not truth for _ in range(n_raters)]
        found.append(
            RatedUnit(group=i // 3, ratings=tuple(None if rng.random() < missing else rating for rating in ratings))
        )
    return found


def values(found: Agreement) -> dict[str, float | None]:
    return {name: getattr(found, name).value for name in ("raw", "kappa", "alpha", "ac1", "tpr", "tnr")}


def test_every_figure_of_a_worked_table() -> None:
    # Judge and person over 20 units: yes/yes 8, yes/no 2, no/yes 4, no/no 6.
    # raw    = 14 / 20 = 0.7
    # kappa  : yes of the judge 10, of the person 12; by chance (10·12 + 10·8) / 400 = 0.5; (0.7 - 0.5) / 0.5 = 0.4
    # alpha  : of 40 ratings 22 are yes, 18 no; 12 of 40 coincidences disagree; 1 - 39·12 / (2·22·18) = 0.409091
    # AC1    : yes-rate 22/40 = 0.55; by chance 2·0.55·0.45 = 0.495; (0.7 - 0.495) / 0.505 = 0.405941
    # TPR    = 8 / 12, TNR = 6 / 8
    found = agreement(table(8, 2, 4, 6), second_is_right=True)
    assert (found.n, found.n_raters, found.yes_rate) == (20, 2, pytest.approx(0.55))
    assert values(found) == pytest.approx(
        {
            "raw": 0.7,
            "kappa": 0.4,
            "alpha": 1 - 39 * 12 / (2 * 22 * 18),
            "ac1": 0.205 / 0.505,
            "tpr": 2 / 3,
            "tnr": 0.75,
        }
    )
    assert (found.tpr.n, found.tnr.n, found.kappa.n) == (12, 8, 20)
    assert found.raw.method == "Wilson, 95 %"
    assert found.kappa.method == "BCa bootstrap over 20 groups, 2000 resamples, 95 %"
    assert found.caution is None


def test_kappa_and_the_rates_are_those_of_scikit_learn() -> None:
    items = drawn(90, n_raters=2)
    judge, person = ([unit.ratings[i] for unit in items] for i in (0, 1))
    found = agreement(items, second_is_right=True)
    assert found.kappa.value == pytest.approx(cohen_kappa_score(judge, person))
    assert found.tpr.value == pytest.approx(recall_score(person, judge))
    assert found.tnr.value == pytest.approx(recall_score(person, judge, pos_label=False))


@pytest.mark.parametrize("n_raters", [2, 3, 5])
def test_alpha_is_that_of_krippendorff_with_missing_ratings(n_raters: int) -> None:
    items = drawn(60, n_raters=n_raters, missing=0.3)
    by_rater = [[math.nan if unit.ratings[i] is None else unit.ratings[i] for unit in items] for i in range(n_raters)]
    expected = krippendorff.alpha(reliability_data=np.array(by_rater, dtype=float), level_of_measurement="nominal")
    found = agreement(items)
    assert found.alpha.value == pytest.approx(expected)
    assert found.alpha.low is not None
    assert found.alpha.high is not None
    assert found.alpha.low < expected < found.alpha.high


def test_the_resampled_coefficients_are_those_of_the_resampled_units() -> None:
    items = units((Y, Y), (Y, N), (N, N), (N, N), (Y, Y), (N, N), (Y, Y), (N, Y), (N, N))

    def kappa(places: Sequence[int]) -> float:
        pairs = [items[i].ratings for i in places]
        first, second = (sum(pair[rater] is True for pair in pairs) / len(pairs) for rater in (0, 1))
        by_chance = first * second + (1 - first) * (1 - second)
        raw = sum(pair[0] is pair[1] for pair in pairs) / len(pairs)
        return math.nan if by_chance == 1 else (raw - by_chance) / (1 - by_chance)

    rng = np.random.default_rng(3)
    draws = [kappa(row) for _ in range(20) for row in rng.integers(9, size=(100, 9))]
    left_out = [kappa([i for i in range(9) if i != out]) for out in range(9)]
    replicates = Replicates(value=kappa(range(9)), draws=np.array(draws), left_out=np.array(left_out), n_groups=9)
    found = agreement(items, seed=3).kappa
    assert (found.low, found.high) == pytest.approx(replicates.interval())


def test_three_raters_agree_by_pairs() -> None:
    # Units YYN, YYY, NN-: agreeing pairs 1 of 3, 3 of 3, 1 of 1; raw = (1/3 + 1 + 1) / 3 = 7/9.
    # Yes-rate (2/3 + 1 + 0) / 3 = 5/9, by chance 2·5/9·4/9 = 40/81; AC1 = (63 - 40) / (81 - 40) = 23/41.
    found = agreement(units((Y, Y, N), (Y, Y, Y), (N, N, None)))
    assert found.raw.value == pytest.approx(7 / 9)
    assert found.ac1.value == pytest.approx(23 / 41)
    assert (found.kappa.value, found.kappa.method) == (None, "undefined: Cohen's kappa is of two raters")


def test_a_unit_with_one_rating_is_left_out() -> None:
    assert agreement([*table(8, 2, 4, 6), *units((Y, None), (None, N), (None, None))]).n == 20


def test_at_extreme_yes_rates_kappa_falls_and_that_is_said() -> None:
    # 94 yes/yes, 3 yes/no, 3 no/yes, 0 no/no: raw 0.94, by chance (97·97 + 3·3) / 10,000 = 0.9418, kappa -0.031;
    # AC1: by chance 2·0.97·0.03 = 0.0582, (0.94 - 0.0582) / 0.9418 = 0.936.
    found = agreement(table(94, 3, 3, 0))
    assert found.kappa.value == pytest.approx(-0.0309278, abs=1e-6)
    assert found.ac1.value == pytest.approx(0.8818 / 0.9418)
    assert found.caution is not None
    assert found.caution.startswith("97% of the ratings are yes")
    assert "read AC1" in found.caution


@pytest.mark.parametrize(("n_yes", "said"), [(90, False), (91, True), (10, False), (9, True)])
def test_the_caution_begins_beyond_nine_of_ten(n_yes: int, said: bool) -> None:
    assert (agreement(table(n_yes, 0, 0, 100 - n_yes)).caution is not None) is said


def test_ratings_that_are_all_alike_leave_kappa_and_alpha_undefined() -> None:
    found = agreement(units(*[(Y, Y)] * 8), second_is_right=True)
    assert (found.raw.value, found.ac1.value, found.tpr.value) == (1.0, 1.0, 1.0)
    assert found.ac1.method == "no interval: all resamples are equal"
    for estimate in (found.kappa, found.alpha):
        assert (estimate.value, estimate.low, estimate.method) == (None, None, "undefined: all ratings are yes")
    assert (found.tnr.value, found.tnr.n, found.tnr.method) == (None, 0, "undefined: no label is no")


def test_a_rater_who_always_says_the_same_has_kappa_0() -> None:
    assert agreement(table(5, 5, 0, 0)).kappa.value == 0


@pytest.mark.parametrize("items", [[], units((Y, None), (None, None))])
def test_without_two_ratings_of_one_unit_nothing_is_defined(items: Sequence[RatedUnit]) -> None:
    found = agreement(items)
    assert set(values(found).values()) == {None}
    assert (found.n, found.yes_rate, found.raw.method) == (0, None, "undefined: no unit has two ratings")


def test_rates_need_a_rater_who_is_right() -> None:
    assert agreement(table(8, 2, 4, 6)).tpr.method == "undefined: no rater is taken for right"


def test_few_groups_have_values_without_intervals() -> None:
    found = agreement([RatedUnit(group=i % 4, ratings=unit.ratings) for i, unit in enumerate(table(8, 2, 4, 6))])
    assert (found.kappa.value, found.kappa.low) == (pytest.approx(0.4), None)
    assert found.kappa.method == "no interval: fewer than 5 groups"


def test_a_coefficient_that_many_resamples_lack_has_no_interval() -> None:
    # One "no" among ten: a resample misses it with chance 0.9^10 = 0.35.
    found = agreement(table(9, 0, 0, 1)).kappa
    assert (found.value, found.low) == (1.0, None)
    assert found.method.startswith("no interval: undefined in 6")


def test_the_same_seed_gives_the_same_intervals() -> None:
    items = drawn(60, n_raters=2)
    assert agreement(items, seed=1) == agreement(items, seed=1)
    assert agreement(items, seed=1) != agreement(items, seed=2)
