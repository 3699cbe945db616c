"""Verdicts into scores: `S_d`, `S`, weights, sentences, repeats and scales (BinEval, arXiv 2606.27226, section 3.2).

It knows verdicts and checklists alone, so that any score can be computed again from a saved run.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from bineval.errors import UnknownNameError
from bineval.types import OVERALL, Checklist, OverSentences, Question, Scale, Score, Verdict, VerdictRow

UnitVerdicts = Mapping[int | None, Sequence[Verdict]]
"""The verdicts of one question about one example, one a repeat, by unit: a sentence's index, None for the whole."""

_ROUNDING = 1e-9


def score_rows(checklist: Checklist, rows: Iterable[VerdictRow]) -> dict[str, Score]:
    """Scores one example from its verdict rows, in any order; see `score_example`."""
    return score_example(checklist, verdicts_by_question(checklist, rows))


def verdicts_by_question(checklist: Checklist, rows: Iterable[VerdictRow]) -> dict[str, UnitVerdicts]:
    """Gathers the verdicts of one example by question.

    A sentence that one question has a verdict about is unanswered for each question that is asked of sentences and has
    none about it. In an unfinished run a sentence that no verdict is about is not known.
    """
    rows = list(rows)
    n_sentences = 1 + max((row.unit for row in rows if row.unit is not None), default=-1)
    by_question: dict[str, list[VerdictRow]] = defaultdict(list)
    for row in rows:
        by_question[row.question_id].append(row)
    per_sentence = {question.id for question in checklist.questions if question.per == "sentence"}
    return {
        key: by_unit(items, n_sentences=n_sentences if key in per_sentence else 0) for key, items in by_question.items()
    }


def by_unit(rows: Iterable[VerdictRow], *, n_sentences: int = 0) -> UnitVerdicts:
    """Gathers the verdicts of one question about one example by unit; at least `n_sentences` are there, maybe empty."""
    units: dict[int | None, list[Verdict]] = {unit: [] for unit in range(n_sentences)}
    for row in rows:
        units.setdefault(row.unit, []).append(row.verdict)
    return units


def score_example(checklist: Checklist, verdicts: Mapping[str, UnitVerdicts]) -> dict[str, Score]:
    """Scores one example by dimension and overall.

    `S_d` is the weighted mean of the answered questions of a dimension, `S` the same over all questions. Nothing
    answered gives None, never 0. The soft score is made in the same way from P(yes), and is None unless every answered
    question has a soft value.

    Args:
        checklist: The questions planned; each counts in `n_asked` whether it has a verdict yet or not, unless all its
            verdicts say that it does not apply.
        verdicts: The verdicts of each question, by question id.

    Returns:
        Scores by dimension, in the order of the checklist, and "overall" last.

    Raises:
        UnknownNameError: A verdict is of a question that the checklist does not have.
    """
    known = {question.id for question in checklist.questions}
    for question_id in verdicts:
        if question_id not in known:
            raise UnknownNameError("question", question_id, known)
    questions = {**checklist.by_dimension(), OVERALL: checklist.questions}
    return {name: _score(questions[name], verdicts, scale) for name, scale in scales_of(checklist).items()}


def question_value(question: Question, units: UnitVerdicts) -> float | None:
    """Value of a question for an example, in [0, 1]; None when it is not known.

    A unit's value is the share of "yes" among its answered repeats. Over sentences the question's value is their
    minimum, or their mean over the answered ones. A minimum of 0 is decided by one sentence; any other is known only
    when every sentence that applies is answered. Sentences that the question does not apply to are left out.
    """
    return _over_units(units, unit_value, question.over_sentences)


def soft_value(question: Question, units: UnitVerdicts) -> float | None:
    """The same from P(yes) in place of answers; None also when a verdict with an answer or rating has none."""
    answered = [verdict for verdicts in units.values() for verdict in verdicts if verdict.reason is None]
    if any(verdict.probability is None for verdict in answered):
        return None
    return _over_units(units, _soft_unit_value, question.over_sentences)


