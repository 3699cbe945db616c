import json
from pathlib import Path
from typing import Any

import pytest

from bineval.errors import ConfigError
from bineval.suites.ifbench.verifiers import Verifiers
from support.command_line import Folder

pytest.importorskip("if_verifiable", reason="the extra `ifbench` is not installed")

# The judge counts numbers rightly, and thinks that every output has white space.
JUDGE = """\
import json, re

def reply(request):
    text = request.messages[-1].content
    output = text.split("<<<BEGIN OUTPUT>>>\\n")[1].split("\\n<<<END")[0]
    wanted = int(re.search(r"Write (\\d) numbers", text)[1])
    with open("calls.log", "a") as log:
        log.write("one\\n")
    yes = "whitespace" not in text.split("Question")[-1] and len(re.findall(r"\\d+", output)) == wanted
    return json.dumps({"explanation": "Looked.", "answer": "yes" if yes else "no"})
"""
WRITER = """\
import json

def reply(request):
    text = request.messages[-1].content
    name = "count:numbers" if "{N}" in text else "format:no_whitespace"
    if '"requirements"' in text:
        return json.dumps({"requirements": [{"text": "Keep it.", "dimension": name}], "dimensions": []})
    texts = ["Is it free of whitespace?"]
    if "count" in name:
        texts = ["Does it have all numbers?", "Does it have no other number?"]
    entries = [{"requirement": "R1", "question": item, "violation": "It is not."} for item in texts]
    return json.dumps({"questions": entries})
"""
ARGUMENTS = ("bench", "ifbench", "--data", "rows.jsonl")


def row(id_: str, n: int, output: str | None, *, whole: bool = False) -> dict[str, Any]:
    ids: list[str] = ["count:numbers", *(["format:no_whitespace"] if whole else [])]
    prompt = f"Write {n} numbers, no more."
    arguments: list[dict[str, Any]] = [{"N": n}, *([{}] if whole else [])]
    return {"id": id_, "input": prompt, "output": output, "instruction_id_list": ids, "kwargs": arguments}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    try:
        Verifiers()
    except ConfigError as error:
        pytest.skip(str(error))
    folder = Folder(tmp_path)
    folder.write("judge.py", JUDGE)
    folder.write("writer.py", WRITER)
    rows = [
        row("a", 1, "1", whole=True),
        row("b", 1, "no. 1", whole=True),
        row("c", 2, "1 2 3"),
        row("d", 1, "just 1"),
        row("e", 2, "Here are 2:\n1 and 2"),
        row("f", 2, None),
    ]
    folder.write("rows.jsonl", "".join(json.dumps(item) + "\n" for item in rows))
    return folder


def test_outputs_are_verified_without_a_judge_and_without_a_store(folder: Folder) -> None:
    before = folder.files()
    done = folder.bineval(*ARGUMENTS, "-o", "results.json")
    assert done.code == 0, done.err
    assert done.out.startswith("IFBench · 5 outputs, 7 constraints · 1 prompt without an output left out · if-verifia")
    lines = {line.split()[0]: line.split() for line in done.out.splitlines() if line.strip()}
    assert (lines["whole"][2], lines["whole"][-1]) == ("0.400", "5")  # a, d; e only loosely
    assert (lines["all"][2], lines["format"][1]) == ("0.571", "0.500")  # 4 of 7, 1 of 2
    assert "Judge against" not in done.out
    assert folder.files() == sorted([*before, "results.json"])
    results = json.loads((folder.path / "results.json").read_text())
    assert (results["suite"], results["judge"], results["run"], results["agreement"]) == ("ifbench", None, None, [])
    assert [(item["strict"], item["loose"]) for item in results["verdicts"]] == [
        *((True, True), (True, True), (True, True), (False, False), (False, False), (True, True), (False, True))
    ]
    assert folder.bineval(*ARGUMENTS, "--json").json == results


