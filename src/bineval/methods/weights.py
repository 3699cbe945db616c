"""Question weights learned from human ratings, with figures of examples that they were not fitted on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bineval.diagnose.values import QuestionTable, Values, weighted_scores
from bineval.errors import ConfigError
from bineval.hashing import Json
from bineval.io.score_rows import ScoreRules, mean_scores, read_scores
from bineval.judging.runs import Run
from bineval.methods.diagnose import table_of
from bineval.methods.weight_figures import Comparison, RatedValues, compare
from bineval.stats.folds import group_folds
from bineval.stats.intervals import FEWEST_GROUPS
from bineval.stats.positive_fits import FitKind, fit_cross_validated
from bineval.types import Checklist

_N_FOLDS = 10
_FEWEST_RATINGS = 20
_RATINGS_PER_QUESTION = 5
_FEWEST_OF_EACH_LABEL = 5
# A weight below this share of the mean weight changes no score that anyone could see.
_NO_WEIGHT = 0.01
# Changes of Pearson's r that nobody would notice.
_NEGLIGIBLE = 0.01


Effect = Literal["helped", "hurt", "unclear"]


@dataclass(frozen=True, kw_only=True, slots=True)
class DimensionWeights:
    """The weights of one dimension.

    Attributes:
        dimension: Its name.
        fit: "ridge" for numbers, "logistic" where all ratings are 0 or 1.
        n: Rated examples with a value of at least one question, that the weights were fitted on.
        n_groups: Their groups.
        n_folds: Folds that the figures come from.
        penalty: Ridge penalty that was chosen for the weights.
        weights: By question id, mean 1; all were fitted on all `n` examples.
        dropped: Ids of the questions whose weight is 0: they cannot stand in a checklist.
        comparisons: Figures of examples that were not fitted on, with learned weights and with the checklist's own.
    """

    dimension: str
    fit: FitKind
    n: int
    n_groups: int
    n_folds: int
    penalty: float
    weights: Mapping[str, float]
    dropped: tuple[str, ...]
    comparisons: tuple[Comparison, ...]

    @property
    def effect(self) -> Effect:
        """What the interval of the change of Pearson's r says; unclear unless all of it lies beyond 0.01.

        Learned weights are never quite the best ones, so they always cost a little where the checklist's own are as
        good. Ranks would not do: weights that are equal but for noise break the ties of a score at random.
        """
        if self.deciding.change.side_of(_NEGLIGIBLE) == "above":
            return "helped"
        return "hurt" if self.deciding.change.side_of(-_NEGLIGIBLE) == "below" else "unclear"

    @property
    def deciding(self) -> Comparison:
        """The comparison that says whether the weights help."""
        return next(item for item in self.comparisons if item.figure == "pearson")


@dataclass(frozen=True, kw_only=True, slots=True)
class WeightsReport:
    """Learned weights, and what they do.

    Attributes:
        run: Name of the run.
        judge: Name of its judge.
        of: What scores were made of: P(yes) where every answer has one, else answers.
        seed: Of folds and intervals.
        dimensions: Those with enough ratings, in the order of the checklist.
        notes: Why others keep the weights they have, and what must be known about these.
        checklist: With the learned weights, except where they hurt.
    """

    run: str
    judge: str
    of: str
    seed: int
    dimensions: tuple[DimensionWeights, ...]
    notes: tuple[str, ...]
    checklist: Checklist


def learn_weights(run: Run, labels: str | Path | None = None, *, seed: int = 0) -> WeightsReport:
    """Learns weights of the questions of each dimension from human ratings of the dimension.

    Ratings are fitted as a sum of the questions' values with weights of at least 0: by ridge regression, or by logistic
    regression where all ratings are 0 or 1. Every figure is of examples whose group no fit has seen.

    Args:
        run: A run with yes/no questions.
        labels: File of ratings, `example_id, dimension, value`, on the dimensions' scales; None for the examples' own.
        seed: Of folds and intervals.

    Raises:
        ConfigError: The run asks for ratings, or no dimension has several questions and enough ratings.
        DataError: The file is not what it should be.
        MissingDependencyError: scipy is not installed.
    """
    table = table_of(run, list(run.verdicts()))
    if labels is not None:
        table = replace(table, ratings=_read_ratings(table, labels))
    found, notes, too_few = [], [], []
    for name, questions in run.checklist.by_dimension().items():
        if len(questions) < 2:
            continue
        items = _items(table, name)
        if (problem := _problem(items, len(questions))) is not None:
            too_few.append(f"{name}: {problem}")
            continue
        learned = _learn(items, name, [question.id for question in questions], seed)
        if learned is None:
            notes.append(f"{name}: no question's value rises with the ratings; it keeps the weights it has")
        else:
            found.append(learned)
    if not found and not notes:
        raise ConfigError(f"the weights of run {run.name} cannot be learned: {_why_none(too_few)}")
    notes += [f"{words}; it keeps the weights it has" for words in too_few]
    notes += [
        f"{item.dimension}: its learned weights are not in the checklist, since they hurt"
        for item in found
        if item.effect == "hurt"
    ]
    return WeightsReport(
        run=run.name,
        judge=run.judge,
        of="P(yes)" if table.has_probabilities else "answers",
        seed=seed,
        dimensions=tuple(found),
        notes=tuple(notes),
        checklist=_weighted(run, [item for item in found if item.effect != "hurt"], seed),
    )


def _read_ratings(table: QuestionTable, path: str | Path) -> dict[str, Values]:
    scales = {name: dimension.scale for name, dimension in table.checklist.dimensions.items()}
    rules = ScoreRules(
        example_ids=table.example_ids,
        dimensions=tuple(scales),
        scales={name: scale for name, scale in scales.items() if scale is not None},
    )
    means = mean_scores(read_scores(path, rules))
    return {
        name: np.array([means.get(example_id, {}).get(name, np.nan) for example_id in table.example_ids])
        for name in scales
        if any(name in of_example for of_example in means.values())
    }


def _items(table: QuestionTable, dimension: str) -> RatedValues:
    columns = table.columns(dimension)
    ratings = table.ratings.get(dimension, np.full(len(table.example_ids), np.nan))
    items = RatedValues(
        ids=table.example_ids,
        groups=table.groups,
        values=table.values[:, columns],
        ratings=ratings,
        scale=table.checklist.dimensions[dimension].scale,
        weights=np.array([table.checklist.questions[i].weight for i in columns]),
    )
    return items.part(~np.isnan(ratings) & ~np.isnan(items.values).all(axis=1))


def _problem(items: RatedValues, n_questions: int) -> str | None:
    """Why ratings are too few, with their numbers."""
    n, needed = len(items.ids), max(_FEWEST_RATINGS, _RATINGS_PER_QUESTION * n_questions)
    if n < needed:
        return f"{n} rated examples with answers, and {n_questions} questions need at least {needed}"
    if (n_groups := len(set(items.groups))) < FEWEST_GROUPS:
        return f"its rated examples are of {n_groups} groups, and at least {FEWEST_GROUPS} are needed"
    counts = np.unique(items.ratings, return_counts=True)[1]
    if len(counts) == 1:
        return f"its {n} ratings are all equal"
    if items.fit == "logistic" and counts.min() < _FEWEST_OF_EACH_LABEL:
        return f"{counts[0]} ratings of 0 and {counts[1]} of 1, and at least {_FEWEST_OF_EACH_LABEL} of each are needed"
    return None


def _why_none(too_few: Sequence[str]) -> str:
    if too_few:
        return f"{'; '.join(too_few)}: rate more examples, in the data (human) or in a file (--labels)"
    return "no dimension has several questions"


def _learn(items: RatedValues, dimension: str, ids: Sequence[str], seed: int) -> DimensionWeights | None:
    """The weights of a dimension; None when all are 0."""
    fit = fit_cross_validated(items.fit, items.filled, items.ratings, items.groups, seed=seed)
    weights = _usable(fit.weights)
    if not weights.any():
        return None
    folds = group_folds(items.groups, n_folds=_N_FOLDS, seed=seed)
    return DimensionWeights(
        dimension=dimension,
        fit=items.fit,
        n=len(items.ids),
        n_groups=len(set(items.groups)),
        n_folds=len(np.unique(folds)),
        penalty=fit.penalty,
        weights={key: round(float(weight), 4) for key, weight in zip(ids, weights, strict=True) if weight > 0},
        dropped=tuple(key for key, weight in zip(ids, weights, strict=True) if weight == 0),
        comparisons=tuple(compare(items, _held_out_scores(items, folds, seed), seed=seed)),
    )


def _usable(weights: Values) -> Values:
    """Weights whose mean over those that are left is 1; what is next to nothing becomes 0."""
    if not weights.any():
        return weights
    kept = np.where(weights < _NO_WEIGHT * weights[weights > 0].mean(), 0.0, weights)
    usable: Values = kept / kept[kept > 0].mean()
    return usable


def _held_out_scores(items: RatedValues, folds: NDArray[np.intp], seed: int) -> Values:
    """Score of each example with weights from the other folds; NaN where it answers none of their questions."""
    scores = np.full(len(items.ids), np.nan)
    filled = items.filled
    for fold in np.unique(folds):
        test = folds == fold
        groups = [group for group, is_test in zip(items.groups, test, strict=True) if not is_test]
        fit = fit_cross_validated(items.fit, filled[~test], items.ratings[~test], groups, seed=seed)
        weights = _usable(fit.weights)
        # Where no weight can be learned, the checklist keeps its own.
        scores[test] = weighted_scores(items.values[test], weights if weights.any() else items.weights)
    return scores


def _weighted(run: Run, learned: Sequence[DimensionWeights], seed: int) -> Checklist:
    """The run's checklist with learned weights, without the questions whose weight is 0."""
    weights = {key: weight for item in learned for key, weight in item.weights.items()}
    dropped = [key for item in learned for key in item.dropped]
    provenance: dict[str, Json] = {
        **run.checklist.provenance,
        "weights": {
            "run": run.name,
            "judge": run.judge,
            "seed": seed,
            "dimensions": {item.dimension: {"n": item.n, "effect": item.effect} for item in learned},
            "dropped": dropped,
        },
    }
    questions = tuple(
        replace(question, weight=weights.get(question.id, question.weight))
        for question in run.checklist.questions
        if question.id not in dropped
    )
    return replace(run.checklist, questions=questions, provenance=provenance)
