"""How many of the flaws planted in examples a judge's verdicts find, and how often it calls sound text flawed."""

from collections.abc import Iterable
from dataclasses import dataclass

from bineval.errors import DataError
from bineval.types import Example, VerdictRow


@dataclass(frozen=True, kw_only=True, slots=True)
class PlantedCounts:
    """Counts of verdicts, by what was planted and what was answered; add counts of tasks for their total.

    A *planted* verdict is about a question that the output was written to fail, a *sound* one about any other.
    A verdict without an answer is neither found nor missed, neither passed nor a false alarm.

    Attributes:
        n_found: Planted and answered "no".
        n_missed: Planted and answered "yes".
        n_planted_unanswered: Planted, without an answer.
        n_passed: Sound and answered "yes".
        n_false_alarms: Sound and answered "no".
        n_sound_unanswered: Sound, without an answer.
    """

    n_found: int = 0
    n_missed: int = 0
    n_planted_unanswered: int = 0
    n_passed: int = 0
    n_false_alarms: int = 0
    n_sound_unanswered: int = 0

    @property
    def n_planted(self) -> int:
        """Verdicts asked for about planted flaws."""
        return self.n_found + self.n_missed + self.n_planted_unanswered

    @property
    def n_sound(self) -> int:
        """Verdicts asked for where nothing was planted."""
        return self.n_passed + self.n_false_alarms + self.n_sound_unanswered

    def __add__(self, other: "PlantedCounts") -> "PlantedCounts":
        return PlantedCounts(
            n_found=self.n_found + other.n_found,
            n_missed=self.n_missed + other.n_missed,
            n_planted_unanswered=self.n_planted_unanswered + other.n_planted_unanswered,
            n_passed=self.n_passed + other.n_passed,
            n_false_alarms=self.n_false_alarms + other.n_false_alarms,
            n_sound_unanswered=self.n_sound_unanswered + other.n_sound_unanswered,
        )


def count_planted(examples: Iterable[Example], rows: Iterable[VerdictRow]) -> PlantedCounts:
    """Counts `rows`, each for itself: what was not asked is not counted, and every repeat is.

    Args:
        examples: Outputs whose `metadata["planted"]` lists the ids of the questions that they fail.
        rows: Verdicts about these examples.

    Raises:
        DataError: An example has no such list, or a row is about an example that is not given.
    """
    planted = {example.id: planted_questions(example) for example in examples}
    tally = {(is_planted, answer): 0 for is_planted in (True, False) for answer in ("yes", "no", None)}
    for row in rows:
        if row.example_id not in planted:
            raise DataError(f"a verdict is about example {row.example_id!r}, which is not among the examples")
        tally[row.question_id in planted[row.example_id], row.verdict.answer] += 1
    return PlantedCounts(
        n_found=tally[True, "no"],
        n_missed=tally[True, "yes"],
        n_planted_unanswered=tally[True, None],
        n_passed=tally[False, "yes"],
        n_false_alarms=tally[False, "no"],
        n_sound_unanswered=tally[False, None],
    )


def planted_questions(example: Example) -> frozenset[str]:
    """Ids of the questions that the example was written to fail; empty for a sound one.

    Raises:
        DataError: `metadata["planted"]` is absent or not a list of ids.
    """
    planted = example.metadata.get("planted")
    if not isinstance(planted, list | tuple) or not all(isinstance(question_id, str) for question_id in planted):
        raise DataError(
            f"example {example.id!r} does not say what is planted in it; give a list of question ids, [] for none",
            field="metadata.planted",
        )
    return frozenset(planted)
