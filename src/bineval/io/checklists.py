"""Checklist files: YAML (or JSON) that people edit, to and from `Checklist`."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from bineval.errors import DataError
from bineval.hashing import Json
from bineval.io.checklist_shape import TEXT_KEYS, ChecklistShape, QuestionShape, checked_shape
from bineval.io.files import replacing
from bineval.io.text import read_lines
from bineval.io.yaml_text import Document, InlineList, KeyPath, read_yaml, write_yaml
from bineval.types import USUAL_LANGUAGE, USUAL_THRESHOLD, Checklist, Dimension, Question, Scale


def load_checklist(path: str | Path) -> Checklist:
    """Reads a checklist file; without a `name` it is called as the file, without its ending.

    Raises:
        DataError: The file is not a checklist; the error has the line.
    """
    path = Path(path)
    text = "".join(line for _, line in read_lines(path, encoding="utf-8"))
    return _parse(text, source=str(path), default_name=path.name.split(".")[0] or None)


def parse_checklist(text: str, *, source: str = "<checklist>") -> Checklist:
    """Reads the text of a checklist file.

    Args:
        text: YAML or JSON.
        source: Name of the text in errors.

    Raises:
        DataError: The text is not a checklist; the error has the line.
    """
    return _parse(text, source=source, default_name=None)


def dump_checklist(checklist: Checklist) -> str:
    """Returns YAML that `parse_checklist` reads back; what has its default value is left out.

    Questions are grouped by dimension, and keep their order within it.
    """
    questions = checklist.by_dimension()
    dimensions = {
        name: _without_defaults(
            {
                "scale": _inline(dimension.scale),
                "description": dimension.description,
                "questions": [_question_json(question) for question in questions[name]],
            }
        )
        for name, dimension in checklist.dimensions.items()
    }
    return write_yaml(
        _without_defaults(
            {
                "name": checklist.name,
                "task": checklist.task,
                "scale": _inline(checklist.scale),
                "threshold": _unless(USUAL_THRESHOLD, checklist.threshold),
                "language": _unless(USUAL_LANGUAGE, checklist.language),
                "dimensions": dimensions,
                "provenance": checklist.provenance or None,
            }
        )
    )


def save_checklist(checklist: Checklist, path: str | Path) -> None:
    """Writes a checklist file, whole or not at all.

    Raises:
        ConfigError: The file cannot be written.
    """
    with replacing(Path(path)) as binary:
        binary.write(dump_checklist(checklist).encode())


def _parse(text: str, *, source: str, default_name: str | None) -> Checklist:
    document = read_yaml(text, source=source, is_text=_is_text)
    if not isinstance(document.value, Mapping):
        raise DataError("a checklist is keys with values (name, dimensions, …)", file=source, line=1)
    value = dict(document.value)
    if default_name is not None:
        value.setdefault("name", default_name)
    shape = checked_shape(document, value)
    questions = tuple(_questions(shape, document))
    if not questions:
        raise document.error("the checklist has no question", ("dimensions",))
    return Checklist(
        name=shape.name,
        questions=questions,
        dimensions={
            name: Dimension(scale=_scale(dimension.scale), description=dimension.description)
            for name, dimension in shape.dimensions.items()
        },
        task=shape.task,
        scale=_scale(shape.scale),
        threshold=shape.threshold,
        language=shape.language,
        provenance=shape.provenance,
    )


def _is_text(path: KeyPath) -> bool:
    return path[:1] != ("provenance",) and path[-1:] != () and path[-1] in TEXT_KEYS


def _questions(shape: ChecklistShape, document: Document) -> Iterator[Question]:
    """The questions in the order of the file, each with an id."""
    taken = _given_ids(shape, document)
    n_by_prefix: Counter[str] = Counter()
    for name, question, path in _walk(shape):
        prefix = "".join(character for character in name.lower() if character.isalnum())[:3] or "q"
        n_by_prefix[prefix] += 1
        made = question.id or _free_id(prefix, n_by_prefix[prefix], taken)
        taken.setdefault(made, path)
        if question.over_sentences is not None and question.per != "sentence":
            raise document.error("goes with 'per: sentence' only", (*path[:-1], "over_sentences"))
        yield Question(
            id=made,
            text=question.text,
            dimension=name,
            weight=question.weight,
            violation=question.violation,
            requirement=question.requirement,
            may_not_apply=question.may_not_apply,
            per=question.per,
            over_sentences=question.over_sentences or "min",
            threshold=question.threshold,
            source=question.source,
        )


def _given_ids(shape: ChecklistShape, document: Document) -> dict[str, KeyPath]:
    taken: dict[str, KeyPath] = {}
    for _, question, path in _walk(shape):
        if question.id is None:
            continue
        if question.id in taken:
            first = document.line(taken[question.id])
            raise document.error(f"the id {question.id!r} is already used in line {first}", path)
        taken[question.id] = path
    return taken


def _walk(shape: ChecklistShape) -> Iterator[tuple[str, QuestionShape, KeyPath]]:
    """Each question with its dimension and the path of its id."""
    for name, dimension in shape.dimensions.items():
        for i, question in enumerate(dimension.questions):
            yield name, question, ("dimensions", name, "questions", i, "id")


def _free_id(prefix: str, number: int, taken: Mapping[str, KeyPath]) -> str:
    while f"{prefix}-{number}" in taken:
        number += 1
    return f"{prefix}-{number}"


def _scale(scale: list[float] | None) -> Scale | None:
    return None if scale is None else (scale[0], scale[1])


def _question_json(question: Question) -> dict[str, Json]:
    return _without_defaults(
        {
            "id": question.id,
            "text": question.text,
            "violation": question.violation,
            "requirement": question.requirement,
            "weight": None if question.weight == 1 else _number(question.weight),
            "may_not_apply": question.may_not_apply or None,
            "per": _unless("output", question.per),
            "over_sentences": _unless("min", question.over_sentences) if question.per == "sentence" else None,
            "threshold": question.threshold,
            "source": question.source,
        }
    )


def _without_defaults(values: Mapping[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in values.items() if value is not None}


def _unless(usual: Json, value: Json) -> Json:
    return None if value == usual else value


def _inline(scale: Scale | None) -> InlineList | None:
    return None if scale is None else InlineList(_number(end) for end in scale)


def _number(number: float) -> int | float:
    # People write 5, not 5.0; very large whole numbers read better with an exponent.
    return int(number) if number == int(number) and abs(number) < 1e15 else number
