import builtins

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from bineval.errors import MissingDependencyError
from bineval.stats.positive_fits import PENALTIES, fit_cross_validated, fit_positive


def answers(n: int, k: int, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).random((n, k)) < 0.6).astype(float)


def ratings(values: np.ndarray, weights: list[float], noise: float = 0.3) -> np.ndarray:
    return 2 + values @ np.array(weights) + noise * np.random.default_rng(9).normal(size=len(values))


def labels(values: np.ndarray, weights: list[float]) -> np.ndarray:
    linear = values @ np.array(weights) - 1
    return (np.random.default_rng(9).random(len(values)) < 1 / (1 + np.exp(-linear))).astype(float)


@pytest.mark.parametrize("weights", [[2.0, 1.0, 0.5], [2.0, -1.0, 0.5]])
def test_ridge_is_that_of_scikit_learn_with_positive_weights(weights: list[float]) -> None:
    values = answers(200, 3)
    targets = ratings(values, weights)
    fit = fit_positive("ridge", values, targets, penalty=0.05)
    # Theirs is a sum where ours is a mean.
    theirs = Ridge(alpha=0.05 * 200, positive=True, tol=1e-10).fit(values, targets)
    assert fit.weights == pytest.approx(theirs.coef_, abs=1e-4)
    assert fit.intercept == pytest.approx(theirs.intercept_, abs=1e-4)
    assert (fit.weights == 0).tolist() == [weight < 0 for weight in weights]


def test_logistic_is_that_of_scikit_learn_where_no_weight_is_at_its_bound() -> None:
    values = answers(400, 3)
    targets = labels(values, [2.0, 1.0, 0.5])
    fit = fit_positive("logistic", values, targets, penalty=0.01)
    # Theirs is C · sum of losses + Σ weight² / 2: C = 1 / (2 · penalty · n).
    theirs = LogisticRegression(C=1 / (2 * 0.01 * 400), tol=1e-8).fit(values, targets)
    assert fit.weights == pytest.approx(theirs.coef_[0], abs=1e-4)
    assert fit.intercept == pytest.approx(theirs.intercept_[0], abs=1e-4)
    assert fit.losses(values, targets).mean() == pytest.approx(
        -np.log(np.where(targets == 1, *theirs.predict_proba(values).T[::-1])).mean(), abs=1e-6
    )


def test_a_question_against_the_labels_gets_no_weight() -> None:
    values = answers(400, 2)
    fit = fit_positive("logistic", values, labels(values, [2.0, -2.0]), penalty=0.01)
    assert fit.weights[0] > 0.5
    assert fit.weights[1] == 0


def test_labels_that_are_parted_perfectly_give_finite_weights() -> None:
    values = np.array([[1.0], [1.0], [0.0], [0.0]])
    fit = fit_positive("logistic", values, values[:, 0], penalty=0.001)
    assert 0 < fit.weights[0] < 100


def test_noise_is_fitted_with_a_larger_penalty_than_signal() -> None:
    values = answers(60, 6)
    groups = list(range(60))
    clear = fit_cross_validated("ridge", values, ratings(values, [1.0, 2.0, 3.0, 1.0, 2.0, 3.0], 0.05), groups)
    noise = fit_cross_validated("ridge", values, np.random.default_rng(1).normal(size=60), groups)
    assert clear.penalty == PENALTIES[0]
    assert noise.penalty > clear.penalty
    again = fit_cross_validated("ridge", values, np.random.default_rng(1).normal(size=60), groups)
    assert again.weights.tolist() == noise.weights.tolist()


def test_without_scipy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *arguments: object) -> object:
        if name.startswith("scipy"):
            raise ImportError(name)
        return real(name, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingDependencyError, match=r"bineval\[calibrate\]"):
        fit_positive("ridge", answers(9, 2), np.arange(9.0), penalty=0.1)
