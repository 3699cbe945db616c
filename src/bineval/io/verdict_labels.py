"""Human answers to the questions of a run: read from a file, or found in the examples."""

import warnings
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bineval.errors import UnknownNameError
from bineval.hashing import Json
from bineval.io.rows import read_rows
from bineval.io.values import Place, Warn, name_in
from bineval.types import Checklist, Example, Question

_ANSWER_FIELDS = ("answer", "label", "value")
_ANSWERS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


class VerdictKey(NamedTuple):
    """What a verdict is about; `unit` is the sentence's index, None for the whole output."""

    example_id: str
    question_id: str
    unit: int | None


def read_verdict_labels(
    path: str | Path,
    *,
    checklist: Checklist,
    example_ids: Collection[str],
    encoding: str = "utf-8",
    warn: Warn | None = None,
) -> dict[VerdictKey, bool]:
    """Reads a file of labels, a row each: `example_id`, `question_id` or `dimension`, `answer`, and `unit` if any.

    The answer is yes, no, true, false, 1 or 0, and may be called `label` or `value`; a row without one is left out.
    Other fields are not looked at. A dimension stands for its question when it has only one.

    Args:
        path: JSONL, JSON, CSV, TSV or Parquet file, also gzipped; its name says which.
        checklist: The questions that can be labeled.
        example_ids: The examples that can be labeled.
        encoding: Encoding of text formats.
        warn: Called with the words of each warning; `warnings.warn` if not given.

    Returns:
        Whether the answer is yes, by what it is about.

    Raises:
        DataError: A row is not what it should be, names something unknown, or contradicts another one.
    """
    path = Path(path)
    reading = _Reading(
        questions={question.id: question for question in checklist.questions},
        by_dimension=checklist.by_dimension(),
        example_ids=frozenset(example_ids),
    )
    found: dict[VerdictKey, bool] = {}
    lines: dict[VerdictKey, int] = {}
    for line, row in read_rows(path, encoding=encoding, warn=warn or warnings.warn):
        place = Place(file=str(path), line=line)
        key, answer = reading.key(row, place), reading.answer(row, place)
        if answer is None:
            continue
        if found.setdefault(key, answer) != answer:
            raise place.error(f"contradicts the label of the same verdict in line {lines[key]}")
        lines.setdefault(key, line)
    return found


def labels_of_examples(checklist: Checklist, examples: Iterable[Example]) -> tuple[dict[VerdictKey, bool], list[str]]:
    """Returns the labels that the examples' own `human` ratings are, and why dimensions have none.

    A rating is a label when its dimension has one question, asked of the whole output, and no scale but [0, 1], and all
    its ratings are 0 or 1.
    """
    examples = list(examples)
    found: dict[VerdictKey, bool] = {}
    reasons = []
    for name, questions in checklist.by_dimension().items():
        ratings = {example.id: example.human[name] for example in examples if name in example.human}
        if not ratings:
            continue
        if len(questions) != 1:
            reasons.append(f"{name}: it has {len(questions)} questions, which one rating cannot answer")
        elif questions[0].per == "sentence":
            reasons.append(f"{name}: its question is asked of each sentence")
        elif checklist.dimensions[name].scale not in (None, (0, 1)) or not set(ratings.values()) <= {0.0, 1.0}:
            reasons.append(f"{name}: its ratings are not 0 for no and 1 for yes")
        else:
            for example_id, rating in ratings.items():
                found[VerdictKey(example_id, questions[0].id, None)] = rating == 1
    return found, reasons


@dataclass(frozen=True, kw_only=True, slots=True)
class _Reading:
    questions: Mapping[str, Question]
    by_dimension: Mapping[str, list[Question]]
    example_ids: frozenset[str]

    def key(self, row: Mapping[str, Json], place: Place) -> VerdictKey:
        example_id = name_in(row, "example_id", place)
        if example_id is None:
            raise place.error("is missing: the id of the example that is labeled", "example_id")
        if example_id not in self.example_ids:
            raise place.error(str(UnknownNameError("example", example_id, self.example_ids)), "example_id")
        question = self.question(row, place)
        return VerdictKey(example_id, question.id, _unit(row, question, place))

    def question(self, row: Mapping[str, Json], place: Place) -> Question:
        question_id, dimension = name_in(row, "question_id", place), name_in(row, "dimension", place)
        if question_id is not None:
            if question_id not in self.questions:
                raise place.error(str(UnknownNameError("question", question_id, self.questions)), "question_id")
            return self.questions[question_id]
        if dimension is None:
            raise place.error("is missing: the id of the question that is labeled", "question_id")
        if dimension not in self.by_dimension:
            raise place.error(str(UnknownNameError("dimension", dimension, self.by_dimension)), "dimension")
        questions = self.by_dimension[dimension]
        if len(questions) != 1:
            raise place.error(
                f"{dimension!r} has {len(questions)} questions, and one answer cannot be that of all: "
                "label each of them, by its question_id",
                "dimension",
            )
        return questions[0]

    def answer(self, row: Mapping[str, Json], place: Place) -> bool | None:
        names = [name for name in _ANSWER_FIELDS if name in row]
        if not names:
            raise place.error("is missing: yes or no", "answer")
        if len(names) > 1:
            raise place.error(
                f"the row has {' and '.join(names)}, and only one can be the human's: "
                "remove the judge's, or rename it (judge_answer)",
                names[0],
            )
        value = row[names[0]]
        if value is None or (isinstance(value, str) and not value.strip()):
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        words = str(value).strip().lower() if isinstance(value, str | bool | int) else ""
        if words not in _ANSWERS:
            raise place.error(f"must be yes, no, true, false, 1 or 0, not {value!r}", names[0])
        return _ANSWERS[words]


def _unit(row: Mapping[str, Json], question: Question, place: Place) -> int | None:
    value = row.get("unit")
    if value is None or value == "":
        if question.per == "sentence":
            problem = f"is missing: {question.id!r} is asked of each sentence, and a label needs the sentence's index"
            raise place.error(problem, "unit")
        return None
    if question.per != "sentence":
        raise place.error(f"{question.id!r} is asked of the whole output, which has no unit", "unit")
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not str(value).isdecimal():
        raise place.error(f"must be the index of a sentence, from 0, not {value!r}", "unit")
    return int(str(value))
