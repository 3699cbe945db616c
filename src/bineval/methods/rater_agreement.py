"""How far the answers of a run agree with people's, with another run's, and with themselves when asked again."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from bineval.io.verdict_labels import VerdictKey
from bineval.judging.runs import Run
from bineval.metaeval.rows import RaterAgreement, RaterKind
from bineval.metaeval.series import AVERAGE
from bineval.methods.human_labels import asked_for_answers, shared_questions
from bineval.methods.labeled import majority_answer, verdicts_by_key
from bineval.stats.agreement import RatedUnit, agreement
from bineval.stats.intervals import resampling_group
from bineval.stats.paired_accuracy import Judged, paired_accuracy
from bineval.stats.significance import holm_defined
from bineval.types import Verdict

Answers = Mapping[VerdictKey, Sequence[Verdict]]
"""The repeats of each verdict on a yes/no question."""

Ratings = Mapping[VerdictKey, tuple[bool | None, ...]]
"""What each rater says: yes, no, or nothing."""

Found = dict[str, list[RaterAgreement]]
"""How far a run agrees with each rater, by dimension."""


def agreements(run: Run, people: Mapping[VerdictKey, bool], *, first: Run, seed: int) -> Found:
    """Returns how far a run agrees with others, by dimension and over all its questions ("average").

    The run's own answer is that of most repeats; where they are even, it has none.

    Args:
        run: The run.
        people: Their answers, which count as right; may be empty.
        first: The run that the others are compared with; on the questions and examples that both have.
        seed: Of the intervals.
    """
    own = _answers_of(run)
    groups = {example.id: resampling_group(example) for example in run.examples()}
    dimensions = {question.id: question.dimension for question in run.checklist.questions}
    found: Found = defaultdict(list)
    for (kind, rater), ratings in _by_rater(run, own, people, first).items():
        units: dict[str, list[RatedUnit]] = defaultdict(list)
        right: dict[str, list[Judged]] = defaultdict(list)
        for key, values in ratings.items():
            unit = RatedUnit(group=groups[key.example_id], ratings=values)
            units[dimensions[key.question_id]].append(unit)
            units[AVERAGE].append(unit)
            # An answer that is unknown is neither right nor wrong.
            if kind == "run" and key in people and None not in values:
                pair = (unit.group, values[0] == people[key], values[1] == people[key])
                right[dimensions[key.question_id]].append(pair)
                right[AVERAGE].append(pair)
        for dimension, items in units.items():
            figures = agreement(items, second_is_right=kind == "people", seed=seed)
            if figures.n:
                compared = paired_accuracy(right[dimension], seed=seed) if right[dimension] else None
                found[dimension].append(RaterAgreement(kind=kind, rater=rater, figures=figures, right=compared))
    return found


def adjusted_together(by_run: Sequence[Mapping[str, Sequence[RaterAgreement]]]) -> list[Found]:
    """Returns what `agreements` found of several runs, with the p-values of being right more often adjusted (Holm)."""
    p_values = [
        item.right.p_value if item.right is not None else None
        for found in by_run
        for items in found.values()
        for item in items
    ]
    adjusted = iter(holm_defined(p_values))
    return [
        {dimension: [_with_adjusted(item, next(adjusted)) for item in items] for dimension, items in found.items()}
        for found in by_run
    ]


def _with_adjusted(item: RaterAgreement, p_adjusted: float | None) -> RaterAgreement:
    return item if item.right is None else replace(item, right=replace(item.right, p_adjusted=p_adjusted))


def _by_rater(
    run: Run, own: Answers, people: Mapping[VerdictKey, bool], first: Run
) -> dict[tuple[RaterKind, str], Ratings]:
    """The ratings to compare, by who is compared with."""
    ratings: dict[tuple[RaterKind, str], Ratings] = {
        ("people", "people"): {key: (majority_answer(own[key]), yes) for key, yes in people.items() if key in own}
    }
    n_repeats = max(map(len, own.values()), default=0)
    if n_repeats > 1:
        ratings["repeats", "repeats"] = {
            key: (*map(_said, repeats), *[None] * (n_repeats - len(repeats))) for key, repeats in own.items()
        }
    if run is not first:
        others, shared = _answers_of(first), shared_questions(run.checklist, first.checklist)
        ratings["run", first.name] = {
            key: (majority_answer(repeats), majority_answer(others[key]))
            for key, repeats in own.items()
            if key.question_id in shared and key in others
        }
    return ratings


def _answers_of(run: Run) -> Answers:
    wanted = asked_for_answers(run.checklist)
    if not wanted:
        return {}
    return {key: repeats for key, repeats in verdicts_by_key(run).items() if key.question_id in wanted}


def _said(verdict: Verdict) -> bool | None:
    return None if verdict.answer is None else verdict.answer == "yes"
