import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import balanced_accuracy_score

from bineval.stats.calibration import (
    Calibration,
    CalibrationMap,
    FittedMap,
    IsotonicMap,
    MapMethod,
    PlattMap,
    best_threshold,
    fit_map,
)
from support.probable import logistic, logit

probabilities = st.floats(0, 1)
labeled = st.lists(st.tuples(probabilities, st.booleans()), min_size=2, max_size=60).filter(
    lambda pairs: len({label for _, label in pairs}) == 2
)
platt_maps = st.builds(PlattMap, slope=st.floats(0, 1e6), intercept=st.floats(-1e6, 1e6))
isotonic_maps = st.lists(st.tuples(probabilities, probabilities), min_size=1, max_size=9, unique_by=lambda p: p[0]).map(
    lambda points: IsotonicMap(x=tuple(sorted(x for x, _ in points)), y=tuple(sorted(y for _, y in points)))
)


def test_a_platt_map_worked_by_hand() -> None:
    # Of two at P = 0.2 none is yes, of two at P = 0.8 both. Platt's targets are (2 + 1) / (2 + 2) = 0.75 for yes and
    # 1 / (2 + 2) = 0.25 for no. Two numbers fit two points exactly: slope · logit 0.8 = logit 0.75, and 0.5 stays.
    fitted = fit_map("platt", [0.2, 0.2, 0.8, 0.8], [False, False, True, True])
    assert isinstance(fitted, PlattMap)
    assert fitted.slope == pytest.approx(math.log(3) / math.log(4), abs=1e-6)
    assert fitted.intercept == pytest.approx(0, abs=1e-6)
    assert fitted.apply([0.2, 0.5, 0.8]) == pytest.approx([0.25, 0.5, 0.75], abs=1e-6)


def test_a_platt_map_undoes_known_logits() -> None:
    # The judge's log-odds are three times the true ones and one too high: logit true = (logit P - 1) / 3.
    generator = random.Random(4)
    chances = [generator.uniform(0.05, 0.95) for _ in range(20_000)]
    raw = [logistic(3 * logit(chance) + 1) for chance in chances]
    fitted = fit_map("platt", raw, [generator.random() < chance for chance in chances])
    assert isinstance(fitted, PlattMap)
    assert fitted.slope == pytest.approx(1 / 3, abs=0.015)
    assert fitted.intercept == pytest.approx(-1 / 3, abs=0.04)


def test_labels_that_the_judge_parts_perfectly_give_a_finite_map() -> None:
    fitted = fit_map("platt", [0.0, 0.0, 1.0], [False, False, True])
    assert isinstance(fitted, PlattMap)
    assert math.isfinite(fitted.slope)
    # Not surer than Platt's targets: 1 / (2 + 2) and (1 + 1) / (1 + 2)
    assert fitted.apply([0.0, 1.0]) == pytest.approx([0.25, 2 / 3], abs=1e-6)


def test_a_judge_that_runs_against_the_labels_gets_the_constant_map() -> None:
    fitted = fit_map("platt", [0.9, 0.8, 0.2, 0.1, 0.1], [False, False, True, True, True])
    # Targets: three times (3 + 1) / (3 + 2) = 0.8 and twice 1 / (2 + 2) = 0.25, in the mean (2.4 + 0.5) / 5 = 0.58
    assert fitted == PlattMap(slope=0.0, intercept=pytest.approx(logit(0.58)))
    assert fitted.apply([0.0, 1.0]) == pytest.approx([0.58, 0.58])


def test_an_isotonic_map_is_that_of_scikit_learn_but_never_sure() -> None:
    generator = random.Random(2)
    raw = [generator.random() for _ in range(200)]
    labels = [generator.random() < p**2 for p in raw]
    fitted = fit_map("isotonic", raw, labels)
    oracle = IsotonicRegression(out_of_bounds="clip").fit(raw, np.array(labels, dtype=float))
    grid = np.linspace(0, 1, 101)
    assert fitted.apply(grid) == pytest.approx(np.clip(oracle.predict(grid), 1 / 202, 201 / 202), abs=0.01)
    assert fitted.apply([0.0, 1.0]) == pytest.approx([1 / 202, 201 / 202])


