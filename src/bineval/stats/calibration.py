"""Maps from a judge's P(yes) to a calibrated one, with the threshold above which the answer is yes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bineval.errors import MissingDependencyError
from bineval.hashing import Json, tagged_hash
from bineval.types import USUAL_THRESHOLD

MapMethod = Literal["platt", "isotonic"]

ALL_OTHERS = "*"
"""Name of the map of every dimension that has none of its own."""

_CLIP = 1e-6
_LARGEST_EXPONENT = 700.0


@dataclass(frozen=True, kw_only=True, slots=True)
class PlattMap:
    """P to logistic(slope · logit P + intercept), with P clipped to [1e-6, 1 - 1e-6] first (Platt 1999).

    Attributes:
        slope: At least 0; 1 with intercept 0 changes nothing, 0 gives every P the same value.
        intercept: On the scale of log-odds.
    """

    slope: float
    intercept: float
    method: ClassVar[MapMethod] = "platt"

    def apply(self, probabilities: ArrayLike) -> NDArray[np.float64]:
        """Maps probabilities in [0, 1], of any shape; never turns their order around."""
        exponent = -(self.slope * _logit(probabilities) + self.intercept)
        result: NDArray[np.float64] = 1 / (1 + np.exp(np.clip(exponent, -_LARGEST_EXPONENT, _LARGEST_EXPONENT)))
        return result

    def to_json(self) -> dict[str, Json]:
        """All fields as JSON values."""
        return {"method": self.method, "slope": self.slope, "intercept": self.intercept}


@dataclass(frozen=True, kw_only=True, slots=True)
class IsotonicMap:
    """A map that never falls, straight between its points and constant outside (Zadrozny & Elkan 2002).

    Attributes:
        x: Raw probabilities in [0, 1], each above the one before; at least one.
        y: Calibrated probabilities in [0, 1], none below the one before; as many.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    method: ClassVar[MapMethod] = "isotonic"

    def apply(self, probabilities: ArrayLike) -> NDArray[np.float64]:
        """Maps probabilities in [0, 1], of any shape; never turns their order around."""
        result: NDArray[np.float64] = np.interp(np.asarray(probabilities, dtype=float), self.x, self.y)
        return result

    def to_json(self) -> dict[str, Json]:
        """All fields as JSON values."""
        return {"method": self.method, "x": self.x, "y": self.y}


CalibrationMap = PlattMap | IsotonicMap


@dataclass(frozen=True, kw_only=True, slots=True)
class FittedMap:
    """A map as it was fitted.

    Attributes:
        map: From raw to calibrated probability.
        threshold: The answer is yes above this calibrated probability, in (0, 1).
        n_train: Labels that both were fitted on.
    """

    map: CalibrationMap
    threshold: float
    n_train: int

    def to_json(self) -> dict[str, Json]:
        """All fields as JSON values, in one object."""
        return {**self.map.to_json(), "threshold": self.threshold, "n_train": self.n_train}


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibration:
    """What was learned about one judge's probabilities from labels.

    Attributes:
        run: Name of the run whose verdicts were labeled.
        judge: Name of its judge.
        judge_hash: Hash of all that makes the judge's probabilities; the calibration is of no other judge.
        seed: Seed of the split into train and test.
        maps: By dimension; "*" is for every dimension that has none of its own.
        figures: What it did on the test part, for people.
    """

    run: str
    judge: str
    judge_hash: str
    seed: int
    maps: Mapping[str, FittedMap]
    figures: Mapping[str, Json] = field(default_factory=dict)

    def of(self, dimension: str) -> FittedMap | None:
        """The map for a dimension; None when there is none."""
        return self.maps.get(dimension) or self.maps.get(ALL_OTHERS)

    def fingerprint(self) -> str:
        """Hash of all that can change an answer."""
        return tagged_hash("calibration/1", {name: item.to_json() for name, item in self.maps.items()})


