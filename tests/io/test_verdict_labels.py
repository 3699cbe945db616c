import json
from pathlib import Path
from typing import Any

import pytest

from bineval.errors import DataError
from bineval.io.verdict_labels import VerdictKey, labels_of_examples, read_verdict_labels
from bineval.types import Checklist, Dimension, Example, Question

CHECKLIST = Checklist(
    name="facts",
    dimensions={"truth": Dimension(), "tone": Dimension(), "parts": Dimension(), "grade": Dimension(scale=(1, 5))},
    questions=(
        Question(id="tru-1", text="Is it true?", dimension="truth"),
        Question(id="ton-1", text="Is it kind?", dimension="tone"),
        Question(id="ton-2", text="Is it calm?", dimension="tone"),
        Question(id="par-1", text="Is the sentence true?", dimension="parts", per="sentence"),
        Question(id="gra-1", text="Is it good?", dimension="grade"),
    ),
)


def read(path: Path) -> dict[VerdictKey, bool]:
    return read_verdict_labels(path, checklist=CHECKLIST, example_ids=["a", "b", "7"])


def labels(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "labels.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def row(**fields: Any) -> dict[str, Any]:
    return {"example_id": "a", "question_id": "tru-1", "answer": "yes", **fields}


def test_labels_are_read_by_what_they_are_about(tmp_path: Path) -> None:
    path = labels(
        tmp_path,
        row(),
        row(example_id=7, answer="No"),
        {"example_id": "b", "dimension": "truth", "label": 0, "comment": "not looked at"},
        row(question_id="par-1", unit=2, answer=True),
        row(example_id="b", question_id="ton-1", answer=None),
    )
    assert read(path) == {
        VerdictKey("a", "tru-1", None): True,
        VerdictKey("7", "tru-1", None): False,
        VerdictKey("b", "tru-1", None): False,
        VerdictKey("a", "par-1", 2): True,
    }


def test_a_table_has_the_same_words(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(
        "example_id,question_id,dimension,unit,value\na,,truth,,1\nb,tru-1,,,FALSE\na,par-1,parts,0,no\n7,tru-1,,,\n"
    )
    assert read(path) == {
        VerdictKey("a", "tru-1", None): True,
        VerdictKey("b", "tru-1", None): False,
        VerdictKey("a", "par-1", 0): False,
    }


@pytest.mark.parametrize("answer", ["yes", " YES ", "true", "True", "1", 1, 1.0, True])
def test_all_words_for_yes_are_yes(tmp_path: Path, answer: object) -> None:
    assert list(read(labels(tmp_path, row(answer=answer))).values()) == [True]


@pytest.mark.parametrize("answer", ["no", "false", "0", 0, 0.0, False])
def test_all_words_for_no_are_no(tmp_path: Path, answer: object) -> None:
    assert list(read(labels(tmp_path, row(answer=answer))).values()) == [False]


@pytest.mark.parametrize("answer", [None, "", "  "])
def test_a_row_without_an_answer_is_left_out(tmp_path: Path, answer: object) -> None:
    assert read(labels(tmp_path, row(answer=answer))) == {}


@pytest.mark.parametrize(
    ("fields", "field", "problem"),
    [
        (row(answer="maybe"), "answer", "must be yes, no, true, false, 1 or 0, not 'maybe'"),
        (row(answer=2), "answer", "not 2"),
        (row(answer=0.5), "answer", "not 0.5"),
        (row(answer=["yes"]), "answer", "must be yes"),
        (row(example_id="c"), "example_id", "unknown example 'c'"),
        (row(example_id=None), "example_id", "is missing"),
        (row(example_id=["a"]), "example_id", "must be text"),
        (row(question_id="tru-2"), "question_id", "unknown question 'tru-2'; did you mean tru-1"),
        (row(question_id=None), "question_id", "is missing"),
        (row(question_id=None, dimension="trut"), "dimension", "unknown dimension 'trut'; did you mean truth"),
        (row(question_id=None, dimension="tone"), "dimension", "'tone' has 2 questions.*label each of them"),
        (row(unit=0), "unit", "'tru-1' is asked of the whole output"),
        (row(question_id="par-1"), "unit", "'par-1' is asked of each sentence"),
        (row(question_id="par-1", unit=-1), "unit", "must be the index of a sentence, from 0, not -1"),
        (row(question_id="par-1", unit=0.5), "unit", "must be the index"),
        (row(label="no"), "answer", "the row has answer and label, and only one can be the human's"),
        ({"example_id": "a", "question_id": "tru-1"}, "answer", "is missing: yes or no"),
    ],
)
def test_a_row_that_is_none_is_refused_with_line_and_field(
    tmp_path: Path, fields: dict[str, Any], field: str, problem: str
) -> None:
    path = labels(tmp_path, row(example_id="b"), fields)
    with pytest.raises(DataError, match=problem) as caught:
        read(path)
    assert (caught.value.file, caught.value.line, caught.value.field) == (str(path), 2, field)


def test_the_same_label_twice_is_fine_and_a_contradiction_is_not(tmp_path: Path) -> None:
    assert len(read(labels(tmp_path, row(), row(question_id=None, dimension="truth")))) == 1
    path = labels(tmp_path, row(), row(example_id="b"), row(answer="no"))
    with pytest.raises(DataError, match=r"labels\.jsonl:3: contradicts the label of the same verdict in line 1"):
        read(path)


def test_ratings_of_examples_are_labels_of_dimensions_with_one_question() -> None:
    found, reasons = labels_of_examples(
        CHECKLIST,
        [
            Example(id="a", output="", human={"truth": 1, "tone": 1, "grade": 1}),
            Example(id="b", output="", human={"truth": 0, "parts": 0}),
            Example(id="c", output=""),
        ],
    )
    assert found == {VerdictKey("a", "tru-1", None): True, VerdictKey("b", "tru-1", None): False}
    assert reasons == [
        "tone: it has 2 questions, which one rating cannot answer",
        "parts: its question is asked of each sentence",
        "grade: its ratings are not 0 for no and 1 for yes",  # on its scale, 1 is the lowest
    ]


def test_ratings_between_no_and_yes_are_no_labels() -> None:
    found, reasons = labels_of_examples(CHECKLIST, [Example(id="a", output="", human={"truth": 0.5})])
    assert (found, reasons) == ({}, ["truth: its ratings are not 0 for no and 1 for yes"])
