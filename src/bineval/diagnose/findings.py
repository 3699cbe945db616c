"""What is wrong with the questions of a run, in words; nothing that chance alone may have made."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal

from bineval.diagnose.dimensions import DimensionDiagnosis
from bineval.diagnose.limits import (
    FEWEST_EXAMPLES,
    KINDS,
    FindingKind,
    Key,
    Likeness,
    beyond_limits,
    likeness,
    with_others,
    with_people,
)
from bineval.diagnose.pairs import QuestionPair
from bineval.diagnose.questions import QuestionDiagnosis
from bineval.types import Estimate

Beyond = Mapping[FindingKind, Set[Key]]

_LIKENESSES: Mapping[Likeness, tuple[str, str]] = {
    "phi": ("φ of their answers", "φ"),
    "probability": ("r of their P(yes)", "r of P(yes)"),
}


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


def findings(
    questions: Sequence[QuestionDiagnosis], dimensions: Sequence[DimensionDiagnosis], *, n_groups: int
) -> list[Finding]:
    """Returns what is to be known about the questions, the most important first, else in the order of the checklist.

    Args:
        questions: What was found about each question.
        dimensions: What was found about each dimension.
        n_groups: Groups of examples in the run.
    """
    beyond = beyond_limits(questions, dimensions, n_groups=n_groups)
    found = [finding for question in questions for finding in _about_question(question, beyond)]
    found = _merged(found, questions)
    for dimension in dimensions:
        same = list(_about_likeness(dimension, beyond))
        repeated = {key for finding in same for key in (finding.questions or ())}
        own = [item for item in questions if item.dimension == dimension.dimension and item.question_id not in repeated]
        found += [*same, *_about_failures(own, beyond), *_about_bias(dimension, beyond)]
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


def _about_question(item: QuestionDiagnosis, beyond: Beyond) -> Iterator[Finding]:
    yield from _about_answers(item, beyond)
    yield from _about_people(item, beyond)
    if _key(item) in beyond["against_others"]:
        rest, of = with_others(item), _what(item.rest_probability)
        text = f"disagrees with the other questions of {item.dimension}: r of {of} with their mean is {_words(rest)}"
        yield _of(item, "against_others", {"rest": rest}, text)
    if _key(item) in beyond["flips"]:
        text = f"flips between repeats in {_percent(item.flips)} examples or sentences"
        yield _of(item, "flips", {"flips": item.flips}, text)


def _about_answers(item: QuestionDiagnosis, beyond: Beyond) -> Iterator[Finding]:
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
    if _key(item) in beyond["often_unanswered"]:
        text = f"often unanswered: {_percent(unanswered)} verdicts"
        yield _of(item, "often_unanswered", {"unanswered": unanswered}, text)
    kinds: tuple[tuple[FindingKind, str, float | None, float | None], ...] = (
        ("always_yes", "yes", rate.value, rate.low),
        ("always_no", "no", _less(rate.value), _less(rate.high)),
    )
    for kind, word, share, least in kinds:
        if share == 1 and rate.n >= FEWEST_EXAMPLES:
            text = f"always {word} ({rate.n} examples): it tells no output from another here"
        elif share is not None and share < 1 and _key(item) in beyond[kind]:
            of_more = "" if least is None else f", at least {least:.1%} of more"
            text = f"almost always {word}: in {share:.1%} of {rate.n} examples{of_more}"
        else:
            continue
        yield _of(item, kind, {"yes_rate": rate}, text)


def _about_people(item: QuestionDiagnosis, beyond: Beyond) -> Iterator[Finding]:
    kinds: tuple[tuple[FindingKind, str], ...] = (
        ("against_people", "disagrees with people"),
        ("unrelated_to_people", "says hardly anything about people's ratings"),
    )
    for kind, words in kinds:
        if _key(item) in beyond[kind]:
            human, of = with_people(item), _what(item.human_probability)
            text = f"{words}: rho of {of} with their ratings of {item.dimension} is {_words(human)}"
            yield _of(item, kind, {"human": human}, text)
            break
    if (bias := _bias_kind(_key(item), beyond)) is not None:
        text = f"{_bias_words(bias)} than people: its share of yes less theirs is {_words(item.human_bias, '+')}"
        yield _of(item, bias, {"human_bias": item.human_bias}, text)


def _about_likeness(item: DimensionDiagnosis, beyond: Beyond) -> Iterator[Finding]:
    """That the questions of a dimension are one signal, or else which of them repeat others."""
    for of, (name, _) in _LIKENESSES.items():
        if (item.dimension, of) in beyond["one_signal"]:
            known = [estimate for pair in item.pairs if (estimate := likeness(pair, of)) is not None]
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
    yield from _about_repeats(item, beyond)


def _about_repeats(item: DimensionDiagnosis, beyond: Beyond) -> Iterator[Finding]:
    """Each question that repeats an earlier one, with the one that it repeats most."""
    strongest: dict[str, tuple[float, QuestionPair, Estimate, str]] = {}
    for pair in item.pairs:
        for of, (_, name) in _LIKENESSES.items():
            if (item.dimension, pair.first, pair.second, of) not in beyond["redundant"]:
                continue
            estimate = likeness(pair, of)
            if estimate is None or estimate.value is None:
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


def _about_failures(items: Sequence[QuestionDiagnosis], beyond: Beyond) -> Iterator[Finding]:
    for item in items:
        if item.alone_share.value == 0 and _key(item) in beyond["nothing_alone"]:
            caught = f"all its {item.n_failed}" if not item.n_open else f"{item.alone_share.n} of its {item.n_failed}"
            is_open = f", and {item.n_open} are open, with others unanswered" if item.n_open else ""
            text = f"catches nothing of its own: others of {item.dimension} catch {caught} failures{is_open}"
            yield _of(item, "nothing_alone", {"alone_share": item.alone_share}, text)


def _about_bias(item: DimensionDiagnosis, beyond: Beyond) -> Iterator[Finding]:
    if (kind := _bias_kind((item.dimension,), beyond)) is not None:
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


def _key(item: QuestionDiagnosis) -> Key:
    return item.dimension, item.question_id


def _what(probabilities: Estimate | None) -> str:
    return "its answers" if probabilities is None else "its P(yes)"


def _bias_kind(key: Key, beyond: Beyond) -> Literal["harsher", "more_lenient"] | None:
    if key in beyond["harsher"]:
        return "harsher"
    return "more_lenient" if key in beyond["more_lenient"] else None


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
    interval = "" if share.low is None or share.high is None else f" [{share.low:.0%}, {share.high:.0%}]"
    return f"{share.value or 0.0:.0%}{interval} of {share.n}"
