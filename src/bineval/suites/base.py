"""What a benchmark suite is: data with human labels, the dimensions they are on, and how correlations are taken."""

from dataclasses import dataclass, field
from importlib import resources

from bineval.io.checklists import load_checklist
from bineval.stats.correlation import Level
from bineval.types import Checklist


@dataclass(frozen=True, kw_only=True, slots=True)
class Suite:
    """A benchmark with human labels.

    Attributes:
        name: Its name on the command line.
        title: Its name in words.
        level: Of its correlations: pooled, or the mean over groups.
        checklist_file: The questions that bineval brings for it, in `suites/checklists`.
        against: Field that metrics compare the outputs with, by the suite's data.
        reference_system: System whose output is the reference of the others in its group.
        left_out: Systems that its protocol leaves out.
        hub: Name of its data set on the Hugging Face hub; None where there is none that bineval can read.
        notes: What a reader of its table must know.
    """

    name: str
    title: str
    level: Level
    checklist_file: str
    against: str
    reference_system: str | None = None
    left_out: tuple[str, ...] = ()
    hub: str | None = None
    notes: tuple[str, ...] = field(default=())

    def checklist(self) -> Checklist:
        """The questions that bineval brings for it; its dimensions are those of the suite."""
        folder = resources.files("bineval.suites") / "checklists"
        with resources.as_file(folder / self.checklist_file) as path:
            return load_checklist(path)
