import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bineval.errors import ConfigError, DataError
from bineval.io.calibrations import load_calibration, save_calibration
from bineval.judging.calibrated import Calibrated
from bineval.judging.cascade import CascadeSettings
from bineval.judging.chat import ChatJudge
from bineval.judging.composite_plans import CascadePlan
from bineval.judging.job import RunOptions
from bineval.judging.logprob import LogprobJudge
from bineval.judging.plans import ExplainSettings, JudgeOptions, SingleJudge
from bineval.judging.runs import Run
from bineval.methods.calibrate import CalibrateOptions, CalibrationReport, calibrate
from bineval.methods.evaluate import evaluate
from bineval.models.limits import Limits
from bineval.models.scripted import Scripted
from bineval.models.stack import CallPolicy
from bineval.stats.calibration import PlattMap
from bineval.types import Checklist, Example
from support.asking import deciding
from support.probable import CHECKLIST, OPTIONS, drawn_labels, examples, overconfident, probable

N = 300
ALL = ("tru-1", "ton-1", "ton-2")


@contextmanager
def run_of(
    folder: Path,
    judge: Scripted | None = None,
    data: list[Example] | None = None,
    checklist: Checklist = CHECKLIST,
    options: RunOptions = OPTIONS,
) -> Iterator[Run]:
    judge = judge or probable(overconfident)
    with evaluate(data or examples(N), checklist, judge=judge, name="r", store=folder / "s.db", options=options) as run:
        yield run


