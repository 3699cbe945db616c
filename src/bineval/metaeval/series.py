"""The scores of one run in one dimension beside people's ratings of the same outputs."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from bineval.scoring import from_scale
from bineval.stats.intervals import resampling_group
from bineval.stats.levels import Rated
from bineval.types import Example, Scale

ScoreKind = Literal["hard", "soft"]
"""From the answers or ratings, or from P(yes)."""

AVERAGE = "average"
"""Name of the row over all dimensions."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoredOutput:
    """One output with what people and the judge say of it.

    Attributes:
        example: The output.
        human: People's rating, in its own unit; None where there is none.
        value: The score, in [0, 1] or in the metric's own unit; None where there is none.
    """

    example: Example
    human: float | None
    value: float | None

    @property
    def group(self) -> Hashable:
        """The group that intervals resample."""
        return resampling_group(self.example)


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """All outputs of a run in one dimension.

    Attributes:
        run: Name of the run.
        dimension: Name of the dimension.
        kind: Which score `value` is.
        scale: `(a, b)` of the dimension: ratings are on it, scores are in [0, 1]; None where there is none.
        outputs: In the order of the data, with or without values.
        pairs: Those that have both values.
    """

    run: str
    dimension: str
    kind: ScoreKind
    scale: Scale | None
    outputs: tuple[ScoredOutput, ...]
    pairs: tuple[Rated, ...] = field(init=False)

    def __post_init__(self) -> None:
        pairs = (
            Rated(
                example_id=item.example.id,
                group=item.group,
                system=item.example.system,
                human=item.human,
                value=item.value,
            )
            for item in self.outputs
            if item.human is not None and item.value is not None
        )
        object.__setattr__(self, "pairs", tuple(pairs))

    @property
    def name(self) -> str:
        """How the series is called beside others."""
        return line_name(self.run, self.kind)

    @property
    def n_without_human(self) -> int:
        """Outputs that people did not rate."""
        return sum(item.human is None for item in self.outputs)

    @property
    def n_without_score(self) -> int:
        """Outputs that people rated and that have no score."""
        return sum(item.human is not None and item.value is None for item in self.outputs)

    def mapped(self) -> Sequence[Rated]:
        """The pairs in [0, 1] where both values can be mapped there, else in their own units."""
        humans, scores = self.human_units(), self.score_units()
        if isinstance(humans, str) or isinstance(scores, str):
            return self.pairs
        return [
            replace(pair, human=human, value=score)
            for pair, human, score in zip(self.pairs, humans, scores, strict=True)
        ]

    def human_units(self) -> list[float] | str:
        """People's ratings of the pairs, mapped to [0, 1]; or why they cannot be.

        Without a scale, ratings that all lie in [0, 1] are taken as they are.
        """
        where = "the dimension has no scale" if self.scale is None else "the scale is {:g} to {:g}".format(*self.scale)
        problem = f"people's ratings reach from {{}} to {{}}, and {where}"
        return _in_unit_interval([pair.human for pair in self.pairs], self.scale, problem)

    def score_units(self) -> list[float] | str:
        """The scores of the pairs, in [0, 1]; or why they cannot be."""
        return _in_unit_interval(
            [pair.value for pair in self.pairs], None, "the scores reach from {} to {}, and the dimension has no scale"
        )


def line_name(run: str, kind: ScoreKind) -> str:
    """How the scores of one kind of a run are called beside others."""
    return run if kind == "hard" else f"{run} ({kind})"


def _in_unit_interval(values: Sequence[float], scale: Scale | None, problem: str) -> list[float] | str:
    if not values:
        return "no items"
    mapped = [from_scale(value, scale) for value in values]
    inside = [value for value in mapped if value is not None]
    return inside if len(inside) == len(mapped) else problem.format(f"{min(values):g}", f"{max(values):g}")
