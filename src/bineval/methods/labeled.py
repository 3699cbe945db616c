"""The verdicts of a run by what they are about, and the human labels for them."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from bineval.errors import DataError
from bineval.io.verdict_labels import VerdictKey, labels_of_examples, read_verdict_labels
from bineval.judging.runs import Run
from bineval.scoring import unit_value
from bineval.types import Verdict


def verdicts_by_key(run: Run) -> dict[VerdictKey, list[Verdict]]:
    """Returns the repeats of each verdict of a run, in its order."""
    found: dict[VerdictKey, list[Verdict]] = defaultdict(list)
    for row in run.verdicts():
        found[VerdictKey(row.example_id, row.question_id, row.unit)].append(row.verdict)
    return dict(found)


def mean_probability(probabilities: Iterable[float | None]) -> float | None:
    """Mean over the repeats that have a P(yes), rounded so that float noise parts no equal ones; None without any."""
    known = [probability for probability in probabilities if probability is not None]
    return round(sum(known) / len(known), 9) if known else None


def majority_answer(repeats: Iterable[Verdict]) -> bool | None:
    """The answer of most repeats; None when there is none or they are even."""
    value = unit_value(repeats)
    return None if value is None or value == 0.5 else value > 0.5


def run_labels(run: Run, path: str | Path | None) -> tuple[dict[VerdictKey, bool], list[str]]:
    """Returns the human answers to the questions of a run, of a file or else of its examples' own ratings.

    Returns:
        The answers, none when no file is given and the examples have no rating that is one; and why dimensions whose
        examples have ratings have no answers.

    Raises:
        DataError: The file is not what it should be, or has no answer.
    """
    examples = list(run.examples())
    if path is None:
        return labels_of_examples(run.checklist, examples)
    labels = read_verdict_labels(path, checklist=run.checklist, example_ids=[example.id for example in examples])
    if not labels:
        raise DataError("no row has an answer", file=str(path))
    return labels, []
