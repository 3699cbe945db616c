"""A smaller checklist: which questions can go, chosen on one part of the data, and what that loses on the other."""

from collections.abc import Hashable, Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bineval.diagnose.values import QuestionTable, Values, says_no, weighted_scores
from bineval.stats.association import rank_correlation, spearman
from bineval.stats.correlation import Rated, correlation_difference
from bineval.stats.intervals import mean_interval
from bineval.types import Checklist, Estimate

MOST_RHO_LOST = 0.01
"""Most of Spearman's rho with people that a dimension may lose by all that is dropped."""
LEAST_LIKENESS = 0.9
"""Least Spearman's rho that a dimension's score keeps with the full one, where people's ratings are too few."""
MOST_LOST = 0.05
"""Largest share of a dimension's failures, and of its scores, that may be lost."""

# A rho with fewer ratings is no guide.
_FEWEST_RATINGS = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreLoss:
    """What a dimension loses without some of its questions.

    Attributes:
        n: Examples with a score both with and without them.
        n_unscored: Examples with a score only with them.
        likeness: Spearman's rho of the scores with and without them.
        change: Mean |score without - score with|, in [0, 1].
        human_change: Rho with the human ratings without them less with them; below 0 is a loss.
        n_failed: Examples that some question of the dimension says no to.
        lost: Of these, the ids of those that no remaining question says no to.
    """

    n: int
    n_unscored: int
    likeness: Estimate
    change: Estimate
    human_change: Estimate
    n_failed: int
    lost: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Drop:
    """A question that was dropped, and where that leaves its dimension, on the part chosen on.

    Attributes:
        question_id: Its id.
        likeness: Spearman's rho of the dimension's score with the full one, without it and all that went before;
            None when the score is constant.
        human_change: Change of rho with people from the full score on; None where ratings did not decide.
        n_failed: Examples that fail some question of the dimension.
        n_lost: Of these, those that fail none that is left.
    """

    question_id: str
    likeness: float | None
    human_change: float | None
    n_failed: int
    n_lost: int


@dataclass(frozen=True, kw_only=True, slots=True)
class DimensionPruning:
    """What is proposed for one dimension.

    Attributes:
        dimension: Its name.
        by: What decided: the correlation with people's ratings, or with the full score.
        kept: Ids of the questions that stay, in the order of the checklist; at least one.
        drops: The others, in the order in which they were dropped.
        alone: What is lost by dropping each question alone, by id, on the part reported on; empty for a single one.
        total: What is lost by dropping all that is proposed, on the part reported on; None when nothing is.
    """

    dimension: str
    by: Literal["people", "full score"]
    kept: tuple[str, ...]
    drops: tuple[Drop, ...]
    alone: dict[str, ScoreLoss]
    total: ScoreLoss | None


def prune_dimension(
    table: QuestionTable, dimension: str, test_groups: Set[Hashable], *, seed: int = 0
) -> DimensionPruning:
    """Proposes which questions of a dimension to drop.

    Greedy: again and again the question whose loss is smallest goes, as long as the losses of all that is dropped stay
    within the limits above. The last question stays.

    Args:
        table: The run.
        dimension: One with questions.
        test_groups: The groups that losses are reported on; nothing is chosen on them.
        seed: Of the intervals.
    """
    in_test = [group in test_groups for group in table.groups]
    choosing = table.part([i for i, is_test in enumerate(in_test) if not is_test])
    reported = table.part([i for i, is_test in enumerate(in_test) if is_test])
    ids = [question.id for question in table.checklist.questions]
    columns = table.columns(dimension)
    full = _Full(choosing, dimension)
    kept, drops = _choose(full, columns, ids)
    return DimensionPruning(
        dimension=dimension,
        by="full score" if full.rho is None else "people",
        kept=tuple(ids[column] for column in kept),
        drops=tuple(drops),
        alone={
            ids[column]: score_loss(reported, dimension, _without(columns, column), seed=seed)
            for column in columns
            if len(columns) > 1
        },
        total=score_loss(reported, dimension, kept, seed=seed) if drops else None,
    )


def pruned(checklist: Checklist, dropped: Set[str]) -> Checklist:
    """The checklist without some of its questions."""
    return replace(checklist, questions=tuple(item for item in checklist.questions if item.id not in dropped))


def score_loss(table: QuestionTable, dimension: str, kept: Sequence[int], *, seed: int = 0) -> ScoreLoss:
    """Returns what a dimension loses when only the questions in the columns `kept` are left."""
    columns = table.columns(dimension)
    with_them, without = _scores(table, columns), _scores(table, kept)
    both = ~np.isnan(with_them) & ~np.isnan(without)
    changes = np.abs(with_them - without)
    failed, lost = _failures(table, columns, kept)
    return ScoreLoss(
        n=int(both.sum()),
        n_unscored=int((~np.isnan(with_them)).sum() - both.sum()),
        likeness=rank_correlation(table.groups, with_them, without, seed=seed),
        change=mean_interval(((table.groups[i], float(changes[i])) for i in _places(both)), seed=seed),
        human_change=_human_change(table, dimension, with_them, without, seed),
        n_failed=int(failed.sum()),
        lost=tuple(table.example_ids[i] for i in _places(lost)),
    )


