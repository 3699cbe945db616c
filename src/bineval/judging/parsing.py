"""Reads the answers out of a judge's reply; pure: text in, answers or what is wrong with the reply out.

One rule for every form of reply: an answer is an object with an `answer` key outside any string (with an `id` too when
several were asked), or a reply that is nothing but the word. Prose is never searched for words. Two answers
to one question that disagree are no answer.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from bineval.hashing import Json
from bineval.io.values import storable
from bineval.judging.json_text import json_values, merged, without_reasoning

AnswerWord = Literal["yes", "no", "not_applicable"]

_WORDS: dict[str, AnswerWord] = {
    "yes": "yes",
    "no": "no",
    "true": "yes",
    "false": "no",
    "not_applicable": "not_applicable",
    "not applicable": "not_applicable",
    "n/a": "not_applicable",
}
_AROUND_A_WORD = " \t\r\n.,;:!*_`\"'“”‘’"


@dataclass(frozen=True, kw_only=True, slots=True)
class Parsed:
    """A usable answer.

    Attributes:
        answer: The word; None for a rating.
        rating: The number, mapped to [0, 1]; None for a yes/no question.
        explanation: The judge's words, None when it gave none.
        quotes: Evidence as the judge wrote it, not verified yet.
    """

    answer: AnswerWord | None = None
    rating: float | None = None
    explanation: str | None = None
    quotes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What a reply holds for the questions asked.

    Attributes:
        answers: By question id.
        problems: What is wrong, for each question without a usable answer.
        n_extra: Answers with an id that was not asked.
    """

    answers: Mapping[str, Parsed]
    problems: Mapping[str, str]
    n_extra: int = 0


def read_one(text: str, question_id: str, *, may_not_apply: bool) -> Reading:
    """Reads the reply to a single question."""
    values = json_values(text)
    found = [item for value in values for item in _answer_objects(value)]
    if not found and not values and (word := _word(without_reasoning(text))):
        found = [{"answer": word}]
    return _reading({question_id: found}, {question_id: may_not_apply}, text)


def read_several(text: str, may_not_apply: Mapping[str, bool]) -> Reading:
    """Reads the reply to several questions, matched by id and never by position.

    Args:
        text: The reply.
        may_not_apply: For each id asked, whether "not applicable" is allowed.
    """
    found: dict[str, list[dict[str, Json]]] = {question_id: [] for question_id in may_not_apply}
    n_extra = 0
    for value in json_values(text):
        for item in _answer_objects(value):
            question_id = _id(item.get("id"))
            if question_id in found:
                found[question_id].append(item)
            else:
                n_extra += 1
    return _reading(found, may_not_apply, text, n_extra)


def _reading(
    found: Mapping[str, list[dict[str, Json]]], may_not_apply: Mapping[str, bool], text: str, n_extra: int = 0
) -> Reading:
    answers: dict[str, Parsed] = {}
    problems: dict[str, str] = {}
    for question_id, items in found.items():
        result = _settle(items, may_not_apply[question_id])
        if isinstance(result, Parsed):
            answers[question_id] = result
        elif not text.strip():
            problems[question_id] = "the reply is empty"
        elif n_extra and not items:
            problems[question_id] = f"the reply has no answer with this id, but {n_extra} with ids that were not asked"
        else:
            problems[question_id] = result
    return Reading(answers=answers, problems=problems, n_extra=n_extra)


def _settle(items: list[dict[str, Json]], may_not_apply: bool) -> Parsed | str:
    """Returns the one answer that `items` agree on, or what is wrong."""
    if not items:
        return 'the reply has no JSON object with an "answer"'
    words = {_word(item["answer"]) for item in items}
    if len(words) > 1:
        return "the reply has answers that disagree"
    word = words.pop()
    if word is None:
        allowed = 'yes", "no" or "not_applicable' if may_not_apply else 'yes" or "no'
        return f'the answer must be "{allowed}", not {str(items[-1]["answer"])[:60]!r}'
    if word == "not_applicable" and not may_not_apply:
        return 'the answer "not_applicable" is not allowed for this question'
    return Parsed(
        answer=word,
        explanation=explanation_of(items[-1].get("explanation")),
        quotes=_quotes(items[-1].get("evidence")),
    )


def _answer_objects(value: Json) -> Iterator[dict[str, Json]]:
    """Yields the objects in `value`, at any depth, that have an "answer"; names of keys in lower case."""
    if isinstance(value, dict):
        item = merged((name.strip().casefold(), part) for name, part in value.items())
        if "answer" in item:
            yield item
        for part in value.values():
            yield from _answer_objects(part)
    elif isinstance(value, list):
        for part in value:
            yield from _answer_objects(part)


def _id(value: Json) -> str | None:
    """The id as text: models write the id "1" as a number too."""
    return str(value).strip() if isinstance(value, str | int) else None


def _word(value: Json) -> AnswerWord | None:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, str):
        return None
    return _WORDS.get(value.strip(_AROUND_A_WORD).casefold())


def explanation_of(value: Json) -> str | None:
    """The words of an explanation; None when there are none."""
    if isinstance(value, list):
        value = " ".join(str(part) for part in value)
    if isinstance(value, str) and value.strip():
        return storable(value.strip())
    return None


def _quotes(value: Json) -> tuple[str, ...]:
    items = value if isinstance(value, list) else [value]
    quotes = [item.get("quote") if isinstance(item, dict) else item for item in items]
    return tuple(storable(quote.strip()) for quote in quotes if isinstance(quote, str) and quote.strip())
