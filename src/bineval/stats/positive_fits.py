"""Linear and logistic fits without negative weights, with a ridge penalty chosen by cross-validation over groups."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bineval.errors import MissingDependencyError
from bineval.stats.folds import group_folds

FitKind = Literal["ridge", "logistic"]
Values = NDArray[np.float64]

PENALTIES = (0.001, 0.01, 0.1, 1.0)
_N_FOLDS = 5


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PositiveFit:
    """A fitted model: `intercept + values · weights`, through the logistic function for labels.

    Attributes:
        kind: "ridge" for numbers, "logistic" for labels of 0 and 1.
        weights: Shape (columns,), at least 0.
        intercept: Any number.
        penalty: λ of the penalty λ · Σ weight².
    """

    kind: FitKind
    weights: Values
    intercept: float
    penalty: float

    def losses(self, values: Values, targets: Values) -> Values:
        """Loss of each row: squared error, or log loss; shape (rows,)."""
        return _losses(self.kind, self.intercept + values @ self.weights, targets)


def fit_positive(kind: FitKind, values: Values, targets: Values, *, penalty: float) -> PositiveFit:
    """Minimizes mean loss + penalty · Σ weight² over weights of at least 0 (Hoerl & Kennard 1970, with that bound).

    Args:
        kind: Squared error, or log loss.
        values: Shape (rows, columns), without NaN.
        targets: Shape (rows,); 0 or 1 for "logistic".
        penalty: λ, at least 0. The intercept is not penalized.

    Raises:
        MissingDependencyError: scipy is not installed.
    """
    try:
        from scipy.optimize import minimize, nnls
    except ImportError as error:
        raise MissingDependencyError("scipy", "calibrate", "learning weights") from error

    n, k = values.shape
    if kind == "ridge":
        means, mean = values.mean(axis=0), targets.mean()
        # The penalty as k more rows of a least-squares problem.
        rows = np.concatenate([(values - means) / np.sqrt(n), np.sqrt(penalty) * np.eye(k)])
        weights, _ = nnls(rows, np.concatenate([(targets - mean) / np.sqrt(n), np.zeros(k)]))
        return PositiveFit(kind=kind, weights=weights, intercept=float(mean - means @ weights), penalty=penalty)

    def objective(parameters: Values) -> tuple[float, Values]:
        weights, linear = parameters[:k], parameters[k] + values @ parameters[:k]
        slope = _logistic(linear) - targets
        gradient = np.append(slope @ values / n + 2 * penalty * weights, slope.mean())
        return float(_losses(kind, linear, targets).mean() + penalty * weights @ weights), gradient

    bounds = [(0, None)] * k + [(None, None)]
    options = {"maxiter": 10_000, "ftol": 1e-12, "gtol": 1e-7}
    found = minimize(objective, np.zeros(k + 1), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return PositiveFit(kind=kind, weights=found.x[:k], intercept=float(found.x[k]), penalty=penalty)


def fit_cross_validated(
    kind: FitKind, values: Values, targets: Values, groups: Sequence[Hashable], *, seed: int = 0
) -> PositiveFit:
    """Fits with the penalty of `PENALTIES` whose loss on held-out groups is smallest; of equal ones the largest.

    Args:
        kind: As for `fit_positive`.
        values: As for `fit_positive`.
        targets: As for `fit_positive`.
        groups: The group of each row; at least two.
        seed: Of the folds.

    Raises:
        MissingDependencyError: scipy is not installed.
    """
    folds = group_folds(groups, n_folds=_N_FOLDS, seed=seed)
    losses = []
    for penalty in PENALTIES:
        parts = []
        for fold in np.unique(folds):
            held_out = folds == fold
            fit = fit_positive(kind, values[~held_out], targets[~held_out], penalty=penalty)
            parts.append(fit.losses(values[held_out], targets[held_out]))
        losses.append((round(float(np.concatenate(parts).mean()), 12), -penalty))
    return fit_positive(kind, values, targets, penalty=-min(losses)[1])


def _losses(kind: FitKind, linear: Values, targets: Values) -> Values:
    if kind == "ridge":
        return (linear - targets) ** 2
    return np.logaddexp(0, linear) - targets * linear


def _logistic(linear: Values) -> Values:
    result: Values = np.exp(-np.logaddexp(0, -linear))
    return result
