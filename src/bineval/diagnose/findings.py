"""What is wrong with the questions of a run, in words; nothing that chance alone may have made."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from bineval.diagnose.dimensions import DimensionDiagnosis
from bineval.diagnose.pairs import QuestionPair
from bineval.diagnose.questions import QuestionDiagnosis
from bineval.types import Estimate

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

# A share is rare, or the rest is, when its interval lies below this.
_RARE = 0.05
# From this r on two columns share half of their variance.
_SAME = 0.7
_UNRELATED = 0.1
_OFTEN_FLIPS = 0.1
_SELDOM_ALONE = 0.2
# Without any exception an interval says little about a few examples.
_FEWEST_EXAMPLES = 20
# With fewer of the rarer answer φ hangs on single examples, which no bootstrap of them shows.
_FEWEST_OF_RARER = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """Something to know about questions.

    Attributes:
        kind: What it is.
        dimension: The dimension it is about.
        questions: Ids of the questions it is about; none for the dimension as a whole.
        figures: The estimates it rests on, by name.
        text: A sentence for people, with the numbers.
    """

    kind: FindingKind
    dimension: str
    questions: tuple[str, ...]
    figures: Mapping[str, Estimate]
    text: str


def findings(questions: Sequence[QuestionDiagnosis], dimensions: Sequence[DimensionDiagnosis]) -> list[Finding]:
    """Returns what is to be known about the questions, the most important first, else in the order of the checklist."""
    found = [finding for question in questions for finding in _about_question(question)]
    found = _merged(found, questions)
    for dimension in dimensions:
        same = list(_about_likeness(dimension))
        repeated = {key for finding in same for key in (finding.questions or ())}
        own = [item for item in questions if item.dimension == dimension.dimension and item.question_id not in repeated]
        alone = _about_failures(own) if dimension.n_questions > 1 else ()
        found += [*same, *alone, *_about_bias(dimension)]
    return sorted(found, key=lambda finding: KINDS.index(finding.kind))


def _merged(found: Sequence[Finding], questions: Sequence[QuestionDiagnosis]) -> list[Finding]:
    """One finding in place of many where all questions of a dimension always have the same answer."""
    merged = list(found)
    for kind, word in (("always_yes", "yes"), ("always_no", "no")):
        for dimension in dict.fromkeys(item.dimension for item in questions):
            own = [item for item in questions if item.dimension == dimension]
            same = [finding for finding in merged if finding.kind == kind and finding.dimension == dimension]
            if len(own) < 2 or len(same) < len(own):
                continue
            n = min(item.yes_rate.n for item in own)
            one = replace(
                same[0],
                questions=tuple(item.question_id for item in own),
                figures={item.question_id: item.yes_rate for item in own},
                text=f"{dimension}: always or almost always {word} to all its {len(own)} questions ({n} examples): "
                "its answers tell hardly any output from another here",
            )
            merged = [one if finding is same[0] else finding for finding in merged if finding not in same[1:]]
    return merged


def _about_question(item: QuestionDiagnosis) -> Iterator[Finding]:
    yield from _about_answers(item)
    yield from _about_people(item)
    rest, of = _stronger(item.rest, item.rest_probability)
    if rest.high is not None and rest.high < 0:
        text = f"disagrees with the other questions of {item.dimension}: r of {of} with their mean is {_words(rest)}"
        yield _of(item, "against_others", {"rest": rest}, text)
    if item.flips.low is not None and item.flips.low > _OFTEN_FLIPS:
        text = f"flips between repeats in {_percent(item.flips)} examples or sentences"
        yield _of(item, "flips", {"flips": item.flips}, text)


def _about_answers(item: QuestionDiagnosis) -> Iterator[Finding]:
    facts, unanswered, rate = item.facts, item.unanswered, item.yes_rate
    if facts.n_yes + facts.n_no == 0:
        if facts.n_unanswered:
            reasons = ", ".join(f"{n} {reason}" for reason, n in sorted(facts.reasons.items()))
            text = f"never answered: none of {unanswered.n} verdicts ({reasons})"
            yield _of(item, "never_answered", {"unanswered": unanswered}, text)
        elif facts.reasons:
            text = f"never applies: all {item.not_applicable.n} verdicts say so"
            yield _of(item, "never_applies", {"not_applicable": item.not_applicable}, text)
        return
    if unanswered.low is not None and unanswered.low > _RARE:
        text = f"often unanswered: {_percent(unanswered)} verdicts"
        yield _of(item, "often_unanswered", {"unanswered": unanswered}, text)
    kinds: tuple[tuple[FindingKind, str, float | None, float | None], ...] = (
        ("always_yes", "yes", rate.value, rate.low),
        ("always_no", "no", _less(rate.value), _less(rate.high)),
    )
    for kind, word, share, least in kinds:
        if share == 1 and rate.n >= _FEWEST_EXAMPLES:
            text = f"always {word} ({rate.n} examples): it tells no output from another here"
        elif share is not None and share < 1 and least is not None and least > 1 - _RARE:
            text = f"almost always {word}: in {share:.1%} of {rate.n} examples, at least {least:.1%} of more"
        else:
            continue
        yield _of(item, kind, {"yes_rate": rate}, text)


def _about_people(item: QuestionDiagnosis) -> Iterator[Finding]:
    human, of = _stronger(item.human, item.human_probability)
    if human.high is not None and human.high < _UNRELATED:
        opposed = human.high < 0
        words = "disagrees with people" if opposed else "says hardly anything about people's ratings"
        text = f"{words}: rho of {of} with their ratings of {item.dimension} is {_words(human)}"
        yield _of(item, "against_people" if opposed else "unrelated_to_people", {"human": human}, text)
    if (kind := _bias_kind(item.human_bias)) is not None:
        text = f"{_bias_words(kind)} than people: its share of yes less theirs is {_words(item.human_bias, '+')}"
        yield _of(item, kind, {"human_bias": item.human_bias}, text)


def _about_likeness(item: DimensionDiagnosis) -> Iterator[Finding]:
    """That the questions of a dimension are one signal, or else which of them repeat others."""
    for of, name in (("phi", "φ of their answers"), ("probability", "r of their P(yes)")):
        estimates = [_likeness(pair, of) for pair in item.pairs]
        known = [estimate for estimate in estimates if estimate is not None]
        if item.n_questions > 2 and len(known) == len(item.pairs) and all(map(_is_same, known)):
            lowest, highest = (end(known, key=lambda estimate: estimate.value or 0.0) for end in (min, max))
            text = (
                f"{item.dimension}: its {item.n_questions} questions are one signal: {name} is "
                f"{_number(lowest.value)} to {_number(highest.value)} in {len(known)} pairs (n = {lowest.n})"
            )
            yield Finding(
                kind="one_signal",
                dimension=item.dimension,
                questions=item.phi.questions,
                figures={"lowest": lowest, "highest": highest},
                text=text,
            )
            return
    yield from _about_repeats(item)


def _about_repeats(item: DimensionDiagnosis) -> Iterator[Finding]:
    """Each question that repeats an earlier one, with the one that it repeats most."""
    strongest: dict[str, tuple[float, QuestionPair, Estimate, str]] = {}
    for pair in item.pairs:
        for of, name in (("phi", "φ"), ("probability", "r of P(yes)")):
            estimate = _likeness(pair, of)
            if estimate is None or estimate.value is None or not _is_same(estimate):
                continue
            if pair.second not in strongest or estimate.value > strongest[pair.second][0]:
                strongest[pair.second] = (estimate.value, pair, estimate, name)
            break
    for _, pair, estimate, name in strongest.values():
        yield Finding(
            kind="redundant",
            dimension=item.dimension,
            questions=(pair.second, pair.first),
            figures={"likeness": estimate},
            text=f"{pair.second}: redundant with {pair.first} at {name} {_words(estimate)}",
        )


def _about_failures(items: Sequence[QuestionDiagnosis]) -> Iterator[Finding]:
    for item in items:
        share = item.alone_share
        if share.value == 0 and share.high is not None and share.high < _SELDOM_ALONE:
            text = f"catches nothing of its own: others of {item.dimension} catch all its {item.n_failed} failures"
            yield _of(item, "nothing_alone", {"alone_share": share}, text)


def _about_bias(item: DimensionDiagnosis) -> Iterator[Finding]:
    if (kind := _bias_kind(item.human_bias)) is not None:
        yield Finding(
            kind=kind,
            dimension=item.dimension,
            questions=(),
            figures={"human_bias": item.human_bias},
            text=f"{item.dimension}: {_bias_words(kind)} than people: score less rating, both in [0, 1], is "
            f"{_words(item.human_bias, '+')}",
        )


def _of(item: QuestionDiagnosis, kind: FindingKind, figures: Mapping[str, Estimate], text: str) -> Finding:
    return Finding(
        kind=kind,
        dimension=item.dimension,
        questions=(item.question_id,),
        figures=figures,
        text=f"{item.question_id}: {text}",
    )


def _stronger(answers: Estimate, probabilities: Estimate | None) -> tuple[Estimate, str]:
    """What tells more: P(yes), where every answer has one."""
    return (answers, "its answers") if probabilities is None else (probabilities, "its P(yes)")


def _likeness(pair: QuestionPair, of: str) -> Estimate | None:
    if of == "phi":
        return pair.phi if pair.fewest >= _FEWEST_OF_RARER else None
    return pair.probability


def _is_same(estimate: Estimate) -> bool:
    if estimate.low is None:
        # Columns that never differ do not differ in any resample either, and so have no interval.
        return estimate.value is not None and estimate.value > 1 - 1e-9 and estimate.n >= _FEWEST_EXAMPLES
    return estimate.low > _SAME


def _bias_kind(bias: Estimate) -> Literal["harsher", "more_lenient"] | None:
    if bias.low is None or bias.high is None or bias.low <= 0 <= bias.high:
        return None
    return "more_lenient" if bias.low > 0 else "harsher"


def _bias_words(kind: FindingKind) -> str:
    return kind.replace("_", " ")


def _less(share: float | None) -> float | None:
    return None if share is None else 1 - share


def _words(estimate: Estimate, sign: Literal["", "+"] = "") -> str:
    """The value with its interval, if it has one, and n."""
    if estimate.low is None:
        return f"{_number(estimate.value, sign)} (n = {estimate.n})"
    low, high = _number(estimate.low, sign), _number(estimate.high, sign)
    return f"{_number(estimate.value, sign)} [{low}, {high}] (n = {estimate.n})"


def _number(value: float | None, sign: Literal["", "+"] = "") -> str:
    return "–" if value is None else format(value, f"{sign}.2f")


def _percent(share: Estimate) -> str:
    low, high = share.low or 0.0, share.high or 0.0
    return f"{share.value or 0.0:.0%} [{low:.0%}, {high:.0%}] of {share.n}"
