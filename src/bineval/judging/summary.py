"""The scores of a run over its examples: means with intervals, by dimension and by system."""

from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass, field

from bineval.judging.runs import Run
from bineval.scoring import scales_of, to_scale
from bineval.stats.intervals import mean_interval, resampling_group
from bineval.types import Estimate, Scale


@dataclass(frozen=True, kw_only=True, slots=True)
class SummaryRow:
    """One dimension over the examples of one system, or of all.

    Attributes:
        system: The system; None for all examples together.
        dimension: Name of the dimension, or "overall".
        estimate: Mean score in [0, 1] over the examples that have one, with a 95 % interval over groups.
        soft: The same from P(yes), over the examples that have a soft score; None when no example has one.
        scaled: The mean on the dimension's scale; None without a scale.
        n_examples: Examples of the run, with or without a score.
        n_answered: Questions answered, over all examples.
        n_asked: Questions planned that apply, over all examples.
    """

    system: str | None
    dimension: str
    estimate: Estimate
    soft: Estimate | None
    scaled: float | None
    n_examples: int
    n_answered: int
    n_asked: int


@dataclass
class _Cell:
    values: list[tuple[Hashable, float]] = field(default_factory=list)
    softs: list[tuple[Hashable, float]] = field(default_factory=list)
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
        group = resampling_group(example)
        for dimension, score in scores.items():
            for system in {None, example.system}:
                cell = cells[system, dimension]
                cell.n_examples += 1
                cell.n_answered += score.n_answered
                cell.n_asked += score.n_asked
                if score.value is not None:
                    cell.values.append((group, score.value))
                if score.soft is not None:
                    cell.softs.append((group, score.soft))
    shown = [None, *systems] if len(systems) > 1 else [None]
    return [
        _row(system, dimension, cells[system, dimension], scale, seed)
        for system in shown
        for dimension, scale in scales_of(run.checklist).items()
    ]


def _row(system: str | None, dimension: str, cell: _Cell, scale: Scale | None, seed: int) -> SummaryRow:
    estimate = mean_interval(cell.values, seed=seed)
    return SummaryRow(
        system=system,
        dimension=dimension,
        estimate=estimate,
        soft=mean_interval(cell.softs, seed=seed) if cell.softs else None,
        scaled=to_scale(estimate.value, scale),
        n_examples=cell.n_examples,
        n_answered=cell.n_answered,
        n_asked=cell.n_asked,
    )
