"""The form in which a chat model is asked for a rating with an explanation, and how its reply is read."""

from collections.abc import Iterator, Mapping, Sequence

from bineval.hashing import Json
from bineval.judging.forms import MAX_EXPLANATION_CHARS, object_schema
from bineval.judging.json_text import json_values, merged, without_reasoning
from bineval.judging.parsing import Parsed, Reading, explanation_of
from bineval.judging.rating_scale import RatingScale
from bineval.judging.rendering import question_text
from bineval.types import Question

_SHOWN_CHARS = 60
_KEYS = ("score", "rating")


class RatingForm:
    """One rating a call; see `bineval.judging.forms.Form`.

    Args:
        scales: The scale of each dimension.
    """

    kind = "rating"
    prompt = "rate"
    variables: Mapping[str, frozenset[str]] = {
        "rate": frozenset({"example", "rating", "low", "high", "form"}),
        "judge_again": frozenset({"problem", "questions", "form"}),
    }
    required: Mapping[str, frozenset[str]] = {
        "rate": frozenset({"example", "rating"}),
        "judge_again": frozenset({"questions"}),
    }

    def __init__(self, scales: Mapping[str, RatingScale]) -> None:
        self._scales = scales

    def values(self, questions: Sequence[Question]) -> dict[str, str]:
        """What is rated, and on which scale."""
        (question,) = questions
        scale = self._scales[question.dimension]
        return {
            "rating": question_text(question),
            "low": str(scale.low),
            "high": str(scale.high),
            "form": self.shape(questions),
        }

    def names(self, questions: Sequence[Question]) -> str:
        """What is rated."""
        (question,) = questions
        return question_text(question)

    def shape(self, questions: Sequence[Question]) -> str:
        """An object with explanation and score."""
        (question,) = questions
        scale = self._scales[question.dimension]
        return f'{{"explanation": "...", "score": a whole number from {scale.low} to {scale.high}}}'

    def schema(self, questions: Sequence[Question]) -> Mapping[str, Json]:
        """Schema of that object."""
        (question,) = questions
        return object_schema(
            {
                "explanation": {"type": "string", "maxLength": MAX_EXPLANATION_CHARS},
                "score": {"type": "integer", "enum": list(self._scales[question.dimension].numbers())},
            }
        )

    def read(self, text: str, questions: Sequence[Question]) -> Reading:
        """Reads the object, or a reply that is nothing but the number."""
        (question,) = questions
        values = json_values(text)
        found = [item for value in values for item in _score_objects(value)]
        if not found and not values and _number(without_reasoning(text)) is not None:
            found = [{"score": without_reasoning(text)}]
        result = _settle(found, self._scales[question.dimension])
        if isinstance(result, Parsed):
            return Reading(answers={question.id: result}, problems={})
        return Reading(answers={}, problems={question.id: result if text.strip() else "the reply is empty"})


def _settle(items: list[dict[str, Json]], scale: RatingScale) -> Parsed | str:
    """Returns the one score that `items` agree on, or what is wrong."""
    if not items:
        return 'the reply has no JSON object with a "score"'
    said = [item[key] for item in items for key in _KEYS if key in item]
    numbers = {_number(value) for value in said}
    if len(numbers) > 1:
        return "the reply has scores that disagree"
    number = numbers.pop()
    if number is None or not scale.low <= number <= scale.high:
        return f"the score must be a number from {scale.low} to {scale.high}, not {str(said[-1])[:_SHOWN_CHARS]!r}"
    return Parsed(rating=scale.unit(number), explanation=explanation_of(items[-1].get("explanation")))


def number_in(text: str, scale: RatingScale) -> float | None:
    """The number of the scale that a reply is, and nothing else; None for every other reply."""
    number = _number(without_reasoning(text).strip().rstrip("."))
    return number if number is not None and scale.low <= number <= scale.high else None


def _number(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < float("inf") else None  # NaN compares as false


def _score_objects(value: Json) -> Iterator[dict[str, Json]]:
    """Yields the objects in `value`, at any depth, that have a score; names of keys in lower case."""
    if isinstance(value, dict):
        item = merged((name.strip().casefold(), part) for name, part in value.items())
        if any(key in item for key in _KEYS):
            yield item
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _score_objects(part)
