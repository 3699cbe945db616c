import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bineval.errors import ConfigError, DataError
from bineval.judging.job import RunOptions
from bineval.judging.runs import Run
from bineval.metaeval.rows import MetaOptions, MetaRow
from bineval.methods.evaluate import evaluate
from bineval.methods.meta import meta
from bineval.methods.recorded import import_scores
from bineval.models.scripted import Scripted
from bineval.types import Example
from support.probable import CHECKLIST, OPTIONS, chance, drawn_labels, examples, probable

N = 40


@pytest.fixture
def open_runs() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def rated(n: int = N, **more: Any) -> list[Example]:
    """People's rating of truth is the chance that the text says, on a scale of 1 to 5; of tone, its opposite."""
    return [
        replace(item, human={"truth": 1 + 4 * chance(i), "tone": 5 - 4 * chance(i)}, **more)
        for i, item in enumerate(examples(n))
    ]


def run_of(
    runs: ExitStack,
    folder: Path,
    name: str = "r",
    *,
    judge: Scripted | None = None,
    data: Sequence[Example] | None = None,
    options: RunOptions = OPTIONS,
) -> Run:
    judge = judge or probable(lambda p, _: p)
    data = rated() if data is None else data
    return runs.enter_context(evaluate(data, CHECKLIST, judge=judge, name=name, store=folder / "s.db", options=options))


