"""The runs of a loop: made once, kept under its name, and counted together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bineval.judging.job import Job, RunOptions
from bineval.judging.plans import JudgePlan
from bineval.judging.runner import ProgressCallback
from bineval.judging.runs import Run
from bineval.models.budget import Ledger
from bineval.store.database import Store
from bineval.templates import Prompt
from bineval.types import Checklist, Example

_HASH_CHARS = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluator:
    """Makes the runs of a loop, or finds them in the store; the same judge on the same outputs is run once.

    Attributes:
        store: Keeps the runs.
        loop: Name of the loop, under which the runs stand.
        checklist: The questions.
        parts: Examples by split: "train", "dev", "test".
        options: Repeats, call options.
        ledger: Counts all calls of the loop.
        say: Told what is judged next.
        on_progress: Told after every batch of verdicts.
    """

    store: Store
    loop: str
    checklist: Checklist
    parts: Mapping[str, Sequence[Example]]
    options: RunOptions
    ledger: Ledger
    say: Callable[[str], None]
    on_progress: ProgressCallback | None = None

    @property
    def n_examples(self) -> dict[str, int]:
        """Examples by split."""
        return {name: len(part) for name, part in self.parts.items()}

    def run(self, plan: JudgePlan, split: str, version: str, *, examples: Sequence[Example] | None = None) -> Run:
        """The run of a judge on one split.

        Args:
            plan: The judge.
            split: Name of the split.
            version: Tells its runs from those of other judges and prompts.
            examples: The outputs; None for those of the data.
        """
        examples = self.parts[split] if examples is None else examples
        self.say(f"{plan.name} judges {split} ({len(examples)} examples, {version})")
        job = Job(source=split, examples=examples, checklist=self.checklist, plan=plan, options=self.options)
        return Run(job.execute(self.store, f"{self.loop}/{split}/{version}", self.on_progress, ledger=self.ledger))


def version_of(prompt: Prompt) -> str:
    """How the runs with a version of a prompt are named."""
    return f"prompt-{prompt.hash[:_HASH_CHARS]}"
