"""A run that is ready to be made: begins or resumes it in a store, asks what is missing, or forecasts that."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from bineval.errors import BudgetExceeded, ConfigError
from bineval.hashing import Json
from bineval.judging.base import Judge
from bineval.judging.cautions import cautions
from bineval.judging.forecast import Forecast, forecast
from bineval.judging.manifest import checklist_differences, default_name, differences, run_facts, run_identity
from bineval.judging.plans import JudgeOptions, JudgePlan, Wrap
from bineval.judging.runner import ProgressCallback, execute, pending_tasks
from bineval.judging.units import Units
from bineval.models.budget import Ledger
from bineval.models.catalog import ModelOptions
from bineval.models.one_by_one import OneByOne
from bineval.models.recorder import AnsweringModels, Recorded
from bineval.models.reply_json import reply_from_json
from bineval.models.stack import CallPolicy, stack
from bineval.store.database import Store
from bineval.store.replies import StoredReplies
from bineval.store.runs import StoredRun, begin_run, delete_run, find_run, run_names
from bineval.types import Checklist, Example, Usage


@dataclass(frozen=True, kw_only=True, slots=True)
class RunOptions:
    """How a run is made.

    Attributes:
        repeats: How many times each question is asked; flips between repeats are reported.
        limit: Judge only the first so many examples; a later sitting may raise it.
        judge: How the judge is asked; a plan says so itself.
        model: How to reach the judge.
        policy: Limits, budget, notices; nothing in it can change an answer.
    """

    repeats: int = 1
    limit: int | None = None
    judge: JudgeOptions = field(default_factory=JudgeOptions)
    model: ModelOptions = field(default_factory=ModelOptions)
    policy: CallPolicy = field(default_factory=CallPolicy)

    def __post_init__(self) -> None:
        if self.repeats < 1:
            raise ConfigError(f"repeats must be at least 1, not {self.repeats}")
        if self.limit is not None and self.limit < 1:
            raise ConfigError(f"limit must be at least 1, not {self.limit}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """A run that is ready to be made.

    Attributes:
        source: Name of the data, for the run's name.
        examples: All examples of the data; the limit is applied when the job runs.
        checklist: The questions.
        plan: The judge, to be built with wrapped models.
        options: How to run.
    """

    source: str
    examples: Sequence[Example]
    checklist: Checklist
    plan: JudgePlan
    options: RunOptions

    def __post_init__(self) -> None:
        if not self.examples:
            raise ConfigError(f"{self.source}: there is no example in it")
        if not self.checklist.questions:
            raise ConfigError(f"checklist {self.checklist.name!r} has no question")
        self._units()  # a language that cannot be split is found before anything else is

    def execute(
        self,
        store: Store,
        name: str | None,
        on_progress: ProgressCallback | None = None,
        *,
        ledger: Ledger | None = None,
        until: int | None = None,
    ) -> StoredRun:
        """Begins or resumes the run and completes it; see `evaluate` for what it raises.

        Args:
            store: Keeps the run.
            name: Name of the run; None makes one.
            on_progress: Told after every batch of verdicts.
            ledger: Shared with other work on the same budget; None for a budget of the run's own.
            until: Ask about the first so many examples in this sitting, and leave the rest of the run for later ones.
        """
        identity = self._identity()
        run = self._begin_or_resume(store, name or self._default_name(identity), identity)
        run.claim()
        try:
            n_covered = self._extend(run)
            uncounted = run.uncounted_replies()
            ledger = ledger or Ledger(self.options.policy.budget)
            ledger.book_earlier(run.name, self._spent(run, uncounted))
            wrap = self._wrapper(run, ledger, uncounted)
            try:
                self._ask(run, n_covered, wrap, until, on_progress)
            except BudgetExceeded:
                if not any(model.capabilities.shares_prefix for model in self.plan.models()):
                    raise
                # Too little is left for one more batch, but perhaps not for some of its requests.
                wrap = self._wrapper(run, ledger, run.uncounted_replies())
                self._ask(run, n_covered, lambda model: OneByOne(wrap(model)), until, on_progress)
        finally:
            run.release()
        return run

    def _ask(
        self, run: StoredRun, n_covered: int, wrap: Wrap, until: int | None, on_progress: ProgressCallback | None
    ) -> None:
        """Asks what the run still misses, and notes what was learned about its models."""
        policy = self.options.policy
        seen = cast(dict[str, list[str]], run.facts.get("answering_models", {}))
        answering = AnsweringModels(seen, notice=policy.notice)
        judge = self._judge(lambda model: Recorded(wrap(model), answering))
        try:
            execute(
                run,
                self.examples[:n_covered],
                judge,
                repeats=self.options.repeats,
                n_threads=min(policy.limits.concurrency, judge.max_concurrency or policy.limits.concurrency),
                until=until,
                on_progress=on_progress,
            )
        finally:
            # A sitting that asks nothing learns nothing: what earlier ones learned stays.
            earlier = cast(dict[str, Json], run.facts.get("parameters_changed", {}))
            run.facts["parameters_changed"] = {**earlier, **judge.parameters_changed()}
            run.facts["answering_models"] = cast(Json, answering.by_name())

    def forecast(self, store: Store, name: str | None) -> Forecast:
        """Returns what the rest of the run will take; makes no call and leaves no trace in the store."""
        identity = self._identity()
        run = _resumable(store, name or self._default_name(identity), identity, self.checklist)
        judge = self._judge()
        tasks = pending_tasks(
            self._units(),
            self.examples[: self._n_covered(run)],
            judge,
            repeats=self.options.repeats,
            settled=run.settled if run else None,
        )
        return forecast(tasks, judge, StoredReplies(store))

    def n_planned(self) -> int:
        """Verdicts of the whole run, whatever its limit."""
        return self._units().count(self.examples) * self.options.repeats

    def check(self) -> None:
        """Makes sure that the judge can answer the questions; makes no call.

        Raises:
            ConfigError: It cannot, as it is set up.
        """
        self._judge()

    def cautions(self) -> list[str]:
        """What a person should know before the run is paid for; makes no call, and raises what `check` does."""
        covered = self.examples[: self.options.limit]
        return cautions(self._judge(), self.plan.models(), self._units(), covered)

    def _judge(self, wrap: Wrap = lambda model: model) -> Judge:
        return self.plan.build(wrap, checklist=self.checklist)

    def _units(self) -> Units:
        return Units(self.checklist)

    def _identity(self) -> dict[str, Json]:
        identity = run_identity(self.examples, self.checklist, self._judge(), repeats=self.options.repeats)
        # Another version of the splitter may number the sentences otherwise: verdicts of both must not be mixed.
        splitter = self._units().splitter
        return identity if splitter is None else {**identity, "sentence_splitter": splitter}

    def _default_name(self, identity: Mapping[str, Json]) -> str:
        return default_name(self.source, self.checklist, self._judge(), identity)

    def _begin_or_resume(self, store: Store, name: str, identity: Mapping[str, Json]) -> StoredRun:
        if run := _resumable(store, name, identity, self.checklist):
            return run
        if name in run_names(store):
            delete_run(find_run(store, name))
        facts = {**run_facts(), "judge_name": self.plan.name, "n_examples": 0, "n_planned": 0}
        return begin_run(store, name, identity=identity, facts=facts, checklist=self.checklist)

    def _extend(self, run: StoredRun) -> int:
        """Adds the examples that the limit of this sitting lets in; returns how many the run covers."""
        n_covered = self._n_covered(run)
        run.add_examples(self.examples[:n_covered])
        run.facts.update(run_facts())  # of the sitting that wrote last
        run.facts["n_examples"] = n_covered
        run.facts["n_planned"] = self._units().count(self.examples[:n_covered]) * self.options.repeats
        run.save_facts()
        return n_covered

    def _n_covered(self, run: StoredRun | None) -> int:
        """How many examples a run covers after this sitting: a smaller limit takes none back."""
        n_before = cast(int, run.facts["n_examples"]) if run else 0
        return max(len(self.examples[: self.options.limit]), n_before)

    def _priced(self, usage: Usage) -> Usage:
        """What was used, at the highest price of the models."""
        prices = [model.price for model in self.plan.models()]
        costs = [None if price is None else price.of(usage) for price in prices]
        return replace(usage, cost_usd=max((cost for cost in costs if cost is not None), default=None))

    def _spent(self, run: StoredRun, uncounted: Mapping[str, dict[str, Json]]) -> Usage:
        """What earlier sittings used."""
        # Replies that no verdict counts yet were paid for all the same; nobody knows any more by which of the models.
        paid = [reply_from_json(reply, key=key, cached=False).usage for key, reply in uncounted.items()]
        return sum((self._priced(usage) for usage in paid), run.usage())

    def _wrapper(self, run: StoredRun, ledger: Ledger, uncounted: Iterable[str]) -> Wrap:
        """Puts the wrappers around each model of the judge; they share one budget."""
        policy, replies = self.options.policy, StoredReplies(run.store, run_id=run.id, uncounted=uncounted)
        return lambda model: stack(model, policy, replies=replies, ledger=ledger)


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