def written(folder: Path, rows: list[dict[str, Any]]) -> Path:
    path = folder / "labels.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def overconfident_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """300 examples and three questions, judged by a judge whose log-odds are three times too large and one too high."""
    with run_of(tmp_path_factory.mktemp("calibrate")) as run:
        yield run


def fit(run: Run, folder: Path, ids: tuple[str, ...] = ALL, n: int = N, **options: Any) -> CalibrationReport:
    return calibrate(run, written(folder, drawn_labels(n, ids)), options=CalibrateOptions(**options))


def test_a_judge_that_is_too_sure_is_set_right_and_the_file_is_accepted(overconfident_run: Run, tmp_path: Path) -> None:
    report = fit(overconfident_run, tmp_path)
    assert (report.n_train, report.n_test, report.notes) == (450, 450, ())
    assert [(row.dimension, row.map) for row in report.rows] == [
        ("truth", "truth"),
        ("tone", "tone"),
        ("overall", None),
    ]
    for row in report.rows:
        assert row.raw.brier.value is not None
        assert row.calibrated.brier.value is not None
        assert row.calibrated.brier.value < row.raw.brier.value
        assert row.effect == "better"
    # The map undoes the judge's fault: logit true = (logit P - 1) / 3.
    tone = report.calibration.maps["tone"].map
    assert isinstance(tone, PlattMap)
    assert (tone.slope, tone.intercept) == (pytest.approx(1 / 3, abs=0.08), pytest.approx(-1 / 3, abs=0.25))

    save_calibration(report.calibration, tmp_path / "c.json")
    judge = Calibrated(LogprobJudge(probable(overconfident)), load_calibration(tmp_path / "c.json"))
    [verdict] = judge.ask(Example(id="x", output="chance 0.775"), [CHECKLIST.questions[1]])
    assert verdict.probability == pytest.approx(0.775, abs=0.06)
    assert verdict.raw_probability == pytest.approx(overconfident(0.775, ""), abs=1e-6)


def test_the_figures_are_of_the_part_that_was_not_fitted_on(overconfident_run: Run, tmp_path: Path) -> None:
    report = fit(overconfident_run, tmp_path, test_share=0.2)
    assert (report.n_train, report.n_test) == (720, 180)
    overall = report.rows[-1]
    assert (overall.raw.n, overall.calibrated.n, overall.brier_change.n) == (180, 180, 180)
    assert overall.raw.ece.method.startswith("bootstrap over 60 groups")
    assert overall.raw.n_yes == overall.calibrated.n_yes
    assert [item.n_train for item in report.calibration.maps.values()] == [240, 480]


def test_the_same_seed_gives_the_same_calibration_and_another_seed_another(
    overconfident_run: Run, tmp_path: Path
) -> None:
    first, again, other = (fit(overconfident_run, tmp_path, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first.calibration.maps != other.calibration.maps


def test_a_group_is_never_on_both_sides(tmp_path: Path) -> None:
    grouped = [replace(example, group=f"g{i // 100}") for i, example in enumerate(examples(N))]
    with run_of(tmp_path, data=grouped) as run:
        report = fit(run, tmp_path, test_share=0.34)
    assert (report.n_train, report.n_test) == (600, 300)
    assert report.rows[-1].brier_change.method == "no interval: fewer than 5 groups"
    assert report.rows[-1].effect == "unclear"


def test_a_dimension_with_few_labels_shares_the_map_of_all(overconfident_run: Run, tmp_path: Path) -> None:
    rows = drawn_labels(N, ("ton-1",)) + drawn_labels(60, ("tru-1",))
    report = calibrate(overconfident_run, written(tmp_path, rows))
    assert list(report.calibration.maps) == ["tone", "*"]
    n_truth = report.n_train - report.calibration.maps["tone"].n_train
    assert report.calibration.maps["*"].n_train == report.n_train
    assert 0 < n_truth < 40
    assert [row.map for row in report.rows] == ["*", "tone", None]
    [note] = report.notes
    assert note.startswith(f"truth ({n_truth} labels to fit on, ")
    assert note.endswith("shares the map of all dimensions, *")


def test_a_dimension_whose_labels_are_all_alike_shares_the_map_of_all(overconfident_run: Run, tmp_path: Path) -> None:
    alike = [{**row, "answer": "yes"} for row in drawn_labels(N, ("tru-1",))]
    report = calibrate(overconfident_run, written(tmp_path, alike + drawn_labels(N, ("ton-1",))))
    assert list(report.calibration.maps) == ["tone", "*"]
    truth = report.rows[0]
    assert (truth.raw.tnr.value, truth.raw.tnr.method) == (None, "undefined: no label is no")


def test_a_judge_that_is_right_already_is_said_to_gain_nothing(tmp_path: Path) -> None:
    with run_of(tmp_path, probable(lambda chance, _: chance)) as run:
        report = fit(run, tmp_path)
    overall = report.rows[-1]
    assert overall.effect == "unclear"
    assert overall.brier_change.value == pytest.approx(0, abs=0.01)


def test_a_judge_that_runs_against_the_labels_is_said_to(tmp_path: Path) -> None:
    with run_of(tmp_path, probable(lambda chance, _: 1 - chance)) as run:
        report = fit(run, tmp_path)
    assert len(report.notes) == 2
    assert report.notes[0].startswith("truth: the judge's probabilities do not rise with the labels")


def methods_of(report: CalibrationReport) -> dict[str, str]:
    return {name: item.map.method for name, item in report.calibration.maps.items()}


def test_the_method_is_isotonic_from_a_thousand_labels_on(tmp_path: Path) -> None:
    with run_of(tmp_path, data=examples(520)) as run:
        # 1 of 520 groups is for the test: 519 labels of truth, and twice as many of tone.
        assert methods_of(fit(run, tmp_path, n=520, test_share=0.001)) == {"truth": "platt", "tone": "isotonic"}


@pytest.mark.parametrize("method", ["platt", "isotonic"])
def test_a_method_that_is_named_is_used_for_any_number(overconfident_run: Run, tmp_path: Path, method: str) -> None:
    assert methods_of(fit(overconfident_run, tmp_path, method=method)) == {"truth": method, "tone": method}


def test_without_a_file_the_ratings_of_the_examples_are_the_labels(tmp_path: Path) -> None:
    truth = {row["example_id"]: float(row["answer"] == "yes") for row in drawn_labels(N, ("tru-1",))}
    rated = [replace(example, human={"truth": truth[example.id], "tone": 1.0}) for example in examples(N)]
    with run_of(tmp_path, data=rated) as run:
        from_examples = calibrate(run)
        from_file = fit(run, tmp_path, ("tru-1",))
    assert from_examples.calibration.maps == from_file.calibration.maps
    assert from_examples.notes[0] == "tone: it has 2 questions, which one rating cannot answer"


def test_the_probability_of_repeats_is_their_mean(tmp_path: Path) -> None:
    calls: dict[tuple[float, str], int] = {}

    def swaying(chance: float, question: str) -> float:
        calls[chance, question] = calls.get((chance, question), 0) + 1
        return chance * 1.2 if calls[chance, question] % 2 else chance * 0.8

    few = [Example(id=f"e{i}", output=f"chance {(i + 1) / 200}") for i in range(150)]
    options = replace(OPTIONS, repeats=2, policy=CallPolicy(limits=Limits(concurrency=1)))
    with run_of(tmp_path, probable(swaying), few, options=options) as run:
        swayed = fit(run, tmp_path, n=150)
    (tmp_path / "steady").mkdir()
    with run_of(tmp_path / "steady", probable(lambda chance, _: chance), few) as run:
        steady = fit(run, tmp_path, n=150)
    assert swayed.rows[-1].raw.brier.value == pytest.approx(steady.rows[-1].raw.brier.value, abs=1e-6)
    assert swayed.n_test == steady.n_test


def test_labels_of_unanswered_verdicts_are_counted_and_not_used(tmp_path: Path) -> None:
    def hesitant(chance: float, question: str) -> float | None:
        return None if "true" in question and chance > 0.9 else overconfident(chance, question)

    with run_of(tmp_path, probable(hesitant)) as run:
        report = fit(run, tmp_path)
    # Two of twenty outputs have a chance above 0.9: 30 of 300.
    assert "30 of 900 labels are of verdicts without a probability: not used" in report.notes
    assert report.n_train + report.n_test == 870


def test_a_calibrated_run_is_calibrated_from_its_raw_probabilities(overconfident_run: Run, tmp_path: Path) -> None:
    report = fit(overconfident_run, tmp_path)
    options = RunOptions(judge=JudgeOptions(kind="logprob", calibration=report.calibration, explain=ExplainSettings()))
    with run_of(tmp_path, options=options) as run:
        row = next(run.verdicts())
        assert row.verdict.raw_probability is not None
        assert row.verdict.probability != row.verdict.raw_probability
        again = fit(run, tmp_path)
    assert again.calibration.maps == report.calibration.maps
    assert again.calibration.judge_hash == report.calibration.judge_hash


def test_a_judge_without_probabilities_cannot_be_calibrated(tmp_path: Path) -> None:
    judge = deciding(lambda output, question: "yes")
    assert not ChatJudge(judge).gives_probability
    with (
        run_of(tmp_path, judge, examples(10), options=RunOptions()) as run,
        pytest.raises(ConfigError, match="run r has no probabilities to calibrate: judge with --kind logprob"),
    ):
        fit(run, tmp_path, n=10)


def test_a_cascade_is_calibrated_by_its_parts(tmp_path: Path) -> None:
    parts = [SingleJudge(model=probable(overconfident, name), options=OPTIONS.judge) for name in ("s/one", "s/two")]
    plan = CascadePlan(cheap=parts[0], strong=parts[1], settings=CascadeSettings(low=0.4, high=0.6))
    with (
        evaluate(examples(9), CHECKLIST, judge=plan, name="r", store=tmp_path / "s.db") as run,
        pytest.raises(ConfigError, match="the judge of run r is a cascade: calibrate a run of one of its judges alone"),
    ):
        fit(run, tmp_path, n=9)


@pytest.mark.parametrize(
    ("n", "answer", "message"),
    [
        (60, None, r"30 labeled verdicts to fit on \(\d+ yes, \d+ no\), and --min-labels is 40: label more"),
        (200, "yes", r"100 labeled verdicts to fit on \(100 yes, 0 no\): a calibration needs both answers"),
        (1, None, "1 group of examples cannot be split in two"),
    ],
)
def test_too_few_labels_are_an_error_with_their_counts(
    overconfident_run: Run, tmp_path: Path, n: int, answer: str | None, message: str
) -> None:
    rows = drawn_labels(n, ("tru-1",))
    path = written(tmp_path, [{**row, "answer": answer or row["answer"]} for row in rows])
    with pytest.raises(ConfigError, match=message):
        calibrate(overconfident_run, path)


def test_without_any_labels_the_error_says_how_to_give_some(overconfident_run: Run, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no human ratings that answer its questions: give --labels FILE with"):
        calibrate(overconfident_run)
    with pytest.raises(DataError, match=r"labels\.jsonl: no row has an answer"):
        calibrate(overconfident_run, written(tmp_path, [{**row, "answer": None} for row in drawn_labels(3, ALL)]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "beta"}, "method 'beta' must be one of platt, isotonic, auto"),
        ({"test_share": 1.0}, "test_share must lie between 0 and 1"),
        ({"min_labels": 1}, "min_labels must be at least 2"),
    ],
)
def test_options_that_are_none_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        CalibrateOptions(**options)
