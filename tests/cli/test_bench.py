import json
from pathlib import Path
from typing import Any

import pytest

import bineval
from bineval.judging.rating_form import RatingForm
from bineval.judging.runs import Run
from bineval.store.database import Store
from bineval.store.runs import run_names
from bineval.templates import load_prompt
from support.command_line import Folder

JUDGE = """\
import json

def reply(request):
    text = request.messages[-1].content
    n = len(text.split("<<<BEGIN OUTPUT>>>\\n")[1].split("\\n<<<END")[0].split())
    with open("calls.log", "a") as log:
        log.write("one\\n")
    if "What to rate" in text:
        return json.dumps({"explanation": "Its length.", "score": 1 + n % 5})
    return json.dumps({"explanation": "Its length.", "answer": "yes" if n > 4 else "no"})
"""
ARGUMENTS = ("bench", "qags-xsum", "--data", "xsum.jsonl", "--judge", "scripted/words.py")
METHODS = ("--method", "binary", "--method", "holistic", "--method", "rouge")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path)
    folder.write("words.py", JUDGE)
    folder.write(
        "wide.yaml",
        "name: wide\ndimensions:\n  consistency:\n    scale: [0, 10]\n    questions:\n"
        "      - id: one\n        text: Is the text right?\n",
    )
    rows: list[dict[str, Any]] = [
        {
            "id": f"x{i}",
            "input": "word " * 9,
            "output": "word " * (i % 9 + 1) + f"no. {i}",
            "human": {"consistency": (i % 9) / 8},
        }
        for i in range(18)
    ]
    folder.write("xsum.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_own_rows_stand_beside_published_ones_and_nothing_is_paid_twice(folder: Folder) -> None:
    done = folder.bineval(*ARGUMENTS, *METHODS, "-o", "results.json")
    assert done.code == 0, done.err
    assert done.out.startswith("QAGS-XSum · 18 outputs of 18 documents · judge scripted/words.py")
    lines = {line.split()[0]: line for line in done.out.splitlines() if line.strip()}
    assert "hard" in lines["binary"]
    assert "hard" not in lines["holistic"], "a rating has one kind of score"
    assert "published" in lines["FactCC"]
    assert "binary hard against holistic: decomposition helped" in done.out
    results = json.loads((folder.path / "results.json").read_text())
    assert [row["method"] for row in results["rows"]] == ["binary", "holistic", "rouge"]
    # 18 examples x (7 questions + 1 rating)
    assert len(folder.calls()) == 18 * 8
    again = folder.bineval(*ARGUMENTS, *METHODS, "--json")
    assert (again.code, again.json) == (0, results)
    assert len(folder.calls()) == 18 * 8


def test_a_larger_draw_pays_for_the_rest_only(folder: Folder) -> None:
    for limit, n_calls in (("5", 5 * 8), ("9", 9 * 8)):
        assert folder.bineval(*ARGUMENTS, *METHODS, "--limit", limit).code == 0
        assert len(folder.calls()) == n_calls


def test_a_cap_is_that_of_all_methods_together_over_all_sittings(folder: Folder) -> None:
    for _ in range(2):
        done = folder.bineval(*ARGUMENTS, *METHODS, "--max-calls", "130")  # 18 x 7 = 126, then 18
        assert done.code == 5, done.err
        assert "used so far: 130 calls" in done.err
        assert len(folder.calls()) == 130
    assert folder.bineval(*ARGUMENTS, *METHODS, "--max-calls", str(18 * 8)).code == 0


def test_each_method_is_given_the_options_and_prompts_that_it_heeds(folder: Folder) -> None:
    rate = Path(bineval.__file__).parent / "prompts" / "rate.md"
    folder.write("rate.md", rate.read_text(encoding="utf-8").replace("## user", "Be strict.\n## user"))
    done = folder.bineval(*ARGUMENTS, *METHODS, "--evidence", "--prompt", "rate=rate.md", "--limit", "2", "--json")
    assert done.code == 0, done.err
    with Store(folder.path / "bineval.db") as store:
        found: list[Any] = [Run.open(store, name).manifest["judge"] for name in run_names(store)]
    judges = {judge["kind"]: judge for judge in found}
    assert judges["chat"]["evidence"] is True
    assert judges["rating"]["evidence"] is False
    assert (
        judges["rating"]["prompts"]["rate"]
        == load_prompt("rate", given=folder.path / "rate.md", variables=frozenset(RatingForm.variables["rate"])).hash
    )


def test_too_many_unanswered_questions_end_with_their_own_exit_code(folder: Folder) -> None:
    folder.write("mute.py", 'def reply(request):\n    return "I would rather not."\n')
    arguments = ("bench", "qags-xsum", "--data", "xsum.jsonl", "--judge", "scripted/mute.py", "--method", "binary")
    done = folder.bineval(*arguments, "--method", "rouge")
    assert done.code == 4
    assert "100.0% of the questions have no answer, more than --max-unanswered 0" in done.err
    assert folder.bineval(*arguments, "--method", "rouge", "--max-unanswered", "1").code == 0


def test_the_writer_of_the_questions_is_asked_at_its_own_server(folder: Folder) -> None:
    done = folder.bineval(
        "bench", "qags-xsum", "--data", "xsum.jsonl", "--judge", "openai/judge", "--method", "binary",
        "--generate", "openai/writer",
        "--base-url", "http://127.0.0.1:9/v1", "--generate-url", "http://127.0.0.1:1/v1", "--timeout", "1",
        env={"OPENAI_API_KEY": "none"},
    )  # fmt: skip
    assert done.code == 1
    assert "127.0.0.1:1/" in done.err
    assert "127.0.0.1:9/" not in done.err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("bench", "sumeval"), "did you mean summeval"),
        (("bench", "qags-xsum", "--data", "xsum.jsonl", "--method", "binary"), "needs a --judge"),
        ((*ARGUMENTS, "--method", "binary", "--method", "gevall"), "did you mean geval"),
        ((*ARGUMENTS, "--method", "binary", "--samples", "3"), "--samples needs --method geval"),
        ((*ARGUMENTS, "--method", "binary", "--method", "rouge", "--metric-model", "m"), "--metric-model needs"),
        ((*ARGUMENTS, "--method", "holistic", "--method", "rouge", "--evidence"), "--evidence needs"),
        ((*ARGUMENTS, "--method", "binary", "--prompt", "rate=words.py"), "no prompt 'rate'"),
        ((*ARGUMENTS, "--method", "gevall"), "did you mean geval"),
        ((*ARGUMENTS, "--checklist", "checklist.yaml", "--generate", "scripted/words.py"), "exclude each other"),
        (("bench", "qags-cnn", "--method", "rouge"), "give --data FILE"),
    ],
)
def test_what_cannot_be_run_is_said_before_anything_is_asked(
    folder: Folder, arguments: tuple[str, ...], problem: str
) -> None:
    done = folder.bineval(*arguments)
    assert done.code in (1, 2)
    assert problem in " ".join(done.err.split())
    assert folder.calls() == []
