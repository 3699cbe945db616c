import json
import random
from pathlib import Path

import pytest

from bineval.io.checklists import load_checklist
from bineval.methods.evaluate import evaluate
from bineval.types import Checklist, Dimension, Example, Question
from support.asking import deciding
from support.command_line import Folder

N = 80
WORDS = ("sun", "sea", "star", "sky")


def says(output: str, question: str) -> str:
    return "yes" if question.removeprefix("Does it say ").removesuffix("?") in output.split() else "no"


def examples() -> list[Example]:
    """ "star" stands where "sun" does, "sky" everywhere; people count sun and sea."""
    generator = random.Random(0)
    found = []
    for i in range(N):
        sun, sea = generator.random() < 0.6, generator.random() < 0.5
        words = [*(["sun", "star"] if sun else []), *(["sea"] if sea else []), "sky"]
        found.append(Example(id=f"e{i}", output=" ".join(words), human={"content": 1 + 2.0 * sun + 2.0 * sea}))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """A run "r" with four questions."""
    folder = Folder(tmp_path_factory.mktemp("diagnose"))
    checklist = Checklist(
        name="words",
        dimensions={"content": Dimension(scale=(1, 5))},
        questions=tuple(Question(id=word, text=f"Does it say {word}?", dimension="content") for word in WORDS),
    )
    store = folder.path / "bineval.db"
    evaluate(examples(), checklist, judge=deciding(says), name="r", store=store).close()
    return folder


def test_findings_stand_above_the_questions_and_their_matrix(folder: Folder) -> None:
    done = folder.bineval("diagnose", "r")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == "run r · judge scripted/judge · 80 examples"
    assert lines[2:5] == [
        "Findings",
        "sky: always yes (80 examples): it tells no output from another here",
        "star: redundant with sun at φ 1.00 (n = 80)",
    ]
    place = next(i for i, line in enumerate(lines) if line.startswith("content: 4 questions · "))
    assert lines[place + 1].split() == ["question", "yes", "unans.", "rest", "people", "alone"]
    assert [line.split()[0] for line in lines[place + 2 : place + 6]] == list(WORDS)
    matrix = next(i for i, line in enumerate(lines) if line.startswith("φ of answers"))
    assert lines[matrix + 3].split() == ["3", "star", "1.00", lines[matrix + 2].split()[2]]
    assert lines[matrix + 4].split() == ["4", "sky", "–", "–", "–"]
    assert "sky rest, sky people: undefined: all values are equal" in done.out


def test_a_smaller_checklist_is_written_with_what_it_loses(folder: Folder) -> None:
    done = folder.bineval("diagnose", "r", "--prune", "-o", "small.yaml")
    assert (done.code, done.err) == (0, "wrote small.yaml: 2 questions\n")
    assert "A smaller checklist: 2 of 4 questions" in done.out
    assert "star goes: scores alike at 0.9" in done.out
    assert "content, all that goes" in done.out
    assert "chosen on 40 examples, split by group; scores are of answers;" in done.out
    assert "the table is of 40 examples that nothing was chosen on" in done.out
    small = load_checklist(folder.path / "small.yaml")
    assert [question.id for question in small.questions] == ["sun", "sea"]
    assert small.provenance["pruned"] == {"run": "r", "dropped": ["star", "sky"], "test_share": 0.5, "seed": 0}


def test_no_line_is_wider_than_a_terminal_of_100_columns(folder: Folder) -> None:
    done = folder.bineval("diagnose", "r", "--prune")
    tables = [line for line in done.out.splitlines() if line.startswith((*WORDS, "question", "without", "content,"))]
    assert max(len(line) for line in tables if ":" not in line) <= 100
    assert done.err == "no checklist was written: give -o FILE\n"


def test_a_program_gets_everything_and_null_with_a_reason(folder: Folder) -> None:
    found = folder.bineval("diagnose", "r", "--json").json
    assert found["pruning"] is None
    assert [item["kind"] for item in found["findings"]][:2] == ["always_yes", "redundant"]
    [content] = found["dimensions"]
    assert content["phi"]["values"][3][0] is None
    pair = content["pairs"][2]
    assert (pair["second"], pair["phi"]["value"], pair["phi"]["method"]) == (
        "sky",
        None,
        "undefined: all values are equal",
    )
    assert content["pairs"][1]["coverage"] == 0.0
    sky = found["questions"][3]
    assert (sky["yes_rate"]["value"], sky["rest"]["value"], sky["facts"]["n_yes"]) == (1.0, None, N)
    pruning = folder.bineval("diagnose", "r", "--prune", "--json").json["pruning"]
    assert pruning["dropped"] == ["star", "sky"]
    assert [question["id"] for question in pruning["checklist"]["questions"]] == ["sun", "sea"]
    assert folder.bineval("diagnose", "r", "--prune", "--json").json["pruning"] == pruning


def test_labels_of_questions_show_a_bias(folder: Folder) -> None:
    rows = [{"example_id": f"e{i}", "question_id": "sky", "answer": "no" if i % 2 else "yes"} for i in range(N)]
    folder.write("labels.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    done = folder.bineval("diagnose", "r", "--labels", "labels.jsonl")
    assert "sky: more lenient than people: its share of yes less theirs is +0.50 [+0.3" in done.out
    assert "bias: share of yes less that of people" in done.out


def test_failures_that_another_question_leaves_open_are_said(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    checklist = Checklist(
        name="two",
        dimensions={"content": Dimension()},
        questions=tuple(Question(id=word, text=f"Does it say {word}?", dimension="content") for word in ("sun", "sea")),
    )
    data = [Example(id=f"e{i}", output="sea" if i else "none") for i in range(3)]

    def hesitant(output: str, question: str) -> str:
        return "perhaps" if (output, question) == ("none", "Does it say sea?") else says(output, question)

    evaluate(data, checklist, judge=deciding(hesitant), name="r", store=tmp_path / "bineval.db").close()
    lines = folder.bineval("diagnose", "r").out.splitlines()
    assert any(line.startswith("sun ") and line.endswith("2 of 3, 1 open") for line in lines)
    assert any(line.startswith("open: failures of which another question is unanswered") for line in lines)


def test_question_ids_cannot_command_the_terminal(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    checklist = Checklist(
        name="odd",
        dimensions={"[red]d": Dimension()},
        questions=(Question(id="[bold]q\x1b[2J", text="Does it say sun?", dimension="[red]d"),),
    )
    evaluate(examples(), checklist, judge=deciding(says), name="r", store=tmp_path / "bineval.db").close()
    done = folder.bineval("diagnose", "r", "--prune")
    assert done.code == 0
    assert "[bold]q\\x1b[2J" in done.out
    assert "\x1b" not in done.out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("rr",), 1, "error: unknown run 'rr' in bineval.db; did you mean r?"),
        (("r", "-o", "small.yaml"), 2, "-o is for the smaller checklist: give --prune too"),
        (("r", "--labels", "nowhere.jsonl"), 1, "error: nowhere.jsonl: cannot be read"),
        (("r", "--prune", "-o", "nowhere/c.yaml"), 1, "error: nowhere/c.yaml: cannot be written"),
        (("r", "--test-share", "1"), 2, "Invalid value for '--test-share'"),
    ],
)
def test_what_cannot_be_done_is_said_in_words(
    folder: Folder, arguments: tuple[str, ...], code: int, message: str
) -> None:
    done = folder.bineval("diagnose", *arguments)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert "Traceback" not in done.err
