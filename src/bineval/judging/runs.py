"""A run as users see it: its manifest, examples, verdicts, scores, and whether it is complete."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from types import TracebackType
from typing import Self, cast

from bineval.diagnose import QuestionFacts, question_facts
from bineval.hashing import Json
from bineval.judging.composition import CascadeFacts, PanelFacts, composition
from bineval.scoring import score_rows
from bineval.store.database import Store
from bineval.store.runs import StoredRun, find_run
from bineval.types import Checklist, Example, Reason, Score, Usage, VerdictRow


@dataclass(frozen=True, kw_only=True, slots=True)
class RunStatus:
    """How complete a run is.

    Attributes:
        n_planned: Verdicts planned.
        n_done: Verdicts there are, answered or not.
        n_answered: Verdicts "yes" or "no".
        n_not_applicable: Verdicts "not applicable".
        n_unanswered: Verdicts without an answer, those that do not apply left out.
        n_cached: Verdicts from the reply cache, paid for by other work.
    """

    n_planned: int
    n_done: int
    n_answered: int
    n_not_applicable: int
    n_unanswered: int
    n_cached: int

    @property
    def finished(self) -> bool:
        """Whether every planned verdict is there; a run that was cut off while it was set up has planned none yet."""
        return 0 < self.n_planned <= self.n_done

    @property
    def unanswered_share(self) -> float:
        """Share of unanswered verdicts among those that apply, in [0, 1]; 0 when there is none that applies."""
        n = self.n_answered + self.n_unanswered
        return self.n_unanswered / n if n else 0.0


class Run:
    """All verdicts of one evaluation, with what was asked about what; a context manager that closes its store."""

    def __init__(self, stored: StoredRun) -> None:
        self._stored = stored

    @classmethod
    def open(cls, store: Store, name: str) -> Self:
        """Opens the run `name` of an open store.

        Raises:
            UnknownNameError: There is none.
        """
        return cls(find_run(store, name))

    @property
    def name(self) -> str:
        """Its name, unique in its store."""
        return self._stored.name

    @property
    def checklist(self) -> Checklist:
        """The questions asked."""
        return self._stored.checklist

    @property
    def manifest(self) -> dict[str, Json]:
        """What made the run: hashes of data, checklist and prompts; judge; parameters; versions."""
        return {"name": self.name, **self._stored.identity, **self._stored.facts}

    @property
    def judge(self) -> str:
        """Name of the judge."""
        return str(self._stored.facts["judge_name"])

    def usage(self) -> Usage:
        """Tokens, calls and money paid for this run, over all sittings."""
        return self._stored.usage()

    def examples(self) -> Iterator[Example]:
        """Yields the examples in the order of the data."""
        return self._stored.examples()

    def verdicts(self) -> Iterator[VerdictRow]:
        """Yields all verdicts, by example, question, sentence and repeat."""
        return self._stored.rows()

    def scores(self) -> Iterator[tuple[Example, dict[str, Score]]]:
        """Yields each example with its scores by dimension and "overall"; one not judged yet has values None."""
        groups = groupby(self.verdicts(), key=lambda row: row.example_id)
        group = next(groups, None)
        for example in self.examples():
            rows: Iterator[VerdictRow] = iter(())
            if group is not None and group[0] == example.id:
                rows = iter(list(group[1]))
                group = next(groups, None)
            yield example, score_rows(self.checklist, rows)

    def composition(self) -> CascadeFacts | PanelFacts | None:
        """Returns who answered and who agreed, in a run of a cascade or a panel; None for a single judge."""
        return composition(self.verdicts(), cast(Mapping[str, Json], self._stored.identity.get("judge", {})))

    def question_facts(self) -> list[QuestionFacts]:
        """Returns how often each question failed, was unanswered, or flipped between repeats."""
        return question_facts(self.verdicts())

    def status(self) -> RunStatus:
        """Returns how complete the run is."""
        n_by_reason: Counter[Reason | None] = Counter()
        n_cached = 0
        for (reason, cached), n in self._stored.counts().items():
            n_by_reason[reason] += n
            n_cached += n if cached else 0
        n_done, n_answered, n_not_applicable = n_by_reason.total(), n_by_reason[None], n_by_reason["not_applicable"]
        return RunStatus(
            n_planned=cast(int, self._stored.facts["n_planned"]),
            n_done=n_done,
            n_answered=n_answered,
            n_not_applicable=n_not_applicable,
            n_unanswered=n_done - n_answered - n_not_applicable,
            n_cached=n_cached,
        )

    def first_unanswered(self) -> VerdictRow | None:
        """Returns the first verdict without an answer, those that do not apply left out."""
        return self._stored.first_unanswered()

    def close(self) -> None:
        """Closes the store."""
        self._stored.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
