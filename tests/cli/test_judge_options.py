"""`bineval run` with every kind of judge, as a process of its own."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.command_line import Finished, Folder

# P(yes) of "blue" is high where the output says it; of "short" it is always unsure. It explains when asked to.
PROBABLE = """\
import json, math, re
from bineval.types import Reply, TokenLogprob

def reply(request):
    text = request.messages[1].content
    output = re.search(r"<<<BEGIN OUTPUT>>>\\n(.*)\\n<<<END OUTPUT>>>", text, re.DOTALL)[1]
    if request.schema:
        return json.dumps({"explanation": "I looked again.", "answer": "yes"})
    p = 0.55 if "fewer" in text.split("Question:")[1] else 0.95 if "blue" in output else 0.05
    if "Describe" not in text.split("<<<BEGIN OUTPUT>>>")[0]:
        p = 0.5
    top = (("Yes", math.log(p)), ("No", math.log(1 - p)))
    return Reply(text="Yes", logprobs=[TokenLogprob(token="Yes", logprob=math.log(p), top=top)])
"""
ALWAYS_NO = """\
def reply(request):
    return '{"explanation": "No.", "answer": "no"}'
"""
CHECKLIST = """\
name: sky
dimensions:
  content:
    questions:
      - id: blue
        text: Does the text say blue?
      - id: short
        text: Does the text have fewer than 20 characters?
"""


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path)
    made.write("probable.py", PROBABLE)
    made.write("no.py", ALWAYS_NO)
    made.write("sky.yaml", CHECKLIST)
    return made


def run(folder: Folder, *more: str, judge: str = "probable.py", name: str = "r") -> Finished:
    return folder.bineval(
        *("run", "data.jsonl", "--checklist", "sky.yaml", "--judge", f"scripted/{judge}", "--name", name), *more
    )


def verdicts(folder: Folder, name: str = "r") -> dict[tuple[str, str], dict[str, Any]]:
    rows = [json.loads(line) for line in folder.bineval("export", name).out.splitlines()]
    return {(row["example_id"], row["question_id"]): row for row in rows}


def test_probabilities_answers_and_soft_scores(folder: Folder) -> None:
    done = run(folder, "--kind", "logprob", "--json")
    assert (done.code, done.json["status"]["n_unanswered"]) == (0, 0)
    # blue: a and c say it. soft = mean of (.95 + .55) / 2 for a and c, (.05 + .55) / 2 for b and d = (.75 + .3) / 2
    overall = next(row for row in done.json["scores"] if row["dimension"] == "overall" and row["system"] is None)
    assert overall["soft"]["value"] == pytest.approx(0.525)
    # hard: 1 and 1 for a and c, 0 and 1 for the others
    assert overall["estimate"]["value"] == 0.75
    assert "soft" in done.err
    rows = verdicts(folder)
    assert rows["a", "blue"]["probability"] == pytest.approx(0.95)
    assert [rows["b", "blue"]["answer"], rows["b", "short"]["answer"]] == ["no", "yes"]
    assert all(row["explanation"] is None for row in rows.values())
    soft = folder.bineval("export", "r", "--what", "scores", "--soft").out.splitlines()
    assert json.loads(soft[1])["value"] == pytest.approx(0.75)


def test_thresholds_of_a_checklist_change_answers_without_a_call(folder: Folder) -> None:
    run(folder, "--kind", "logprob")
    folder.write("sky.yaml", f"threshold: 0.6\n{CHECKLIST}")
    again = run(folder, "--kind", "logprob", "--json", name="stricter")
    assert again.json["usage"]["calls"] == 0
    assert {row["answer"] for (_, question), row in verdicts(folder, "stricter").items() if question == "short"} == {
        "no"
    }


@pytest.mark.parametrize(
    ("which", "explained"),
    [("no", {("b", "blue"), ("d", "blue")}), ("unsure", {(example, "short") for example in "abcd"}), ("none", set())],
)
def test_explanations_where_they_are_wanted(folder: Folder, which: str, explained: set[tuple[str, str]]) -> None:
    assert run(folder, "--kind", "logprob", "--explain", which).code == 0
    rows = verdicts(folder)
    assert {key for key, row in rows.items() if row["explanation"]} == explained
    # The explanation comes to "yes" where the answer is "no": the answer stays.
    assert rows["b", "blue"]["answer"] == "no"
    shown = folder.bineval("show", "r", "--example", "b").out
    assert ("disputed" in shown) == (which == "no")


def test_an_explainer_of_its_own(folder: Folder) -> None:
    done = run(folder, "--kind", "logprob", "--explain", "no", "--explainer", "scripted/no.py")
    assert done.code == 0
    assert verdicts(folder)["b", "blue"]["explanation"] == "No."


def test_the_source_can_be_contrasted(folder: Folder) -> None:
    assert run(folder, "--kind", "logprob", "--contrast").code == 0
    rows = verdicts(folder)
    # Without its input each is .5, so the odds with it are what the source adds.
    assert rows["a", "blue"]["probability"] == pytest.approx(0.95)
    assert rows["a", "blue"]["answer"] == "yes"


def test_a_cascade_sends_the_unsure_questions_on_and_says_so(folder: Folder) -> None:
    done = run(folder, "--kind", "logprob", "--strong", "scripted/no.py", "--band", "0.2,0.8", "--json")
    assert done.code == 0
    rows = verdicts(folder)
    assert {row["judge"] for (_, question), row in rows.items() if question == "short"} == {"scripted/no.py"}
    assert {row["answer"] for (_, question), row in rows.items() if question == "short"} == {"no"}
    assert rows["a", "blue"]["judge"] == "scripted/probable.py"
    parts = done.json["composition"]
    assert (parts["kind"], parts["share_escalated"]) == ("cascade", 0.5)
    assert "agreement" in done.err
    # It resumes, and nothing is asked twice.
    assert run(folder, "--kind", "logprob", "--strong", "scripted/no.py", "--band", "0.2,0.8").code == 0
    refused = run(folder, "--kind", "logprob", "--strong", "scripted/no.py", "--band", "0.2,0.7")
    assert (refused.code, "judge.high: 0.8 in the run, 0.7 now" in refused.err) == (1, True)


def test_a_band_can_be_learned_and_used(folder: Folder) -> None:
    run(folder, "--kind", "logprob", name="cheap")
    run(folder, judge="no.py", name="strong")
    learned = folder.bineval("band", "cheap", "strong", "--share", "0.6", "-o", "band.json")
    assert learned.code == 0, learned.err
    assert "strong judge" in learned.out + learned.err
    done = run(folder, "--kind", "logprob", "--strong", "scripted/no.py", "--band", "band.json", name="both")
    assert done.code == 0


def test_several_judges_make_a_panel(folder: Folder) -> None:
    more = ("--judge", "scripted/no.py", "--judge", "scripted/judge.py", "--kind", "chat", "--json")
    done = run(folder, *more)
    assert done.code == 0, done.err
    rows = verdicts(folder)
    # "yes" of two of the three, whatever the one that always says no says.
    assert [rows["a", "blue"]["answer"], rows["b", "blue"]["answer"]] == ["yes", "no"]
    assert done.json["composition"]["kind"] == "panel"
    weighted = run(folder, *more, "--weights", "1,5,1", name="weighted")
    assert weighted.code == 0
    assert {row["answer"] for row in verdicts(folder, "weighted").values()} == {"no"}


def test_questions_of_each_sentence_name_the_one_that_failed(folder: Folder) -> None:
    folder.write(
        "data.jsonl", json.dumps({"id": "a", "input": "Describe.", "output": "It is blue. It is wide."}) + "\n"
    )
    folder.write("judge.py", SENTENCES)
    folder.write("sky.yaml", CHECKLIST.replace("blue?\n", "blue?\n        per: sentence\n", 1))
    assert run(folder, judge="judge.py").code == 0
    rows = [json.loads(line) for line in folder.bineval("export", "r").out.splitlines()]
    assert [(row["question_id"], row["unit"], row["answer"]) for row in rows] == [
        ("blue", 0, "yes"), ("blue", 1, "no"), ("short", None, "yes"),
    ]  # fmt: skip
    assert "It is wide." in folder.bineval("show", "r", "--example", "a").out


SENTENCES = """\
import json, re

