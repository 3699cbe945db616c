"""Whether one judge can take another's place: agreement, shifts, and the questions that break."""

from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass

from bineval.hashing import Json
from bineval.judging.runs import Run
from bineval.optimize.cases import answers_of
from bineval.stats.intervals import mean_test, proportion_interval, resampling_group
from bineval.stats.significance import holm_defined
from bineval.types import Estimate

_SURE = 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class QuestionShift:
    """What becomes of one question, or of all of them, when the judge changes.

    Attributes:
        question_id: Its id; None for all questions together.
        text: Its text.
        n: Outputs that both judges have an answer about.
        n_lost: Outputs that the old judge has an answer about, and the new one has none.
        agreement: Share of the same answers, in [0, 1].
        old_yes: Share of yes by the old judge; None without answers.
        new_yes: By the new one.
        shift: New share of yes less the old one, paired.
        p_value: Two-sided, of no shift; adjusted (Holm) for the number of questions.
        breaks: Whether even the upper end of the agreement lies below what was asked for, or so many answers are lost
            that it could not reach it.
    """

    question_id: str | None
    text: str
    n: int
    n_lost: int
    agreement: Estimate
    old_yes: float | None
    new_yes: float | None
    shift: Estimate
    p_value: float | None
    breaks: bool

    @property
    def direction(self) -> str:
        """Whether the new judge says yes more ("milder") or less often ("stricter") beyond chance; else "unclear"."""
        if self.p_value is None or self.p_value >= _SURE or self.shift.value is None:
            return "unclear"
        return "milder" if self.shift.value > 0 else "stricter"


@dataclass(frozen=True, kw_only=True, slots=True)
class Migration:
    """An old judge and a new one on the same questions about the same outputs.

    Attributes:
        old: Name of the old judge.
        new: Name of the new one.
        least_agreement: What was asked for, in [0, 1].
        all: All questions together.
        questions: One by one, in the order of the checklist.
    """

    old: str
    new: str
    least_agreement: float
    all: QuestionShift
    questions: tuple[QuestionShift, ...]

    def to_json(self) -> dict[str, Json]:
        """All fields as JSON values."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Pairs:
    """Answers of both judges with their groups, and how many the new one lacks."""

    pairs: list[tuple[Hashable, bool, bool]]
    n_lost: int


def migration(old: Run, new: Run, *, least_agreement: float = 0.9) -> Migration:
    """Compares two runs of the same checklist on the same outputs."""
    by_question = _pairs_by_question(old, new)
    texts = {question.id: question.text for question in old.checklist.questions}
    shifts = [(name, mean_test(_changes(found))) for name, found in by_question.items()]
    adjusted = holm_defined([p_value for _, (_, p_value) in shifts])
    questions = tuple(
        _shift(name, texts[name], by_question[name], shift, p_value, least_agreement)
        for (name, (shift, _)), p_value in zip(shifts, adjusted, strict=True)
    )
    everything = _Pairs(
        pairs=[pair for found in by_question.values() for pair in found.pairs],
        n_lost=sum(found.n_lost for found in by_question.values()),
    )
    shift, p_value = mean_test(_changes(everything))
    return Migration(
        old=old.judge,
        new=new.judge,
        least_agreement=least_agreement,
        all=_shift(None, "all questions", everything, shift, p_value, least_agreement),
        questions=questions,
    )


def _pairs_by_question(old: Run, new: Run) -> Mapping[str, _Pairs]:
    groups = {example.id: resampling_group(example) for example in old.examples()}
    newer = answers_of(new)
    pairs: dict[str, list[tuple[Hashable, bool, bool]]] = {item.id: [] for item in old.checklist.questions}
    lost = dict.fromkeys(pairs, 0)
    for key, before in answers_of(old).items():
        if before.yes is None:
            continue
        after = newer.get(key)
        if after is None or after.yes is None:
            lost[key.question_id] += 1
        else:
            pairs[key.question_id].append((groups[key.example_id], before.yes, after.yes))
    return {name: _Pairs(pairs=found, n_lost=lost[name]) for name, found in pairs.items()}


def _changes(found: _Pairs) -> list[tuple[Hashable, float]]:
    return [(group, float(after) - float(before)) for group, before, after in found.pairs]


def _shift(
    name: str | None, text: str, found: _Pairs, shift: Estimate, p_value: float | None, least: float
) -> QuestionShift:
    agreement = proportion_interval((group, before == after) for group, before, after in found.pairs)
    n = len(found.pairs)
    return QuestionShift(
        question_id=name,
        text=text,
        n=n,
        n_lost=found.n_lost,
        agreement=agreement,
        old_yes=sum(before for _, before, _ in found.pairs) / n if n else None,
        new_yes=sum(after for _, _, after in found.pairs) / n if n else None,
        shift=shift,
        p_value=p_value,
        breaks=(agreement.high is not None and agreement.high < least)
        or found.n_lost > (1 - least) * (n + found.n_lost),
    )