def fit_map(method: MapMethod, probabilities: ArrayLike, labels: ArrayLike) -> CalibrationMap:
    """Fits a map to labeled probabilities.

    Args:
        method: "platt" fits two numbers; "isotonic" any map that never falls, which needs about 1,000 labels not to
            follow chance (Niculescu-Mizil & Caruana 2005).
        probabilities: P(yes) in [0, 1], shape (n,).
        labels: Whether the true answer is yes, shape (n,); both answers occur.

    Raises:
        MissingDependencyError: scikit-learn is not installed.
    """
    raw, yes = np.asarray(probabilities, dtype=float), np.asarray(labels, dtype=bool)
    return _fit_platt(raw, yes) if method == "platt" else _fit_isotonic(raw, yes)


def best_threshold(probabilities: ArrayLike, labels: ArrayLike) -> float:
    """Returns the threshold with the best balanced accuracy, mean of TPR and TNR, for "yes above the threshold".

    Candidates are 0.5 and the middles between neighboring probabilities; of equally good ones, the nearest to 0.5.

    Args:
        probabilities: In [0, 1], shape (n,).
        labels: Whether the true answer is yes, shape (n,); both answers occur.
    """
    values, yes = np.asarray(probabilities, dtype=float), np.asarray(labels, dtype=bool)
    distinct = np.unique(values)
    middles = (distinct[:-1] + distinct[1:]) / 2
    # Where no number lies between two neighbors, the lower one parts them too.
    candidates = np.append(np.where(middles < distinct[1:], middles, distinct[:-1]), USUAL_THRESHOLD)
    of_yes, of_no = np.sort(values[yes]), np.sort(values[~yes])
    tpr = 1 - np.searchsorted(of_yes, candidates, side="right") / len(of_yes)
    tnr = np.searchsorted(of_no, candidates, side="right") / len(of_no)
    # Rounded, so that float noise breaks no tie.
    balanced = np.round((tpr + tnr) / 2, 9)
    best = candidates[balanced == balanced.max()]
    return float(best[np.argmin(np.abs(best - USUAL_THRESHOLD))])


def _logit(probabilities: ArrayLike) -> NDArray[np.float64]:
    clipped = np.clip(np.asarray(probabilities, dtype=float), _CLIP, 1 - _CLIP)
    result: NDArray[np.float64] = np.log(clipped / (1 - clipped))
    return result


def _fit_platt(raw: NDArray[np.float64], yes: NDArray[np.bool_]) -> PlattMap:
    """Platt's fit: targets a little inside 0 and 1, so that labels that the judge parts perfectly give a finite map."""
    try:
        from sklearn.linear_model import LogisticRegression
    except ImportError as error:
        raise MissingDependencyError("scikit-learn", "calibrate", "fitting a calibration") from error

    n_yes, n_no = int(yes.sum()), int((~yes).sum())
    targets = np.where(yes, (n_yes + 1) / (n_yes + 2), 1 / (n_no + 2))
    logits = _logit(raw)
    # A target between 0 and 1 is the item once as yes and once as no, weighted.
    model = LogisticRegression(C=np.inf, solver="newton-cg", tol=1e-8, max_iter=1000)
    model.fit(
        np.concatenate([logits, logits])[:, None],
        np.concatenate([np.ones(len(raw)), np.zeros(len(raw))]),
        sample_weight=np.concatenate([targets, 1 - targets]),
    )
    slope, intercept = float(model.coef_[0, 0]), float(model.intercept_[0])
    if slope <= 0:
        # The best map that does not turn the order around is then the constant one.
        mean = float(targets.mean())
        return PlattMap(slope=0.0, intercept=float(np.log(mean / (1 - mean))))
    return PlattMap(slope=slope, intercept=intercept)


def _fit_isotonic(raw: NDArray[np.float64], yes: NDArray[np.bool_]) -> IsotonicMap:
    try:
        from sklearn.isotonic import IsotonicRegression
    except ImportError as error:
        raise MissingDependencyError("scikit-learn", "calibrate", "fitting a calibration") from error

    # No surer than n labels can show, by Laplace's rule: an isotonic fit ends in runs of exactly 0 and 1.
    least = 1 / (len(raw) + 2)
    model = IsotonicRegression(y_min=least, y_max=1 - least, out_of_bounds="clip").fit(raw, yes.astype(float))
    return IsotonicMap(x=tuple(map(float, model.X_thresholds_)), y=tuple(map(float, model.y_thresholds_)))
