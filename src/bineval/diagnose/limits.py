"""What lies beyond the limit of a kind of finding, as p-values adjusted for all that was looked at for that kind."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Literal, get_args

from bineval.diagnose.chance import beyond_chance, p_beyond
from bineval.diagnose.dimensions import DimensionDiagnosis
from bineval.diagnose.pairs import QuestionPair
from bineval.diagnose.questions import QuestionDiagnosis
from bineval.types import Estimate, Side

FindingKind = Literal[
    "never_answered",
    "never_applies",
    "often_unanswered",
    "against_people",
    "against_others",
    "always_no",
    "always_yes",
    "one_signal",
    "redundant",
    "unrelated_to_people",
    "harsher",
    "more_lenient",
    "flips",
    "nothing_alone",
]
KINDS: tuple[FindingKind, ...] = get_args(FindingKind)
"""In the order of their importance."""

Likeness = Literal["phi", "probability"]

Key = tuple[str, ...]
"""A dimension alone, or with a question, two of them and their likeness, or the likeness of all."""

_OF_CORRELATIONS = ("against_people", "against_others", "unrelated_to_people")

FEWEST_EXAMPLES = 20
"""Without any exception a few examples say little."""

# A share is rare, or the rest is, when its interval lies below this.
_RARE = 0.05
# From this r on two columns share half of their variance.
_SAME = 0.7
_UNRELATED = 0.1
_OFTEN_FLIPS = 0.1
_SELDOM_ALONE = 0.2
# With fewer of the rarer answer φ hangs on single examples, which no bootstrap of them shows.
_FEWEST_OF_RARER = 5


def beyond_limits(
    questions: Sequence[QuestionDiagnosis], dimensions: Sequence[DimensionDiagnosis], *, n_groups: int
) -> Mapping[FindingKind, Set[Key]]:
    """Returns what lies beyond the limit of each kind that has one, by more than chance makes one of so many lie.

    Args:
        questions: All that are looked at.
        dimensions: All that are looked at.
        n_groups: Groups of examples in the run.
    """
    n_questions = Counter(item.dimension for item in questions)
    of_question: Mapping[FindingKind, tuple[Callable[[QuestionDiagnosis], Estimate], Side, float]] = {
        "often_unanswered": (lambda item: item.unanswered, "above", _RARE),
        "against_people": (with_people, "below", 0.0),
        "against_others": (with_others, "below", 0.0),
        "always_no": (lambda item: item.yes_rate, "below", _RARE),
        "always_yes": (lambda item: item.yes_rate, "above", 1 - _RARE),
        "unrelated_to_people": (with_people, "below", _UNRELATED),
        "harsher": (lambda item: item.human_bias, "below", 0.0),
        "more_lenient": (lambda item: item.human_bias, "above", 0.0),
        "flips": (lambda item: item.flips, "above", _OFTEN_FLIPS),
        "nothing_alone": (lambda item: item.alone_share, "below", _SELDOM_ALONE),
    }
    found: dict[FindingKind, Set[Key]] = {}
    for kind, (estimate_of, side, limit) in of_question.items():
        estimates: dict[Key, Estimate] = {(item.dimension, item.question_id): estimate_of(item) for item in questions}
        if kind == "nothing_alone":
            # Where there are no others, none of them catches anything.
            estimates = {key: estimate for key, estimate in estimates.items() if n_questions[key[0]] > 1}
        if kind in ("harsher", "more_lenient"):
            estimates |= {(item.dimension,): item.human_bias for item in dimensions}
        found[kind] = beyond_chance(
            {
                key: p_beyond(estimate, limit, side, n_groups=n_groups, correlation=kind in _OF_CORRELATIONS)
                for key, estimate in estimates.items()
            }
        )
    return {**found, **_same(dimensions, n_groups)}


def with_people(item: QuestionDiagnosis) -> Estimate:
    """Rho with people's ratings: that of P(yes), which tells more, where every answer has one."""
    return item.human if item.human_probability is None else item.human_probability


def with_others(item: QuestionDiagnosis) -> Estimate:
    """R with the other questions: that of P(yes), which tells more, where every answer has one."""
    return item.rest if item.rest_probability is None else item.rest_probability


def likeness(pair: QuestionPair, of: Likeness) -> Estimate | None:
    """How alike a pair is; None where it has none or it rests on too few answers of one kind."""
    if of == "phi":
        return pair.phi if pair.fewest >= _FEWEST_OF_RARER else None
    return pair.probability


def _same(dimensions: Sequence[DimensionDiagnosis], n_groups: int) -> Mapping[FindingKind, Set[Key]]:
    pairs: dict[Key, float | None] = {}
    wholes: dict[Key, float | None] = {}
    for item in dimensions:
        for of in get_args(Likeness):
            p_values = []
            for pair in item.pairs:
                p_values.append(_p_same(likeness(pair, of), n_groups))
                pairs[item.dimension, pair.first, pair.second, of] = p_values[-1]
            known = [p_value for p_value in p_values if p_value is not None]
            if item.n_questions > 2 and len(known) == len(p_values):
                # All must be alike, so the one that is least so decides, however many there are.
                wholes[item.dimension, of] = max(known)
    return {"redundant": beyond_chance(pairs), "one_signal": beyond_chance(wholes)}


def _p_same(estimate: Estimate | None, n_groups: int) -> float | None:
    if estimate is None:
        return None
    if estimate.never_varies and estimate.n < FEWEST_EXAMPLES:
        return 1.0
    return p_beyond(estimate, _SAME, "above", n_groups=n_groups)
