"""A judge asked about the constraints of each prompt, and how far its answers agree with the verifiers' verdicts.

One checklist holds the questions on all types of constraints, with their categories as dimensions. About an example
only those on its own prompt's constraints are asked; the others do not apply to it, which costs no call.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from bineval.generation.decompose import decompose
from bineval.generation.drafting import GenerateSettings
from bineval.hashing import Json
from bineval.io.verdict_labels import VerdictKey
from bineval.judging.base import Judge, JudgeWrapper
from bineval.judging.plans import JudgePlan, Wrap
from bineval.judging.runner import Progress, ProgressCallback
from bineval.judging.runs import Run
from bineval.methods.labeled import majority_answer, verdicts_by_key
from bineval.models.base import Model
from bineval.stats.agreement import Agreement, RatedUnit, agreement
from bineval.stats.intervals import proportion_interval, resampling_group
from bineval.suites.ifbench.accuracy import Verified
from bineval.suites.ifbench.rows import category_of, constraints_of
from bineval.suites.ifbench.verifiers import Check
from bineval.types import Checklist, Dimension, Estimate, Example, Question, Request, Verdict

_NAME = "constraints"
# Between the type of a constraint and what tells several questions on it apart.
_SEPARATOR = "/"


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedRow:
    """How far judge and verifiers agree on the constraints of one category.

    Attributes:
        category: The category; None for all.
        figures: The judge is the first rater, the verifiers' strict verdict the second, which is right.
        judge_yes: Share of the constraints that both have verdicts on that the judge calls satisfied, in [0, 1].
        verifiers_yes: Share of the same that the verifiers call satisfied.
        n_unanswered: Constraints that the judge has no answer for; they are in no figure.
    """

    category: str | None
    figures: Agreement
    judge_yes: Estimate
    verifiers_yes: Estimate
    n_unanswered: int

    def to_json(self) -> dict[str, Json]:
        """All of it as JSON values."""
        shares = {"judge_yes": asdict(self.judge_yes), "verifiers_yes": asdict(self.verifiers_yes)}
        return {"category": self.category, "n_unanswered": self.n_unanswered, **shares, **asdict(self.figures)}


def with_verdict(verified: Iterable[Verified]) -> list[Verified]:
    """Those with a strict verdict on some constraint: a judge's answers about the others compare with nothing."""
    return [item for item in verified if any(check.strict is not None for check in item.checks)]


def constraint_checklist(verified: Iterable[Verified]) -> Checklist:
    """Returns one question for each type of constraint, in the verifier's own words."""
    checks = _by_type(verified)
    questions = [
        Question(id=name, dimension=category_of(name), text=_question(check), source="verifier")
        for name, check in checks.items()
    ]
    return _checklist(questions, {})


def generated_checklist(verified: Iterable[Verified], writer: Model, settings: GenerateSettings) -> Checklist:
    """Has a model decompose each type of constraint into questions; see `decompose`.

    Raises:
        ModelError, BudgetExceeded: As `decompose`.
    """
    questions: list[Question] = []
    provenance: dict[str, Json] = {}
    for name, check in _by_type(verified).items():
        side = {name: Dimension(description="whether the constraint is satisfied")}
        part = decompose(_task(check), writer, name=name, dimensions=side, settings=settings)
        questions += [
            replace(question, id=f"{name}{_SEPARATOR}{question.id}", dimension=category_of(name))
            for question in part.questions
        ]
        provenance[name] = dict(part.provenance)
    return _checklist(questions, provenance)


def _checklist(questions: Sequence[Question], provenance: Mapping[str, Json]) -> Checklist:
    dimensions = {question.dimension: Dimension() for question in questions}
    return Checklist(name=_NAME, dimensions=dimensions, questions=tuple(questions), provenance=provenance)


@dataclass(frozen=True, kw_only=True, slots=True)
class ConstraintPlan:
    """A plan for a judge that is asked about no constraint but those of the example's prompt.

    Attributes:
        judge: The plan for the judge inside.
    """

    judge: JudgePlan

    @property
    def name(self) -> str:
        """Name of the judge inside."""
        return self.judge.name

    def models(self) -> tuple[Model, ...]:
        """Those of the judge inside."""
        return self.judge.models()

    def build(self, wrap: Wrap, *, checklist: Checklist) -> Judge:
        """Builds the judge; see `JudgePlan.build`."""
        return _OnConstraints(self.judge.build(wrap, checklist=checklist))


class _OnConstraints(JudgeWrapper):
    """Passes on the questions that are about a constraint of the example's prompt; see `Judge`."""

    @property
    def settings(self) -> Mapping[str, Json]:
        """Those of the judge inside, and what is left out."""
        return {**self.judge.settings, "asked_about": "constraints of the prompt"}

    def first_requests(
        self, example: Example, questions: Sequence[Question], *, repeat: int = 0
    ) -> list[tuple[Model, Request]]:
        """Those about the questions that are passed on."""
        asked = _on_its_constraints(example, questions)
        return self.judge.first_requests(example, asked, repeat=repeat) if asked else []

    def ask(self, example: Example, questions: Sequence[Question], *, repeat: int = 0) -> list[Verdict]:
        """Answers the questions that are passed on; see `Judge.ask`."""
        asked = _on_its_constraints(example, questions)
        answers = self.judge.ask(example, asked, repeat=repeat) if asked else []
        verdicts = {question.id: verdict for question, verdict in zip(asked, answers, strict=True)}
        without = Verdict(
            answer=None, reason="not_applicable", explanation="the prompt sets no such constraint", judge=self.name
        )
        return [verdicts.get(question.id, without) for question in questions]


