"""The demo's tasks: bundled outputs of invented systems, each task with its checklist."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib import resources

from bineval.io.checklists import load_checklist
from bineval.io.examples import read_examples
from bineval.types import Checklist, Example

_NAMES = ("support", "summary", "extraction")


@dataclass(frozen=True, kw_only=True, slots=True)
class DemoTask:
    """One task of the demo.

    Attributes:
        name: Short name, also of its data files.
        examples: Outputs to judge, those of a group next to each other; `metadata["planted"]` of each lists the
            ids of the questions that it fails.
        checklist: The questions to ask of each output.
    """

    name: str
    examples: tuple[Example, ...]
    checklist: Checklist


def demo_tasks() -> list[DemoTask]:
    """Reads the bundled tasks, always in the same order."""
    with resources.as_file(resources.files("bineval.demo") / "data") as folder:
        return [
            DemoTask(
                name=name,
                examples=tuple(read_examples(folder / f"{name}.jsonl")),
                checklist=load_checklist(folder / f"{name}.yaml"),
            )
            for name in _NAMES
        ]


def part(tasks: Iterable[DemoTask], n_groups: int) -> list[DemoTask]:
    """Each task with the outputs of its first `n_groups` groups only, sound and flawed ones among them.

    Raises:
        ValueError: `n_groups` is below 1.
    """
    if n_groups < 1:
        raise ValueError(f"a part of the demo has at least 1 group of each task, not {n_groups}")
    return [replace(task, examples=_first_groups(task.examples, n_groups)) for task in tasks]


def _first_groups(examples: tuple[Example, ...], n_groups: int) -> tuple[Example, ...]:
    groups = dict.fromkeys(example.group for example in examples)
    kept = set(list(groups)[:n_groups])
    return tuple(example for example in examples if example.group in kept)
