"""The boolean method: one yes/no question a dimension, as UniEval asks (arXiv 2210.07197), put to a prompted judge.

The same judge, prompt and scoring as for a whole checklist; only the decomposition is missing. Yes is the top of the
scale, no the bottom; a judge with probabilities gives the soft form, P(yes), beside it.
"""

from bineval.methods.dimension_questions import described, one_question_each
from bineval.types import Checklist, Dimension


def boolean_checklist(checklist: Checklist) -> Checklist:
    """The checklist with one question for each dimension of `checklist`."""
    return one_question_each(checklist, method="boolean", asks="answer", text=_text)


def _text(name: str, dimension: Dimension) -> str:
    return f"Taken as a whole, does the text have this quality: {described(name, dimension)}?"
