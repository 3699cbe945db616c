"""The jobs of several methods on one suite: the same outputs, dimensions, reply cache and budget for all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bineval.errors import ConfigError
from bineval.judging.job import Job, RunOptions
from bineval.judging.plans import JudgePlan
from bineval.methods.catalog import MethodOptions
from bineval.methods.evaluate import job_for
from bineval.methods.metrics.base import AGAINST, texts_of
from bineval.models.base import Model
from bineval.models.budget import Ledger
from bineval.models.cache import ReplyCache
from bineval.models.stack import stack
from bineval.suites.base import Suite
from bineval.types import Checklist, Example


@dataclass(frozen=True, kw_only=True, slots=True)
class SuiteJobs:
    """What the jobs are made of.

    Attributes:
        suite: The suite.
        examples: Its outputs, group by group.
        plans: The judge of each method, None for a metric, and what the method needs besides.
        options: Repeats, call options.
        replies: Keeps the replies to calls that are made before the runs.
        ledger: Counts the calls of all of them.
    """

    suite: Suite
    examples: Sequence[Example]
    plans: Mapping[str, tuple[JudgePlan | None, MethodOptions]]
    options: RunOptions
    replies: ReplyCache
    ledger: Ledger

    def check(self, checklist: Checklist) -> None:
        """Makes sure that every method can judge the dimensions of a checklist; makes no call.

        Raises:
            ConfigError: One cannot.
        """
        for job in self._jobs(checklist, replies=None).values():
            job.check()

    def ready(self, checklist: Checklist) -> dict[str, Job]:
        """The job of each method on the dimensions of a checklist; methods that write steps first write them now.

        Raises:
            ModelError, BudgetExceeded: The steps could not be written.
        """
        return self._jobs(checklist, replies=self.replies)

    def wrap(self, model: Model) -> Model:
        """A model with the cache and the budget of all jobs around it."""
        return stack(model, self.options.policy, replies=self.replies, ledger=self.ledger)

    def _jobs(self, checklist: Checklist, *, replies: ReplyCache | None) -> dict[str, Job]:
        return {
            method: job_for(
                self._comparable(options.against) if plan is None else self.examples,
                checklist,
                replies,
                source=self.suite.name,
                plan=plan,
                method=method,
                method_options=options,
                options=self.options,
                ledger=self.ledger,
            )
            for method, (plan, options) in self.plans.items()
        }

    def _comparable(self, against: str) -> Sequence[Example]:
        """The outputs that have something to be compared with.

        Raises:
            ConfigError: None has.
        """
        fields = [field for field in AGAINST if field == against]
        found = [example for example in self.examples if all(texts_of(example, field, metric="") for field in fields)]
        if fields and not found:
            what = "reference" if against == "reference" else f"field {against!r}"
            raise ConfigError(
                f"{self.suite.title}: no output has a {what} to compare with: give --references FILE, or compare with "
                "another field (--against input)"
            )
        return found or self.examples
