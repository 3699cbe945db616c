"""Verdicts into scores: `S_d`, `S`, weights, repeats and scales (BinEval, arXiv 2606.27226, section 3.2).

It knows verdicts and checklists alone, so that any score can be computed again from a saved run.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from bineval.errors import UnknownNameError
from bineval.types import OVERALL, Checklist, Question, Scale, Score, Verdict, VerdictRow


def score_rows(checklist: Checklist, rows: Iterable[VerdictRow]) -> dict[str, Score]:
    """Scores one example from its verdict rows, in any order; see `score_example`."""
    verdicts: dict[str, list[Verdict]] = defaultdict(list)
    for row in rows:
        verdicts[row.question_id].append(row.verdict)
    return score_example(checklist, verdicts)


def score_example(checklist: Checklist, verdicts: Mapping[str, Sequence[Verdict]]) -> dict[str, Score]:
    """Scores one example by dimension and overall.

    `S_d` is the weighted mean of the answered questions of a dimension, `S` the same over all questions. A question's
    value is the mean of its answered repeats. Nothing answered gives None, never 0.

    Args:
        checklist: The questions planned; each counts in `n_asked` whether it has a verdict yet or not, unless all its
            verdicts say that it does not apply.
        verdicts: The verdicts of each question, one a repeat, by question id.

    Returns:
        Scores by dimension, in the order of the checklist, and "overall" last.

    Raises:
        UnknownNameError: A verdict is of a question that the checklist does not have.
    """
    known = {question.id for question in checklist.questions}
    for question_id in verdicts:
        if question_id not in known:
            raise UnknownNameError("question", question_id, known)
    scores = {
        name: _score(questions, verdicts, checklist.dimensions[name].scale)
        for name, questions in checklist.by_dimension().items()
    }
    scores[OVERALL] = _score(checklist.questions, verdicts, checklist.scale)
    return scores


def question_value(verdicts: Iterable[Verdict]) -> float | None:
    """Share of "yes" among the answered repeats of a question, in [0, 1]; None when none is answered."""
    answers = [verdict.answer == "yes" for verdict in verdicts if verdict.answer is not None]
    return sum(answers) / len(answers) if answers else None


def does_not_apply(verdicts: Sequence[Verdict]) -> bool:
    """Whether the question was asked and every verdict says that it does not apply."""
    return bool(verdicts) and all(verdict.reason == "not_applicable" for verdict in verdicts)


def to_scale(value: float | None, scale: Scale | None) -> float | None:
    """Maps `value` in [0, 1] to `[a, b]` by `value · (b - a) + a`; None when either is None."""
    if value is None or scale is None:
        return None
    low, high = scale
    return value * (high - low) + low


def _score(questions: Sequence[Question], verdicts: Mapping[str, Sequence[Verdict]], scale: Scale | None) -> Score:
    applicable = [q for q in questions if not does_not_apply(verdicts.get(q.id, ()))]
    values = [(q.weight, question_value(verdicts.get(q.id, ()))) for q in applicable]
    answered = [(weight, value) for weight, value in values if value is not None]
    total = sum(weight for weight, _ in answered)
    value = sum(weight * v for weight, v in answered) / total if answered else None
    return Score(value=value, scaled=to_scale(value, scale), n_answered=len(answered), n_asked=len(applicable))
