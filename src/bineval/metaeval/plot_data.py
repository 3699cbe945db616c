"""What figures of scores beside people are drawn from."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from bineval.hashing import Json
from bineval.metaeval.rows import MetaRow
from bineval.metaeval.series import Series
from bineval.types import Estimate

PEOPLE = "people"
"""How people are named beside the series of scores."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlottedValues:
    """The values of one rater in one dimension, mapped to [0, 1], in the order of the data."""

    name: str
    dimension: str
    values: tuple[float, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class PlottedSystem:
    """The mean of one system by one rater in one dimension, of values mapped to [0, 1]."""

    dimension: str
    system: str
    name: str
    estimate: Estimate


@dataclass(frozen=True, kw_only=True, slots=True)
class PlotData:
    """What figures are drawn from; people are named "people".

    Attributes:
        distributions: In each dimension people first, then each series of scores.
        systems: Likewise, by ascending human mean.
    """

    distributions: tuple[PlottedValues, ...]
    systems: tuple[PlottedSystem, ...]

    def to_json(self) -> dict[str, Json]:
        """All fields as JSON values."""
        return asdict(self)


def plot_data(series: Iterable[Series], rows: Iterable[MetaRow]) -> PlotData:
    """Gathers series by dimension, with the systems of their rows; those that cannot be mapped to [0, 1] are left out.

    People are shown by their ratings of the outputs that the first series of the dimension has scores for.
    """
    orders = {(row.run, row.score, row.dimension): row.systems for row in rows}
    distributions, systems = [], []
    seen: set[str] = set()
    for item in series:
        humans, scores = item.human_units(), item.score_units()
        if isinstance(humans, str) or isinstance(scores, str):
            continue
        order = orders[item.run, item.kind, item.dimension]
        means = [] if order is None else order.means
        shown = [(item.name, scores, [(mean.system, mean.score) for mean in means])]
        if item.dimension not in seen:
            shown.insert(0, (PEOPLE, humans, [(mean.system, mean.human) for mean in means]))
        seen.add(item.dimension)
        for name, values, estimates in shown:
            distributions.append(PlottedValues(name=name, dimension=item.dimension, values=tuple(values)))
            systems += [
                PlottedSystem(dimension=item.dimension, system=system, name=name, estimate=estimate)
                for system, estimate in estimates
            ]
    return PlotData(distributions=tuple(distributions), systems=tuple(systems))