def n_asked(examples: Iterable[Example], checklist: Checklist) -> int:
    """How many of the questions on all examples are passed on to the judge."""
    return sum(len(_on_its_constraints(example, checklist.questions)) for example in examples)


class AskedProgress:
    """Tells where the verdicts stand that a judge is asked for; the many others of a run cost no call and no time.

    Args:
        n_planned: Verdicts that it is asked for.
        tell: Told what a run tells, without the others.
    """

    def __init__(self, n_planned: int, tell: ProgressCallback) -> None:
        self._n_planned, self._tell = n_planned, tell
        self._n_before: int | None = None  # of others, from earlier sittings

    def __call__(self, progress: Progress) -> None:
        """Takes what the run tells."""
        if self._n_before is None:
            self._n_before = progress.n_not_applicable
        n_fresh = progress.n_fresh - (progress.n_not_applicable - self._n_before)
        n_done = progress.n_done - progress.n_not_applicable
        self._tell(replace(progress, n_planned=self._n_planned, n_done=n_done, n_fresh=n_fresh))


def judged_rows(run: Run, verified: Sequence[Verified], *, seed: int = 0) -> tuple[JudgedRow, ...]:
    """Compares a run with the verifiers: a row for all constraints, then one for each category.

    A judge says that a constraint is satisfied when it answers all questions about it with yes, and that it is not when
    it answers one with no. Constraints without a strict verdict are left out. Several of one type in one prompt are
    asked about together, and so count as one, which is satisfied when all are.

    Raises:
        MissingDependencyError: krippendorff is not installed.
    """
    verdicts = verdicts_by_key(run)
    answers = {key: majority_answer(repeats) for key, repeats in verdicts.items()}
    questions: dict[str, list[str]] = {}
    for question in run.checklist.questions:
        questions.setdefault(_type_of(question), []).append(question.id)
    units: dict[str, list[RatedUnit]] = {}
    for item in verified:
        for name, strict in _strict_by_type(item).items():
            if strict is not None:
                asked = [answers.get(VerdictKey(item.example.id, id_, None)) for id_ in questions[name]]
                unit = RatedUnit(group=resampling_group(item.example), ratings=(_together(asked), strict))
                units.setdefault(category_of(name), []).append(unit)
    every = [unit for found in units.values() for unit in found]
    return tuple(_row(name, found, seed) for name, found in [(None, every), *sorted(units.items())])


def _row(category: str | None, units: Sequence[RatedUnit], seed: int) -> JudgedRow:
    both = [unit for unit in units if None not in unit.ratings]
    judge, verifiers = (
        proportion_interval([(unit.group, unit.ratings[rater] is True) for unit in both], seed=seed)
        for rater in range(2)
    )
    return JudgedRow(
        category=category,
        figures=agreement(units, second_is_right=True, seed=seed),
        judge_yes=judge,
        verifiers_yes=verifiers,
        n_unanswered=sum(unit.ratings[0] is None for unit in units),
    )


def _strict_by_type(item: Verified) -> dict[str, bool | None]:
    """Whether the output satisfies all constraints of a type, strictly."""
    found: dict[str, list[bool | None]] = {}
    for check in item.checks:
        found.setdefault(check.constraint.instruction_id, []).append(check.strict)
    return {name: _together(verdicts) for name, verdicts in found.items()}


def _together(answers: Sequence[bool | None]) -> bool | None:
    """Whether all are yes; one that is missing matters only where no other is no."""
    if False in answers:
        return False
    return None if None in answers or not answers else True


def _by_type(verified: Iterable[Verified]) -> dict[str, Check]:
    """The first check of each type of constraint, by type in order of its name."""
    found: dict[str, Check] = {}
    for item in verified:
        for check in item.checks:
            found.setdefault(check.constraint.instruction_id, check)
    return dict(sorted(found.items()))


def _question(check: Check) -> str:
    filled = " (the input says what stands in the place of the words in braces)" if _has_places(check) else ""
    return f"Does the output satisfy this constraint of the input{filled}: “{check.pattern}”?"


def _task(check: Check) -> str:
    if not _has_places(check):
        return check.pattern
    return f"{check.pattern}\n\nThe prompt says what stands in the place of the words in braces."


def _has_places(check: Check) -> bool:
    return check.pattern != check.description


def _on_its_constraints(example: Example, questions: Sequence[Question]) -> list[Question]:
    own = {constraint.instruction_id for constraint in constraints_of(example)}
    return [question for question in questions if _type_of(question) in own]


def _type_of(question: Question) -> str:
    """The type of constraint that a question is about."""
    return question.id.partition(_SEPARATOR)[0]