def written(folder: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    path = folder / "labels.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def by_place(rows: Sequence[MetaRow]) -> dict[tuple[str, str, str], MetaRow]:
    return {(row.run, row.score, row.dimension): row for row in rows}


def test_hard_and_soft_scores_are_compared_with_the_ratings_of_the_examples(
    open_runs: ExitStack, tmp_path: Path
) -> None:
    report = meta([run_of(open_runs, tmp_path)])
    assert [(row.score, row.dimension) for row in report.rows] == [
        ("hard", "truth"), ("hard", "tone"), ("hard", "average"),
        ("soft", "truth"), ("soft", "tone"), ("soft", "average"),
    ]  # fmt: skip
    found = by_place(report.rows)
    # The soft score is the chance itself: it follows truth exactly and runs against tone.
    assert found["r", "soft", "truth"].correlations.kendall.value == pytest.approx(1)
    assert found["r", "soft", "tone"].correlations.kendall.value == pytest.approx(-1)
    assert found["r", "soft", "average"].correlations.kendall.value == pytest.approx(0)
    # The hard one is 0 or 1: of 20 chances 10 are above one half, so tau-b = 100 / sqrt(190 · 100) for 20 of them,
    # and for each twice: 400 untied pairs of 2·2 each, of 760 and 400 untied ones.
    assert found["r", "hard", "truth"].correlations.kendall.value == pytest.approx(400 / (760 * 400) ** 0.5)
    assert report.notes == ()


def test_the_hard_score_of_the_first_run_is_what_all_others_are_compared_with(
    open_runs: ExitStack, tmp_path: Path
) -> None:
    first = run_of(open_runs, tmp_path, "first", judge=probable(lambda p, _: p))
    other = run_of(open_runs, tmp_path, "other", judge=probable(lambda p, _: 1 - p, "scripted/contrary"))
    report = meta([first, other])
    assert list(dict.fromkeys((item.run, item.score) for item in report.differences)) == [
        ("first", "soft"),
        ("other", "hard"),
        ("other", "soft"),
    ]
    assert len(report.differences) == 3 * 3 * 3
    [soft] = [
        item.difference
        for item in report.differences
        if (item.run, item.score, item.dimension) == ("other", "soft", "truth")
        and item.difference.coefficient == "kendall"
    ]
    assert soft.estimate.value == pytest.approx(-1 - 400 / (760 * 400) ** 0.5)
    assert soft.p_value is not None
    assert soft.p_adjusted is not None
    assert soft.p_value < 0.05
    assert soft.p_adjusted >= soft.p_value
    # The first run against itself with other answers: raw agreement of yes and no is 0.
    [agreement] = by_place(report.rows)["other", "hard", "truth"].agreement
    assert (agreement.rater, agreement.figures.raw.value, agreement.figures.n) == ("first", 0.0, N)
    assert agreement.figures.tpr.method == "undefined: no rater is taken for right"


def test_the_soft_score_of_the_first_run_can_be_what_all_others_are_compared_with(
    open_runs: ExitStack, tmp_path: Path
) -> None:
    report = meta([run_of(open_runs, tmp_path)], options=MetaOptions(first_score="soft"))
    assert {(item.run, item.score, item.against_score) for item in report.differences} == {("r", "hard", "soft")}


def test_ratings_of_a_file_take_the_place_of_the_examples_own(open_runs: ExitStack, tmp_path: Path) -> None:
    path = written(
        tmp_path,
        [
            {"example_id": f"e{i}", "dimension": "truth", "value": -chance(i) + delta, "repeat": repeat}
            for i in range(N)
            for repeat, delta in enumerate((0.1, -0.1))
        ],
    )
    report = meta([run_of(open_runs, tmp_path)], path)
    assert {row.dimension for row in report.rows} == {"truth"}
    # Two people a text: their mean is what counts.
    assert by_place(report.rows)["r", "soft", "truth"].correlations.kendall.value == pytest.approx(-1)
    assert report.notes == ("run r: no ratings of people for tone",)


def test_answers_of_people_give_agreement_and_where_they_are_complete_a_score(
    open_runs: ExitStack, tmp_path: Path
) -> None:
    rows = drawn_labels(N, ("tru-1", "ton-1"))
    report = meta([run_of(open_runs, tmp_path, data=examples(N))], written(tmp_path, rows))
    found = by_place(report.rows)
    # One of the two questions of tone is not answered, so that people have no score there.
    assert found["r", "hard", "truth"].correlations.n == N
    tone = found["r", "hard", "tone"]
    assert (tone.correlations.n, tone.correlations.pearson.method) == (0, "undefined: no items")
    labels = {row["example_id"]: row["answer"] == "yes" for row in rows if row["question_id"] == "tru-1"}
    right = [labels[f"e{i}"] == (chance(i) > 0.5) for i in range(N)]
    [truth] = found["r", "hard", "truth"].agreement
    assert (truth.rater, truth.figures.n) == ("people", N)
    assert truth.figures.raw.value == pytest.approx(sum(right) / N)
    n_yes = sum(labels.values())
    assert (truth.figures.tpr.n, truth.figures.tnr.n) == (n_yes, N - n_yes)
    assert found["r", "hard", "average"].agreement[0].figures.n == 2 * N
    # Answers have no soft form.
    assert found["r", "soft", "truth"].agreement == ()


def test_ratings_of_0_and_1_for_one_question_are_answers_too(open_runs: ExitStack, tmp_path: Path) -> None:
    data = [replace(item, human={"truth": float(chance(i) > 0.3)}) for i, item in enumerate(examples(N))]
    [agreement] = meta([run_of(open_runs, tmp_path, data=data)]).rows[0].agreement
    # Of 20 chances 14 lie above 0.3, and the judge says yes to the 10 above 0.5.
    assert agreement.figures.raw.value == pytest.approx(16 / 20)
    assert agreement.figures.tpr.value == pytest.approx(10 / 14)
    assert agreement.figures.tnr.value == 1


def test_repeats_are_compared_with_each_other(open_runs: ExitStack, tmp_path: Path) -> None:
    calls: dict[tuple[float, str], int] = {}

    def swaying(p: float, question: str) -> float:
        calls[p, question] = calls.get((p, question), 0) + 1
        return 0.9 if calls[p, question] % 2 else 0.1

    # Twenty texts, each asked twice: yes first, then no.
    run = run_of(open_runs, tmp_path, judge=probable(swaying), data=rated(20), options=replace(OPTIONS, repeats=2))
    found = by_place(meta([run]).rows)
    [agreement] = found["r", "hard", "truth"].agreement
    assert (agreement.rater, agreement.figures.n, agreement.figures.raw.value) == ("repeats", 20, 0.0)


def test_imported_scores_stand_beside_judged_ones(open_runs: ExitStack, tmp_path: Path) -> None:
    scores = [{"example_id": f"e{i}", "dimension": "truth", "value": chance(i) ** 2} for i in range(N - 3)]
    judged = run_of(open_runs, tmp_path)
    imported = open_runs.enter_context(import_scores(rated(), scores, name="rouge", store=tmp_path / "s.db"))
    report = meta([judged, imported])
    row = by_place(report.rows)["rouge", "hard", "truth"]
    assert (row.correlations.n, row.n_examples, row.n_without_score) == (N - 3, N, 3)
    assert row.correlations.spearman.value == pytest.approx(1)
    assert ("rouge", "soft", "truth") not in by_place(report.rows)
    assert {item.difference.estimate.n for item in report.differences if item.run == "rouge"} == {N - 3}
    assert report.notes == ("run rouge: people rated tone, and the run has no score for it",)


def test_few_labels_and_all_scores_give_an_estimate_of_peoples_mean(open_runs: ExitStack, tmp_path: Path) -> None:
    scores = [{"example_id": f"e{i}", "dimension": "truth", "value": 1 + 4 * chance(i)} for i in range(N)]
    run = open_runs.enter_context(
        import_scores(rated(), scores, name="r", store=tmp_path / "s.db", scales={"truth": (1, 5)})
    )
    [row] = [row for row in meta([run], options=MetaOptions(labeled_share=0.25, seed=1)).rows if row.human_mean]
    assert row.human_mean is not None
    assert (row.human_mean.n_labeled, row.human_mean.n_unlabeled) == (10, 30)
    # The scores are people's ratings, so that ten labels and all scores nearly give the mean of all: 1 + 4 · 0.5.
    found = row.human_mean
    assert found.all_labels.value == pytest.approx(3)
    assert found.prediction_powered.value == pytest.approx(3, abs=0.1)
    assert found.labels_alone.n == 10
    widths = [
        item.high - item.low
        for item in (found.prediction_powered, found.labels_alone)
        if item.low is not None and item.high is not None
    ]
    assert widths[0] < widths[1]


def test_a_report_as_json_has_an_object_for_each_row_and_no_nan(open_runs: ExitStack, tmp_path: Path) -> None:
    first, other = run_of(open_runs, tmp_path, "first"), run_of(open_runs, tmp_path, "other")
    found = json.loads(json.dumps(meta([first, other]).to_json(), allow_nan=False))
    assert {"run", "dimension", "level", "n", "groups_used", "groups_skipped", *("pearson", "spearman", "kendall")} <= {
        *found[0]
    }
    assert found[0]["pearson"].keys() == {"value", "low", "high", "n", "method"}
    assert found[0]["differences"] == []
    other_rows = [row for row in found if (row["run"], row["score"], row["dimension"]) == ("other", "hard", "truth")]
    [other_row] = other_rows
    assert [(item["run"], item["score"], item["coefficient"]) for item in other_row["differences"]] == [
        ("first", "hard", "pearson"),
        ("first", "hard", "spearman"),
        ("first", "hard", "kendall"),
    ]
    assert other_row["differences"][0]["estimate"]["value"] == 0


def test_the_same_seed_gives_the_same_report(open_runs: ExitStack, tmp_path: Path) -> None:
    run = run_of(open_runs, tmp_path)
    first, again, other = (meta([run], options=MetaOptions(seed=seed)).to_json() for seed in (1, 1, 2))
    assert json.dumps(first) == json.dumps(again)
    assert first != other


@pytest.mark.parametrize(
    ("level", "message"),
    [
        ("group", "level group needs 'group' in the data, and no example of run r has it"),
        ("system", "level system needs 'system' in the data, and no example of run r has it"),
    ],
)
def test_a_level_that_the_data_do_not_have_is_refused(
    open_runs: ExitStack, tmp_path: Path, level: Any, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        meta([run_of(open_runs, tmp_path)], options=MetaOptions(level=level))


def test_when_no_coefficient_is_defined_that_is_an_error_with_the_reason(open_runs: ExitStack, tmp_path: Path) -> None:
    alike = run_of(open_runs, tmp_path, data=[replace(item, human={"tone": 3.0}) for item in examples(N)])
    with pytest.raises(ConfigError, match=r"no coefficient is defined at level pooled .*all human ratings are equal"):
        meta([alike])
    single = [replace(item, group=item.id) for item in rated()]
    with pytest.raises(ConfigError, match=r"no coefficient is defined at level group .*no group has two distinct"):
        meta([run_of(open_runs, tmp_path, "single", data=single)], options=MetaOptions(level="group"))


def test_without_any_rating_that_is_an_error_that_says_what_to_do(open_runs: ExitStack, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no ratings of people for truth, tone: put ratings into the data \(human\)"):
        meta([run_of(open_runs, tmp_path, data=examples(N))])
    other = [replace(item, human={"beauty": 1.0}) for item in examples(N)]
    with pytest.raises(ConfigError, match="people rated beauty, and the run has no score for it"):
        meta([run_of(open_runs, tmp_path, "other", data=other)])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"example_id": "e0", "dimension": "trut", "value": 1}, "unknown dimension 'trut'; did you mean truth"),
        ({"example_id": "x", "dimension": "truth", "value": 1}, "unknown example 'x'"),
        ({"example_id": "e0", "question_id": "tru-2", "answer": "yes"}, "unknown question 'tru-2'"),
        ({"example_id": "e0", "question_id": "tru-1", "answer": ""}, "no row has an answer"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    open_runs: ExitStack, tmp_path: Path, row: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        meta([run_of(open_runs, tmp_path)], written(tmp_path, [row]))


def test_a_run_that_is_named_twice_is_refused(open_runs: ExitStack, tmp_path: Path) -> None:
    run = run_of(open_runs, tmp_path)
    with pytest.raises(ConfigError, match="named twice"):
        meta([run, run])


def test_runs_of_different_data_are_compared_on_the_examples_of_both(open_runs: ExitStack, tmp_path: Path) -> None:
    first, other = run_of(open_runs, tmp_path, "first"), run_of(open_runs, tmp_path, "other", data=rated(30))
    report = meta([first, other])
    [note] = report.difference_notes
    assert note == "runs first and other have different data: their difference is over the examples of both"
    assert {item.difference.estimate.n for item in report.differences if item.run == "other"} == {30}


def test_of_two_runs_with_answers_of_people_it_is_told_which_one_is_right_alone(
    open_runs: ExitStack, tmp_path: Path
) -> None:
    first = run_of(open_runs, tmp_path, "first")
    other = run_of(open_runs, tmp_path, "other", judge=probable(lambda p, _: 1 - p, name="scripted/contrary"))
    labels = written(
        tmp_path,
        [
            {"example_id": item.id, "question_id": "tru-1", "answer": "yes" if chance(i) > 0.5 else "no"}
            for i, item in enumerate(examples(N))
        ],
    )
    row = by_place(meta([first, other], labels).rows)["other", "hard", "truth"]
    (right,) = [item.right for item in row.agreement if item.rater == "first"]
    # The first is always right and the other, which says the opposite, never: p = 2 · 2^-40.
    assert right is not None
    assert (right.n, right.first_only, right.second_only) == (N, 0, N)
    assert (right.test, right.p_value) == ("McNemar", pytest.approx(2 * 2.0**-N))
    # Two comparisons, of truth and over all questions, which here is the same.
    assert right.p_adjusted == pytest.approx(4 * 2.0**-N)
    assert right.difference.value == -1


def test_an_unknown_answer_is_neither_right_nor_wrong(open_runs: ExitStack, tmp_path: Path) -> None:
    first = run_of(open_runs, tmp_path, "first")
    silent = probable(lambda p, _: None if p < 0.5 else 1 - p, name="scripted/silent")
    other = run_of(open_runs, tmp_path, "other", judge=silent)
    rows = [
        {"example_id": item.id, "question_id": "tru-1", "answer": "yes" if chance(i) > 0.5 else "no"}
        for i, item in enumerate(examples(N))
    ]
    row = by_place(meta([first, other], written(tmp_path, rows)).rows)["other", "hard", "truth"]
    [right] = [item.right for item in row.agreement if item.kind == "run"]
    assert right is not None
    assert (right.n, right.second_only) == (N // 2, N // 2)


def test_where_groups_hold_several_answers_their_difference_is_drawn_by_groups(
    open_runs: ExitStack, tmp_path: Path
) -> None:
    data = [replace(item, group=f"g{i // 4}") for i, item in enumerate(rated())]
    first = run_of(open_runs, tmp_path, "people", data=data)
    other = run_of(open_runs, tmp_path, "other", judge=probable(lambda _, __: 0.9, name="scripted/yes"), data=data)
    rows = [
        {"example_id": item.id, "question_id": "tru-1", "answer": "yes" if chance(i) > 0.5 else "no"}
        for i, item in enumerate(examples(N))
    ]
    row = by_place(meta([first, other], written(tmp_path, rows)).rows)["other", "hard", "truth"]
    # A run may be named as people are here.
    assert [(item.kind, item.rater) for item in row.agreement] == [("people", "people"), ("run", "people")]
    right = row.agreement[1].right
    assert right is not None
    assert (right.test, right.difference.value) == ("bootstrap", -0.5)
    assert "over 10 groups" in right.difference.method
    assert row.agreement[1].figures.tpr.value is None, "another run is not taken for right"


def test_a_dimension_named_as_the_average_is_refused(open_runs: ExitStack, tmp_path: Path) -> None:
    data = [replace(item, human={"average": 1 + i % 5}) for i, item in enumerate(examples(N))]
    rows = [{"example_id": item.id, "dimension": "average", "value": 0.5} for item in data]
    run = open_runs.enter_context(import_scores(data, rows, name="r", store=tmp_path / "s.db"))
    with pytest.raises(ConfigError, match="a dimension is named 'average'"):
        meta([run])


def test_what_keeps_systems_from_being_comparable_is_told(open_runs: ExitStack, tmp_path: Path) -> None:
    data = [
        replace(item, group=f"g{i // 2}", system="ab"[i % 2] if i < N - 4 else None) for i, item in enumerate(rated())
    ]
    assert meta([run_of(open_runs, tmp_path, "even", data=data)]).notes == (
        "run even: 4 of 40 outputs name no system, and are left out where systems are compared",
    )
    data = [item for i, item in enumerate(data) if i not in (1, 3)]
    assert meta([run_of(open_runs, tmp_path, "uneven", data=data)]).notes[-1] == (
        "run uneven: the systems have outputs for different groups, 16 to 18 of 18: their means are not over the same "
        "inputs"
    )


def test_ratings_that_are_not_looked_at_count_for_the_mean_of_people_only_as_scores(
    open_runs: ExitStack, tmp_path: Path
) -> None:
    scores = [{"example_id": f"e{i}", "dimension": "truth", "value": 1 + 4 * chance(i)} for i in range(N)]
    half = [replace(item, human=item.human if i % 2 else {}) for i, item in enumerate(rated())]
    run = open_runs.enter_context(
        import_scores(half, scores, name="r", store=tmp_path / "s.db", scales={"truth": (1, 5)})
    )
    [row] = [row for row in meta([run], options=MetaOptions(labeled_share=0.5, seed=1)).rows if row.human_mean]
    assert row.human_mean is not None
    # Outputs without a rating are not left out, and their rating is not 0.
    assert (row.human_mean.n_labeled, row.human_mean.n_unlabeled) == (10, 30)
    assert row.human_mean.prediction_powered.value == pytest.approx(3, abs=0.2)
