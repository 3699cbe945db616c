from pathlib import Path

import pytest

from support.command_line import Folder

JUDGE = """\
import json

def reply(request):
    text = request.messages[-1].content
    if "The quality:" in text:
        return '{"steps": [{"step": "Read."}, {"step": "Compare."}]}'
    return json.dumps({"explanation": "So it is.", "score": 4})
"""


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path)
    folder.write("rater.py", JUDGE)
    return folder


def test_a_holistic_run_is_shown_and_exported_like_any_other(folder: Folder) -> None:
    ran = folder.bineval(
        "run", "data.jsonl", "--checklist", "checklist.yaml", "--judge", "scripted/rater.py",
        "--method", "holistic", "--name", "h",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert "Questions that fail most" not in ran.err
    assert "rated 0.750" in folder.bineval("show", "h", "--example", "a").out
    exported = folder.bineval("export", "h", "--format", "csv").out.splitlines()
    assert exported[1].startswith("h,a,content,content,,0,0.75,,,So it is.")


def test_a_dry_run_says_that_steps_are_written_first_and_makes_no_call(folder: Folder) -> None:
    ran = folder.bineval(
        "run", "data.jsonl", "--checklist", "checklist.yaml", "--judge", "scripted/rater.py",
        "--method", "geval", "--samples", "2", "--dry-run",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert "before that, 2 calls to write the evaluation steps" in ran.err
    # 4 examples x 2 dimensions x 2 samples
    assert "8 verdicts to make: 16 calls" in ran.err
    assert not (folder.path / "bineval.db").exists()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--method", "rouge", "--judge", "scripted/rater.py"), "--judge needs a method that asks a model"),
        (("--method", "geval"), "--method geval needs a --judge"),
        (("--method", "gval", "--judge", "scripted/rater.py"), "did you mean geval"),
        (("--method", "holistic", "--judge", "scripted/rater.py", "--gamma", "3"), "--gamma needs --method factscore"),
        (("--judge", "scripted/rater.py", "--against", "input"), "--against needs a metric"),
        (("--judge", "scripted/rater.py", "--samples", "3"), "--samples needs --method geval"),
        (("--method", "holistic", "--judge", "scripted/rater.py", "--evidence"), "--evidence needs a judge that says"),
        ((), "--method binary needs a --judge"),
    ],
)
def test_options_that_the_method_does_not_heed_are_refused(
    folder: Folder, arguments: tuple[str, ...], problem: str
) -> None:
    ran = folder.bineval("run", "data.jsonl", "--checklist", "checklist.yaml", *arguments)
    assert ran.code in (1, 2)
    assert problem in " ".join(ran.err.split())
