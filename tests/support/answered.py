"""Questions whose answers are written down, as the rows and the table of a run, without any judge."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bineval.diagnose.dimensions import DimensionDiagnosis, diagnose_dimensions
from bineval.diagnose.findings import Finding, findings
from bineval.diagnose.questions import Labels, QuestionDiagnosis, diagnose_questions
from bineval.diagnose.values import QuestionTable, question_table
from bineval.types import Checklist, Dimension, Example, Question, Reason, Scale, Verdict, VerdictRow

REASONS: dict[str, Reason] = {"u": "unparsed", "-": "not_applicable", "e": "error"}


@dataclass(frozen=True, kw_only=True)
class Answered:
    """A run without a store."""

    checklist: Checklist
    examples: list[Example]
    rows: list[VerdictRow]
    table: QuestionTable

    def questions(self, labels: Labels | None = None) -> dict[str, QuestionDiagnosis]:
        return {item.question_id: item for item in diagnose_questions(self.table, self.rows, labels or {})}

    def dimensions(self) -> dict[str, DimensionDiagnosis]:
        found = diagnose_dimensions(self.table, list(self.questions().values()))
        return {item.dimension: item for item in found}

    def findings(self, labels: Labels | None = None) -> list[Finding]:
        questions = list(self.questions(labels).values())
        dimensions = diagnose_dimensions(self.table, questions)
        return findings(questions, dimensions, n_groups=len(set(self.table.groups)))


def answered(
    columns: Mapping[str, Sequence[str | float]],
    *,
    human: Mapping[str, Sequence[float | None]] | None = None,
    groups: Sequence[str] | None = None,
    scale: Scale | None = None,
) -> Answered:
    """Makes a run.

    Args:
        columns: By question id, whose first letter is its dimension: for each example a word with a letter a repeat (y,
            n, u for unparsed, e for error, - for not applicable), or a P(yes).
        human: Ratings by dimension.
        groups: The group of each example.
        scale: Of every dimension.
    """
    n = len(next(iter(columns.values())))
    examples = [
        Example(
            id=f"e{i}",
            output="",
            group=groups[i] if groups else None,
            human={name: rating for name, ratings in (human or {}).items() if (rating := ratings[i]) is not None},
        )
        for i in range(n)
    ]
    checklist = Checklist(
        name="letters",
        dimensions={key[0]: Dimension(scale=scale) for key in columns},
        questions=tuple(Question(id=key, text=f"{key}?", dimension=key[0]) for key in columns),
    )
    rows = [
        VerdictRow(example_id=f"e{i}", question_id=key, dimension=key[0], repeat=repeat, verdict=verdict(letter))
        for i in range(n)
        for key, words in columns.items()
        for repeat, letter in enumerate(words[i] if isinstance(words[i], str) else [words[i]])  # type: ignore[arg-type]
    ]
    table = question_table(checklist, ((example, example.group or example.id) for example in examples), rows)
    return Answered(checklist=checklist, examples=examples, rows=rows, table=table)


def verdict(letter: str | float) -> Verdict:
    """A verdict of a letter or a P(yes)."""
    if not isinstance(letter, str):
        return Verdict(answer="yes" if letter > 0.5 else "no", probability=letter)
    if letter in REASONS:
        return Verdict(answer=None, reason=REASONS[letter])
    return Verdict(answer="yes" if letter == "y" else "no")
