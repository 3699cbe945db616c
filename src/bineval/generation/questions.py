"""Step 2 of the decomposition: from the requirements of a dimension to its questions."""

import re
from collections.abc import Iterable, Sequence

from bineval.generation.drafting import Drafter, Fault
from bineval.generation.lint import Finding, lint
from bineval.generation.replies import QuestionEntry, questions_form
from bineval.generation.requirements import Plan, Requirement, describe_dimension
from bineval.judging.fencing import fence
from bineval.types import Checklist, Question

SOURCE = "generated"

_MARK = re.compile(r"^(?:[-*•]|\(?Q?\d+[.):])\s+")
_CONDITION = re.compile(r"if\b", re.IGNORECASE)
_PREFIX_LENGTH = 3


class QuestionWriter:
    """Writes the questions of one dimension after the other."""

    def __init__(self, task: str, plan: Plan, drafter: Drafter) -> None:
        self._task, self._plan, self._drafter = task, plan, drafter
        self._prefixes = id_prefixes(plan.dimensions)

    def write(self, dimension: str, before: Sequence[Question]) -> tuple[list[Question], int]:
        """Asks for the questions of a dimension that has requirements.

        Args:
            dimension: Its name.
            before: The questions of other dimensions written so far, which are not to be repeated.

        Returns:
            The questions, in the order of their requirements, and how often the model was asked again for them.

        Raises:
            ModelError: See `Drafter.draft`.
        """
        requirements = self._plan.of(dimension)

        def check(entries: Sequence[QuestionEntry]) -> list[Fault[QuestionEntry]]:
            pairs = self._questions(dimension, entries)
            entry_of = {question.id: entry for question, entry in pairs}
            findings = self._lint(dimension, [*before, *(question for question, _ in pairs)])
            return [_fault(finding, entry_of) for finding in findings]

        values = {
            "task": fence("TASK", self._task),
            "dimension": fence("DIMENSION", describe_dimension(dimension, self._plan.dimensions[dimension])),
            "requirements": fence("REQUIREMENTS", "\n".join(f"{r.id}: {r.text}" for r in requirements)),
        }
        draft = self._drafter.draft("questions", values, questions_form([r.id for r in requirements]), check)
        return [question for question, _ in self._questions(dimension, draft.entries)], draft.n_rounds

    def _questions(self, dimension: str, entries: Iterable[QuestionEntry]) -> list[tuple[Question, QuestionEntry]]:
        """The questions in the order of their requirements, with what they were made from; equal texts only once."""
        requirements = self._plan.of(dimension)
        unique: dict[str, QuestionEntry] = {}
        for entry in entries:
            unique.setdefault(_text(entry).casefold(), entry)
        owned = [(_owner(entry, requirements), entry) for entry in unique.values()]
        owned.sort(key=lambda pair: requirements.index(pair[0]) if pair[0] else len(requirements))
        return [
            (self._question(f"{self._prefixes[dimension]}-{number}", dimension, owner, entry), entry)
            for number, (owner, entry) in enumerate(owned, 1)
        ]

    def _question(self, id_: str, dimension: str, owner: Requirement | None, entry: QuestionEntry) -> Question:
        text = _text(entry)
        return Question(
            id=id_,
            text=text,
            dimension=dimension,
            violation=entry.violation or None,
            requirement=owner.text if owner else None,
            may_not_apply=_CONDITION.match(text) is not None,
            source=SOURCE,
        )

    def _lint(self, dimension: str, questions: Sequence[Question]) -> list[Finding]:
        draft = Checklist(
            name="draft",
            questions=tuple(questions),
            dimensions=self._plan.dimensions,
            provenance={"requirements": [requirement.to_json() for requirement in self._plan.of(dimension)]},
        )
        return [finding for finding in lint(draft) if finding.dimension == dimension]


def id_prefixes(dimensions: Iterable[str]) -> dict[str, str]:
    """The beginning of each dimension's question ids: its first three letters, or more where two begin alike."""
    prefixes: dict[str, str] = {}
    for name in dimensions:
        slug = "".join(re.findall(r"[^\W_]+", name.casefold())) or "question"
        shortest = slug[:_PREFIX_LENGTH]
        longer = (slug[:length] for length in range(_PREFIX_LENGTH, len(slug) + 1))
        numbered = (f"{shortest}{number}" for number in range(2, len(prefixes) + 3))
        taken = set(prefixes.values())
        prefixes[name] = next(prefix for prefix in (shortest, *longer, *numbered) if prefix not in taken)
    return prefixes


def _text(entry: QuestionEntry) -> str:
    return _MARK.sub("", entry.question)


def _owner(entry: QuestionEntry, requirements: Sequence[Requirement]) -> Requirement | None:
    """The requirement that an entry names by id, by number or in words; the only one where there is only one."""
    said = (entry.requirement or "").casefold()
    number = re.match(r"r?\s*(\d+)\b", said)
    wanted = f"r{number.group(1)}" if number else said
    named = (r for r in requirements if wanted in (r.id.casefold(), r.text.casefold()))
    return next(named, requirements[0] if len(requirements) == 1 else None)


def _fault(finding: Finding, entry_of: dict[str, QuestionEntry]) -> Fault[QuestionEntry]:
    entry = entry_of.get(finding.question_id) if finding.question_id else None
    return Fault(
        message=f'"{entry.question}" {finding.message}.' if entry else f"{finding.message}.",
        entry=entry,
        grave=finding.severity == "error" or finding.rule == "uncovered-requirement",
    )
