"""What every loop needs around it: its split, its store, one budget for all its models, and a name that is its own."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Protocol, Self

from bineval.errors import ConfigError
from bineval.generation.drafting import Drafter, GenerateSettings
from bineval.hashing import Json
from bineval.judging.job import RunOptions
from bineval.judging.runner import ProgressCallback
from bineval.models.base import Model, Wrapper
from bineval.models.budget import Ledger
from bineval.models.stack import stack
from bineval.optimize.evaluator import Evaluator
from bineval.optimize.loop import LoopSettings
from bineval.optimize.record import LoopRecord, record_from_json
from bineval.optimize.replies import OPTIMIZE_VARIABLES
from bineval.stats.intervals import FEWEST_GROUPS, resampling_group
from bineval.stats.splits import split_by_group
from bineval.store.database import Store
from bineval.store.loops import claim_loop
from bineval.store.replies import StoredReplies
from bineval.types import Checklist, Example, Reply, Request, Usage

SPLITS = ("train", "dev", "test")


class LoopTask(Protocol):
    """What a loop is about, whoever's prompt it improves."""

    @property
    def examples(self) -> Sequence[Example]:
        """To be split by group."""
        ...

    @property
    def checklist(self) -> Checklist:
        """The questions."""
        ...

    @property
    def note_taker(self) -> Model:
        """Writes lessons and edits."""
        ...

    @property
    def n_train(self) -> int:
        """Examples of train, at least."""
        ...

    @property
    def n_dev(self) -> int:
        """Examples of dev, at least; the rest is test."""
        ...

    @property
    def settings(self) -> LoopSettings:
        """How to look for better rules."""
        ...

    @property
    def write(self) -> GenerateSettings:
        """How the note-taker is asked."""
        ...

    @property
    def options(self) -> RunOptions:
        """Repeats and call options of all judges."""
        ...

    def identity(self) -> dict[str, Json]:
        """What a resumed loop must share, but for the note-taker."""
        ...


class LoopSession:
    """One sitting of a loop; a context manager that has the loop for itself.

    Args:
        task: What the loop is about.
        store: Keeps prompts, lessons, runs and replies.
        name: Name of the loop; its runs stand under it.
        say: Told what comes next.
        on_progress: Told after every batch of verdicts.

    Attributes:
        drafter: Asks the note-taker, and once more for what is wrong with a reply.
        evaluator: Makes the runs.
        finished: The record of a loop that has ended already; None for one that goes on.

    Raises:
        ConfigError: The examples are too few, or the store has another loop of this name.
        StoreError: Another process works on it.
    """

    def __init__(
        self,
        task: LoopTask,
        store: Store,
        name: str,
        *,
        say: Callable[[str], None],
        on_progress: ProgressCallback | None,
    ) -> None:
        parts = split_examples(task.examples, (task.n_train, task.n_dev), seed=task.settings.seed)
        self._store, self._policy = store, task.options.policy
        self._ledger = Ledger(task.options.policy.budget)
        self._counted: list[Counted] = []
        settings = replace(task.write, max_rounds=1, on_step=say)
        self.drafter = Drafter(self.wrapped(task.note_taker), settings, OPTIMIZE_VARIABLES, again="optimize_again")
        self._loop = claim_loop(store, name, {**task.identity(), "note-taker": self.drafter.provenance()})
        earlier = self._loop.earlier
        self._ledger.book_earlier(f"{name}, outside runs", earlier.spent)
        self._earlier = None if earlier.record is None else record_from_json(earlier.record)
        self.finished = self._earlier if self._earlier is not None and self._earlier.ending is not None else None
        self.evaluator = Evaluator(
            store=store,
            loop=name,
            checklist=task.checklist,
            parts=parts,
            options=task.options,
            ledger=self._ledger,
            say=say,
            on_progress=on_progress,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.save(None, self._spent())
        self._loop.release()

    def wrapped(self, model: Model) -> Model:
        """A model that works outside runs, with the reply cache, the budget of the loop and the limits around it."""
        counted = Counted(model)
        self._counted.append(counted)
        return stack(counted, self._policy, replies=StoredReplies(self._store), ledger=self._ledger)

    def keep(self, record: LoopRecord) -> None:
        """Saves what the loop has come to; while it goes again the way of earlier sittings, theirs stays."""
        known = 0 if self._earlier is None else len(self._earlier.iterations)
        if record.ending is not None or len(record.iterations) >= known:
            self._loop.save(record.to_json(), self._spent())

    def _spent(self) -> Usage:
        return sum((counted.usage for counted in self._counted), self._loop.earlier.spent)


class Counted(Wrapper):
    """Counts what a model uses for the replies that it gives."""

    def __init__(self, inner: Model) -> None:
        super().__init__(inner)
        self.usage = Usage()

    def complete(self, request: Request) -> Reply:
        """The model's reply."""
        return self._count(self.inner.complete(request))

    def complete_many(self, requests: Sequence[Request]) -> list[Reply]:
        """The model's replies."""
        return [self._count(reply) for reply in self.inner.complete_many(requests)]

    def _count(self, reply: Reply) -> Reply:
        price = self.inner.price
        self.usage += replace(reply.usage, cost_usd=None if price is None else price.of(reply.usage))
        return reply


def split_examples(examples: Sequence[Example], sizes: Sequence[int], *, seed: int) -> dict[str, list[Example]]:
    """The examples of train and dev, at least `sizes` of them, and of test, all others; groups stay together.

    Raises:
        ConfigError: They are too few, or are of too few groups for intervals.
    """
    places = split_by_group([resampling_group(example) for example in examples], sizes=sizes, seed=seed)
    parts = {name: [examples[place] for place in part] for name, part in zip(SPLITS, places, strict=True)}
    for name in SPLITS[1:]:
        n_groups = len({resampling_group(example) for example in parts[name]})
        if n_groups < FEWEST_GROUPS:
            raise ConfigError(
                f"{name} has {len(parts[name])} examples of {n_groups} groups, and with fewer than {FEWEST_GROUPS} "
                "nothing can be told from noise: give it more, or give more data"
            )
    return parts
