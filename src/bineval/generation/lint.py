"""Checks a checklist for questions that a judge cannot answer well; deterministic, with no model."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from bineval.generation.compound import not_one_thing
from bineval.generation.polarity import asks_for_what_is_forbidden, double_negation, no_is_good
from bineval.generation.shape import no_question_mark, not_yes_no, refers_to_other_question, too_long, vague
from bineval.generation.similarity import near_duplicates
from bineval.hashing import Json
from bineval.types import Checklist, Question

Severity = Literal["error", "warning"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing that a rule holds against a checklist.

    Attributes:
        rule: Name of the rule ("not-one-thing", …).
        severity: "error" for what no judge can use, "warning" for what a person should look at.
        message: What is wrong and what to do, in words.
        question_id: The question it is about; None when it is about no single one.
        dimension: The dimension it is about; None when it is about none.
    """

    rule: str
    severity: Severity
    message: str
    question_id: str | None = None
    dimension: str | None = None

    def to_json(self) -> dict[str, Json]:
        """All fields as JSON values."""
        return {
            "rule": self.rule,
            "severity": self.severity,
            "message": self.message,
            "question_id": self.question_id,
            "dimension": self.dimension,
        }


_WORDING_RULES: tuple[tuple[str, Severity, Callable[[str], str | None]], ...] = (
    ("no-question-mark", "error", no_question_mark),
    ("not-yes-no", "error", not_yes_no),
    ("not-one-thing", "warning", not_one_thing),
    ("no-is-good", "warning", no_is_good),
    ("double-negation", "warning", double_negation),
    ("vague", "warning", vague),
    ("too-long", "warning", too_long),
    ("refers-to-other-question", "warning", refers_to_other_question),
)


def lint(checklist: Checklist) -> list[Finding]:
    """Returns all findings: those about single questions in the order of the file, then those about the whole."""
    questions = checklist.questions
    return [
        *(finding for question in questions for finding in _about(question)),
        *_duplicates(questions),
        *_uncovered_requirements(checklist),
        *_empty_dimensions(checklist),
    ]


def _about(question: Question) -> Iterator[Finding]:
    for rule, severity, check in _WORDING_RULES:
        if message := check(question.text):
            yield _finding(rule, severity, message, question)
    if question.requirement and (message := asks_for_what_is_forbidden(question.text, question.requirement)):
        yield _finding("no-is-good", "warning", message, question)
    if not (question.violation or "").strip():
        yield _finding("no-violation", "warning", 'has no violation, the example that shows what "no" means', question)


def _duplicates(questions: tuple[Question, ...]) -> Iterator[Finding]:
    """Each question that repeats an earlier one, of the same dimension or another, once."""
    seen: set[int] = set()
    for i, j, similarity in near_duplicates([question.text for question in questions]):
        if j in seen:
            continue
        seen.add(j)
        same = _plain(questions[i].text) == _plain(questions[j].text)
        how = "is the same question as" if same else f"nearly repeats ({similarity:.2f})"
        message = f"{how} {questions[i].id} ({questions[i].text}); it would count twice"
        yield _finding("duplicate", "error" if same else "warning", message, questions[j])


def _uncovered_requirements(checklist: Checklist) -> Iterator[Finding]:
    """Requirements in the provenance that no question names as its own."""
    covered = {_plain(question.requirement) for question in checklist.questions if question.requirement}
    for requirement in _requirements(checklist.provenance):
        text, dimension = requirement.get("text"), requirement.get("dimension")
        if isinstance(text, str) and _plain(text) not in covered:
            yield Finding(
                rule="uncovered-requirement",
                severity="warning",
                message=f"no question checks the requirement {text!r}",
                dimension=dimension if isinstance(dimension, str) else None,
            )


def _requirements(provenance: Mapping[str, Json]) -> Iterable[Mapping[str, Json]]:
    rows = provenance.get("requirements")
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list | tuple) else []


def _empty_dimensions(checklist: Checklist) -> Iterator[Finding]:
    for name, questions in checklist.by_dimension().items():
        if not questions:
            message = f"the dimension {name!r} has no question, so it never gets a score"
            yield Finding(rule="empty-dimension", severity="error", message=message, dimension=name)


def _finding(rule: str, severity: Severity, message: str, question: Question) -> Finding:
    return Finding(rule=rule, severity=severity, message=message, question_id=question.id, dimension=question.dimension)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
