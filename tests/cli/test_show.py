import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bineval.types import Usage, Verdict
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
    assert content[2:4] == ["0.688", "3.75"]
    assert "\nno interval: fewer than 5 groups\n" in shown.out
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


SENTENCES = """\
name: sky
dimensions:
  content:
    questions:
      - {id: true, text: Is it true?, per: sentence}
      - {id: calm, text: Is it calm?, per: sentence, over_sentences: mean}
      - {id: short, text: Is it short?}
"""
BY_SENTENCE = """\
import json, re

def reply(request):
    text = request.messages[1].content
    sentence = re.search(r"<<<BEGIN SENTENCE>>>\\n(.*)\\n<<<END SENTENCE>>>", text)
    said = sentence[1] if sentence else "It is short."
    return json.dumps({"explanation": "I looked.", "answer": "no" if "green" in said else "yes"})
"""


def test_a_question_per_sentence_shows_each_sentence_and_marks_the_one_that_failed(empty: Folder) -> None:
    empty.write("checklist.yaml", SENTENCES)
    empty.write("judge.py", BY_SENTENCE)
    row = {"id": "a", "output": "The sky is blue. It is green, too. Birds fly."}
    empty.write("data.jsonl", json.dumps(row) + "\n")
    assert empty.run().code == 0
    shown = empty.bineval("show")
    assert (shown.code, shown.err) == (0, "")
    # 0 (the lowest) + 2/3 (the mean) + 1, over 3 questions
    assert "content 0.556" in shown.out
    assert "7 of 7 verdicts" in shown.out
    assert (
        "true (of each sentence; the lowest counts): Is it true?\n"
        "  1. The sky is blue.\n     yes\n     I looked.\n"
        "  2. It is green, too.  ← lowest\n     no\n     I looked.\n"
        "  3. Birds fly.\n     yes\n     I looked.\n"
    ) in shown.out
    assert "calm (of each sentence; the mean counts): Is it calm?\n" in shown.out
    assert shown.out.count("← lowest") == 1
    assert "\nshort: Is it short?\n  yes\n  I looked.\n" in shown.out
    verdicts = empty.bineval("show", "--json").json["example"]["verdicts"]
    assert [(row["unit"], row["sentence"]) for row in verdicts[2:4]] == [(2, "Birds fly."), (0, "The sky is blue.")]


def with_probabilities(folder: Folder) -> None:
    """A run whose first verdict has everything that a verdict can have."""
    from bineval.store.database import Store
    from bineval.store.runs import PlacedRow, begin_run
    from bineval.types import Checklist, Dimension, Example, Question, VerdictRow

    cheap = Verdict(answer="yes", probability=0.55, judge="openai/small")
    strong = Verdict(answer=None, reason="refused", judge="openai/large")
    verdict = Verdict(
        answer="yes", probability=0.834, raw_probability=0.7, disputed=True, explanation="Hm.", under=(cheap, strong)
    )
    checklist = Checklist(
        name="c", questions=(Question(id="q", text="T?", dimension="d"),), dimensions={"d": Dimension(scale=(1, 5))}
    )
    facts = {"judge_name": "both", "n_examples": 2, "n_planned": 2}
    with Store(folder.path / "bineval.db") as store:
        run = begin_run(store, "p", identity={}, facts=facts, checklist=checklist)
        run.add_examples([Example(id="a", output="A"), Example(id="b", output="B")])
        rows = [("a", verdict), ("b", Verdict(answer="no"))]
        run.save(
            PlacedRow(position=i, question=0, row=VerdictRow(example_id=k, question_id="q", dimension="d", verdict=v))
            for i, (k, v) in enumerate(rows)
        )
        run.release()


def test_probabilities_disputes_and_the_verdicts_under_one_are_shown_in_short_lines(empty: Folder) -> None:
    with_probabilities(empty)
    shown = empty.bineval("show", "--example", "a")
    assert (shown.code, shown.err) == (0, "")
    assert (
        "q: T?\n"
        "  yes · P(yes) .83\n"
        "  before calibration: P(yes) .70\n"
        "  disputed: the explanation, asked for afterwards, disagrees\n"
        "  Hm.\n"
        "    openai/small: yes · P(yes) .55\n"
        "    openai/large: no answer (refused)\n"
    ) in shown.out
    verdict = empty.bineval("show", "--example", "a", "--json").json["example"]["verdicts"][0]["verdict"]
    assert (verdict["disputed"], verdict["under"][1]["reason"]) == (True, "refused")


def test_soft_scores_have_a_column_where_there_are_some(empty: Folder, folder: Folder) -> None:
    with_probabilities(empty)
    lines = [line.split() for line in empty.bineval("show", "p").out.splitlines()]
    # Hard (1 + 0)/2 over both examples; soft over example a alone, for b has no probability.
    assert ["d", "0.500", "0.834", "(n", "=", "1)", "3.00", "2", "2", "of", "2"] in lines
    assert lines[4] == ["dimension", "score", "soft", "scaled", "examples", "answered"]
    rows = empty.bineval("show", "p", "--json").json["scores"]
    assert [(row["soft"]["value"], row["soft"]["n"]) for row in rows] == [(0.834, 1), (0.834, 1)]
    assert " soft " not in folder.bineval("show", "sky").out
    assert folder.bineval("show", "sky", "--json").json["scores"][0]["soft"] is None


