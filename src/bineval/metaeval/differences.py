"""Whether one series of scores agrees better with people than another: paired differences, Holm-adjusted together."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace

from bineval.hashing import Json
from bineval.metaeval.rows import MetaOptions
from bineval.metaeval.series import AVERAGE, ScoreKind, Series
from bineval.stats.coefficients import COEFFICIENTS
from bineval.stats.paired_differences import Difference, paired_differences
from bineval.stats.significance import holm_defined
from bineval.types import OVERALL

Line = Sequence[Series]
"""The series of one run and kind of score, one a dimension."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MetaDifference:
    """The coefficient of one series less that of the first, on the outputs that both have.

    Attributes:
        run: Run of the series.
        score: Its kind.
        dimension: Its dimension, or "average" over the dimensions of both.
        against_run: Run of the first series.
        against_score: Its kind.
        difference: With its p-values; the adjusted one takes all differences of its coefficient in the report together.
    """

    run: str
    score: ScoreKind
    dimension: str
    against_run: str
    against_score: ScoreKind
    difference: Difference

    def to_json(self) -> dict[str, Json]:
        """What stands in the row of the series."""
        return {"run": self.against_run, "score": self.against_score, **asdict(self.difference)}


def line_differences(lines: Sequence[Line], options: MetaOptions) -> list[MetaDifference]:
    """Returns the differences of each line from the first, by dimension, coefficient by coefficient."""
    found = [item for line in lines[1:] for item in _of_line(line, lines[0], options)]
    for coefficient in COEFFICIENTS:
        # The coefficients say nearly the same thing of the same numbers: a reader looks at one of them.
        family = [i for i, item in enumerate(found) if item.difference.coefficient == coefficient]
        adjusted = holm_defined([found[i].difference.p_value for i in family])
        for i, p_adjusted in zip(family, adjusted, strict=True):
            found[i] = replace(found[i], difference=replace(found[i].difference, p_adjusted=p_adjusted))
    return found


def _of_line(line: Line, first: Line, options: MetaOptions) -> Iterator[MetaDifference]:
    of_first = {series.dimension: series.pairs for series in first}
    own = {series.dimension: series.pairs for series in line if series.dimension in of_first}
    compared = {dimension: [dimension] for dimension in own}
    averaged = [dimension for dimension in own if dimension != OVERALL]
    if len(averaged) > 1:
        compared[AVERAGE] = averaged
    for dimension, names in compared.items():
        differences = paired_differences(
            {name: own[name] for name in names},
            {name: of_first[name] for name in names},
            level=options.level,
            constant_is_zero=options.constant == "zero",
            seed=options.seed,
        )
        for difference in differences:
            yield MetaDifference(
                run=line[0].run,
                score=line[0].kind,
                dimension=dimension,
                against_run=first[0].run,
                against_score=first[0].kind,
                difference=difference,
            )