def unit_value(verdicts: Iterable[Verdict]) -> float | None:
    """Share of "yes" among the answered repeats of a question about one unit, in [0, 1]; None when none is answered.

    Of a question that asks for a rating it is the mean rating of the repeats.
    """
    return _mean(
        [
            float(verdict.answer == "yes") if verdict.rating is None else verdict.rating
            for verdict in verdicts
            if verdict.reason is None
        ]
    )


def deciding_units(question: Question, units: UnitVerdicts) -> set[int | None]:
    """The sentences because of which a question's value is below 1: those of lowest value.

    Empty when all are answered with yes, and for a mean, which no sentence alone decides.
    """
    value = question_value(question, units)
    if value is None or value == 1 or question.per == "output" or question.over_sentences == "mean":
        return set()
    return {unit for unit, verdicts in units.items() if unit_value(verdicts) == value}


def does_not_apply(verdicts: Collection[Verdict]) -> bool:
    """Whether a question was asked and every verdict says that it does not apply."""
    return bool(verdicts) and all(verdict.reason == "not_applicable" for verdict in verdicts)


def applies_nowhere(units: UnitVerdicts) -> bool:
    """Whether a question was asked and applies to no unit of an example."""
    return bool(units) and all(does_not_apply(verdicts) for verdicts in units.values())


def scales_of(checklist: Checklist) -> dict[str, Scale | None]:
    """The scale of each score: by dimension, in the order of the checklist, and "overall" last."""
    return {**{name: dimension.scale for name, dimension in checklist.dimensions.items()}, OVERALL: checklist.scale}


def to_scale(value: float | None, scale: Scale | None) -> float | None:
    """Maps `value` in [0, 1] to `[a, b]` by `value · (b - a) + a`; None when either is None."""
    if value is None or scale is None:
        return None
    low, high = scale
    return value * (high - low) + low


def from_scale(value: float, scale: Scale | None) -> float | None:
    """Maps `value` in `[a, b]` to [0, 1], as `to_scale` maps it back; without a scale it is taken as it is.

    None when it lies outside by more than rounding makes.
    """
    low, high = scale or (0.0, 1.0)
    mapped = (value - low) / (high - low)
    return min(max(mapped, 0.0), 1.0) if -_ROUNDING <= mapped <= 1 + _ROUNDING else None


def _soft_unit_value(verdicts: Iterable[Verdict]) -> float | None:
    answered = (verdict.probability for verdict in verdicts if verdict.answer is not None)
    return _mean([probability for probability in answered if probability is not None])


def _over_units(
    units: UnitVerdicts, value: Callable[[Sequence[Verdict]], float | None], over: OverSentences
) -> float | None:
    values = [value(verdicts) for verdicts in units.values() if not does_not_apply(verdicts)]
    answered = [item for item in values if item is not None]
    if over == "mean" or not answered:
        return _mean(answered)
    lowest = min(answered)
    return lowest if lowest == 0 or len(answered) == len(values) else None


def _mean(values: Collection[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _score(questions: Sequence[Question], verdicts: Mapping[str, UnitVerdicts], scale: Scale | None) -> Score:
    asked = [(question, verdicts.get(question.id, {})) for question in questions]
    applicable = [(question, units) for question, units in asked if not applies_nowhere(units)]
    values = [(q.weight, question_value(q, units), soft_value(q, units)) for q, units in applicable]
    answered = [(weight, value) for weight, value, _ in values if value is not None]
    soft = [(weight, soft) for weight, value, soft in values if value is not None and soft is not None]
    value = _weighted_mean(answered)
    return Score(
        value=value,
        soft=_weighted_mean(soft) if len(soft) == len(answered) else None,
        scaled=to_scale(value, scale),
        n_answered=len(answered),
        n_asked=len(applicable),
    )


def _weighted_mean(values: Sequence[tuple[float, float]]) -> float | None:
    """Mean of `(weight, value)`; None of none."""
    total = sum(weight for weight, _ in values)
    return sum(weight * value for weight, value in values) / total if values else None
