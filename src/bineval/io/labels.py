"""Human labels of a row: a mapping in `human`, or columns `human.NAME` and `human_NAME`."""

import math
from collections.abc import Mapping

from bineval.hashing import Json
from bineval.io.values import Place

_PREFIXES = ("human.", "human_")
_TRUTH = {"true": 1.0, "false": 0.0}


def is_label(name: str) -> bool:
    """Whether the field `name` of a row holds one human label."""
    return name.startswith(_PREFIXES)


def labels(row: Mapping[str, Json], place: Place, *, text_cells: bool) -> dict[str, float]:
    """Returns `{dimension: number}`; a missing label (null, or an empty cell) is absent. True is 1 and false is 0.

    Args:
        row: The row, cleaned.
        place: Where it stands.
        text_cells: Whether numbers are written as text (CSV and TSV).

    Raises:
        DataError: A label is not a number, has no dimension, or stands twice.
    """
    human = row.get("human")
    if human is None or (text_cells and human == ""):
        human = {}
    if not isinstance(human, Mapping):
        raise place.error("must be a mapping {dimension: number}; in a table use columns human.DIMENSION", "human")
    found: dict[str, float] = {}
    cells = [(f"human.{dimension}", dimension, value) for dimension, value in human.items()]
    cells += [(name, name[len("human.") :], value) for name, value in row.items() if is_label(name)]
    for name, dimension, value in cells:
        if not dimension:
            raise place.error("names no dimension", name)
        number = _number(value, place, name, text_cells=text_cells)
        if number is None:
            continue
        if dimension in found:
            raise place.error(f"the human label of {dimension!r} stands twice in this row", name)
        found[dimension] = number
    return found


def _number(value: Json, place: Place, name: str, *, text_cells: bool) -> float | None:
    if value is None or (text_cells and value == ""):
        return None
    try:
        if isinstance(value, int | float):
            number = float(value)
        elif text_cells and isinstance(value, str):
            truth = _TRUTH.get(value.strip().lower())
            number = float(value) if truth is None else truth
        else:
            number = math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        hint = "; rename the field if it holds no label" if name.startswith("human_") else ""
        raise place.error(f"a human label must be a finite number or null, not {_short(value)}{hint}", name)
    return number


def _short(value: Json) -> str:
    words = repr(value)
    return words if len(words) <= 40 else f"{words[:40]}…"