def test_an_isotonic_map_worked_by_hand() -> None:
    # 0.2 and 0.4 are out of order (yes, no) and share their mean 1/2; with four labels none is surer than 1/6 and 5/6.
    fitted = fit_map("isotonic", [0.1, 0.2, 0.4, 0.9], [False, True, False, True])
    assert fitted.apply([0.0, 0.1, 0.2, 0.3, 0.4, 0.9, 1.0]) == pytest.approx(
        [1 / 6, 1 / 6, 0.5, 0.5, 0.5, 5 / 6, 5 / 6]
    )


def test_the_best_threshold_worked_by_hand() -> None:
    # Yes above 0.25 takes all three yes and one of two no: (1 + 1/2) / 2 = 0.75. Above 0.45: (2/3 + 1) / 2 = 0.83.
    assert best_threshold([0.1, 0.4, 0.3, 0.5, 0.9], [False, False, True, True, True]) == pytest.approx(0.45)


def test_of_equally_good_thresholds_the_nearest_to_a_half_is_taken() -> None:
    assert best_threshold([0.1, 0.9], [False, True]) == 0.5
    # All between 0.6 and 0.9 part them: the candidate is the middle.
    assert best_threshold([0.1, 0.6, 0.9], [False, False, True]) == 0.75
    assert best_threshold([0.7, 0.7], [False, True]) == 0.5, "nothing parts them"


@given(labeled)
def test_no_threshold_has_a_better_balanced_accuracy(pairs: list[tuple[float, bool]]) -> None:
    values, labels = [p for p, _ in pairs], [label for _, label in pairs]
    threshold = best_threshold(values, labels)
    assert 0 < threshold < 1

    def balanced(at: float) -> float:
        return float(balanced_accuracy_score(labels, [value > at for value in values]))

    # At or above the largest there is no yes left: such thresholds are no candidates.
    inner = [value for value in values if value < max(values)]
    assert balanced(threshold) >= max(balanced(at) for at in [*inner, 0.5]) - 1e-9


@given(st.one_of(platt_maps, isotonic_maps), st.lists(probabilities, min_size=2, max_size=20))
def test_a_map_stays_in_range_and_keeps_the_order(fitted: CalibrationMap, raw: list[float]) -> None:
    mapped = fitted.apply(sorted(raw))
    assert (mapped >= 0).all()
    assert (mapped <= 1).all()
    assert (np.diff(mapped) >= -1e-12).all()


@pytest.mark.parametrize("method", ["platt", "isotonic"])
@given(pairs=labeled)
def test_a_fitted_map_stays_in_range_and_keeps_the_order(method: MapMethod, pairs: list[tuple[float, bool]]) -> None:
    fitted = fit_map(method, [p for p, _ in pairs], [label for _, label in pairs])
    mapped = fitted.apply(np.linspace(0, 1, 50))
    assert (mapped >= 0).all()
    assert (mapped <= 1).all()
    assert (np.diff(mapped) >= -1e-12).all()


def test_a_dimension_without_a_map_takes_the_one_of_all_others() -> None:
    own = FittedMap(map=PlattMap(slope=1.0, intercept=0.0), threshold=0.5, n_train=50)
    shared = FittedMap(map=PlattMap(slope=2.0, intercept=0.0), threshold=0.4, n_train=90)
    calibration = Calibration(run="r", judge="j", judge_hash="h", seed=0, maps={"truth": own, "*": shared})
    assert (calibration.of("truth"), calibration.of("tone")) == (own, shared)
    alone = Calibration(run="r", judge="j", judge_hash="h", seed=0, maps={"truth": own})
    assert alone.of("tone") is None
    assert alone.fingerprint() != calibration.fingerprint()
    assert (
        alone.fingerprint()
        == Calibration(run="s", judge="k", judge_hash="h", seed=3, maps={"truth": own}).fingerprint()
    )
