"""What the verdicts of a run say about each of its questions, with intervals over groups."""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from bineval.diagnose.facts import QuestionFacts, question_facts
from bineval.diagnose.values import QuestionTable, Values, says_no
from bineval.scoring import unit_value
from bineval.stats.association import pearson_intervals, rank_correlation, rest_means
from bineval.stats.intervals import mean_interval, proportion_interval
from bineval.types import Estimate, VerdictRow

Labels = Mapping[tuple[str, str, int | None], bool]
"""Whether people answer yes, by example, question and sentence (None for the whole output)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class QuestionDiagnosis:
    """One question over all examples.

    Attributes:
        question_id: Its id.
        text: The question.
        dimension: Its dimension.
        facts: Its verdicts counted one by one.
        yes_rate: Mean value over examples: the share of yes where there are no repeats and no means over sentences.
        unanswered: Share of its verdicts without an answer, among those that apply.
        not_applicable: Share of its verdicts that say it does not apply.
        flips: Share of examples or sentences whose repeats do not agree, among those with two answers.
        probability: Mean P(yes) over examples; None where an answer has none.
        rest: Pearson's r with the mean of the other questions of its dimension.
        rest_probability: The same of P(yes); None where an answer has none.
        human: Spearman's rho with the human ratings of its dimension, over all examples together.
        human_probability: The same of P(yes); None where an answer has none.
        human_bias: Share of yes of the judge less that of people, on the verdicts that people answered too.
        n_failed: Examples that it says no to.
        alone: Of these, the ids of those that no other question of its dimension says no to, all that apply answered.
        n_open: Of these, the ones that no other says no to either, but of which another is unanswered.
        alone_share: Share of `alone` among the failures that are not open.
    """

    question_id: str
    text: str
    dimension: str
    facts: QuestionFacts
    yes_rate: Estimate
    unanswered: Estimate
    not_applicable: Estimate
    flips: Estimate
    probability: Estimate | None
    rest: Estimate
    rest_probability: Estimate | None
    human: Estimate
    human_probability: Estimate | None
    human_bias: Estimate
    n_failed: int
    alone: tuple[str, ...]
    n_open: int
    alone_share: Estimate


def diagnose_questions(
    table: QuestionTable, rows: Sequence[VerdictRow], labels: Labels, *, seed: int = 0
) -> list[QuestionDiagnosis]:
    """Looks at each question of a table.

    Args:
        table: The run.
        rows: Its verdicts, by example, question, sentence and repeat.
        labels: Answers of people to the questions, as far as there are any.
        seed: Of the intervals.
    """
    facts = {item.question_id: item for item in question_facts(rows)}
    tallies = _tallies(table, rows, labels)
    rests = _rests(table, table.answers, seed)
    soft_rests = _rests(table, table.probabilities, seed) if table.has_probabilities else [None] * len(rests)
    found = []
    for i, question in enumerate(table.checklist.questions):
        tally = tallies[question.id]
        failed, alone, is_open = _failures(table, i)
        answers, soft = table.answers[:, i], table.probabilities[:, i] if table.has_probabilities else None
        found.append(
            QuestionDiagnosis(
                question_id=question.id,
                text=question.text,
                dimension=question.dimension,
                facts=facts.get(question.id) or _no_facts(question.id, question.dimension),
                yes_rate=_yes_rate(table.groups, answers, seed),
                unanswered=_share(tally.unanswered, "no verdict that applies", seed),
                not_applicable=_share(tally.not_applicable, "no verdicts", seed),
                flips=_share(tally.flips, "no repeats with two answers", seed),
                probability=None if soft is None else _mean(table.groups, soft, seed),
                rest=rests[i],
                rest_probability=soft_rests[i],
                human=_with_people(table, answers, question.dimension, seed),
                human_probability=None if soft is None else _with_people(table, soft, question.dimension, seed),
                human_bias=_bias(tally.differences, seed),
                n_failed=int(failed.sum()),
                alone=tuple(table.example_ids[row] for row in np.flatnonzero(alone)),
                n_open=int(is_open.sum()),
                alone_share=_share(
                    [(table.groups[row], bool(alone[row])) for row in np.flatnonzero(failed & ~is_open)],
                    "no failures of which all others are answered" if failed.any() else "no failures",
                    seed,
                ),
            )
        )
    return found


@dataclass
class _Tally:
    """What the verdicts of one question say one by one, each with the group that intervals resample."""

    unanswered: list[tuple[Hashable, bool]] = field(default_factory=list)
    not_applicable: list[tuple[Hashable, bool]] = field(default_factory=list)
    flips: list[tuple[Hashable, bool]] = field(default_factory=list)
    differences: list[tuple[Hashable, float]] = field(default_factory=list)


def _tallies(table: QuestionTable, rows: Sequence[VerdictRow], labels: Labels) -> dict[str, _Tally]:
    group_of = dict(zip(table.example_ids, table.groups, strict=True))
    tallies: dict[str, _Tally] = defaultdict(_Tally)
    for key, repeats in groupby(rows, key=lambda row: (row.example_id, row.question_id, row.unit)):
        verdicts = [row.verdict for row in repeats]
        group, tally = group_of[key[0]], tallies[key[1]]
        tally.not_applicable += [(group, verdict.reason == "not_applicable") for verdict in verdicts]
        tally.unanswered += [
            (group, verdict.answer is None) for verdict in verdicts if verdict.reason != "not_applicable"
        ]
        answers = [verdict.answer for verdict in verdicts if verdict.answer is not None]
        if len(answers) > 1:
            tally.flips.append((group, len(set(answers)) > 1))
        value = unit_value(verdicts)
        if key in labels and value is not None:
            tally.differences.append((group, value - labels[key]))
    return tallies


def _rests(table: QuestionTable, values: Values, seed: int) -> list[Estimate]:
    """Pearson's r of each question with the mean of the others of its dimension, in the order of the checklist."""
    rests, alone = np.full(values.shape, np.nan), set()
    for dimension in table.checklist.dimensions:
        columns = table.columns(dimension)
        rests[:, columns] = rest_means(values[:, columns])
        alone |= set(columns) if len(columns) == 1 else set()
    estimates = pearson_intervals(table.groups, values, rests, seed=seed)
    return [
        _undefined("it is the only question of its dimension") if i in alone else estimate
        for i, estimate in enumerate(estimates)
    ]


