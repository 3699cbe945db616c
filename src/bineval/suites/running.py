"""Runs several methods on the examples of one suite, document by document, so that whatever is finished compares."""

from collections import Counter
from collections.abc import Iterator, Mapping

from bineval.judging.job import Job
from bineval.judging.runner import Progress, ProgressCallback
from bineval.judging.runs import Run
from bineval.models.budget import Ledger
from bineval.stats.intervals import resampling_group
from bineval.store.database import Store
from bineval.types import Usage


def run_methods(
    jobs: Mapping[str, Job], store: Store, on_progress: ProgressCallback | None = None, *, ledger: Ledger | None = None
) -> dict[str, Run]:
    """Completes the runs of all methods and returns them by method.

    A model that reads what prompts share only once reads each document once for all outputs and once for all prompts
    that begin alike; so all methods take a document before the next, and an interruption leaves them even.

    Args:
        jobs: By method, over examples of the same groups, each group's together.
        store: Keeps the runs; finished work is never asked again.
        on_progress: Told where all methods together stand.
        ledger: The budget of all methods together; None for a budget of each.

    Raises:
        ModelError, BudgetExceeded: As `Job.execute`.
    """
    runs: dict[str, Run] = {}
    together = _Together({method: job.n_planned() for method, job in jobs.items()}, on_progress)
    before: Mapping[str, int] = {}
    for turn in _turns(jobs):
        for method, job in jobs.items():
            # A method has no example in some groups, such as a metric where there is no reference.
            if turn[method] > before.get(method, 0):
                sitting = job.execute(store, None, together.begin(method), ledger=ledger, until=turn[method])
                runs[method] = Run(sitting)
        before = turn
    return {method: runs[method] for method in jobs}


class _Together:
    """Adds up what the sittings of all methods tell."""

    def __init__(self, n_planned: Mapping[str, int], tell: ProgressCallback | None) -> None:
        self._n_planned, self._tell = n_planned, tell
        self._before: list[Progress] = []  # of sittings that are over
        self._last: dict[str, Progress] = {}

    def begin(self, method: str) -> ProgressCallback | None:
        """The callback of the next sitting of a method."""
        if self._tell is None:
            return None
        if method in self._last:
            self._before.append(self._last[method])

        def told(progress: Progress) -> None:
            self._last[method] = progress
            if self._tell is not None:
                self._tell(self._sum(progress.stopping))

        return told

    def _sum(self, stopping: bool) -> Progress:
        # What was done is told from the beginning of a run on, what is fresh from that of a sitting.
        now, all_sittings = list(self._last.values()), [*self._before, *self._last.values()]
        return Progress(
            n_planned=sum(self._n_planned.values()),
            n_done=sum(item.n_done for item in now),
            n_fresh=sum(item.n_fresh for item in all_sittings),
            n_cached=sum(item.n_cached for item in all_sittings),
            n_unanswered=sum(item.n_unanswered for item in all_sittings),
            usage=sum((item.usage for item in now), Usage()),
            stopping=stopping,
        )


def _turns(jobs: Mapping[str, Job]) -> Iterator[Mapping[str, int]]:
    """How many of its examples each method has judged after each turn of all methods."""
    if not any(model.capabilities.shares_prefix for job in jobs.values() for model in job.plan.models()):
        yield {method: len(job.examples) for method, job in jobs.items()}
        return
    sizes = {method: Counter(map(resampling_group, job.examples)) for method, job in jobs.items()}
    done = dict.fromkeys(jobs, 0)
    for group in dict.fromkeys(group for members in sizes.values() for group in members):
        done = {method: n + sizes[method][group] for method, n in done.items()}
        yield done
