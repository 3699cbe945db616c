"""BinEval's own method (arXiv 2606.27226, section 3.2): every question of a checklist answered for every example.

Begins or resumes a run, asks what is missing, and returns the run.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bineval.environment import default_store
from bineval.io.checklists import load_checklist
from bineval.io.examples import examples_from, read_examples
from bineval.judging.job import Job, RunOptions
from bineval.judging.plans import JudgePlan, SingleJudge
from bineval.judging.runner import ProgressCallback
from bineval.judging.runs import Run
from bineval.models.base import Model
from bineval.models.catalog import open_model
from bineval.store.database import Store
from bineval.types import Checklist, Example

Data = str | Path | Iterable[Example | Mapping[str, Any]]


def evaluate(
    data: Data,
    checklist: str | Path | Checklist,
    *,
    judge: str | Model | JudgePlan,
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
        judge: `provider/model`, or a model, or a plan such as a cascade.
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
    job = prepare(data, checklist, judge=judge, options=options)
    database = Store(default_store() if store is None else store)
    try:
        return Run(job.execute(database, name, on_progress))
    except BaseException:
        database.close()
        raise


def prepare(
    data: Data, checklist: str | Path | Checklist, *, judge: str | Model | JudgePlan, options: RunOptions | None = None
) -> Job:
    """Reads and checks everything that a run needs; makes no call. Arguments as for `evaluate`."""
    options = options or RunOptions()
    is_file = isinstance(data, str | Path)
    return Job(
        source=str(data) if is_file else "data",
        examples=read_examples(data) if isinstance(data, str | Path) else examples_from(data),
        checklist=checklist if isinstance(checklist, Checklist) else load_checklist(checklist),
        plan=plan_for(judge, options),
        options=options,
    )


def plan_for(judge: str | Model | JudgePlan, options: RunOptions) -> JudgePlan:
    """The plan for a judge given by name, as a model, or as a plan."""
    if isinstance(judge, str):
        judge = open_model(judge, options.model)
    return judge if isinstance(judge, JudgePlan) else SingleJudge(model=judge, options=options.judge)
