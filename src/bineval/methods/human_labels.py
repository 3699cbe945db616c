"""What people say of the outputs of a run: ratings by dimension, and answers to its yes/no questions."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Literal

from bineval.errors import DataError
from bineval.io.rows import read_rows
from bineval.io.score_rows import ScoreRules, mean_scores, read_scores
from bineval.io.verdict_labels import VerdictKey, labels_of_examples, read_verdict_labels
from bineval.judging.runs import Run
from bineval.scoring import scales_of, score_example, to_scale
from bineval.types import OVERALL, Checklist, Example, Verdict

FileKind = Literal["ratings", "answers"]

# A row with one of these is an answer to a question; any other is a rating.
_ANSWER_FIELDS = {"question_id", "answer", "label"}

Ratings = Mapping[str, Mapping[str, float]]
"""By example and dimension, each in the unit of its ratings."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HumanLabels:
    """What people say of the outputs of one run.

    Attributes:
        ratings: Their ratings.
        answers: Whether their answer is yes, by what it is about; of yes/no questions only.
    """

    ratings: Ratings
    answers: Mapping[VerdictKey, bool]


def human_labels(runs: Sequence[Run], path: str | Path | None) -> list[HumanLabels]:
    """Returns the labels of each run, from a file or else from the examples' own `human` ratings.

    A file holds ratings (`example_id, dimension, value`), which then take the place of the examples' own, or answers
    (`example_id, question_id, answer`). Where people answered every question of a dimension for an example, and the
    example has no rating of it, the rating is their own score: that of the checklist, made from their answers.

    Raises:
        DataError: The file is not what it should be, or has no label.
    """
    examples = [list(run.examples()) for run in runs]
    if path is None:
        return [_of_ratings(run.checklist, own, _own_ratings(own)) for run, own in zip(runs, examples, strict=True)]
    if _file_kind(Path(path)) == "ratings":
        ratings = read_ratings(path, chain.from_iterable(examples), [run.checklist for run in runs])
        return [_of_ratings(run.checklist, own, ratings) for run, own in zip(runs, examples, strict=True)]
    return _of_answers(runs, examples, path)


def asked_for_answers(checklist: Checklist) -> set[str]:
    """The ids of the yes/no questions."""
    return {question.id for question in checklist.questions if question.asks == "answer"}


def _own_ratings(examples: Sequence[Example]) -> Ratings:
    return {example.id: example.human for example in examples}


def _of_ratings(checklist: Checklist, examples: Sequence[Example], ratings: Ratings) -> HumanLabels:
    rated = [replace(example, human=ratings.get(example.id, {})) for example in examples]
    answers, _ = labels_of_examples(checklist, rated)
    wanted = asked_for_answers(checklist)
    return HumanLabels(ratings=ratings, answers={key: yes for key, yes in answers.items() if key.question_id in wanted})


def _file_kind(path: Path) -> FileKind:
    first = next(iter(read_rows(path, warn=lambda _: None)), None)
    if first is None:
        raise DataError("holds no rows", file=str(path))
    return "answers" if _ANSWER_FIELDS & first[1].keys() else "ratings"


def read_ratings(path: str | Path, examples: Iterable[Example], checklists: Sequence[Checklist]) -> Ratings:
    """Returns the ratings of a file; several of one example and dimension count with their mean.

    Raises:
        DataError: The file is not what it should be.
    """
    rules = ScoreRules(
        example_ids={example.id for example in examples},
        dimensions={OVERALL, *(name for checklist in checklists for name in checklist.dimensions)},
        scales={
            name: scale for checklist in checklists for name, scale in scales_of(checklist).items() if scale is not None
        },
    )
    return mean_scores(read_scores(path, rules))


def _of_answers(runs: Sequence[Run], examples: Sequence[Sequence[Example]], path: str | Path) -> list[HumanLabels]:
    """The answers of a file for the first run with yes/no questions, and for each other run with the same questions."""
    place = next((i for i, run in enumerate(runs) if asked_for_answers(run.checklist)), None)
    if place is None:
        raise DataError("answers questions, and no run has yes/no questions", file=str(path))
    checklist = runs[place].checklist
    answers = read_verdict_labels(path, checklist=checklist, example_ids=[example.id for example in examples[place]])
    if not answers:
        raise DataError("no row has an answer", file=str(path))
    scored = _scores_of_people(checklist, answers)
    labels = []
    for run, own in zip(runs, examples, strict=True):
        shared = shared_questions(run.checklist, checklist)
        ratings = {example.id: {**scored.get(example.id, {}), **example.human} for example in own}
        labels.append(
            HumanLabels(
                ratings=ratings, answers={key: yes for key, yes in answers.items() if key.question_id in shared}
            )
        )
    return labels


def shared_questions(first: Checklist, second: Checklist) -> set[str]:
    """The ids of the yes/no questions that stand in both checklists with the same words."""
    texts = {question.id: question.text for question in second.questions}
    wanted = asked_for_answers(first) & asked_for_answers(second)
    return {item.id for item in first.questions if item.id in wanted and texts[item.id] == item.text}


def _scores_of_people(checklist: Checklist, answers: Mapping[VerdictKey, bool]) -> Ratings:
    """The score of each dimension of which people answered every question, by example, on the dimension's scale."""
    by_example: dict[str, dict[str, dict[int | None, list[Verdict]]]] = defaultdict(lambda: defaultdict(dict))
    for key, yes in answers.items():
        by_example[key.example_id][key.question_id][key.unit] = [Verdict(answer="yes" if yes else "no")]
    # Whether people answered about every sentence is not known.
    of_sentences = {question.dimension for question in checklist.questions if question.per == "sentence"}
    scales = {name: scale for name, scale in scales_of(checklist).items() if name not in of_sentences}
    if of_sentences:
        del scales[OVERALL]
    found: dict[str, dict[str, float]] = {}
    for example_id, verdicts in by_example.items():
        scores = score_example(checklist, verdicts)
        found[example_id] = {
            name: score.value if (scaled := to_scale(score.value, scales[name])) is None else scaled
            for name, score in scores.items()
            if name in scales and score.value is not None and score.n_answered == score.n_asked
        }
    return found
