import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.command_line import N_VERDICTS, SCORES, Folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """A finished run called "sky"; tests only read it."""
    folder = Folder(tmp_path_factory.mktemp("show"))
    assert folder.run("--name", "sky", "--evidence").code == 0
    return folder


@pytest.fixture
def empty(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_the_latest_run_is_shown_with_scores_questions_and_the_worst_example(folder: Folder) -> None:
    shown = folder.bineval("show")
    assert (shown.code, shown.err) == (0, "")
    lines = [line.split() for line in shown.out.splitlines()]
    assert "run sky · judge scripted/judge.py" in shown.out
    # S = (1 + 0.8 + 0.2 + 0.6) / 4, over 4 examples and 12 questions
    overall = next(line for line in lines if line[:2] == ["all", "overall"])
    assert (overall[2], overall[-4:]) == ("0.650", ["4", "12", "of", "12"])
    content = next(line for line in lines if line[:2] == ["all", "content"])
    assert content[2:5] == ["0.688", "none", "3.75"]  # four examples are too few for an interval
    assert [line[0] for line in lines if line[0:1] in (["blue"], ["short"], ["stop"])] == ["blue", "stop", "short"]
    assert "Example c · system two\ncontent 0.250 · form 0.000 · overall 0.200\n" in shown.out
    assert "output: =blue, as far as the eye can see" in shown.out
    assert "short: Does the text have fewer than 20 characters?\n  no\n" in shown.out


def test_an_example_can_be_named_and_all_of_it_is_in_json(folder: Folder) -> None:
    shown = folder.bineval("show", "sky", "--example", "b", "--json")
    assert (shown.code, shown.err) == (0, "")
    example = shown.json["example"]
    assert (example["id"], example["output"], example["system"]) == ("b", "The sky is grey.", "one")
    assert {name: score["value"] for name, score in example["scores"].items()} == pytest.approx(SCORES["b"])
    answers = {row["question_id"]: row["verdict"]["answer"] for row in example["verdicts"]}
    assert answers == {"blue": "no", "short": "yes", "stop": "yes"}
    assert example["verdicts"][0]["verdict"]["explanation"] == "The sky is grey."
    assert shown.json["status"]["n_done"] == N_VERDICTS
    assert shown.json["manifest"]["judge"]["evidence"] is True
    assert shown.json["manifest"]["versions"]["bineval"]


def test_the_store_can_be_named_in_the_environment(folder: Folder) -> None:
    assert folder.bineval("show", env={"BINEVAL_STORE": "other.db"}).err.startswith("error: other.db: there is no such")


def test_an_empty_output_is_shown_as_empty(folder: Folder) -> None:
    shown = folder.bineval("show", "sky", "--example", "d").out
    assert "output: (empty)" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("skye",), "error: unknown run 'skye' in bineval.db; did you mean sky?"),
        (("sky", "--example", "z"), "error: unknown example 'z' in run sky; known: a, b, c, d"),
        (("sky", "--store", "other.db"), "error: other.db: there is no such store"),
    ],
)
def test_what_is_not_there_is_said_with_what_is(folder: Folder, arguments: tuple[str, ...], message: str) -> None:
    before = folder.files()
    shown = folder.bineval("show", *arguments)
    assert (shown.code, shown.out) == (1, "")
    assert shown.err.startswith(message)
    assert folder.files() == before, "reading makes no store"


def test_a_store_without_runs_says_how_to_make_one(empty: Folder) -> None:
    from bineval.store.database import Store

    Store(empty.path / "bineval.db").close()
    shown = empty.bineval("show")
    assert shown.code == 1
    assert "there is no run in this store yet; make one with bineval run" in shown.err


def test_an_unfinished_run_says_so(empty: Folder) -> None:
    assert empty.run("--max-calls", "4").code == 5
    shown = empty.bineval("show")
    assert shown.code == 0
    assert "4 of 12 verdicts" in shown.out
    assert "The run is unfinished" in shown.out


@pytest.mark.skipif(os.name == "nt", reason="there is no head")
def test_a_reader_that_goes_away_is_no_stack_trace(folder: Folder) -> None:
    for command in ("show sky", "show sky --json", "export sky"):
        done = subprocess.run(
            f"'{sys.executable}' -m bineval {command} | head -n 1",
            shell=True, cwd=folder.path, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert len(done.stdout.splitlines()) == 1
        assert done.stderr == ""


def test_a_console_that_is_not_unicode_gets_escapes_and_json_stays_json(empty: Folder) -> None:
    rows = [{"id": "ä", "output": "Der Himmel ist blau ☁"}]
    empty.write("data.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    narrow = {"PYTHONIOENCODING": "ascii"}
    finished = empty.run("--json", "--name", "wolke☁", env=narrow)
    assert finished.code == 0, finished.err
    assert finished.out.isascii()
    assert finished.json["run"] == "wolke☁"
    shown = empty.bineval("show", env=narrow)
    assert (shown.code, shown.err) == (0, "")
    assert r"output: Der Himmel ist blau \u2601" in shown.out
    assert "Himmel ist blau ☁" in empty.bineval("export", "wolke☁", env=narrow).out, "exports are always UTF-8"


def test_judged_text_cannot_command_the_terminal_or_the_markup(empty: Folder) -> None:
    row = {"id": "[red]x[/red]", "output": "\x1b[2J\x1b]0;title\x07 [bold]no markup[/nothing] \x9b1m\r\nend"}
    empty.write("data.jsonl", json.dumps(row) + "\n")
    assert empty.run("--name", "[blue]").code == 0
    shown = empty.bineval("show")
    assert shown.code == 0
    assert r"output: \x1b[2J\x1b]0;title\x07 [bold]no markup[/nothing] \x9b1m" + "\nend\n" in shown.out
    assert "Example [red]x[/red]" in shown.out
    assert "run [blue] ·" in shown.out
    assert "\x1b" not in shown.out


def test_quotes_that_are_not_in_the_text_are_marked(empty: Folder) -> None:
    reply = {"evidence": ["sky is", "grass is"], "explanation": "It says so.", "answer": "yes"}
    empty.write("judge.py", f"def reply(request):\n    return {json.dumps(reply)!r}\n")
    assert empty.run("--evidence", "--limit", "1").code == 0
    shown = empty.bineval("show").out
    assert "“sky is” (in the output)" in shown
    assert "“grass is” (NOT FOUND in what the judge read)" in shown
