"""The replies of the generator: the forms they are asked for in, and the entries that are read from them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Generic, TypeVar

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from bineval.hashing import Json
from bineval.judging.forms import object_schema
from bineval.judging.json_text import json_values, merged

# Caps on entries keep a small model that repeats itself from filling its token cap. None on the length of texts: the
# grammars that local engines make of them are an order of magnitude slower.
_MAX_REQUIREMENTS = 40
_MIN_DIMENSIONS, _MAX_DIMENSIONS = 2, 5
_SPARE_QUESTIONS = 3
_ENTRIES_A_FAULT = 2
_FEWEST_STEPS, _MOST_STEPS = 2, 6


def _text(value: object) -> object:
    """Takes a one-element list, or a number, where a text was asked for."""
    if isinstance(value, list) and value:
        value = value[0]
    return " ".join(str(value).split()) if isinstance(value, str | int) else value


Line = Annotated[str, BeforeValidator(_text), Field(pattern=r"\w")]
"""A text that says something, on one line."""
_OptionalText = Annotated[str | None, BeforeValidator(_text)]


class Entry(BaseModel):
    """One object of a reply's list; unknown keys are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class RequirementEntry(Entry):
    """A requirement and the dimension it belongs to."""

    text: Annotated[Line, Field(validation_alias=AliasChoices("text", "requirement"))]
    dimension: Line


class DescriptionEntry(Entry):
    """What a dimension that the model chose means."""

    name: Line
    description: Line


class QuestionEntry(Entry):
    """A question, the id of the requirement it checks, and an example of "no"."""

    requirement: _OptionalText = None
    question: Annotated[Line, Field(validation_alias=AliasChoices("question", "text"))]
    violation: _OptionalText = None


class StepEntry(Entry):
    """One step of an evaluation."""

    step: Annotated[Line, Field(validation_alias=AliasChoices("step", "text"))]


E = TypeVar("E", bound=Entry)

STRING: dict[str, Json] = {"type": "string"}
"""A text as a JSON schema."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Form(Generic[E]):
    """The form of a reply: a list of entries under one key.

    Attributes:
        key: The key of the list.
        entry: What each entry is read as.
        shape: The form in words, for the prompt.
        item: An entry as a JSON schema.
        least: Fewest entries of a first reply.
        most: Most entries of a reply.
        beside: JSON schemas of what is asked for beside the list, by key.
    """

    key: str
    entry: type[E]
    shape: str
    item: Mapping[str, Json]
    least: int
    most: int
    beside: Mapping[str, Json] = field(default_factory=dict)

    def schema(self) -> Mapping[str, Json]:
        """The form of a first reply as a JSON schema."""
        return object_schema({self.key: _list(self.item, self.least, self.most), **self.beside})

    def schema_for_mending(self, n_faults: int) -> Mapping[str, Json]:
        """The form of a reply that mends `n_faults` faults: the list alone, and a short one."""
        return object_schema({self.key: _list(self.item, 1, _ENTRIES_A_FAULT * n_faults)})

    def read(self, text: str) -> list[E]:
        """Returns the usable entries of a reply."""
        return read_entries(text, self.entry)


def read_entries(text: str, kind: type[E]) -> list[E]:
    """Returns every usable entry of a reply, at any depth, each once; placeholders and broken ones are left out."""
    found = (_entry(item, kind) for value in json_values(text) for item in _objects(value))
    return list(dict.fromkeys(entry for entry in found if entry is not None))


def requirements_form(dimensions: Sequence[str]) -> Form[RequirementEntry]:
    """The form of step 1; `dimensions` are the names to choose from, empty when the model chooses its own."""
    list_shape = '"requirements": [{"text": "...", "dimension": "..."}, ...]'
    described = '"dimensions": [{"name": "...", "description": "..."}, ...]'
    own = _list(object_schema({"name": STRING, "description": STRING}), _MIN_DIMENSIONS, _MAX_DIMENSIONS)
    name: Json = {"type": "string", "enum": list(dimensions)} if dimensions else STRING
    return Form(
        key="requirements",
        entry=RequirementEntry,
        shape=f"{{{list_shape}}}" if dimensions else f"{{{list_shape}, {described}}}",
        item=object_schema({"text": STRING, "dimension": name}),
        least=max(1, len(dimensions)),
        most=_MAX_REQUIREMENTS,
        beside={} if dimensions else {"dimensions": own},
    )


def questions_form(requirement_ids: Sequence[str]) -> Form[QuestionEntry]:
    """The form of step 2; each question names one of `requirement_ids`."""
    entry: dict[str, Json] = {
        "requirement": {"type": "string", "enum": list(requirement_ids)},
        "question": STRING,
        "violation": STRING,
    }
    return Form(
        key="questions",
        entry=QuestionEntry,
        shape='{"questions": [{"requirement": "R...", "question": "...?", "violation": "..."}, ...]}',
        item=object_schema(entry),
        least=len(requirement_ids),
        most=2 * len(requirement_ids) + _SPARE_QUESTIONS,
    )


def steps_form() -> Form[StepEntry]:
    """The form in which evaluation steps are written."""
    return Form(
        key="steps",
        entry=StepEntry,
        shape='{"steps": [{"step": "..."}, ...]}',
        item=object_schema({"step": STRING}),
        least=_FEWEST_STEPS,
        most=_MOST_STEPS,
    )


def _entry(item: Mapping[str, Json], kind: type[E]) -> E | None:
    try:
        return kind.model_validate(item)
    except ValidationError:
        return None


def _objects(value: Json) -> Iterator[Mapping[str, Json]]:
    """Yields the objects in `value`, at any depth, outermost first; keys in lower case."""
    if isinstance(value, dict):
        yield merged((key.strip().casefold(), part) for key, part in value.items())
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _objects(part)


def _list(items: Json, least: int, most: int) -> dict[str, Json]:
    return {"type": "array", "items": items, "minItems": least, "maxItems": most}