class _Full:
    """A dimension with all its questions, which smaller sets are held against."""

    def __init__(self, table: QuestionTable, dimension: str) -> None:
        self.table = table
        self.columns = table.columns(dimension)
        self.scores = _scores(table, self.columns)
        self.ratings = table.ratings.get(dimension, np.full(len(table.groups), np.nan))
        n_rated = int((~np.isnan(self.scores) & ~np.isnan(self.ratings)).sum())
        self.rho = spearman(self.scores, self.ratings) if n_rated >= _FEWEST_RATINGS else None

    def drop(self, question_id: str, kept: Sequence[int]) -> tuple[float, float, Drop]:
        """How near the limits a smaller set comes, 1 for at one of them; that of the score alone; what it loses."""
        scores = _scores(self.table, kept)
        failed, lost = _failures(self.table, self.columns, kept)
        n_scores, n_unscored = (int(mask.sum()) for mask in (~np.isnan(self.scores), np.isnan(scores)))
        n_unscored -= len(self.scores) - n_scores
        likeness, change = spearman(self.scores, scores), None
        if self.rho is not None:
            rho = spearman(scores, self.ratings)
            change = None if rho is None else rho - self.rho
            from_rho = np.inf if change is None else -change / MOST_RHO_LOST
        elif likeness is None:
            # Where the full score is constant there is nothing to lose.
            from_rho = 0.0 if spearman(self.scores, self.scores) is None else np.inf
        else:
            from_rho = (1 - likeness) / (1 - LEAST_LIKENESS)
        n_failed, n_lost = int(failed.sum()), int(lost.sum())
        shares = [n_lost / n_failed if n_failed else 0.0, n_unscored / n_scores if n_scores else 0.0]
        nearness = max(from_rho, *(share / MOST_LOST for share in shares))
        found = Drop(question_id=question_id, likeness=likeness, human_change=change, n_failed=n_failed, n_lost=n_lost)
        return round(nearness, 9), round(from_rho, 9), found


def _choose(full: _Full, columns: Sequence[int], ids: Sequence[str]) -> tuple[list[int], list[Drop]]:
    kept, drops = list(columns), []
    while len(kept) > 1:
        # Of equally good ones the last of the checklist goes.
        options = [(*full.drop(ids[column], _without(kept, column)), -column) for column in kept]
        nearness, _, drop, place = min(options, key=lambda option: (option[0], option[1], option[3]))
        if nearness > 1:
            break
        kept = _without(kept, -place)
        drops.append(drop)
    return kept, drops


def _without(columns: Sequence[int], column: int) -> list[int]:
    return [other for other in columns if other != column]


def _scores(table: QuestionTable, columns: Sequence[int]) -> Values:
    """The dimension's score from these questions alone; rounded, so that float noise makes no ranks."""
    weights = np.array([table.checklist.questions[column].weight for column in columns])
    scores: Values = np.round(weighted_scores(table.values[:, list(columns)], weights), 9)
    return scores


def _failures(
    table: QuestionTable, columns: Sequence[int], kept: Sequence[int]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The examples that some question says no to, and those of them that none of the kept ones does; by example."""
    no = says_no(table.answers)
    failed: NDArray[np.bool_] = no[:, list(columns)].sum(axis=1) > 0
    lost: NDArray[np.bool_] = failed & (no[:, list(kept)].sum(axis=1) == 0)
    return failed, lost


def _human_change(table: QuestionTable, dimension: str, with_them: Values, without: Values, seed: int) -> Estimate:
    if dimension not in table.ratings:
        return Estimate(value=None, low=None, high=None, n=0, method="undefined: no human ratings of it")
    ratings = table.ratings[dimension]
    places = _places(~np.isnan(with_them) & ~np.isnan(without) & ~np.isnan(ratings))

    def rated(scores: Values) -> list[Rated]:
        return [
            Rated(
                example_id=table.example_ids[i],
                group=table.groups[i],
                system=None,
                human=float(ratings[i]),
                value=float(scores[i]),
            )
            for i in places
        ]

    if not places:
        return Estimate(value=None, low=None, high=None, n=0, method="undefined: no example has score and rating")
    return correlation_difference(
        rated(without), rated(with_them), level="pooled", coefficient="spearman", seed=seed
    ).estimate


def _places(mask: NDArray[np.bool_]) -> list[int]:
    return [int(i) for i in np.flatnonzero(mask)]
