"""The questions of a dimension two by two: how far they say the same, and which failures only one of them catches."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from bineval.diagnose.values import QuestionTable, Values, says_no
from bineval.stats.association import pearson_intervals
from bineval.types import Estimate

WEAK = 0.3
"""|φ| below which two questions count as weakly related (BinEval, arXiv 2606.27226, section 5)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PhiMatrix:
    """φ of the questions of a dimension with each other.

    Attributes:
        dimension: Name of the dimension.
        questions: Ids of its questions, k of them.
        values: Shape (k, k), symmetric, 1 on the diagonal; None where a question is constant and φ undefined.
    """

    dimension: str
    questions: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class QuestionPair:
    """Two questions of a dimension over the examples that both have a value for.

    Attributes:
        first: Id of the one that comes first in the checklist.
        second: Id of the other.
        phi: φ of their answers: Pearson's r of the values, which are 0 and 1 unless there are repeats or means over
            sentences.
        probability: r of their P(yes); None where an answer has none.
        fewest: Examples with the rarer answer, yes or no, of the question where it is rarer.
        n_failed: Examples that at least one of them says no to.
        n_one_only: Of these, the ones that only one of them says no to.
    """

    first: str
    second: str
    phi: Estimate
    probability: Estimate | None
    fewest: int
    n_failed: int
    n_one_only: int

    @property
    def coverage(self) -> float | None:
        """Share of their failures that only one of them catches, in [0, 1]; None without failures."""
        return self.n_one_only / self.n_failed if self.n_failed else None


def question_pairs(table: QuestionTable, dimension: str, *, seed: int = 0) -> list[QuestionPair]:
    """Returns the pairs of a dimension's questions, in the order of the checklist; none when it has one question."""
    places = list(combinations(table.columns(dimension), 2))
    phis = _intervals(table, table.answers, places, seed)
    softs = _intervals(table, table.probabilities, places, seed) if table.has_probabilities else [None] * len(places)
    ids = [question.id for question in table.checklist.questions]
    pairs = []
    for (i, j), phi, soft in zip(places, phis, softs, strict=True):
        both = table.answers[~np.isnan(table.answers[:, [i, j]]).any(axis=1)][:, [i, j]]
        no = says_no(both)
        n_no = no.sum(axis=0)
        pairs.append(
            QuestionPair(
                first=ids[i],
                second=ids[j],
                phi=phi,
                probability=soft,
                fewest=int(np.minimum(n_no, len(both) - n_no).min()),
                n_failed=int(no.any(axis=1).sum()),
                n_one_only=int((no[:, 0] != no[:, 1]).sum()),
            )
        )
    return pairs


def phi_matrix(
    dimension: str,
    questions: Sequence[str],
    pairs: Sequence[QuestionPair],
    *,
    of: Literal["phi", "probability"] = "phi",
) -> PhiMatrix:
    """Arranges the pairs of a dimension as a matrix.

    Args:
        dimension: Name of the dimension.
        questions: Ids of its questions.
        pairs: All their pairs.
        of: "phi", or "probability" for r of P(yes).
    """
    found: dict[tuple[str, str], float | None] = {}
    for pair in pairs:
        estimate: Estimate | None = getattr(pair, of)
        value = None if estimate is None else estimate.value
        found[pair.first, pair.second] = found[pair.second, pair.first] = value
    return PhiMatrix(
        dimension=dimension,
        questions=tuple(questions),
        values=tuple(tuple(1.0 if one == other else found[one, other] for other in questions) for one in questions),
    )


def _intervals(table: QuestionTable, values: Values, places: Sequence[tuple[int, int]], seed: int) -> list[Estimate]:
    first, second = (values[:, [place[side] for place in places]] for side in (0, 1))
    return pearson_intervals(table.groups, first, second, seed=seed)
