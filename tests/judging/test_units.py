import dataclasses
import sys

import pytest

from bineval.errors import ConfigError
from bineval.judging.units import Units
from bineval.types import Checklist, Dimension, Example, Question

WHOLE = Question(id="w", text="Is it short?", dimension="d", threshold=0.9)
EACH = Question(id="s", text="Is it true?", dimension="d", per="sentence")


def checklist(*questions: Question, language: str = "en") -> Checklist:
    return Checklist(name="c", questions=questions, dimensions={"d": Dimension()}, threshold=0.3, language=language)


def test_a_question_per_sentence_is_asked_of_each_sentence_in_its_place() -> None:
    asked = Units(checklist(EACH, WHOLE)).of(Example(id="a", output="One is. Two is."))
    assert [(item.place, item.unit, item.question.id, item.question.sentence) for item in asked] == [
        (0, 0, "s/1", "One is."),
        (0, 1, "s/2", "Two is."),
        (1, None, "w", None),
    ]
    assert [item.original for item in asked] == [EACH, EACH, WHOLE]
    assert [item.question.text for item in asked] == ["Is it true?", "Is it true?", "Is it short?"]


def test_what_is_asked_has_its_own_threshold_or_the_checklist_s() -> None:
    asked = Units(checklist(EACH, WHOLE)).of(Example(id="a", output="One is."))
    assert [item.question.threshold for item in asked] == [0.3, 0.9]


def test_ids_are_unique_whatever_the_checklist_has() -> None:
    odd = [dataclasses.replace(WHOLE, id=name) for name in ("s/1", "s/1/", "s/2/")]
    asked = Units(checklist(EACH, *odd)).of(Example(id="a", output="One is. Two is."))
    assert [item.question.id for item in asked] == ["s/1//", "s/2", "s/1", "s/1/", "s/2/"]


def test_an_empty_output_is_one_empty_sentence() -> None:
    (asked,) = Units(checklist(EACH)).of(Example(id="a", output=" \n"))
    assert (asked.unit, asked.question.sentence) == (0, "")


def test_the_count_is_that_of_what_is_asked() -> None:
    examples = [Example(id=f"{n}", output="It is so. " * n) for n in range(4)]  # 1, 1, 2 and 3 sentences
    for questions in ((WHOLE,), (EACH,), (EACH, WHOLE, dataclasses.replace(EACH, id="t"))):
        units = Units(checklist(*questions))
        assert units.count(examples) == sum(len(units.of(example)) for example in examples)
    assert Units(checklist(EACH)).count(examples) == 7


def test_without_a_question_per_sentence_nothing_is_split_and_no_package_is_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sentencex", None)
    units = Units(checklist(WHOLE, language="xx"))
    assert units.splitter is None
    assert [item.question.sentence for item in units.of(Example(id="a", output="One is. Two is."))] == [None]


def test_a_language_that_cannot_be_split_is_refused_at_once() -> None:
    with pytest.raises(ConfigError, match="language 'xx'"):
        Units(checklist(EACH, language="xx"))
