"""The two forms in which questions are put and answered: one question a call, or several matched by id."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from bineval.hashing import Json
from bineval.judging.parsing import Reading, read_one, read_several
from bineval.judging.rendering import question_text
from bineval.types import Question

MAX_EXPLANATION_CHARS = 400
_MAX_QUOTE_CHARS = 300
_MAX_QUOTES = 3
_QUOTES = '"evidence": ["words copied exactly from the text or the material"], '


ANSWER_VARIABLES: Mapping[str, frozenset[str]] = {
    "judge_one": frozenset({"example", "question", "violation", "form"}),
    "judge_several": frozenset({"example", "questions", "form"}),
    "judge_again": frozenset({"problem", "questions", "form"}),
}
"""The prompts of the yes/no judge, and what can be filled in each."""

# Without these, a judge would answer about nothing.
_ANSWERS_REQUIRE: Mapping[str, frozenset[str]] = {
    "judge_one": frozenset({"example", "question"}),
    "judge_several": frozenset({"example", "questions"}),
    "judge_again": frozenset({"questions"}),
}


class Form(Protocol):
    """How questions are put to a model, and how its reply is read."""

    @property
    def kind(self) -> str:
        """Name of the kind of judge that it makes, for its settings."""
        ...

    @property
    def variables(self) -> Mapping[str, frozenset[str]]:
        """The prompts that may be needed, and what can be filled in each."""
        ...

    @property
    def required(self) -> Mapping[str, frozenset[str]]:
        """What each of these prompts must use."""
        ...

    @property
    def prompt(self) -> str:
        """Name of the prompt that puts the questions."""
        ...

    def values(self, questions: Sequence[Question]) -> dict[str, str]:
        """What fills the prompt, besides the example."""
        ...

    def names(self, questions: Sequence[Question]) -> str:
        """What the model knows the questions by, to ask them again."""
        ...

    def shape(self, questions: Sequence[Question]) -> str:
        """The reply's shape, in words for the model."""
        ...

    def schema(self, questions: Sequence[Question]) -> Mapping[str, Json]:
        """The reply's shape as a JSON schema: explanation before answer."""
        ...

    def read(self, text: str, questions: Sequence[Question]) -> Reading:
        """Reads a reply."""
        ...


class SingleForm:
    """One question a call; the reply is one object."""

    kind = "chat"
    variables = ANSWER_VARIABLES
    required = _ANSWERS_REQUIRE
    prompt = "judge_one"

    def __init__(self, *, evidence: bool) -> None:
        self._evidence = evidence

    def values(self, questions: Sequence[Question]) -> dict[str, str]:
        """The question, and the line that shows what "no" looks like."""
        (question,) = questions
        violation = f'An example of "no": {question.violation}\n' if question.violation else ""
        return {"question": question_text(question), "violation": violation, "form": self.shape(questions)}

    def names(self, questions: Sequence[Question]) -> str:
        """The question itself."""
        (question,) = questions
        return question_text(question)

    def shape(self, questions: Sequence[Question]) -> str:
        """An object with explanation and answer."""
        (question,) = questions
        choices = '"yes" or "no" or "not_applicable"' if question.may_not_apply else '"yes" or "no"'
        return f'{{{_QUOTES if self._evidence else ""}"explanation": "...", "answer": {choices}}}'

    def schema(self, questions: Sequence[Question]) -> Mapping[str, Json]:
        """Schema of that object."""
        (question,) = questions
        return object_schema(_answer_properties(question.may_not_apply, self._evidence))

    def read(self, text: str, questions: Sequence[Question]) -> Reading:
        """Reads the object."""
        (question,) = questions
        return read_one(text, question.id, may_not_apply=question.may_not_apply)


class SeveralForm:
    """Several questions a call; the reply is a list of objects with ids."""

    kind = "chat"
    variables = ANSWER_VARIABLES
    required = _ANSWERS_REQUIRE
    prompt = "judge_several"

    def __init__(self, *, evidence: bool) -> None:
        self._evidence = evidence

    def values(self, questions: Sequence[Question]) -> dict[str, str]:
        """One line a question, with its id and its example of "no"."""
        return {"questions": "\n".join(map(_line, questions)), "form": self.shape(questions)}

    def names(self, questions: Sequence[Question]) -> str:
        """Their ids."""
        return f"the questions with the ids {', '.join(question.id for question in questions)}"

    def shape(self, questions: Sequence[Question]) -> str:
        """A list of objects with id, explanation and answer."""
        quotes = _QUOTES if self._evidence else ""
        return f'{{"answers": [{{"id": "...", {quotes}"explanation": "...", "answer": "yes" or "no"}}, ...]}}'

    def schema(self, questions: Sequence[Question]) -> Mapping[str, Json]:
        """Schema of that list: an entry for each question."""
        may_not_apply = any(question.may_not_apply for question in questions)
        entry: dict[str, Json] = {"id": {"type": "string", "enum": [question.id for question in questions]}}
        entry.update(_answer_properties(may_not_apply, self._evidence))
        n = len(questions)
        return object_schema(
            {"answers": {"type": "array", "items": object_schema(entry), "minItems": n, "maxItems": n}}
        )

    def read(self, text: str, questions: Sequence[Question]) -> Reading:
        """Reads the list, by id."""
        return read_several(text, {question.id: question.may_not_apply for question in questions})


def _line(question: Question) -> str:
    line = f"- id {question.id}: {question_text(question)}"
    if question.violation:
        line += f' (An example of "no": {question.violation})'
    if question.may_not_apply:
        line += ' ("not_applicable" is allowed here.)'
    return line


def _answer_properties(may_not_apply: bool, evidence: bool) -> dict[str, Json]:
    properties: dict[str, Json] = {}
    if evidence:
        quote: Json = {"type": "string", "maxLength": _MAX_QUOTE_CHARS}
        properties["evidence"] = {"type": "array", "items": quote, "maxItems": _MAX_QUOTES}
    properties["explanation"] = {"type": "string", "maxLength": MAX_EXPLANATION_CHARS}
    properties["answer"] = {"type": "string", "enum": ["yes", "no", *(["not_applicable"] if may_not_apply else [])]}
    return properties


def object_schema(properties: dict[str, Json]) -> dict[str, Json]:
    """The JSON schema of an object that has exactly these properties, in this order."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
