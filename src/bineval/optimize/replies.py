"""What the note-taker replies: lessons, their place in the memory, edits and rewritten rules."""

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import AliasChoices, BeforeValidator, Field

from bineval.generation.replies import STRING, Entry, Form, Line
from bineval.hashing import Json
from bineval.judging.forms import object_schema

OPTIMIZE_VARIABLES: Mapping[str, frozenset[str]] = {
    "lessons": frozenset({"present_rules", "cases", "form"}),
    "writing_lessons": frozenset({"present_rules", "cases", "form"}),
    "merge_lesson": frozenset({"memory", "lesson", "form"}),
    "edit_rules": frozenset({"whose_rules", "present_rules", "lesson", "form"}),
    "rewrite_rules": frozenset({"whose_rules", "present_rules", "lessons", "limit", "form"}),
    "optimize_again": frozenset({"faults", "form"}),
}
"""The prompts of the note-taker, and what can be filled in each."""
OPTIMIZE_PROMPTS = tuple(OPTIMIZE_VARIABLES)

_NUMBER_OR_NULL: Json = {"type": ["integer", "null"]}
_MOST_LESSONS = 5
# Not a part of a word, a negative number or a fraction; 1.0 is whole.
_WHOLE = re.compile(r"(?<![\w.-])(\d+)(?:\.0+)?(?![\w.])")


def _numbers(value: object) -> object:
    """The whole numbers of a list that a model filled with numbers, or with words such as "Case 3"."""
    items = value if isinstance(value, list) else [value]
    found = (number for item in items for number in _WHOLE.findall(str(item)))
    return tuple(int(number) for number in found if int(number))


def _number(value: object) -> object:
    numbers = _numbers(value)
    return numbers[0] if isinstance(numbers, tuple) and numbers else None


class LessonEntry(Entry):
    """A lesson and the numbers of the cases that it comes from."""

    lesson: Annotated[Line, Field(validation_alias=AliasChoices("lesson", "text"))]
    cases: Annotated[tuple[int, ...], BeforeValidator(_numbers)] = ()


class MergeEntry(Entry):
    """Where a new lesson belongs among the numbered ones of the memory."""

    lesson: Line
    same_as: Annotated[int | None, BeforeValidator(_number)] = None
    contradicts: Annotated[int | None, BeforeValidator(_number)] = None


class EditEntry(Entry):
    """A part of the rules, and what stands in its place."""

    find: Annotated[str, Field(pattern=r"\S")]
    replace: str


def _lines(value: object) -> object:
    """Takes a list of rules where one text was asked for."""
    return "\n".join(map(str, value)) if isinstance(value, list) else value


class RulesEntry(Entry):
    """Rewritten rules."""

    rules: Annotated[str, BeforeValidator(_lines), Field(pattern=r"\w")]


def lessons_form(n_cases: int) -> Form[LessonEntry]:
    """The form of lessons from so many cases."""
    numbers: Json = {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": n_cases}}
    return Form(
        key="lessons",
        entry=LessonEntry,
        shape='{"lessons": [{"lesson": "...", "cases": [1, ...]}, ...]}',
        item=object_schema({"lesson": STRING, "cases": numbers}),
        least=1,
        most=min(n_cases, _MOST_LESSONS),
    )


def merge_form() -> Form[MergeEntry]:
    """The form of the place of one new lesson."""
    item = object_schema({"same_as": _NUMBER_OR_NULL, "contradicts": _NUMBER_OR_NULL, "lesson": STRING})
    shape = '{"place": [{"same_as": null, "contradicts": null, "lesson": "..."}]}'
    return Form(key="place", entry=MergeEntry, shape=shape, item=item, least=1, most=1)


def edit_form() -> Form[EditEntry]:
    """The form of one edit."""
    item = object_schema({"find": STRING, "replace": STRING})
    return Form(
        key="edit", entry=EditEntry, shape='{"edit": [{"find": "...", "replace": "..."}]}', item=item, least=1, most=1
    )


def rules_form() -> Form[RulesEntry]:
    """The form of rewritten rules."""
    item = object_schema({"rules": STRING})
    return Form(
        key="rewritten", entry=RulesEntry, shape='{"rewritten": [{"rules": "..."}]}', item=item, least=1, most=1
    )
