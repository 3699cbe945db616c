"""The questions of a run looked into: figures, findings in words, and a smaller checklist."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from bineval.diagnose.dimensions import DimensionDiagnosis, diagnose_dimensions
from bineval.diagnose.findings import Finding, findings
from bineval.diagnose.pruning import DimensionPruning, prune_dimension, pruned
from bineval.diagnose.questions import QuestionDiagnosis, diagnose_questions
from bineval.diagnose.values import QuestionTable, check_yes_or_no, question_table
from bineval.errors import ConfigError
from bineval.hashing import Json
from bineval.judging.runs import Run
from bineval.methods.labeled import run_labels
from bineval.stats.intervals import resampling_group
from bineval.stats.splits import groups_for_test
from bineval.types import Checklist, VerdictRow


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnosis:
    """What the verdicts of a run say about its questions.

    Attributes:
        run: Name of the run.
        judge: Name of its judge.
        n_examples: Examples of the run.
        has_probabilities: Whether every answer has a P(yes).
        findings: What is to be known, the most important first.
        dimensions: Those with questions, in the order of the checklist.
        questions: In the order of the checklist.
    """

    run: str
    judge: str
    n_examples: int
    has_probabilities: bool
    findings: tuple[Finding, ...]
    dimensions: tuple[DimensionDiagnosis, ...]
    questions: tuple[QuestionDiagnosis, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Pruning:
    """A smaller checklist, and what it loses.

    Attributes:
        run: Name of the run it was chosen on.
        of: What scores were made of: P(yes) where every answer has one, else answers.
        n_choosing: Examples that it was chosen on.
        n_reported: Other examples, that the losses are of.
        dimensions: Those with questions, in the order of the checklist.
        checklist: The questions that are left.
    """

    run: str
    of: str
    n_choosing: int
    n_reported: int
    dimensions: tuple[DimensionPruning, ...]
    checklist: Checklist

    @property
    def dropped(self) -> tuple[str, ...]:
        """Ids of the questions that are proposed to go."""
        return tuple(drop.question_id for dimension in self.dimensions for drop in dimension.drops)


def diagnose(run: Run, labels: str | Path | None = None, *, seed: int = 0) -> Diagnosis:
    """Looks into the questions of a run; everything comes from its saved verdicts.

    Args:
        run: A finished or unfinished run with yes/no questions.
        labels: File with human answers to its questions; None uses the examples' own ratings where they are answers.
        seed: Of the intervals.

    Raises:
        ConfigError: The run asks for ratings, or has no verdicts yet.
        DataError: The file is not what it should be.
    """
    check_yes_or_no(run.checklist)
    rows = list(run.verdicts())
    table = table_of(run, rows)
    answers, _ = run_labels(run, labels)
    by_place = {(key.example_id, key.question_id, key.unit): answer for key, answer in answers.items()}
    questions = diagnose_questions(table, rows, by_place, seed=seed)
    dimensions = diagnose_dimensions(table, questions, seed=seed)
    return Diagnosis(
        run=run.name,
        judge=run.judge,
        n_examples=len(table.example_ids),
        has_probabilities=table.has_probabilities,
        findings=tuple(findings(questions, dimensions, n_groups=len(set(table.groups)))),
        dimensions=tuple(dimensions),
        questions=tuple(questions),
    )


def prune(run: Run, *, test_share: float = 0.5, seed: int = 0) -> Pruning:
    """Proposes a smaller checklist: chosen on one part of the groups, its losses reported on the others.

    Args:
        run: A run with yes/no questions.
        test_share: Share of the groups that losses are reported on, in (0, 1).
        seed: Of the split and of the intervals.

    Raises:
        ConfigError: The run asks for ratings, has no verdicts yet, or only one group of examples.
    """
    table = table_of(run, list(run.verdicts()))
    test_groups = groups_for_test(table.groups, share=test_share, seed=seed)
    dimensions = tuple(
        prune_dimension(table, name, test_groups, seed=seed)
        for name, questions in run.checklist.by_dimension().items()
        if questions
    )
    n_reported = sum(group in test_groups for group in table.groups)
    dropped = [drop.question_id for dimension in dimensions for drop in dimension.drops]
    provenance: Mapping[str, Json] = {
        **run.checklist.provenance,
        "pruned": {"run": run.name, "dropped": dropped, "test_share": test_share, "seed": seed},
    }
    return Pruning(
        run=run.name,
        of="P(yes)" if table.has_probabilities else "answers",
        n_choosing=len(table.groups) - n_reported,
        n_reported=n_reported,
        dimensions=dimensions,
        checklist=replace(pruned(run.checklist, set(dropped)), provenance=provenance),
    )


def table_of(run: Run, rows: list[VerdictRow]) -> QuestionTable:
    """The run as a table.

    Raises:
        ConfigError: The run asks for ratings, or has no verdicts yet.
    """
    check_yes_or_no(run.checklist)
    if not rows:
        raise ConfigError(f"run {run.name} has no verdicts yet: run it first")
    return question_table(run.checklist, ((example, resampling_group(example)) for example in run.examples()), rows)
