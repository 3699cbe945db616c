"""The scores of a run over its examples: means with intervals, by dimension and by system."""

from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass, field

from bineval.judging.runs import Run
from bineval.scoring import to_scale
from bineval.stats.intervals import mean_interval
from bineval.types import OVERALL, Estimate, Scale


@dataclass(frozen=True, kw_only=True, slots=True)
class SummaryRow:
    """One dimension over the examples of one system, or of all.

    Attributes:
        system: The system; None for all examples together.
        dimension: Name of the dimension, or "overall".
        estimate: Mean score in [0, 1] over the examples that have one, with a 95 % interval over groups.
        scaled: The mean on the dimension's scale; None without a scale.
        n_examples: Examples of the run, with or without a score.
        n_answered: Questions answered, over all examples.
        n_asked: Questions planned that apply, over all examples.
    """

    system: str | None
    dimension: str
    estimate: Estimate
    scaled: float | None
    n_examples: int
    n_answered: int
    n_asked: int


@dataclass
class _Cell:
    values: list[tuple[Hashable, float]] = field(default_factory=list)
    n_examples: int = 0
    n_answered: int = 0
    n_asked: int = 0


def summarize(run: Run, *, seed: int = 0) -> list[SummaryRow]:
    """Returns a row for each dimension and "overall": for all examples, then by system where there are several."""
    cells: dict[tuple[str | None, str], _Cell] = defaultdict(_Cell)
    systems: dict[str, None] = {}
    for example, scores in run.scores():
        if example.system is not None:
            systems[example.system] = None
        for dimension, score in scores.items():
            for system in {None, example.system}:
                cell = cells[system, dimension]
                cell.n_examples += 1
                cell.n_answered += score.n_answered
                cell.n_asked += score.n_asked
                if score.value is not None:
                    # In a pair, so that no group is taken for the example that has its name as an id.
                    group = ("example", example.id) if example.group is None else ("group", example.group)
                    cell.values.append((group, score.value))
    shown = [None, *systems] if len(systems) > 1 else [None]
    scales: dict[str, Scale | None] = {name: item.scale for name, item in run.checklist.dimensions.items()}
    scales[OVERALL] = run.checklist.scale
    return [
        _row(system, dimension, cells[system, dimension], scales[dimension], seed)
        for system in shown
        for dimension in scales
    ]


def _row(system: str | None, dimension: str, cell: _Cell, scale: Scale | None, seed: int) -> SummaryRow:
    estimate = mean_interval(cell.values, seed=seed)
    return SummaryRow(
        system=system,
        dimension=dimension,
        estimate=estimate,
        scaled=to_scale(estimate.value, scale),
        n_examples=cell.n_examples,
        n_answered=cell.n_answered,
        n_asked=cell.n_asked,
    )