def _failures(table: QuestionTable, column: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """The examples that a question says no to; those that it alone of its dimension does; those where that is open."""
    own = table.columns(table.checklist.questions[column].dimension)
    failed = says_no(table.answers[:, column])
    only = failed & (says_no(table.answers[:, own]).sum(axis=1) == 1)
    # What is unanswered may be a failure too.
    is_open = table.open[:, own].any(axis=1)
    return failed, only & ~is_open, only & is_open


def _yes_rate(groups: Sequence[Hashable], answers: Values, seed: int) -> Estimate:
    """The mean value; a share, with an interval for one, where every value is yes or no."""
    known = _known(answers)
    if not np.isin(answers[known], (0.0, 1.0)).all():
        return _mean(groups, answers, seed)
    return _share([(groups[i], bool(answers[i])) for i in known], "no answers", seed)


def _mean(groups: Sequence[Hashable], values: Values, seed: int) -> Estimate:
    return mean_interval(((groups[i], float(values[i])) for i in _known(values)), seed=seed)


def _known(values: Values) -> list[int]:
    return [int(i) for i in np.flatnonzero(~np.isnan(values))]


def _share(items: Sequence[tuple[Hashable, bool]], nothing: str, seed: int) -> Estimate:
    return proportion_interval(items, seed=seed) if items else _undefined(nothing)


def _with_people(table: QuestionTable, values: Values, dimension: str, seed: int) -> Estimate:
    if dimension not in table.ratings:
        return _undefined("no human ratings of its dimension")
    return rank_correlation(table.groups, values, table.ratings[dimension], seed=seed)


def _bias(differences: Sequence[tuple[Hashable, float]], seed: int) -> Estimate:
    return mean_interval(differences, seed=seed) if differences else _undefined("no human answers to it")


def _undefined(why: str) -> Estimate:
    return Estimate(value=None, low=None, high=None, n=0, method=f"undefined: {why}")


def _no_facts(question_id: str, dimension: str) -> QuestionFacts:
    """Of a question that no verdict is about yet."""
    return QuestionFacts(
        question_id=question_id, dimension=dimension, n_yes=0, n_no=0, reasons={}, n_repeated=0, n_flipped=0, failed=()
    )
