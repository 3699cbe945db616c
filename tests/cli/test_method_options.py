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


def test_the_calls_that_write_the_steps_count_against_the_cap(folder: Folder) -> None:
    folder.write("rates.py", JUDGE.replace('json.dumps({"explanation": "So it is.", "score": 4})', '"4"'))
    ran = folder.bineval(
        "run", "data.jsonl", "--checklist", "checklist.yaml", "--judge", "scripted/rates.py",
        "--method", "geval", "--samples", "2", "--max-calls", "5",
    )  # fmt: skip
    assert ran.code == 5, ran.err
    # 2 dimensions: 2 calls for their steps; 3 are left for samples.
    assert "used so far: 5 calls" in ran.err


def test_ratings_that_are_missing_are_not_said_to_be_neither_yes_nor_no(folder: Folder) -> None:
    folder.write("mute.py", "def reply(request):\n    return 'I would rather not.'\n")
    ran = folder.bineval(
        "run", "data.jsonl", "--checklist", "checklist.yaml", "--judge", "scripted/mute.py", "--method", "holistic"
    )
    assert ran.code == 4
    assert "they count as no rating, and not as a low one" in " ".join(ran.err.split())


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
        (
            ("--method", "geval", "--judge", "scripted/rater.py", "--temperature", "1"),
            "--temperature needs a judge that",
        ),
        (("--method", "rouge", "--kind", "logprob"), "--kind needs a method that asks a model"),
        (
            ("--method", "geval", "--judge", "scripted/rater.py", "--prompt", "judge_one=rater.py"),
            "geval has no prompt",
        ),
        ((), "--method binary needs a --judge"),
    ],
)
def test_options_that_the_method_does_not_heed_are_refused(
    folder: Folder, arguments: tuple[str, ...], problem: str
) -> None:
    ran = folder.bineval("run", "data.jsonl", "--checklist", "checklist.yaml", *arguments)
    assert ran.code in (1, 2)
    assert problem in " ".join(ran.err.split())


def test_a_dry_run_of_a_geval_run_that_is_there_counts_what_is_left(folder: Folder) -> None:
    arguments = (
        "run", "data.jsonl", "--checklist", "checklist.yaml", "--judge", "scripted/rates.py",
        "--method", "geval", "--samples", "2", "--name", "g",
    )  # fmt: skip
    folder.write("rates.py", JUDGE.replace('json.dumps({"explanation": "So it is.", "score": 4})', '"4"'))
    assert folder.bineval(*arguments, "--limit", "3").code == 0
    ran = folder.bineval(*arguments, "--dry-run")
    assert ran.code == 0, ran.err
    assert "2 verdicts to make: 4 calls" in ran.err  # 1 example x 2 dimensions, 2 samples each
    assert "before that" not in ran.err, "the steps are in the reply cache"


def test_a_weighted_rating_is_shown_with_what_lies_outside_the_scale_and_in_json(folder: Folder) -> None:
    reply = 'Reply(text="4", logprobs=[TokenLogprob(token="4", logprob=log(0.8), top=TOP)])'
    folder.write(
        "weigher.py",
        "from math import log\nfrom bineval.types import Reply, TokenLogprob\n"
        'TOP = (("4", log(0.8)), ("So", log(0.2)))\n'
        + JUDGE.replace('json.dumps({"explanation": "So it is.", "score": 4})', reply),
    )
    ran = folder.bineval(
        "run", "data.jsonl", "--checklist", "checklist.yaml", "--judge", "scripted/weigher.py",
        "--method", "geval", "--name", "g", "--json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    rows = {(row["system"], row["dimension"]): row for row in ran.json["scores"]}
    assert rows[None, "content"]["estimate"]["value"] == pytest.approx(0.75)
    assert rows[None, "content"]["soft"] is None
    assert all(item["fail_rate"] is None and item["n_unanswered"] == 0 for item in ran.json["questions"])
    shown = folder.bineval("show", "g", "--example", "a").out
    assert "rated 0.750" in shown
    assert "no number of the scale: .20 of the probability" in shown
    assert "neither yes nor no" not in shown
