"""The questions of a run as a table: a row for each example, a column for each question."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bineval.errors import ConfigError
from bineval.scoring import applies_nowhere, from_scale, question_value, soft_value, verdicts_by_question
from bineval.types import USUAL_THRESHOLD, Checklist, Example, Scale, VerdictRow

Values = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class QuestionTable:
    """What a run found, example by example; missing numbers are NaN.

    Attributes:
        checklist: Its questions are the columns, in order.
        example_ids: The rows.
        groups: The group of each row that intervals resample.
        answers: Value of each question in [0, 1], shape (examples, questions): 1 for yes, 0 for no, between them for
            repeats and means over sentences.
        probabilities: The same from P(yes).
        open: Whether a question applies, or may, and has no value, of the same shape.
        ratings: Human ratings by dimension, shape (examples,), on the dimension's own scale; only dimensions with any.
    """

    checklist: Checklist
    example_ids: tuple[str, ...]
    groups: tuple[Hashable, ...]
    answers: Values
    probabilities: Values
    open: NDArray[np.bool_]
    ratings: Mapping[str, Values]

    def columns(self, dimension: str) -> list[int]:
        """The columns of a dimension's questions."""
        return [i for i, question in enumerate(self.checklist.questions) if question.dimension == dimension]

    @property
    def has_probabilities(self) -> bool:
        """Whether every answer has a P(yes), and there are answers."""
        known = ~np.isnan(self.answers)
        return bool(known.any()) and np.array_equal(known, ~np.isnan(self.probabilities))

    @property
    def values(self) -> Values:
        """P(yes) where every answer has one, which keeps what rounding to yes and no loses; else the answers."""
        return self.probabilities if self.has_probabilities else self.answers

    def part(self, rows: Sequence[int]) -> "QuestionTable":
        """The table of some rows."""
        return QuestionTable(
            checklist=self.checklist,
            example_ids=tuple(self.example_ids[i] for i in rows),
            groups=tuple(self.groups[i] for i in rows),
            answers=self.answers[rows],
            probabilities=self.probabilities[rows],
            open=self.open[rows],
            ratings={name: column[rows] for name, column in self.ratings.items()},
        )


def question_table(
    checklist: Checklist, examples: Iterable[tuple[Example, Hashable]], rows: Iterable[VerdictRow]
) -> QuestionTable:
    """Makes the table of a run.

    Args:
        checklist: The questions planned.
        examples: Each example with the group that intervals resample.
        rows: The verdicts, in any order.

    Raises:
        ConfigError: A question asks for a rating.
    """
    check_yes_or_no(checklist)
    found = list(examples)
    by_example: dict[str, list[VerdictRow]] = defaultdict(list)
    for row in rows:
        by_example[row.example_id].append(row)
    shape = (len(found), len(checklist.questions))
    answers, probabilities, is_open = np.full(shape, np.nan), np.full(shape, np.nan), np.full(shape, False)
    for i, (example, _) in enumerate(found):
        answers[i], probabilities[i], is_open[i] = _values(checklist, by_example.get(example.id, []))
    ratings = {
        name: np.array([example.human.get(name, np.nan) for example, _ in found], dtype=float)
        for name in checklist.dimensions
        if any(name in example.human for example, _ in found)
    }
    return QuestionTable(
        checklist=checklist,
        example_ids=tuple(example.id for example, _ in found),
        groups=tuple(group for _, group in found),
        answers=answers,
        probabilities=probabilities,
        open=is_open,
        ratings=ratings,
    )


def check_yes_or_no(checklist: Checklist) -> None:
    """Raises ConfigError when a question of the checklist asks for a rating: it has no yes and no to look at."""
    for question in checklist.questions:
        if question.asks == "rating":
            raise ConfigError(
                f"checklist {checklist.name!r} asks for a rating in {question.id!r}: "
                "questions can only be looked into where their answer is yes or no (a run of --method binary)"
            )


def weighted_scores(values: Values, weights: Values) -> Values:
    """Score of each row: the weighted mean of its known values; NaN where none is known.

    Args:
        values: Shape (rows, questions), NaN where unknown.
        weights: Shape (questions,), positive.
    """
    known = ~np.isnan(values)
    totals = known @ weights
    sums = np.where(known, values, 0.0) @ weights
    return np.where(totals > 0, sums / np.where(totals > 0, totals, 1.0), np.nan)


def says_no(answers: Values) -> NDArray[np.bool_]:
    """Whether a question is answered no: at least half of its answers are; False where it is unknown.

    As for P(yes): yes is above one half, no at it or below.
    """
    return np.where(np.isnan(answers), 1.0, answers) <= USUAL_THRESHOLD


def unit_ratings(ratings: Values, scale: Scale | None) -> tuple[Values | None, str]:
    """Ratings mapped to [0, 1], or None and why not; without a scale they must lie in [0, 1] already."""
    mapped = [rating if np.isnan(rating) else from_scale(rating, scale) for rating in ratings.tolist()]
    if None in mapped:
        where = "the dimension's scale" if scale else "[0, 1], and the dimension has no scale"
        return None, f"undefined: ratings lie outside of {where}"
    return np.array(mapped, dtype=float), ""


def _values(checklist: Checklist, rows: Sequence[VerdictRow]) -> tuple[list[float], list[float], list[bool]]:
    """Value and soft value of each question for one example, as its scores use them, and whether it is open."""
    verdicts = verdicts_by_question(checklist, rows)
    values, softs, is_open = [], [], []
    for question in checklist.questions:
        units = verdicts.get(question.id, {})
        value = question_value(question, units)
        soft = None if value is None else soft_value(question, units)
        values.append(np.nan if value is None else round(value, 9))
        softs.append(np.nan if soft is None else round(soft, 9))
        is_open.append(value is None and not applies_nowhere(units))
    return values, softs, is_open
