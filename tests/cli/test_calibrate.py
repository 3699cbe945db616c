import json
from pathlib import Path

import pytest

from bineval.io.calibrations import load_calibration
from bineval.judging.job import RunOptions
from bineval.methods.evaluate import evaluate
from support.asking import deciding
from support.command_line import Folder
from support.probable import CHECKLIST, OPTIONS, drawn_labels, examples, overconfident, probable

N = 300


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """A run "r" of a judge that is too sure of itself, labels for it, and a run "chat" without probabilities."""
    folder = Folder(tmp_path_factory.mktemp("calibrate"))
    store = folder.path / "bineval.db"
    evaluate(examples(N), CHECKLIST, judge=probable(overconfident), name="r", store=store, options=OPTIONS).close()
    chat = deciding(lambda output, _: "yes")
    evaluate(examples(N), CHECKLIST, judge=chat, name="chat", store=store, options=RunOptions()).close()
    rows = drawn_labels(N, ("ton-1", "ton-2")) + drawn_labels(60, ("tru-1",))
    folder.write("labels.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    folder.write("few.jsonl", "".join(json.dumps(row) + "\n" for row in rows[:20]))
    folder.write("wrong.jsonl", json.dumps({**rows[0], "question_id": "ton-3"}) + "\n")
    return folder


def test_raw_and_calibrated_figures_stand_side_by_side_and_the_file_is_written(folder: Folder) -> None:
    done = folder.bineval("calibrate", "r", "--labels", "labels.jsonl", "-o", "c.json")
    assert (done.code, done.err) == (0, "wrote c.json: judge with it by bineval run … --calibration c.json\n")
    lines = done.out.splitlines()
    assert lines[0] == "judge scripted/probable, run r"
    assert lines[1].startswith("fitted on 3")
    maps = [line.split()[:-2] for line in lines if line.startswith(("tone ", "* "))][:2]
    assert maps == [["tone", "platt"], ["*", "(all", "dimensions)", "platt"]]
    place = next(i for i, line in enumerate(lines) if line.startswith("overall "))
    # overall         Brier   0.220 [0.200, 0.240]   0.180 [0.160, 0.200]
    # 330 verdicts    log loss …
    # 166 labeled yes ECE     …
    overall = lines[place].split()
    assert overall[1] == "Brier"
    assert float(overall[5]) < float(overall[2])
    assert lines[place + 1].split()[1:4] == ["verdicts", "log", "loss"]
    assert lines[place + 2].split()[1:4] == ["labeled", "yes", "ECE"]
    assert max(len(line) for line in lines[: place + 6]) <= 80
    assert "overall: calibration helped: Brier score changed by -0.0" in done.out
    assert "shares the map of all dimensions, *" in done.out
    assert list(load_calibration(folder.path / "c.json").maps) == ["tone", "*"]


def test_a_program_gets_what_the_file_holds(folder: Folder) -> None:
    done = folder.bineval("calibrate", "r", "--labels", "labels.jsonl", "--json", "-o", "d.json")
    assert done.code == 0
    assert done.json == json.loads((folder.path / "d.json").read_text(encoding="utf-8"))
    overall = done.json["figures"]["rows"][-1]
    assert (overall["dimension"], overall["effect"]) == ("overall", "better")
    assert overall["calibrated"]["brier"]["value"] < overall["raw"]["brier"]["value"]
    assert folder.bineval("calibrate", "r", "--labels", "labels.jsonl", "--json").json == done.json


def test_without_a_file_nothing_is_written_and_that_is_said(folder: Folder) -> None:
    before = folder.files()
    done = folder.bineval("calibrate", "r", "--labels", "labels.jsonl", "--method", "isotonic", "--seed", "3")
    assert (done.code, done.err) == (0, "no calibration was written: give -o FILE\n")
    assert "isotonic" in done.out
    assert folder.files() == before


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("rr", "--labels", "labels.jsonl"), 1, "error: unknown run 'rr' in bineval.db; did you mean r?"),
        (("r", "--labels", "few.jsonl"), 1, "and --min-labels is 40: label more, or lower it or --test-share"),
        (("r", "--labels", "wrong.jsonl"), 1, "error: wrong.jsonl:1: field 'question_id': unknown question 'ton-3'"),
        (("r", "--labels", "nowhere.jsonl"), 1, "error: nowhere.jsonl: cannot be read"),
        (("r",), 1, "no human ratings that answer its questions: give --labels FILE"),
        (
            ("chat", "--labels", "labels.jsonl"),
            1,
            "error: run chat has no probabilities to calibrate: judge with --kind",
        ),
        (("r", "--labels", "labels.jsonl", "-o", "nowhere/c.json"), 1, "error: nowhere/c.json: cannot be written"),
        (("r", "--labels", "labels.jsonl", "--test-share", "1"), 2, "Invalid value for '--test-share'"),
        (("r", "--labels", "labels.jsonl", "--method", "beta"), 2, "Invalid value for '--method'"),
    ],
)
def test_what_cannot_be_calibrated_is_said_in_words(
    folder: Folder, arguments: tuple[str, ...], code: int, message: str
) -> None:
    done = folder.bineval("calibrate", *arguments)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert "Traceback" not in done.err


def test_undefined_figures_are_null_with_a_reason(folder: Folder, tmp_path: Path) -> None:
    rows = [
        *({**row, "answer": "yes"} for row in drawn_labels(100, ("tru-1",))),
        *drawn_labels(N, ("ton-1",)),
    ]
    (tmp_path / "l.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = folder.bineval("calibrate", "r", "--labels", str(tmp_path / "l.jsonl"), "--json")
    truth = done.json["figures"]["rows"][0]
    assert (truth["dimension"], truth["raw"]["tnr"]["value"]) == ("truth", None)
    assert truth["raw"]["tnr"]["method"] == "undefined: no label is no"
    shown = folder.bineval("calibrate", "r", "--labels", str(tmp_path / "l.jsonl"))
    assert "truth TNR: undefined: no label is no" in shown.out


def test_the_reliability_diagram_is_drawn(folder: Folder) -> None:
    done = folder.bineval("calibrate", "r", "--labels", "labels.jsonl", "--figures", "drawn")
    assert done.code == 0, done.err
    drawing = (folder.path / "drawn" / "reliability.svg").read_text()
    assert "<svg" in drawing
    assert "calibrated" in drawing
