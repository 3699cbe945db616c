"""The atomic facts of a text, listed by a language model (FActScore, arXiv 2305.14251, step 1)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from bineval.hashing import Json
from bineval.io.values import storable
from bineval.judging.forms import object_schema
from bineval.judging.json_text import json_values
from bineval.judging.parsing import Parsed, Reading
from bineval.types import Example, Question

# Keeps a small model that repeats itself from filling its token cap.
_MOST_FACTS = 100
_SHOWN_CHARS = 60
_WORD = re.compile(r"\w")


class FactsForm:
    """Asks for the facts of a text; see `bineval.judging.forms.Form`.

    Read as an answer, a list with facts is "yes, the text states facts", with the facts as what is quoted, and an empty
    one is "no".
    """

    kind = "facts"
    prompt = "atomic_facts"
    variables: Mapping[str, frozenset[str]] = {
        "atomic_facts": frozenset({"example", "form"}),
        "judge_again": frozenset({"problem", "questions", "form"}),
    }
    required: Mapping[str, frozenset[str]] = {
        "atomic_facts": frozenset({"example"}),
        "judge_again": frozenset({"questions"}),
    }

    def values(self, questions: Sequence[Question]) -> dict[str, str]:
        """The form alone: the text is all there is to ask about."""
        return {"form": self.shape(questions)}

    def names(self, questions: Sequence[Question]) -> str:
        """What is asked for."""
        return "list the atomic facts of the text."

    def shape(self, questions: Sequence[Question]) -> str:
        """An object with a list of texts."""
        return '{"facts": ["...", ...]}'

    def schema(self, questions: Sequence[Question]) -> Mapping[str, Json]:
        """Schema of that object."""
        return object_schema({"facts": {"type": "array", "items": {"type": "string"}, "maxItems": _MOST_FACTS}})

    def read(self, text: str, questions: Sequence[Question]) -> Reading:
        """Reads the object, or a list alone."""
        (question,) = questions
        result = _settle([items for value in json_values(text) for items in _lists(value)])
        if isinstance(result, Parsed):
            return Reading(answers={question.id: result}, problems={})
        return Reading(answers={}, problems={question.id: result if text.strip() else "the reply is empty"})


def text_alone(example: Example) -> Example:
    """The example without what its output was made from, so that no fact of the source is listed as one of the text."""
    return replace(example, input=None, context=None, reference=None)


def _lists(value: Json) -> list[Json]:
    """The lists of facts in a value of a reply: there is at most one."""
    if isinstance(value, list):
        return [value]
    if isinstance(value, dict):
        return [part for key, part in value.items() if key.strip().casefold() == "facts"]
    return []


def _settle(lists: Sequence[Json]) -> Parsed | str:
    """Returns the one list that the reply holds, or what is wrong."""
    if not lists:
        return 'the reply has no JSON object with "facts"'
    if any(other != lists[0] for other in lists):
        return "the reply has lists of facts that disagree"
    items = lists[0]
    if not isinstance(items, list):
        return f'"facts" must be a list of texts, not {str(items)[:_SHOWN_CHARS]!r}'
    distinct: dict[str, str] = {}
    for item in items:
        fact = _fact(item)
        if fact is None:
            return f"each fact must be a text, not {str(item)[:_SHOWN_CHARS]!r}"
        distinct.setdefault(fact.casefold(), fact)
    if len(distinct) == len(items) == _MOST_FACTS:
        return f"the text states {_MOST_FACTS} facts or more, which is too many for one list"
    return Parsed(answer="yes" if distinct else "no", quotes=tuple(distinct.values()))


def _fact(item: Json) -> str | None:
    """The fact on one line; None for what is no text, or holds no word, such as a placeholder."""
    if isinstance(item, dict):
        item = item.get("fact")
    if not isinstance(item, str) or not _WORD.search(item):
        return None
    return storable(" ".join(item.split()))
