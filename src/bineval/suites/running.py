"""Runs several methods on the examples of one suite, document by document, so that whatever is finished compares."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from bineval.judging.job import Job
from bineval.judging.runner import ProgressCallback
from bineval.judging.runs import Run
from bineval.stats.intervals import resampling_group
from bineval.store.database import Store
from bineval.types import Example


def run_methods(
    jobs: Mapping[str, Job], store: Store, on_progress: Callable[[str, int], ProgressCallback] | None = None
) -> dict[str, Run]:
    """Completes the runs of all methods and returns them by method.

    A model that reads what prompts share only once reads each document once for all outputs and once for all prompts
    that begin alike; so all methods take a document before the next, and an interruption leaves them even.

    Args:
        jobs: By method, over the same examples; their limits are set here.
        store: Keeps the runs; finished work is never asked again.
        on_progress: Makes the callback of a method, given the number of its verdicts in all.

    Raises:
        ModelError, BudgetExceeded: As `Job.execute`.
    """
    runs: dict[str, Run] = {}
    for limit in _limits(jobs):
        for method, job in jobs.items():
            told = on_progress(method, job.n_planned()) if on_progress else None
            part = replace(job, options=replace(job.options, limit=limit))
            runs[method] = Run(part.execute(store, None, told))
    return runs


def _limits(jobs: Mapping[str, Job]) -> Iterator[int]:
    """The numbers of examples after which each method has its turn."""
    examples = next(iter(jobs.values())).examples
    if any(model.capabilities.shares_prefix for job in jobs.values() for model in job.plan.models()):
        yield from _ends_of_groups(examples)
    else:
        yield len(examples)


def _ends_of_groups(examples: Sequence[Example]) -> Iterator[int]:
    n = 0
    for _, group in groupby(examples, key=resampling_group):
        n += len(list(group))
        yield n
