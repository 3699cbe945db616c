import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.multitest import multipletests

from bineval.stats.significance import McNemar, holm, holm_defined, mcnemar


def test_holm_of_four_worked_p_values() -> None:
    # Ascending .005·4 = .02, .01·3 = .03, .03·2 = .06, .04·1 = .04, which may not fall below .06
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_that_of_statsmodels(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1].tolist(), abs=1e-12)


def test_holm_of_one_changes_nothing_and_of_none_is_none() -> None:
    assert holm([0.2]) == [0.2]
    assert holm([]) == []


def test_a_p_value_that_there_is_not_does_not_count() -> None:
    assert holm_defined([None, 0.02, None, 0.01]) == [None, 0.02, None, 0.02]
    assert holm_defined([None]) == [None]


def test_mcnemar_of_ten_worked_pairs() -> None:
    # 5 only the first, 1 only the second: 2 (1 + 6) / 2^6 = 0.21875
    pairs = [(True, False)] * 5 + [(False, True)] + [(True, True)] * 3 + [(False, False)]
    assert mcnemar(pairs) == McNemar(n=10, first_only=5, second_only=1, p_value=0.21875)


@pytest.mark.parametrize("n", [3, 40, 2500])
def test_mcnemar_is_that_of_statsmodels(n: int) -> None:
    rng = random.Random(n)
    pairs = [(rng.random() < 0.7, rng.random() < 0.66) for _ in range(n)]
    table = np.zeros((2, 2))
    for first, second in pairs:
        table[int(first), int(second)] += 1
    assert mcnemar(pairs).p_value == pytest.approx(statsmodels_mcnemar(table, exact=True).pvalue, rel=1e-9)


def test_two_that_never_differ_or_differ_equally_often_have_the_p_value_one() -> None:
    assert mcnemar([(True, True), (False, False)]).p_value == 1.0
    assert mcnemar([(True, False), (False, True)] * 4).p_value == 1.0
    assert mcnemar(iter([])) == McNemar(n=0, first_only=0, second_only=0, p_value=1.0)
