"""One question a dimension, for the methods that yes/no questions are compared with: as a whole, or for a rating."""

from collections.abc import Callable
from dataclasses import replace

from bineval.types import Asks, Checklist, Dimension, Question


def one_question_each(
    checklist: Checklist, *, method: str, asks: Asks, text: Callable[[str, Dimension], str]
) -> Checklist:
    """A checklist with the task, dimensions and scales of `checklist`, and one question for each dimension.

    Args:
        checklist: Its own questions are left out.
        method: Name of the method, for the name of the checklist and the source of its questions.
        asks: Whether the answer is yes or no, or a rating.
        text: Makes the text of the question from the dimension's name and description.
    """
    questions = tuple(
        Question(id=name, text=text(name, dimension), dimension=name, asks=asks, source=method)
        for name, dimension in checklist.dimensions.items()
    )
    return replace(checklist, name=f"{checklist.name}-{method}", questions=questions, provenance={})


def described(name: str, dimension: Dimension) -> str:
    """Name and description of a dimension in one line, without a full stop at its end."""
    if not dimension.description:
        return name
    return f"{name} ({' '.join(dimension.description.split()).rstrip('.')})"
