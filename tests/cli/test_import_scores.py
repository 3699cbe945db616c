import json
from pathlib import Path
from typing import Any

import pytest

from support.command_line import Folder

SCORES = [
    {"example_id": "a", "dimension": "style", "value": 5},
    {"example_id": "b", "dimension": "style", "value": 3},
    {"example_id": "c", "dimension": "style", "value": 1},
    {"example_id": "d", "dimension": "style", "value": None},
]
COMMAND = ("import-scores", "data.jsonl", "--scores", "scores.jsonl", "--name", "other")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path)
    write(folder, SCORES)
    return folder


def write(folder: Folder, rows: list[dict[str, Any]]) -> None:
    folder.write("scores.jsonl", "".join(json.dumps(row) + "\n" for row in rows))


def test_imported_scores_can_be_shown_and_exported_like_a_run(folder: Folder) -> None:
    done = folder.bineval(*COMMAND, "--scale", "style=1,5")
    assert (done.code, done.out) == (0, "")
    assert "run other: 3 scores imported, 1 missing" in done.err
    # On the scale of 1 to 5 the scores are 1, 0.5, 0.
    assert "0.500" in done.err
    assert "3.00" in done.err
    exported = folder.bineval("export", "other", "--what", "scores")
    rows = [row for row in map(json.loads, exported.out.splitlines()) if row["dimension"] == "style"]
    assert [(row["example_id"], row["value"], row["scaled"]) for row in rows] == [
        ("a", 1.0, 5.0),
        ("b", 0.5, 3.0),
        ("c", 0.0, 1.0),
        ("d", None, None),
    ]
    shown = folder.bineval("show", "other", "--example", "d")
    assert shown.code == 0
    assert "the file has no value" in shown.out


def test_json_holds_the_summary_of_the_run(folder: Folder) -> None:
    found = folder.bineval(*COMMAND, "--json").json
    assert (found["run"], found["judge"], found["cost_usd"]) == ("other", "imported", 0.0)
    assert (found["status"]["n_answered"], found["status"]["n_unanswered"]) == (3, 1)
    style = next(row for row in found["scores"] if row["dimension"] == "style" and row["system"] is None)
    assert style["estimate"]["value"] == 3.0


def test_the_same_command_again_changes_nothing_and_other_scores_are_refused(folder: Folder) -> None:
    first, again = folder.bineval(*COMMAND), folder.bineval(*COMMAND)
    assert (again.code, again.err) == (0, first.err)
    write(folder, [{**SCORES[0], "value": 4}, *SCORES[1:]])
    refused = folder.bineval(*COMMAND)
    assert refused.code == 1
    assert "run 'other' cannot be resumed" in refused.err


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (("--scale", "style"), 2, "'style' must be a dimension and two numbers"),
        (("--scale", "style=5,1"), 2, "'style=5,1' must be a dimension and two numbers"),
        (("--scale", "style=1,nan"), 2, "'style=1,nan' must be a dimension and two numbers"),
        (("--scale", "stile=1,5"), 1, "unknown dimension 'stile' in the scores; did you mean style"),
        (("--scale", "style=1,4"), 1, "scores.jsonl:1: field 'value': 5 is outside the scale of 'style', 1 to 4"),
        (("--encoding", "nonsense"), 1, "nonsense"),
    ],
)
def test_what_cannot_be_imported_is_said_in_words(
    folder: Folder, more: tuple[str, ...], code: int, message: str
) -> None:
    done = folder.bineval(*COMMAND, *more)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert "Traceback" not in done.err
    assert "bineval.db" not in folder.files()