def show_verdict(folder: Folder, verdict: Verdict, *, judge: str = "openai/x") -> str:
    """What `show` prints of a run with one verdict, from its question on."""
    from bineval.store.database import Store
    from bineval.store.runs import PlacedRow, begin_run
    from bineval.types import Checklist, Dimension, Example, Question, VerdictRow

    question = Question(id="q", text="T?", dimension="d")
    checklist = Checklist(name="c", questions=(question,), dimensions={"d": Dimension()})
    with Store(folder.path / "bineval.db") as store:
        facts = {"judge_name": judge, "n_examples": 1, "n_planned": 1}
        run = begin_run(store, "one", identity={}, facts=facts, checklist=checklist)
        run.add_examples([Example(id="a", output="A")])
        row = VerdictRow(example_id="a", question_id="q", dimension="d", verdict=verdict)
        run.save([PlacedRow(position=0, question=0, row=row)])
        run.release()
    shown = folder.bineval("show", "one")
    assert (shown.code, shown.err) == (0, "")
    return shown.out[shown.out.index("q: T?\n") + len("q: T?\n") :]


def test_a_threshold_that_is_not_one_half_stands_beside_the_probability(empty: Folder) -> None:
    verdict = Verdict(answer="no", probability=0.55, threshold=0.9, judge="openai/x")
    assert show_verdict(empty, verdict) == "  no · P(yes) .55 (yes above .90)\n"


def test_tokens_that_a_server_does_not_report_are_unknown_and_not_none(empty: Folder) -> None:
    show_verdict(empty, Verdict(answer="yes", judge="systemone/x", usage=Usage(calls=1)))
    assert "\n1 call · tokens unknown (the server does not say) · cost" in empty.bineval("show", "one").out


def test_an_answer_that_follows_from_a_calibration_says_so(empty: Folder) -> None:
    verdict = Verdict(answer="no", probability=0.55, threshold=0.6, raw_probability=0.7, judge="openai/x")
    assert show_verdict(empty, verdict) == "  no · P(yes) .55 (yes above .60)\n  before calibration: P(yes) .70\n"


def test_probability_of_neither_yes_nor_no_is_shown_where_there_is_much(empty: Folder) -> None:
    verdict = Verdict(answer="yes", probability=0.8, outside_mass=0.3, judge="openai/x")
    assert show_verdict(empty, verdict) == "  yes · P(yes) .80\n  neither yes nor no: .30 of the probability\n"


def test_a_contrast_tells_the_verdict_with_the_source_from_the_one_without(empty: Folder) -> None:
    under = (
        Verdict(answer="yes", probability=0.9, judge="openai/x"),
        Verdict(answer="yes", probability=0.7, judge="openai/x"),
    )
    assert show_verdict(empty, Verdict(answer="yes", probability=0.79, judge="openai/x", under=under)) == (
        "  yes · P(yes) .79\n"
        "    openai/x, with the source: yes · P(yes) .90\n"
        "    openai/x, source withheld: yes · P(yes) .70\n"
    )


def test_every_judge_of_a_panel_is_shown_with_its_own_words(empty: Folder) -> None:
    under = (
        Verdict(answer="yes", explanation="It greets.", judge="openai/x"),
        Verdict(answer="yes", judge="openai/y"),
        Verdict(answer=None, reason="error", explanation="time-out", judge="openai/z"),
    )
    panel = Verdict(answer="yes", explanation="It greets.", judge="panel(x, y, z)", under=under)
    assert show_verdict(empty, panel, judge="panel(x, y, z)") == (
        "  yes\n"
        "    openai/x: yes\n"
        "      It greets.\n"
        "    openai/y: yes\n"
        "    openai/z: no answer (error)\n"
        "      time-out\n"
    )


def test_the_judge_of_a_cascade_that_answered_is_named(empty: Folder) -> None:
    cheap = Verdict(answer="yes", probability=0.6, judge="openai/small")
    verdict = Verdict(answer="no", explanation="It does not.", judge="openai/large", under=(cheap,))
    assert show_verdict(empty, verdict, judge="cascade(openai/small, openai/large)") == (
        "  no by openai/large\n  It does not.\n    openai/small: yes · P(yes) .60\n"
    )


def test_a_question_without_an_answer_is_named_with_what_went_wrong(empty: Folder) -> None:
    assert empty.run(env={"JUDGE_IS_VAGUE": "1"}).code == 4
    shown = empty.bineval("show").out
    assert "33.3% of the questions have no answer (4 unparsed)" in shown
    assert "\nfor example a, blue: " in shown
