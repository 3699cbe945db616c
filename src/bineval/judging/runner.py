"""Asks a judge every question of a run that has no verdict yet, and saves the verdicts as they come."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace

from bineval.errors import BinevalError, BudgetExceeded
from bineval.judging.base import Judge
from bineval.judging.crew import Crew, Outcome, Task
from bineval.judging.units import Units
from bineval.store.runs import PlacedRow, Settled, StoredRun
from bineval.types import Example, Usage, Verdict, VerdictRow

_SAVE_AFTER_S = 0.5
_SAVE_AFTER_ROWS = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """Where a run stands.

    Attributes:
        n_planned: Verdicts planned: of each example, its questions (those per sentence, of each sentence) x repeats.
        n_done: Verdicts that need no further call from earlier sittings, and all of this one.
        n_fresh: Verdicts of this sitting.
        n_cached: Of these, the ones from the reply cache.
        n_unanswered: Verdicts of this sitting without an answer, those that do not apply left out.
        n_not_applicable: Verdicts of all sittings that do not apply.
        usage: Tokens and calls paid, earlier sittings included.
        stopping: Whether the run was interrupted, and only waits for the calls under way.
    """

    n_planned: int
    n_done: int
    n_fresh: int = 0
    n_cached: int = 0
    n_unanswered: int = 0
    n_not_applicable: int = 0
    usage: Usage
    stopping: bool = False

    def after(self, verdicts: Sequence[Verdict]) -> "Progress":
        """Where the run stands after these verdicts too."""
        paid = sum((verdict.usage for verdict in verdicts), Usage())
        return replace(
            self,
            n_done=self.n_done + len(verdicts),
            n_fresh=self.n_fresh + len(verdicts),
            n_cached=self.n_cached + sum(verdict.cached for verdict in verdicts),
            n_unanswered=self.n_unanswered + sum(is_unanswered(verdict) for verdict in verdicts),
            n_not_applicable=self.n_not_applicable + sum(v.reason == "not_applicable" for v in verdicts),
            usage=self.usage + paid,
        )


ProgressCallback = Callable[[Progress], None]


def is_unanswered(verdict: Verdict) -> bool:
    """Whether a verdict that should have an answer has none."""
    return verdict.reason is not None and verdict.reason != "not_applicable"


def execute(
    run: StoredRun,
    examples: Sequence[Example],
    judge: Judge,
    *,
    repeats: int,
    n_threads: int,
    until: int | None = None,
    on_progress: ProgressCallback | None = None,
) -> None:
    """Completes a run that this process has claimed, or its first `until` examples.

    Whatever ends it early, every verdict received is saved first, and a note on the error says how many are kept.

    Raises:
        BinevalError: The judge can go no further (see `Judge.ask`), or the store fails.
        KeyboardInterrupt: As it came; calls under way were waited for, until a second one came.
    """
    units = Units(run.checklist)
    settled = run.settled if run.n_verdicts() else None
    tasks = pending_tasks(units, examples[:until], judge, repeats=repeats, settled=settled)
    crew = Crew(judge, tasks, n_threads=n_threads)
    book = _Book(run, units.count(examples) * repeats, on_progress)
    try:
        _collect(crew, book)
    except (BinevalError, KeyboardInterrupt) as error:
        book.save()
        # Verdicts that failed with an error are saved too, but they are asked again.
        n_settled = run.n_settled()
        if isinstance(error, BudgetExceeded):
            error.finished = n_settled
        kept = f"{n_settled} of {book.progress.n_planned} verdicts are kept in run {run.name}"
        error.add_note(f"{kept}; the same command goes on from there")
        raise
    finally:
        crew.stop()
        book.close()


def _collect(crew: Crew, book: "_Book") -> None:
    try:
        for outcome in crew.outcomes():
            book.enter(outcome)
    except KeyboardInterrupt:
        crew.stop()
        book.stop()
        # Why a call under way fails does not matter any more.
        with suppress(BinevalError):
            for outcome in crew.outcomes():
                book.enter(outcome)
        raise


def pending_tasks(
    units: Units,
    examples: Sequence[Example],
    judge: Judge,
    *,
    repeats: int,
    settled: Callable[[int], set[Settled]] | None = None,
) -> Iterator[Task]:
    """Yields the tasks of a run that are not settled yet, example by example.

    Args:
        units: The questions, for each example.
        examples: The examples, in the order of the data.
        judge: Its batches are the tasks.
        repeats: How many times each question is asked.
        settled: For an example's position, what needs no further call; None when nothing is settled.
    """
    for position, example in enumerate(examples):
        done = settled(position) if settled else set()
        asked = {item.question.id: item for item in units.of(example)}
        batches = judge.batches([item.question for item in asked.values()])
        for repeat in range(repeats):
            for batch in batches:
                items = (asked[question.id] for question in batch)
                missing = tuple(item for item in items if (item.place, item.unit, repeat) not in done)
                if missing:
                    yield Task(position=position, example=example, questions=missing, repeat=repeat)


class _Book:
    """Collects outcomes, saves them every now and then, and tells the progress."""

    def __init__(self, run: StoredRun, n_planned: int, on_progress: ProgressCallback | None) -> None:
        self._run, self._on_progress = run, on_progress
        n_not_applicable = sum(n for (reason, _), n in run.counts().items() if reason == "not_applicable")
        self.progress = Progress(
            n_planned=n_planned, n_done=run.n_settled(), n_not_applicable=n_not_applicable, usage=run.usage()
        )
        self._rows: list[PlacedRow] = []
        self._saved_at = time.monotonic()
        # An interruption reaches the main thread only: in one of its own, no transaction is left half done.
        self._saver = ThreadPoolExecutor(1, thread_name_prefix="bineval-save")
        self._tell()

    def enter(self, outcome: Outcome) -> None:
        """Books one outcome."""
        task = outcome.task
        for asked, verdict in zip(task.questions, outcome.verdicts, strict=True):
            row = VerdictRow(
                example_id=task.example.id,
                question_id=asked.original.id,
                dimension=asked.original.dimension,
                unit=asked.unit,
                sentence=asked.question.sentence,
                repeat=task.repeat,
                verdict=verdict,
            )
            self._rows.append(PlacedRow(position=task.position, question=asked.place, row=row))
        self.progress = self.progress.after(outcome.verdicts)
        self._tell()
        if len(self._rows) >= _SAVE_AFTER_ROWS or time.monotonic() - self._saved_at >= _SAVE_AFTER_S:
            self.save()

    def stop(self) -> None:
        """Tells that the run was interrupted."""
        self.progress = replace(self.progress, stopping=True)
        self._tell()

    def save(self) -> None:
        """Saves what is not saved yet."""
        # Forgotten only when saved: an interruption in between saves them again, which changes nothing.
        self._saver.submit(self._run.save, tuple(self._rows)).result()
        self._rows = []
        self._saved_at = time.monotonic()

    def close(self) -> None:
        """Saves what is not saved yet; nothing can be entered any more."""
        try:
            self.save()
        finally:
            self._saver.shutdown(wait=False)

    def _tell(self) -> None:
        if self._on_progress is not None:
            self._on_progress(self.progress)
