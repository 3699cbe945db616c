"""The verdicts of each question of a run, counted: how often it fails, is unanswered, or flips."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from bineval.types import Reason, Verdict, VerdictRow


@dataclass(frozen=True, kw_only=True, slots=True)
class QuestionFacts:
    """What the verdicts of one question say about it.

    Attributes:
        question_id: Its id.
        dimension: Its dimension.
        n_yes: Verdicts "yes", each repeat counted.
        n_no: Verdicts "no".
        reasons: How many verdicts have no answer, by reason.
        n_repeated: Examples (for a question asked per sentence: sentences) with at least two answered repeats.
        n_flipped: Of these, the ones whose repeats do not all agree.
        failed: Ids of the examples with a "no", in the order of the data.
    """

    question_id: str
    dimension: str
    n_yes: int
    n_no: int
    reasons: dict[Reason, int]
    n_repeated: int
    n_flipped: int
    failed: tuple[str, ...]

    @property
    def fail_rate(self) -> float | None:
        """Share of "no" among the answers, in [0, 1]; None without answers."""
        n = self.n_yes + self.n_no
        return self.n_no / n if n else None

    @property
    def n_unanswered(self) -> int:
        """Verdicts without an answer, those that do not apply left out."""
        return sum(n for reason, n in self.reasons.items() if reason != "not_applicable")

    @property
    def flip_rate(self) -> float | None:
        """Share of repeated examples or sentences whose answer flipped; None without repeats."""
        return self.n_flipped / self.n_repeated if self.n_repeated else None


def question_facts(rows: Iterable[VerdictRow]) -> list[QuestionFacts]:
    """Returns the facts of each question, in the order of their first verdict; rows as a run yields them."""
    tallies: dict[str, _Tally] = {}
    for (_, question_id, _), group in groupby(rows, key=lambda row: (row.example_id, row.question_id, row.unit)):
        repeats = list(group)
        tally = tallies.setdefault(question_id, _Tally(question_id, repeats[0].dimension))
        tally.add(repeats[0].example_id, [row.verdict for row in repeats])
    return [tally.facts() for tally in tallies.values()]


class _Tally:
    def __init__(self, question_id: str, dimension: str) -> None:
        self._question_id, self._dimension = question_id, dimension
        self._answers: Counter[str] = Counter()
        self._reasons: dict[Reason, int] = defaultdict(int)
        self._n_repeated = self._n_flipped = 0
        self._failed: list[str] = []

    def add(self, example_id: str, repeats: list[Verdict]) -> None:
        answers = [verdict.answer for verdict in repeats if verdict.answer is not None]
        self._answers.update(answers)
        for verdict in repeats:
            if verdict.reason is not None:
                self._reasons[verdict.reason] += 1
        if len(answers) > 1:
            self._n_repeated += 1
            self._n_flipped += len(set(answers)) > 1
        # The units of an example follow each other; one "no" among them is enough.
        if "no" in answers and self._failed[-1:] != [example_id]:
            self._failed.append(example_id)

    def facts(self) -> QuestionFacts:
        return QuestionFacts(
            question_id=self._question_id,
            dimension=self._dimension,
            n_yes=self._answers["yes"],
            n_no=self._answers["no"],
            reasons=dict(self._reasons),
            n_repeated=self._n_repeated,
            n_flipped=self._n_flipped,
            failed=tuple(self._failed),
        )
