"""Numbers for examples and dimensions, as rows: scores of another tool, or ratings of people."""

import math
import warnings
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from bineval.errors import DataError, UnknownNameError
from bineval.hashing import Json
from bineval.io.rows import read_rows, row_format
from bineval.io.values import Place, Warn, clean_row, name_in
from bineval.types import OVERALL, Scale


class ScoreKey(NamedTuple):
    """What a number is about; `repeat` is 0 for the first sample, 1 for the second."""

    example_id: str
    dimension: str
    repeat: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreRules:
    """What rows may hold.

    Attributes:
        example_ids: The examples that can have a number.
        dimensions: The dimensions that can; None for any but "overall", which is made from the others.
        scales: `(a, b)` by dimension; a number outside is an error.
    """

    example_ids: Collection[str]
    dimensions: Collection[str] | None = None
    scales: Mapping[str, Scale] | None = None


Scores = dict[ScoreKey, float | None]
"""The numbers in the order of their rows; None where a row says that there is none."""


def read_scores(path: str | Path, rules: ScoreRules, *, encoding: str = "utf-8", warn: Warn | None = None) -> Scores:
    """Reads a file of numbers, a row each: `example_id`, `dimension`, `value`, and `repeat` where there are several.

    Other fields are not looked at. An empty or null `value` says that there is no number.

    Args:
        path: JSONL, JSON, CSV, TSV or Parquet file, also gzipped; its name says which.
        rules: What the rows may hold.
        encoding: Encoding of text formats.
        warn: Called with the words of each warning; `warnings.warn` if not given.

    Raises:
        DataError: A row is not what it should be, names something unknown, or stands twice; or there is no row.
    """
    path = Path(path)
    reading = _Reading(rules, str(path), text_cells=row_format(path) in ("csv", "tsv"))
    for line, row in read_rows(path, encoding=encoding, warn=warn or warnings.warn):
        reading.add(row, Place(file=str(path), line=line))
    return reading.scores()


def scores_from(rows: Iterable[Mapping[str, object]], rules: ScoreRules, *, source: str = "<scores>") -> Scores:
    """Makes scores of rows in memory, by the same rules as for a file; `source` is their name in errors.

    Raises:
        DataError: A row is not what it should be; its number, from 1, stands as the line.
    """
    reading = _Reading(rules, source, text_cells=False)
    for number, row in enumerate(rows, 1):
        place = Place(file=source, line=number)
        reading.add(clean_row(row, place, warnings.warn), place)
    return reading.scores()


def mean_scores(scores: Scores) -> dict[str, dict[str, float]]:
    """The mean over repeats, by example and dimension; of rows that say that there is no number, none."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for key, value in scores.items():
        if value is not None:
            found[key.example_id][key.dimension].append(value)
    return {
        example_id: {name: fmean(values) for name, values in by_dimension.items()}
        for example_id, by_dimension in found.items()
    }


class _Reading:
    def __init__(self, rules: ScoreRules, source: str, *, text_cells: bool) -> None:
        self._rules, self._source, self._text_cells = rules, source, text_cells
        self._example_ids = frozenset(rules.example_ids)
        self._found: Scores = {}
        self._lines: dict[ScoreKey, int] = {}

    def add(self, row: Mapping[str, Json], place: Place) -> None:
        key = ScoreKey(self._example(row, place), self._dimension(row, place), _repeat(row, place))
        if key in self._lines:
            hint = "" if "repeat" in row else "; if it is another sample, number them by a field repeat: 0, 1, …"
            raise place.error(
                f"example {key.example_id!r} has its {key.dimension!r} already in line {self._lines[key]}{hint}"
            )
        self._found[key] = self._value(row, place, key.dimension)
        self._lines[key] = place.line

    def scores(self) -> Scores:
        if not self._found:
            raise DataError("holds no rows", file=self._source)
        return self._found

    def _example(self, row: Mapping[str, Json], place: Place) -> str:
        example_id = _name(row, "example_id", place, "the id of the example")
        if example_id not in self._example_ids:
            raise place.error(str(UnknownNameError("example", example_id, self._example_ids)), "example_id")
        return example_id

    def _dimension(self, row: Mapping[str, Json], place: Place) -> str:
        dimension, known = _name(row, "dimension", place, "the name of the dimension"), self._rules.dimensions
        if known is None and dimension == OVERALL:
            problem = f"{OVERALL!r} is the mean of the dimensions, and made from them: leave these rows out"
            raise place.error(problem, "dimension")
        if known is not None and dimension not in known:
            raise place.error(str(UnknownNameError("dimension", dimension, known)), "dimension")
        return dimension

    def _value(self, row: Mapping[str, Json], place: Place, dimension: str) -> float | None:
        if "value" not in row:
            raise place.error("is missing: a number, or null where there is none", "value")
        value = row["value"]
        if value is None or (isinstance(value, str) and not value.strip()):
            return None
        number = self._number(value)
        if number is None:
            raise place.error(f"must be a finite number or null, not {value!r}", "value")
        low, high = (self._rules.scales or {}).get(dimension, (-math.inf, math.inf))
        if not low <= number <= high:
            raise place.error(f"{number:g} is outside the scale of {dimension!r}, {low:g} to {high:g}", "value")
        return number

    def _number(self, value: Json) -> float | None:
        """The finite number that a value is; cells of text formats hold it as text."""
        if not isinstance(value, int | float) and not (self._text_cells and isinstance(value, str)):
            return None
        try:
            number = float(value)
        except (ValueError, OverflowError):
            return None
        return number if math.isfinite(number) else None


def _name(row: Mapping[str, Json], field: str, place: Place, what: str) -> str:
    name = name_in(row, field, place)
    if name is None:
        raise place.error(f"is missing: {what}", field)
    return name


def _repeat(row: Mapping[str, Json], place: Place) -> int:
    value = row.get("repeat")
    if value is None or value == "":
        return 0
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not str(value).isdecimal():
        raise place.error(f"must be a whole number from 0, not {value!r}", "repeat")
    return int(str(value))
