"""The main job: reads data and checklist, begins or resumes a run by some method, asks what is missing.

The usual method is BinEval's own (arXiv 2606.27226, section 3.2): every question answered for every example.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePath
from typing import Any

from bineval.environment import default_store
from bineval.errors import ConfigError
from bineval.io.checklists import load_checklist
from bineval.io.examples import examples_from, read_examples
from bineval.judging.job import Job, RunOptions
from bineval.judging.plans import JudgePlan, SingleJudge
from bineval.judging.runner import ProgressCallback
from bineval.judging.runs import Run
from bineval.methods.catalog import STEPS_FIRST, MethodOptions, dimensions_checklist, prepare_method
from bineval.methods.geval import OnlyKept
from bineval.models.base import Model
from bineval.models.budget import Ledger
from bineval.models.cache import ReplyCache
from bineval.models.catalog import open_model
from bineval.models.stack import stack
from bineval.store.database import Store
from bineval.store.replies import StoredReplies
from bineval.types import Checklist, Example

Data = str | Path | Iterable[Example | Mapping[str, Any]]


def evaluate(
    data: Data,
    checklist: str | Path | Checklist | None = None,
    *,
    judge: str | Model | JudgePlan | None = None,
    method: str = "binary",
    method_options: MethodOptions | None = None,
    name: str | None = None,
    store: str | Path | None = None,
    options: RunOptions | None = None,
    on_progress: ProgressCallback | None = None,
) -> Run:
    """Answers every question of `checklist` for every example of `data`, and returns the run.

    A run with the same name, data, checklist, judge and parameters is resumed: nothing is asked twice.

    Args:
        data: A file (JSONL, JSON, CSV, Parquet), or examples, or rows such as `{"input": …, "output": …}`.
        checklist: A YAML file, or a checklist. Methods other than "binary" take only its task and dimensions; without
            one these are the dimensions of the examples' human labels.
        judge: `provider/model`, or a model, or a plan such as a cascade; None for a metric.
        method: One of `bineval.methods.catalog.METHODS`: "binary" asks the questions of the checklist.
        method_options: What single methods need.
        name: Name of the run; None makes one from data, checklist and judge.
        store: SQLite file or database URL; None for `bineval.db` in the working folder.
        options: Repeats, limit, how to ask, model and call options.
        on_progress: Told after every batch of verdicts.

    Raises:
        DataError: The data or the checklist is not what it should be.
        ConfigError: Something does not fit; nothing was paid for.
        ModelError: The judge cannot be used; finished verdicts are kept.
        BudgetExceeded: A cap was reached; finished verdicts are kept.
    """
    job_with = _job_maker(data, checklist, judge, method, method_options, options)
    job = job_with(None)  # whatever does not fit is found before there is a store
    if method in STEPS_FIRST:
        job.check()  # and before its steps are paid for
    database, ledger = Store(default_store() if store is None else store), Ledger(job.options.policy.budget)
    try:
        if method in STEPS_FIRST:
            job = job_with(StoredReplies(database), ledger=ledger)
        return Run(job.execute(database, name, on_progress, ledger=ledger))
    except BaseException:
        database.close()
        raise


def prepare(
    data: Data,
    checklist: str | Path | Checklist | None = None,
    *,
    judge: str | Model | JudgePlan | None = None,
    method: str = "binary",
    method_options: MethodOptions | None = None,
    options: RunOptions | None = None,
) -> Job:
    """Reads and checks everything that a run needs; makes no call. Arguments as for `evaluate`."""
    return _job_maker(data, checklist, judge, method, method_options, options)(None)


def _job_maker(
    data: Data,
    checklist: str | Path | Checklist | None,
    judge: str | Model | JudgePlan | None,
    method: str,
    method_options: MethodOptions | None,
    options: RunOptions | None,
) -> Callable[..., Job]:
    """Reads the data and opens the judge, once; what it returns makes the run ready, as `job_for` does."""
    options = options or RunOptions()
    return partial(
        job_for,
        read_examples(data) if isinstance(data, str | Path) else examples_from(data),
        checklist,
        source=str(data) if isinstance(data, str | Path) else "data",
        plan=None if judge is None else plan_for(judge, options),
        method=method,
        method_options=method_options,
        options=options,
    )


def job_for(
    examples: Sequence[Example],
    checklist: str | Path | Checklist | None,
    replies: ReplyCache | None,
    *,
    source: str,
    plan: JudgePlan | None,
    method: str = "binary",
    method_options: MethodOptions | None = None,
    options: RunOptions | None = None,
    ledger: Ledger | None = None,
    only_kept: bool = False,
) -> Job:
    """Makes the run of `method` on `examples` ready.

    Args:
        examples: What is judged.
        checklist: Questions, or the dimensions of methods other than "binary"; None for those of the human labels.
        replies: Keeps the replies to the calls that a method makes before its run; None makes no such call.
        source: Name of the data.
        plan: The judge; None for a metric.
        method: How the dimensions are judged.
        method_options: What single methods need.
        options: Repeats, limit, call options.
        ledger: Counts these calls; None for a budget of their own.
        only_kept: Whether to make no such call, and only take from `replies` what is kept there, for a forecast.
    """
    options = options or RunOptions()

    def wrap(model: Model) -> Model:
        return stack(OnlyKept(model) if only_kept else model, options.policy, replies=replies, ledger=ledger)

    prepared = prepare_method(
        method,
        checklist_for(checklist, examples, source=source, method=method),
        plan,
        options=method_options,
        wrap=None if replies is None else wrap,
    )
    return Job(source=source, examples=examples, checklist=prepared.checklist, plan=prepared.plan, options=options)


def checklist_for(
    checklist: str | Path | Checklist | None, examples: Sequence[Example], *, source: str, method: str
) -> Checklist:
    """The checklist that is given, or else the dimensions of the examples' human labels.

    Raises:
        ConfigError: There is neither, or the method asks the questions of a checklist.
    """
    if checklist is not None:
        return checklist if isinstance(checklist, Checklist) else load_checklist(checklist)
    if method == "binary":
        raise ConfigError("the binary method asks the questions of a checklist: give one (--checklist FILE)")
    return dimensions_checklist(examples, name=PurePath(source).name.split(".")[0])


def plan_for(judge: str | Model | JudgePlan, options: RunOptions) -> JudgePlan:
    """The plan for a judge given by name, as a model, or as a plan."""
    if isinstance(judge, str):
        judge = open_model(judge, options.model)
    return judge if isinstance(judge, JudgePlan) else SingleJudge(model=judge, options=options.judge)
