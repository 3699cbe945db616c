import json
import signal
from pathlib import Path

import pytest

from bineval.io.checklists import save_checklist
from support import planted
from support.command_line import Folder, wait_until

N = 120
MODELS = {"target": "target().model", "source": "source().model", "writer": "note_taker()"}
ARGUMENTS = (
    "align", "data.jsonl", "--checklist", "checklist.yaml", "--target", "scripted/target.py",
    "--prompt", "judge_one=judge.md", "--train", "40", "--dev", "40",
)  # fmt: skip
CROSS = (*ARGUMENTS, "--source", "scripted/source.py", "--writer", "scripted/writer.py")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path)
    for name, model in MODELS.items():
        folder.write_logged_model(
            name, module="planted", setup=f"planted.{model}", reply="model.complete(request).text"
        )
    rows = [
        {
            "id": item.id,
            "group": item.group,
            "output": item.output,
            "human": {"manner": float(planted.truth("polite", item.output))},
        }
        for item in planted.examples(N)
    ]
    folder.write("data.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    folder.write("judge.md", planted.PROMPT)
    save_checklist(planted.CHECKLIST, tmp_path / "checklist.yaml")
    return folder


def test_the_story_of_a_prompt_is_told_and_the_prompt_can_be_used(folder: Folder) -> None:
    done = folder.bineval(*CROSS, "--name", "repair", "-o", "better.md")
    assert done.code == 0, done.err
    for words in (
        "scripted/target.py, prompt judge_one, by agreement with scripted/source.py; lessons by scripted/writer.py",
        "examples: 40 train, 40 dev, 40 test",
        "Attempt 1 · kept",
        "lesson: Politeness needs no title.",
        f"-{planted.WRONG['polite']}",
        f"+{planted.RIGHT['polite']}",
        "ended: nothing left to gain",
        "on test, best prompt:  1.000",
        "better beyond noise",
        "polite",
    ):
        assert words in done.out, words
    assert "wrote better.md" in done.err
    assert planted.RIGHT["short"] in (folder.path / "better.md").read_text()
    assert folder.bineval("align", "show", "repair").out == done.out
    run = folder.bineval(
        "run", "data.jsonl", "--checklist", "checklist.yaml", "--judge", "scripted/target.py",
        "--prompt", "judge_one=better.md", "--limit", "5", "--name", "with",
    )  # fmt: skip
    assert run.code == 0, run.err


def test_people_take_the_place_of_a_source_and_no_improvement_is_a_result(folder: Folder) -> None:
    done = folder.bineval(*ARGUMENTS, "--human", "--writer", "scripted/writer.py", "--name", "self", "--epsilon", "0")
    assert done.code == 0, done.err
    assert "by Spearman's correlation with people" in done.out
    assert "on test" in done.out
    value = folder.bineval("align", "show", "self", "--json").json
    assert value["objective"] == "Spearman's correlation with people"
    assert value["test"]["dimensions"].keys() == {"manner"}


def test_killed_in_the_middle_of_an_attempt_it_goes_on_to_the_same_end(folder: Folder, tmp_path: Path) -> None:
    arguments = (*CROSS, "--name", "loop", "--concurrency", "1", "--json")
    whole = folder.bineval(*arguments, "--store", "whole.db").json
    log = folder.path / "calls.log"
    n_calls = len(folder.calls())
    log.unlink()
    process = folder.start(*arguments, "--store", "killed.db")
    # The note-taker has begun: an attempt is under way.
    wait_until(lambda: "writer" in "".join(folder.calls()))
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert len(folder.calls()) < n_calls
    unfinished = folder.bineval("align", "show", "loop", "--store", "killed.db")
    assert "unfinished: the same command goes on" in unfinished.out
    resumed = folder.bineval(*arguments, "--store", "killed.db").json
    assert resumed == whole
    # Only the call that was under way when it was killed may have been made twice.
    assert len(folder.calls()) <= n_calls + 1


def test_a_budget_ends_it_and_a_larger_one_goes_on(folder: Folder) -> None:
    done = folder.bineval(*CROSS, "--name", "poor", "--max-calls", "450")
    assert done.code == 5
    assert len(folder.calls()) <= 450
    assert folder.bineval(*CROSS, "--name", "poor", "--max-calls", "5000").code == 0


def test_the_report_alone_says_which_questions_break(folder: Folder) -> None:
    done = folder.bineval(*CROSS[:-2], "--name", "move", "--report-only")
    assert done.code == 0, done.err
    assert "scripted/target.py in place of scripted/source.py" in done.out
    assert "3 of 3 questions break: polite, short, number" in done.out
    value = folder.bineval(*CROSS[:-2], "--name", "move", "--report-only", "--json").json
    assert [item["question_id"] for item in value["questions"]] == ["polite", "short", "number"]
    assert value["all"]["n"] == 3 * N
    same = folder.bineval(
        *ARGUMENTS,
        "--source",
        "scripted/source.py",
        "--target",
        "scripted/source.py",
        "--report-only",
        "--name",
        "same",
    )
    assert "no question breaks for certain; 3 of 3 agree on at least 0.9 for certain" in same.out


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        ((), 2, "give either --source MODEL, or --human or --labels FILE"),
        (("--source", "scripted/source.py", "--human"), 2, "give either --source MODEL, or --human"),
        (("--report-only", "--human"), 2, "--report-only compares --target with --source"),
        (("--source", "scripted/source.py", "--train", "100"), 1, "are too few for parts of 100, 40 and a rest"),
        (("--human", "--kind", "decision", "--prompt", "judge_one=judge.md"), 2, "has no prompt 'judge_one'"),
    ],
)
def test_what_does_not_fit_is_said_before_anything_is_paid_for(
    folder: Folder, more: tuple[str, ...], code: int, words: str
) -> None:
    done = folder.bineval(*ARGUMENTS, "--name", "n", *more)
    assert (done.code, words in done.err) == (code, True), done.err
    assert not folder.calls()


def test_a_loop_that_is_not_there_comes_with_those_that_are(folder: Folder) -> None:
    folder.bineval(*CROSS, "--name", "repair")
    done = folder.bineval("align", "show", "repar")
    assert done.code == 1
    assert "did you mean repair" in done.err
