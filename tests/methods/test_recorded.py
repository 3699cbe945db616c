import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bineval.errors import ConfigError, DataError
from bineval.judging.runs import Run
from bineval.judging.summary import summarize
from bineval.methods.recorded import import_scores
from bineval.types import Scale

DATA = [{"id": name, "output": f"Text {name}.", "system": "one"} for name in "abc"]
SCORES: list[dict[str, Any]] = [
    {"example_id": "a", "dimension": "style", "value": 5},
    {"example_id": "b", "dimension": "style", "value": 2},
    {"example_id": "c", "dimension": "style", "value": None},
    {"example_id": "a", "dimension": "rouge", "value": -7.25},
    {"example_id": "b", "dimension": "rouge", "value": 0.5},
]
SCALES: Mapping[str, Scale] = {"style": (1, 5), "rouge": (-10, 10)}


def imported(
    folder: Path,
    scores: list[dict[str, Any]] | None = None,
    *,
    data: list[dict[str, Any]] | None = None,
    scales: Mapping[str, Scale] | None = None,
) -> Run:
    return import_scores(data or DATA, scores or SCORES, name="r", store=folder / "s.db", scales=scales)


def values(run: Run) -> dict[str, dict[str, tuple[float | None, float | None]]]:
    return {
        example.id: {name: (score.value, score.scaled) for name, score in scores.items() if name != "overall"}
        for example, scores in run.scores()
    }


def test_scores_are_a_run_like_any_other_and_stay_as_they_are(tmp_path: Path) -> None:
    with imported(tmp_path) as run:
        assert values(run) == {
            "a": {"style": (5.0, None), "rouge": (-7.25, None)},
            "b": {"style": (2.0, None), "rouge": (0.5, None)},
            "c": {"style": (None, None), "rouge": (None, None)},
        }
        assert run.judge == "imported"
        assert (run.status().n_planned, run.status().n_unanswered, run.status().finished) == (6, 2, True)
        assert [row.estimate.n for row in summarize(run)] == [2, 2, 2]


def test_on_a_scale_scores_are_mapped_to_0_and_1_and_shown_scaled(tmp_path: Path) -> None:
    with imported(tmp_path, scales=SCALES) as run:
        # (5 - 1) / 4 = 1 and (2 - 1) / 4 = 0.25; (-7.25 + 10) / 20 = 0.1375
        assert values(run)["a"] == {"style": (1.0, 5.0), "rouge": (pytest.approx(0.1375), pytest.approx(-7.25))}
        assert values(run)["b"]["style"] == (0.25, 2.0)


def test_scores_in_a_unit_of_their_own_are_not_averaged_with_scores_on_a_scale(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"rouge has scores such as -7\.25 and no scale, and style has one"):
        imported(tmp_path, scales={"style": (1, 5)})
    shares = [row for row in SCORES if row["value"] != -7.25]
    imported(tmp_path, shares, scales={"style": (1, 5)}).close()


def test_a_score_that_is_missing_or_empty_is_a_verdict_without_an_answer(tmp_path: Path) -> None:
    with imported(tmp_path) as run:
        unanswered = [row for row in run.verdicts() if row.verdict.reason is not None]
    assert [(row.example_id, row.dimension) for row in unanswered] == [("c", "style"), ("c", "rouge")]
    for row in unanswered:
        assert (row.verdict.reason, row.verdict.explanation) == ("unparsed", "the file has no value")


def test_samples_of_one_example_are_repeats_and_their_mean_is_the_score(tmp_path: Path) -> None:
    samples = [
        {"example_id": example, "dimension": "style", "value": value, "repeat": repeat}
        for example, repeat, value in (("a", 1, 3), ("a", 0, 4), ("a", 2, 5), ("b", 0, 1), ("b", 2, None), ("c", 1, 2))
    ]
    with imported(tmp_path, samples) as run:
        assert {name: item["style"][0] for name, item in values(run).items()} == {"a": 4.0, "b": 1.0, "c": 2.0}
        ratings = [row.verdict.rating for row in run.verdicts() if row.example_id == "a"]
    assert ratings == [4.0, 3.0, 5.0]


def test_the_same_scores_resume_the_run_whatever_the_order_of_their_rows(tmp_path: Path) -> None:
    with imported(tmp_path) as run:
        before = list(run.verdicts())
    reordered = [SCORES[i] for i in (1, 0, 2, 4, 3)]
    with imported(tmp_path, reordered) as run:
        assert list(run.verdicts()) == before


def test_a_scale_in_whole_numbers_and_one_in_floats_are_the_same(tmp_path: Path) -> None:
    with imported(tmp_path, scales=SCALES) as whole:
        before = list(whole.verdicts())
    with imported(tmp_path, scales={"style": (1.0, 5.0), "rouge": (-10.0, 10.0)}) as floats:
        assert list(floats.verdicts()) == before, "the same run, and not refused"


def test_other_scores_or_data_under_the_same_name_are_refused(tmp_path: Path) -> None:
    imported(tmp_path).close()
    changed = [{**SCORES[0], "value": 4}, *SCORES[1:]]
    with pytest.raises(ConfigError, match=r"cannot be resumed[\s\S]*judge\.scores"):
        imported(tmp_path, changed)
    with pytest.raises(ConfigError, match=r"cannot be resumed[\s\S]*data: "):
        imported(tmp_path, data=[*DATA, {"id": "d", "output": ""}])
    with pytest.raises(ConfigError, match=r"cannot be resumed[\s\S]*checklist"):
        imported(tmp_path, scales=SCALES)


def test_files_are_read_too(tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in DATA))
    (tmp_path / "scores.csv").write_text("example_id,dimension,value\na,style,4.5\nb,style,\n")
    with import_scores(tmp_path / "data.jsonl", tmp_path / "scores.csv", name="r", store=tmp_path / "s.db") as run:
        assert values(run)["a"]["style"][0] == 4.5
        assert run.status().n_unanswered == 2


def test_what_cannot_be_imported_leaves_no_run(tmp_path: Path) -> None:
    for scores, scales, message in (
        ([{**SCORES[0], "example_id": "x"}], None, "unknown example 'x'"),
        (SCORES, {"stile": (1, 5)}, "unknown dimension 'stile' in the scores; did you mean style"),
        (SCORES, {"style": (1, 4)}, "5 is outside the scale of 'style', 1 to 4"),
        (SCORES, {"style": (5, 1)}, "the scale of 'style' must be two finite numbers, the lower one first"),
        (SCORES, {"style": (1, float("inf"))}, "the scale of 'style' must be two finite numbers"),
    ):
        with pytest.raises((DataError, ConfigError), match=message):
            imported(tmp_path, scores, scales=scales)  # type: ignore[arg-type]
    assert not (tmp_path / "s.db").exists()