def reply(request):
    question = request.messages[1].content.split("Question: ")[1]
    sentence = re.search(r"<<<BEGIN SENTENCE>>>\\n(.*)\\n<<<END SENTENCE>>>", question)
    yes = sentence is None or "blue" in sentence[1]
    return json.dumps({"explanation": "Because.", "answer": "yes" if yes else "no"})
"""


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        (("--band", "0.2,0.8"), 2, "--band needs --strong"),
        (("--strong", "scripted/no.py"), 2, "--strong needs --band"),
        (("--strong", "scripted/no.py", "--band", "0.2"), 2, "must be two numbers"),
        (("--strong", "scripted/no.py", "--band", "0.2,0.8"), 1, "no probabilities"),
        (("--quorum", "2"), 2, "--quorum needs a second --judge"),
        (("--explain", "no"), 1, "explains every answer itself"),
        (("--explainer", "scripted/no.py"), 2, "--explainer needs --explain"),
        (("--contrast",), 1, "needs probabilities"),
        (("--kind", "logprob", "--prompt", "judge_one=no.py"), 2, "this judge has no prompt 'judge_one'"),
        (("--kind", "logprob", "--min-mass", "1.5"), 2, "1.5"),
        (("--calibration", "sky.yaml"), 1, "sky.yaml"),
        (("--judge", "scripted/no.py", "--weights", "1,x"), 2, "must be numbers"),
        (("--judge", "scripted/no.py", "--weights", "1,2,3"), 1, "2 weights"),
    ],
)
def test_what_does_not_go_together_is_refused_before_any_call(
    folder: Folder, more: tuple[str, ...], code: int, words: str
) -> None:
    done = run(folder, *more)
    assert (done.code, words in done.err) == (code, True), done.err
    assert not (folder.path / "bineval.db").exists() or "r" not in folder.bineval("show", "r").out


def test_a_judge_of_the_judged_family_is_warned_about(folder: Folder) -> None:
    rows = [{"id": "a", "system": "gpt-5-mini", "output": "Blue."}, {"id": "b", "system": "other", "output": "Grey."}]
    folder.write("data.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    folder.write("gpt-judge.py", ALWAYS_NO)
    done = run(folder, judge="gpt-judge.py")
    assert (done.code, "warning:" in done.err, "own family" in done.err) == (0, True, True)
