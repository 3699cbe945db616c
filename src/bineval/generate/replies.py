"""The replies of the generator: the forms they are asked for in, and the entries that are read from them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Generic, TypeVar

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from bineval.hashing import Json
from bineval.judging.json_text import json_values

# Caps keep a small model that repeats itself from filling its whole token cap.
_MAX_CHARS = 300
_MIN_DIMENSIONS, _MAX_DIMENSIONS = 2, 6
_MAX_REQUIREMENTS = 12
_SPARE_QUESTIONS = 3


def _text(value: object) -> object:
    """Takes `{"text": "…"}`, a one-element list or a number where a text was asked for."""
    if isinstance(value, Mapping):
        value = next((value[key] for key in ("text", "requirement", "sentence") if key in value), value)
    if isinstance(value, list) and value:
        value = value[0]
    return " ".join(str(value).split()) if isinstance(value, str | int) else value


def _texts(value: object) -> object:
    return [value] if isinstance(value, str) else value


_Text = Annotated[str, BeforeValidator(_text), Field(pattern=r"\w")]


class Entry(BaseModel):
    """One object of a reply's list; unknown keys are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class DimensionEntry(Entry):
    """A dimension and the requirements under it."""

    name: _Text
    description: Annotated[str | None, BeforeValidator(_text)] = None
    requirements: Annotated[tuple[_Text, ...], BeforeValidator(_texts)]


class QuestionEntry(Entry):
    """A question, the id of the requirement it checks, and an example of "no"."""

    requirement: Annotated[str | None, BeforeValidator(_text)] = None
    question: Annotated[_Text, Field(validation_alias=AliasChoices("question", "text"))]
    violation: Annotated[str | None, BeforeValidator(_text)] = None


E = TypeVar("E", bound=Entry)


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
    """

    key: str
    entry: type[E]
    shape: str
    item: Mapping[str, Json]
    least: int
    most: int

    def schema(self, *, least: int | None = None) -> Mapping[str, Json]:
        """The form as a JSON schema; `least` takes the place of the form's own."""
        return _object({self.key: _list(self.item, self.least if least is None else least, self.most)})

    def read(self, text: str) -> list[E]:
        """Returns every usable entry of a reply, at any depth, each once; placeholders and broken ones are left out."""
        found = (self._entry(item) for value in json_values(text) for item in _objects(value))
        return list(dict.fromkeys(entry for entry in found if entry is not None))

    def _entry(self, item: Mapping[str, Json]) -> E | None:
        try:
            return self.entry.model_validate(item)
        except ValidationError:
            return None


def requirements_form(dimensions: Sequence[str]) -> Form[DimensionEntry]:
    """The form of step 1; `dimensions` are the names to choose from, empty when the model names its own."""
    name: Json = {"type": "string", "enum": list(dimensions)} if dimensions else _string()
    entry: dict[str, Json] = {"name": name}
    if not dimensions:
        entry["description"] = _string()
    entry["requirements"] = _list(_string(), 1, _MAX_REQUIREMENTS)
    description = "" if dimensions else '"description": "...", '
    return Form(
        key="dimensions",
        entry=DimensionEntry,
        shape=f'{{"dimensions": [{{"name": "...", {description}"requirements": ["...", "..."]}}, ...]}}',
        item=_object(entry),
        least=len(dimensions) or _MIN_DIMENSIONS,
        most=len(dimensions) or _MAX_DIMENSIONS,
    )


def questions_form(requirement_ids: Sequence[str]) -> Form[QuestionEntry]:
    """The form of step 2; each question names one of `requirement_ids`."""
    entry: dict[str, Json] = {
        "requirement": {"type": "string", "enum": list(requirement_ids)},
        "question": _string(),
        "violation": _string(),
    }
    return Form(
        key="questions",
        entry=QuestionEntry,
        shape='{"questions": [{"requirement": "R...", "question": "...?", "violation": "..."}, ...]}',
        item=_object(entry),
        least=len(requirement_ids),
        most=2 * len(requirement_ids) + _SPARE_QUESTIONS,
    )


def _objects(value: Json) -> Iterator[Mapping[str, Json]]:
    """Yields the objects in `value`, at any depth, outermost first; keys in lower case."""
    if isinstance(value, dict):
        yield {str(key).strip().casefold(): part for key, part in value.items()}
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _objects(part)


def _string() -> dict[str, Json]:
    return {"type": "string", "maxLength": _MAX_CHARS}


def _list(items: Json, least: int, most: int) -> dict[str, Json]:
    return {"type": "array", "items": items, "minItems": least, "maxItems": most}


def _object(properties: dict[str, Json]) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