def test_a_judge_is_asked_about_each_prompts_own_constraints_and_compared_with_the_verifiers(folder: Folder) -> None:
    done = folder.bineval(*ARGUMENTS, "--judge", "scripted/judge.py", "-o", "results.json")
    assert done.code == 0, done.err
    assert len(folder.calls()) == 7
    results = json.loads((folder.path / "results.json").read_text())
    every, count, form = results["agreement"]
    assert (every["category"], count["category"], form["category"]) == (None, "count", "format")
    # Of white space the judge says no, no where the verifiers say yes, no; of numbers all are right.
    assert (every["raw"]["value"], every["tpr"]["value"], every["tnr"]["value"]) == (6 / 7, 3 / 4, 1)
    # Kappa: by chance (3·4 + 4·3) / 49, so (6/7 - 24/49) / (1 - 24/49) = 18/25.
    assert every["kappa"]["value"] == pytest.approx(18 / 25)
    assert (count["raw"]["value"], count["n"], form["raw"]["value"], form["n"]) == (1, 5, 0.5, 2)
    assert (every["judge_yes"]["value"], every["verifiers_yes"]["value"]) == (3 / 7, 4 / 7)
    assert "Judge against verifiers · scripted/judge.py" in done.out
    assert f"its answers: bineval show {results['run']}" in done.out
    again = folder.bineval(*ARGUMENTS, "--judge", "scripted/judge.py", "--json")
    assert (again.json, len(folder.calls())) == (results, 7)
    shown = folder.bineval("show", "--example", "c").out
    assert "{N}" in shown
    assert "1 question of the checklist not asked: not applicable here" in shown


def test_constraints_can_be_decomposed_into_questions_that_all_must_be_answered_with_yes(folder: Folder) -> None:
    judging = ("--judge", "scripted/judge.py", "--generate", "scripted/writer.py")
    done = folder.bineval(*ARGUMENTS, *judging, "--json")
    assert done.code == 0, done.err
    assert len(folder.calls()) == 5 * 2 + 2
    assert done.json["agreement"][0]["raw"]["value"] == pytest.approx(6 / 7)
    shown = folder.bineval("show", "--example", "a").out
    assert "count:numbers/" in shown
    assert "Does it have no other number?" in shown


def test_a_judge_that_does_not_answer_ends_with_its_own_exit_code_and_the_accuracies(folder: Folder) -> None:
    folder.write("mute.py", 'def reply(request):\n    return "I would rather not."\n')
    done = folder.bineval(*ARGUMENTS, "--judge", "scripted/mute.py", "--json")
    assert done.code == 4
    assert "100.0% of the questions have no answer, more than --max-unanswered 0" in done.err
    every = done.json["agreement"][0]
    assert (every["n"], every["n_unanswered"], every["raw"]["value"]) == (0, 7, None)
    assert done.json["accuracy"][0]["strict"]["value"] == 0.4
    assert folder.bineval(*ARGUMENTS, "--judge", "scripted/mute.py", "--max-unanswered", "1").code == 0


def test_several_systems_have_a_table_each(folder: Folder) -> None:
    rows = [{**row(f"{name}{i}", 1, str(i)), "group": str(i), "system": name} for name in "mn" for i in range(2)]
    folder.write("rows.jsonl", "".join(json.dumps(item) + "\n" for item in rows))
    done = folder.bineval(*ARGUMENTS)
    assert [line for line in done.out.splitlines() if line in ("m", "n")] == ["m", "n"]
    assert sum(line.startswith("whole prompts") for line in done.out.splitlines()) == 2


def test_a_draw_takes_so_many_prompts(folder: Folder) -> None:
    done = folder.bineval(*ARGUMENTS, "--limit", "2", "--json")
    assert (done.code, done.json["n_outputs"]) == (0, 2)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("bench", "ifbench"), "give --data FILE, rows with input, output, instruction_id_list and kwargs"),
        ((*ARGUMENTS, "--method", "binary"), "--method needs another suite"),
        ((*ARGUMENTS, "--references", "rows.jsonl"), "--references needs another suite"),
        ((*ARGUMENTS, "--generate", "scripted/writer.py"), "--generate needs a --judge"),
        ((*ARGUMENTS, "--explainer", "scripted/judge.py"), "--explainer needs a --judge"),
        ((*ARGUMENTS, "--judge", "scripted/no.py"), "no.py"),
        (("bench", "ifbensh"), "did you mean ifbench"),
        (("bench", "ifbench", "--data", "data.jsonl"), "must be a list of constraints"),
        (("bench", "ifbench", "--data", "prompts.jsonl"), "no row has an output to verify"),
    ],
)
def test_what_cannot_be_verified_is_said(folder: Folder, arguments: tuple[str, ...], problem: str) -> None:
    folder.write("prompts.jsonl", json.dumps(row("a", 1, None)) + "\n")
    done = folder.bineval(*arguments)
    assert done.code in (1, 2)
    assert problem in " ".join(done.err.split())
