"""BinEval's own method (arXiv 2606.27226, section 3.2): every question of a checklist answered for every example.

Begins or resumes a run, asks what is missing, and returns the run.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from bineval.environment import default_store
from bineval.errors import ConfigError
from bineval.hashing import Json
from bineval.io.checklists import load_checklist
from bineval.io.examples import examples_from, read_examples
from bineval.judging.chat import ChatJudge, ChatSettings
from bineval.judging.forecast import Forecast, forecast
from bineval.judging.manifest import checklist_differences, default_name, differences, run_facts, run_identity
from bineval.judging.runner import ProgressCallback, execute, pending_tasks
from bineval.judging.runs import Run
from bineval.models.base import Model
from bineval.models.catalog import ModelOptions, open_model
from bineval.models.reply_json import reply_from_json
from bineval.models.stack import CallPolicy, stack
from bineval.store.database import Store
from bineval.store.replies import StoredReplies
from bineval.store.runs import StoredRun, begin_run, delete_run, find_run, run_names
from bineval.types import Checklist, Example

Data = str | Path | Iterable[Example | Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True, slots=True)
class RunOptions:
    """How a run is made.

    Attributes:
        repeats: How many times each question is asked; flips between repeats are reported.
        limit: Judge only the first so many examples; a later sitting may raise it.
        chat: Mode, evidence, temperature, seed, prompts.
        model: How to reach the judge.
        policy: Limits, budget, notices; nothing in it can change an answer.
    """

    repeats: int = 1
    limit: int | None = None
    chat: ChatSettings = field(default_factory=ChatSettings)
    model: ModelOptions = field(default_factory=ModelOptions)
    policy: CallPolicy = field(default_factory=CallPolicy)

    def __post_init__(self) -> None:
        if self.repeats < 1:
            raise ConfigError(f"repeats must be at least 1, not {self.repeats}")
        if self.limit is not None and self.limit < 1:
            raise ConfigError(f"limit must be at least 1, not {self.limit}")


def evaluate(
    data: Data,
    checklist: str | Path | Checklist,
    *,
    judge: str | Model,
    name: str | None = None,
    store: str | Path | None = None,
    options: RunOptions | None = None,
    on_progress: ProgressCallback | None = None,
) -> Run:
    """Answers every question of `checklist` for every example of `data`, and returns the run.

    A run with the same name, data, checklist, judge and parameters is resumed: nothing is asked twice.

    Args:
        data: A file (JSONL, JSON, CSV, Parquet), or examples, or rows such as `{"input": …, "output": …}`.
        checklist: A YAML file, or a checklist.
        judge: `provider/model`, or a model.
        name: Name of the run; None makes one from data, checklist and judge.
        store: SQLite file or database URL; None for `bineval.db` in the working folder.
        options: Repeats, limit, mode, model and call options.
        on_progress: Told after every batch of verdicts.

    Raises:
        DataError: The data or the checklist is not what it should be.
        ConfigError: Something does not fit; nothing was paid for.
        ModelError: The judge cannot be used; finished verdicts are kept.
        BudgetExceeded: A cap was reached; finished verdicts are kept.
    """
    job = prepare(data, checklist, judge=judge, options=options)
    database = Store(default_store() if store is None else store)
    try:
        return Run(job.execute(database, name, on_progress))
    except BaseException:
        database.close()
        raise


def prepare(
    data: Data, checklist: str | Path | Checklist, *, judge: str | Model, options: RunOptions | None = None
) -> "Job":
    """Reads and checks everything that a run needs; makes no call. Arguments as for `evaluate`."""
    options = options or RunOptions()
    is_file = isinstance(data, str | Path)
    return Job(
        source=str(data) if is_file else "data",
        examples=read_examples(data) if isinstance(data, str | Path) else examples_from(data),
        checklist=checklist if isinstance(checklist, Checklist) else load_checklist(checklist),
        model=open_model(judge, options.model) if isinstance(judge, str) else judge,
        options=options,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """A run that is ready to be made.

    Attributes:
        source: Name of the data, for the run's name.
        examples: All examples of the data; the limit is applied when the job runs.
        checklist: The questions.
        model: The judge's model, without wrappers.
        options: How to run.
    """

    source: str
    examples: Sequence[Example]
    checklist: Checklist
    model: Model
    options: RunOptions

    def __post_init__(self) -> None:
        if not self.examples:
            raise ConfigError(f"{self.source}: there is no example in it")
        if not self.checklist.questions:
            raise ConfigError(f"checklist {self.checklist.name!r} has no question")

    def execute(self, store: Store, name: str | None, on_progress: ProgressCallback | None = None) -> StoredRun:
        """Begins or resumes the run and completes it; see `evaluate` for what it raises."""
        identity = self._identity()
        run = self._begin_or_resume(store, name or self._default_name(identity), identity)
        run.claim()
        try:
            n_covered = self._extend(run)
            judge = ChatJudge(self._wrapped(run), task=self.checklist.task, settings=self.options.chat)
            policy = self.options.policy
            try:
                execute(
                    run,
                    self.examples[:n_covered],
                    judge,
                    repeats=self.options.repeats,
                    n_threads=min(policy.limits.concurrency, judge.max_concurrency or policy.limits.concurrency),
                    on_progress=on_progress,
                )
            finally:
                # A sitting that asks nothing learns nothing: what earlier ones learned stays.
                earlier = cast(dict[str, Json], run.facts.get("parameters_changed", {}))
                run.facts["parameters_changed"] = {**earlier, **judge.parameters_changed()}
        finally:
            run.release()
        return run

    def forecast(self, store: Store, name: str | None) -> Forecast:
        """Returns what the rest of the run will take; makes no call and leaves no trace in the store."""
        identity = self._identity()
        run = _resumable(store, name or self._default_name(identity), identity, self.checklist)
        judge = self._judge()
        tasks = pending_tasks(
            self.checklist,
            self.examples[: self._n_covered(run)],
            judge,
            repeats=self.options.repeats,
            settled=run.settled if run else None,
        )
        return forecast(tasks, judge, self.model, StoredReplies(store))

    def _judge(self) -> ChatJudge:
        return ChatJudge(self.model, task=self.checklist.task, settings=self.options.chat)

    def _identity(self) -> dict[str, Json]:
        return run_identity(self.examples, self.checklist, self._judge(), repeats=self.options.repeats)

    def _default_name(self, identity: Mapping[str, Json]) -> str:
        return default_name(self.source, self.checklist, self._judge(), identity)

    def _begin_or_resume(self, store: Store, name: str, identity: Mapping[str, Json]) -> StoredRun:
        if run := _resumable(store, name, identity, self.checklist):
            return run
        if name in run_names(store):
            delete_run(find_run(store, name))
        facts = {**run_facts(), "judge_name": self.model.name, "n_examples": 0, "n_planned": 0}
        return begin_run(store, name, identity=identity, facts=facts, checklist=self.checklist)

    def _extend(self, run: StoredRun) -> int:
        """Adds the examples that the limit of this sitting lets in; returns how many the run covers."""
        n_covered = self._n_covered(run)
        run.add_examples(self.examples[:n_covered])
        run.facts.update(run_facts())  # of the sitting that wrote last
        run.facts["n_examples"] = n_covered
        run.facts["n_planned"] = n_covered * len(self.checklist.questions) * self.options.repeats
        price = self.model.price
        run.facts["price_usd_per_million"] = None if price is None else [price.input_usd, price.output_usd]
        run.save_facts()
        return n_covered

    def _n_covered(self, run: StoredRun | None) -> int:
        """How many examples a run covers after this sitting: a smaller limit takes none back."""
        n_before = cast(int, run.facts["n_examples"]) if run else 0
        return max(len(self.examples[: self.options.limit]), n_before)

    def _wrapped(self, run: StoredRun) -> Model:
        uncounted = run.uncounted_replies()
        # Replies that no verdict counts yet were paid for all the same.
        paid = [reply_from_json(reply, key=key, cached=False).usage for key, reply in uncounted.items()]
        policy = replace(self.options.policy, spent=sum(paid, run.usage()))
        return stack(self.model, policy, replies=StoredReplies(run.store, run_id=run.id, uncounted=uncounted))


def _resumable(store: Store, name: str, identity: Mapping[str, Json], checklist: Checklist) -> StoredRun | None:
    """The run called `name`; None when there is none, or a different one that never got an answer (a wrong key, say).

    Raises:
        ConfigError: It differs in what can change its answers.
    """
    if name not in run_names(store):
        return None
    run = find_run(store, name)
    if lines := differences(run.identity, identity):
        if run.n_verdicts() == 0:
            return None
        raise ConfigError(
            f"run {run.name!r} cannot be resumed, for these would change its answers:\n  "
            + "\n  ".join([*lines, *checklist_differences(run.checklist, checklist)])
            + "\nuse another --name for a new run (answers that are the same come from the reply cache)"
        )
    return run
