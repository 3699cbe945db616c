"""Calibration of a judge from labels of a run's verdicts: maps and thresholds from train, figures from test."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal, cast, get_args

from bineval.errors import ConfigError
from bineval.hashing import Json
from bineval.judging.calibrated import calibrated_threshold, judge_hash
from bineval.judging.runs import Run
from bineval.methods.labeled import mean_probability, run_labels, verdicts_by_key
from bineval.stats.calibration import ALL_OTHERS, Calibration, FittedMap, MapMethod, best_threshold, fit_map
from bineval.stats.classification import AnswerFigures, RatedAnswer, answer_figures, squared_error
from bineval.stats.intervals import mean_interval, resampling_group
from bineval.stats.reliability import ReliabilityBin, reliability_bins
from bineval.stats.splits import groups_for_test
from bineval.types import OVERALL, Estimate, Question

Method = Literal["platt", "isotonic", "auto"]
METHODS: tuple[Method, ...] = get_args(Method)

Effect = Literal["better", "worse", "unclear"]

_EFFECTS: Mapping[str, Effect] = {"below": "better", "above": "worse", "unclear": "unclear"}
_COMPOSITE = ("cascade", "panel")
_ENOUGH_FOR_ISOTONIC = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class CalibrateOptions:
    """How a calibration is fitted.

    Attributes:
        method: "auto" is isotonic for 1,000 or more labels, else Platt.
        test_share: Share of the groups that is kept for the figures, in (0, 1).
        seed: Of the split and of the intervals.
        min_labels: A dimension with fewer labels in train shares the map of all labels.
    """

    method: Method = "auto"
    test_share: float = 0.5
    seed: int = 0
    min_labels: int = 40

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ConfigError(f"method {self.method!r} must be one of {', '.join(METHODS)}")
        if not 0 < self.test_share < 1:
            raise ConfigError(f"test_share must lie between 0 and 1, not at {self.test_share}")
        if self.min_labels < 2:
            raise ConfigError(f"min_labels must be at least 2, not {self.min_labels}")


@dataclass(frozen=True, kw_only=True, slots=True)
class CalibrationRow:
    """What the calibration of one dimension does to labeled verdicts that it was not fitted on.

    Attributes:
        dimension: Name of the dimension, or "overall" for all together, each with its own map.
        map: Name of its map in the calibration: its own, or "*"; None for "overall".
        raw: Figures of the judge's own probabilities and answers.
        calibrated: Those of the calibrated ones.
        brier_change: Calibrated less raw Brier score on the same verdicts; below 0 is better.
    """

    dimension: str
    map: str | None
    raw: AnswerFigures
    calibrated: AnswerFigures
    brier_change: Estimate

    @property
    def effect(self) -> Effect:
        """What the interval of the change says; unclear when it holds 0 or there is none."""
        return _EFFECTS[self.brier_change.direction]


@dataclass(frozen=True, kw_only=True, slots=True)
class CalibrationReport:
    """A calibration, and what it does.

    Attributes:
        calibration: To be saved and used.
        rows: One for each dimension with labels in test, "overall" last.
        n_train: Labeled verdicts fitted on.
        n_test: Labeled verdicts reported on.
        curves: The bins of a reliability diagram of the latter, raw and calibrated.
        notes: What a reader must know: pooled dimensions, labels that could not be used.
    """

    calibration: Calibration
    rows: tuple[CalibrationRow, ...]
    n_train: int
    n_test: int
    curves: Mapping[Literal["raw", "calibrated"], tuple[ReliabilityBin, ...]]
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Item:
    question: Question
    rated: RatedAnswer


def calibrate(
    run: Run, labels: str | Path | None = None, *, options: CalibrateOptions | None = None
) -> CalibrationReport:
    """Fits a calibration of the judge of `run` to labels of its verdicts.

    The labeled verdicts are split by group into train and test. Each dimension gets a map and the threshold with the
    best balanced accuracy, from train; the figures are those of exactly these maps, on test. The probability of a
    verdict is the mean over its repeats. Probabilities that were calibrated already are taken as they were before.

    Args:
        run: A run whose judge gives probabilities.
        labels: File of labels; None for the examples' own human ratings, where these are answers to a question.
        options: Method, split, seed.

    Raises:
        ConfigError: The run has no probabilities, or the labels are too few or all alike.
        DataError: The file is not what it should be.
        MissingDependencyError: scikit-learn is not installed.
    """
    options = options or CalibrateOptions()
    items, notes = _labeled(run, labels)
    test_groups = groups_for_test((item.rated.group for item in items), share=options.test_share, seed=options.seed)
    train = [item for item in items if item.rated.group not in test_groups]
    test = [item for item in items if item.rated.group in test_groups]
    _check(train, options)
    maps, why_pooled = _fit(run, train, options)
    calibration = Calibration(
        run=run.name,
        judge=run.judge,
        judge_hash=judge_hash(_settings(run)),
        seed=options.seed,
        maps=maps,
    )
    rows = tuple(_rows(run, calibration, test, options.seed))
    notes += why_pooled + _flat(maps)
    figures: dict[str, Json] = {
        "n_train": len(train),
        "n_test": len(test),
        "rows": [row_json(row) for row in rows],
        "notes": notes,
    }
    return CalibrationReport(
        calibration=replace(calibration, figures=figures),
        rows=rows,
        n_train=len(train),
        n_test=len(test),
        curves={
            "raw": reliability_bins([item.rated for item in test], seed=options.seed),
            "calibrated": reliability_bins([_calibrated(run, calibration, item) for item in test], seed=options.seed),
        },
        notes=tuple(notes),
    )


def row_json(row: CalibrationRow) -> dict[str, Json]:
    """All of a row as JSON values; undefined is null, with the reason as its method."""
    return {**asdict(row), "effect": row.effect}


def _settings(run: Run) -> Mapping[str, Json]:
    return cast(Mapping[str, Json], run.manifest["judge"])


def _labeled(run: Run, path: str | Path | None) -> tuple[list[_Item], list[str]]:
    """The labeled verdicts that have a probability, and notes on those that have none."""
    kind = _settings(run).get("kind")
    if kind in _COMPOSITE:
        raise ConfigError(f"the judge of run {run.name} is a {kind}: calibrate a run of one of its judges alone")
    labels, notes = run_labels(run, path)
    if not labels:
        why = f" ({'; '.join(notes)})" if notes else ""
        raise ConfigError(
            f"the examples of run {run.name} have no human ratings that answer its questions{why}: "
            "give --labels FILE with example_id, question_id and answer"
        )
    verdicts = verdicts_by_key(run)
    if all(verdict.probability is None for repeats in verdicts.values() for verdict in repeats):
        raise ConfigError(f"run {run.name} has no probabilities to calibrate: judge with --kind logprob")
    questions = {question.id: question for question in run.checklist.questions}
    groups = {example.id: resampling_group(example) for example in run.examples()}
    items = []
    for key, label in labels.items():
        repeats = verdicts.get(key, [])
        probability = mean_probability(
            verdict.probability if verdict.raw_probability is None else verdict.raw_probability for verdict in repeats
        )
        if probability is None:
            continue
        question = questions[key.question_id]
        answer = probability > run.checklist.threshold_of(question)
        rated = RatedAnswer(group=groups[key.example_id], probability=probability, answer=answer, label=label)
        items.append(_Item(question=question, rated=rated))
    if n_without := len(labels) - len(items):
        notes.append(f"{n_without} of {len(labels)} labels are of verdicts without a probability: not used")
    return items, notes


def _check(train: Sequence[_Item], options: CalibrateOptions) -> None:
    n_yes = sum(item.rated.label for item in train)
    counts = f"{len(train)} labeled verdicts to fit on ({n_yes} yes, {len(train) - n_yes} no)"
    if len(train) < options.min_labels:
        raise ConfigError(
            f"{counts}, and --min-labels is {options.min_labels}: label more, or lower it or --test-share"
        )
    if n_yes in (0, len(train)):
        raise ConfigError(f"{counts}: a calibration needs both answers; label more")


def _fit(run: Run, train: Sequence[_Item], options: CalibrateOptions) -> tuple[dict[str, FittedMap], list[str]]:
    """The map of each dimension that has enough labels, the pooled one if any has not, and why."""
    maps, why_pooled = {}, []
    for dimension in run.checklist.dimensions:
        own = [item.rated for item in train if item.question.dimension == dimension]
        n_yes = sum(item.label for item in own)
        if len(own) >= options.min_labels and 0 < n_yes < len(own):
            maps[dimension] = _fitted(own, options.method)
        else:
            counts = f"{len(own)} labels to fit on, {n_yes} yes and {len(own) - n_yes} no"
            why_pooled.append(f"{dimension} ({counts}) shares the map of all dimensions, {ALL_OTHERS}")
    if why_pooled:
        maps[ALL_OTHERS] = _fitted([item.rated for item in train], options.method)
    return maps, why_pooled


def _fitted(items: Sequence[RatedAnswer], method: Method) -> FittedMap:
    usual: MapMethod = "isotonic" if len(items) >= _ENOUGH_FOR_ISOTONIC else "platt"
    chosen = usual if method == "auto" else method
    labels = [item.label for item in items]
    raw = [item.probability for item in items]
    fitted = fit_map(chosen, raw, labels)
    return FittedMap(map=fitted, threshold=best_threshold(fitted.apply(raw), labels), n_train=len(items))


def _rows(run: Run, calibration: Calibration, test: Sequence[_Item], seed: int) -> Iterator[CalibrationRow]:
    pairs = [(item, _calibrated(run, calibration, item)) for item in test]
    for dimension in run.checklist.dimensions:
        own = [(item.rated, after) for item, after in pairs if item.question.dimension == dimension]
        if own:
            map_name = dimension if dimension in calibration.maps else ALL_OTHERS
            yield _row(dimension, map_name, own, seed)
    yield _row(OVERALL, None, [(item.rated, after) for item, after in pairs], seed)


def _calibrated(run: Run, calibration: Calibration, item: _Item) -> RatedAnswer:
    fitted = calibration.maps.get(item.question.dimension) or calibration.maps[ALL_OTHERS]
    probability = float(fitted.map.apply(item.rated.probability))
    threshold = calibrated_threshold(item.question, fitted, run.checklist.threshold)
    return replace(item.rated, probability=probability, answer=probability > threshold)


def _row(
    dimension: str, map_name: str | None, pairs: Sequence[tuple[RatedAnswer, RatedAnswer]], seed: int
) -> CalibrationRow:
    changes = [(before.group, squared_error(after) - squared_error(before)) for before, after in pairs]
    return CalibrationRow(
        dimension=dimension,
        map=map_name,
        raw=answer_figures([before for before, _ in pairs], seed=seed),
        calibrated=answer_figures([after for _, after in pairs], seed=seed),
        brier_change=mean_interval(changes, seed=seed),
    )


def _flat(maps: Mapping[str, FittedMap]) -> list[str]:
    """A note for each map that gives every probability the same value."""
    return [
        f"{name}: the judge's probabilities do not rise with the labels, and the map makes them all equal"
        for name, fitted in maps.items()
        if len(set(fitted.map.apply([0.0, 1.0]).tolist())) == 1
    ]
