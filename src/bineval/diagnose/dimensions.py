"""What the verdicts of a run say about the questions of each dimension together."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bineval.diagnose.pairs import WEAK, PhiMatrix, QuestionPair, phi_matrix, question_pairs
from bineval.diagnose.questions import QuestionDiagnosis
from bineval.diagnose.values import QuestionTable, says_no, unit_ratings, weighted_scores
from bineval.stats.intervals import mean_interval
from bineval.types import Estimate


@dataclass(frozen=True, kw_only=True, slots=True)
class DimensionDiagnosis:
    """The questions of one dimension over all examples.

    Attributes:
        dimension: Its name.
        n_questions: Its questions.
        spread: Highest less lowest yes-rate of its questions, in [0, 1]; None with fewer than two that have one.
        constant: Ids of questions with the same value for all examples; their φ is undefined.
        phi: φ of its questions with each other.
        probability: r of their P(yes); None where an answer has none.
        pairs: Its pairs of questions, with intervals and failures.
        n_pairs: Pairs whose φ is defined; the next three rest on these.
        mean_phi: Mean φ; None without such pairs.
        weak_share: Share of pairs with |φ| < 0.3, in [0, 1].
        mean_probability: Mean r of P(yes), over the pairs where it is defined.
        coverage: Mean over pairs with failures of the share of failures that only one of the two catches, in [0, 1].
        n_failed: Examples that at least one of its questions says no to.
        human_bias: Mean of score less human rating, both in [0, 1], over the examples that have both.
    """

    dimension: str
    n_questions: int
    spread: float | None
    constant: tuple[str, ...]
    phi: PhiMatrix
    probability: PhiMatrix | None
    pairs: tuple[QuestionPair, ...]
    n_pairs: int
    mean_phi: float | None
    weak_share: float | None
    mean_probability: float | None
    coverage: float | None
    n_failed: int
    human_bias: Estimate


def diagnose_dimensions(
    table: QuestionTable, questions: Sequence[QuestionDiagnosis], *, seed: int = 0
) -> list[DimensionDiagnosis]:
    """Looks at each dimension of a table that has questions.

    Args:
        table: The run.
        questions: What was found about each question.
        seed: Of the intervals.
    """
    found = []
    for dimension in table.checklist.dimensions:
        own = [item for item in questions if item.dimension == dimension]
        if not own:
            continue
        ids = [item.question_id for item in own]
        answers = table.answers[:, table.columns(dimension)]
        pairs = question_pairs(table, dimension, seed=seed)
        phis = [pair.phi.value for pair in pairs if pair.phi.value is not None]
        softs = [pair.probability.value for pair in pairs if pair.probability and pair.probability.value is not None]
        rates = [item.yes_rate.value for item in own if item.yes_rate.value is not None]
        found.append(
            DimensionDiagnosis(
                dimension=dimension,
                n_questions=len(own),
                spread=max(rates) - min(rates) if len(rates) > 1 else None,
                constant=tuple(key for key, column in zip(ids, answers.T, strict=True) if _is_constant(column)),
                phi=phi_matrix(dimension, ids, pairs),
                probability=phi_matrix(dimension, ids, pairs, of="probability") if table.has_probabilities else None,
                pairs=tuple(pairs),
                n_pairs=len(phis),
                mean_phi=_mean(phis),
                weak_share=_mean([float(abs(phi) < WEAK) for phi in phis]),
                mean_probability=_mean(softs),
                coverage=_mean([pair.coverage for pair in pairs if pair.coverage is not None]),
                n_failed=int(says_no(answers).any(axis=1).sum()),
                human_bias=_human_bias(table, dimension, seed),
            )
        )
    return found


def _human_bias(table: QuestionTable, dimension: str, seed: int) -> Estimate:
    ratings = table.ratings.get(dimension)
    if ratings is None:
        return Estimate(value=None, low=None, high=None, n=0, method="undefined: no human ratings of it")
    mapped, why = unit_ratings(ratings, table.checklist.dimensions[dimension].scale)
    if mapped is None:
        return Estimate(value=None, low=None, high=None, n=0, method=why)
    columns = table.columns(dimension)
    weights = np.array([table.checklist.questions[i].weight for i in columns])
    differences = weighted_scores(table.answers[:, columns], weights) - mapped
    known = np.flatnonzero(~np.isnan(differences))
    return mean_interval(((table.groups[i], float(differences[i])) for i in known), seed=seed)


def _is_constant(column: np.ndarray[tuple[int], np.dtype[np.float64]]) -> bool:
    known = column[~np.isnan(column)]
    return len(known) > 0 and bool(np.ptp(known) == 0)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
