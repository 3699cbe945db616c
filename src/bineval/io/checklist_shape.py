"""The shape of a checklist file, as pydantic models that name what is wrong and where."""

from collections.abc import Mapping
from typing import Annotated, Any, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from bineval.errors import DataError, UnknownNameError
from bineval.io.yaml_text import Document, KeyPath
from bineval.types import OVERALL, USUAL_LANGUAGE, USUAL_THRESHOLD, OverSentences, Unit

TEXT_KEYS = frozenset(
    {
        "name", "task", "language", "description",
        "id", "text", "violation", "requirement", "source", "per", "over_sentences",
    }
)  # fmt: skip
"""Keys whose value is text however it looks: `id: no` is the id "no", `language: no` is Norwegian."""


def _wrong(message: str) -> PydanticCustomError:
    # The message is a template to pydantic; what users wrote may hold braces.
    return PydanticCustomError("checklist", "{message}", {"message": message})


def _not_blank(text: str) -> str:
    if not text.strip():
        raise _wrong("must not be empty")
    return text


def _dimension_name(name: str) -> str:
    if name.casefold() == OVERALL:
        raise _wrong(f"no dimension may be named {OVERALL!r}: that is the score over all questions")
    return _not_blank(name)


def _weight(weight: float) -> float:
    if weight < 0:
        raise _wrong(
            "a weight must be positive; points taken away for something bad belong in a signed rubric,"
            " which is another kind of file"
        )
    if weight == 0:
        raise _wrong("a weight must be positive; leave out a question that should not count")
    return weight


def _scale(scale: list[float]) -> list[float]:
    if len(scale) != 2 or not scale[0] < scale[1]:
        raise _wrong("a scale is two numbers [a, b] with a < b: the score 0 becomes a, the score 1 becomes b")
    return scale


def _threshold(threshold: float) -> float:
    if not 0 < threshold < 1:
        raise _wrong("a threshold is a probability between 0 and 1: the answer is yes above it")
    return threshold


def _one_of(kind: str, known: tuple[str, ...]) -> BeforeValidator:
    def check(value: object) -> object:
        if isinstance(value, str) and value not in known:
            raise _wrong(str(UnknownNameError(kind, value, known)))
        return value

    return BeforeValidator(check)


_Text = Annotated[str, AfterValidator(_not_blank)]
_Number = Annotated[float, Field(allow_inf_nan=False)]
_Threshold = Annotated[_Number, AfterValidator(_threshold)]
_Scale = Annotated[list[_Number], AfterValidator(_scale)]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class QuestionShape(_Shape):
    """One item of `questions`."""

    id: _Text | None = None
    text: _Text
    violation: str | None = None
    requirement: str | None = None
    weight: Annotated[_Number, AfterValidator(_weight)] = 1.0
    may_not_apply: bool = False
    per: Annotated[Unit, _one_of("unit", get_args(Unit))] = "output"
    over_sentences: Annotated[OverSentences, _one_of("way", get_args(OverSentences))] | None = None
    threshold: _Threshold | None = None
    source: str | None = None


class DimensionShape(_Shape):
    """One value of `dimensions`."""

    scale: _Scale | None = None
    description: str | None = None
    questions: list[QuestionShape] = []


class ChecklistShape(_Shape):
    """A whole file."""

    name: _Text
    task: str | None = None
    scale: _Scale | None = None
    threshold: _Threshold = USUAL_THRESHOLD
    language: _Text = USUAL_LANGUAGE
    dimensions: dict[Annotated[str, AfterValidator(_dimension_name)], DimensionShape]
    provenance: dict[str, Any] = {}


def checked_shape(document: Document, value: Mapping[str, object]) -> ChecklistShape:
    """Returns `value`, which comes from `document`, as a checklist's shape.

    Raises:
        DataError: The first thing in the file that is wrong, and how many more there are.
    """
    try:
        return ChecklistShape.model_validate(value)
    except ValidationError as error:
        raise _first(error, document) from error


_KEYS_AT_DEPTH: Mapping[int, type[_Shape]] = {1: ChecklistShape, 3: DimensionShape, 5: QuestionShape}

_PROBLEMS = {
    "missing": "is required",
    "string_type": "must be text",
    "literal_error": "must be text",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be keys with values",
    "model_type": "must be keys with values",
}


def _first(error: ValidationError, document: Document) -> DataError:
    problems = error.errors(include_url=False, include_context=False)
    # A misspelled key comes first: it is why another key is missing.
    first, *others = sorted(
        problems, key=lambda problem: (problem["type"] != "extra_forbidden", document.line(_path(problem)))
    )
    more = f" (and {len(others)} more problem{'s' if len(others) > 1 else ''})" if others else ""
    return document.error(_words(first) + more, _path(first))


def _path(problem: ErrorDetails) -> KeyPath:
    # "[key]" is what pydantic adds for a fault of a mapping's key, where the key itself comes before.
    return tuple(key for key in problem["loc"] if key != "[key]")


def _words(problem: ErrorDetails) -> str:
    if problem["type"] == "extra_forbidden":
        path = _path(problem)
        return str(UnknownNameError("key", str(path[-1]), _KEYS_AT_DEPTH[len(path)].model_fields))
    return _PROBLEMS.get(problem["type"], problem["msg"])
