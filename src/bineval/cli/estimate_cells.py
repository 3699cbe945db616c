"""Estimates as cells of a table, and the reasons of those that are undefined."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bineval.cli.output import number

if TYPE_CHECKING:
    from bineval.types import Estimate

_MOST_NAMES = 6


def estimate_cell(estimate: "Estimate", *, digits: int = 3) -> str:
    """The value with its 95 % interval, such as "0.120 [0.080, 0.170]"; a dash for what is undefined."""
    value = number(estimate.value, digits=digits)
    if estimate.low is None:
        return value
    return f"{value} [{number(estimate.low, digits=digits)}, {number(estimate.high, digits=digits)}]"


def missing_parts(estimates: Iterable[tuple[str, "Estimate"]]) -> list[str]:
    """One line for each way in which values or intervals are missing, with the names of those that miss it."""
    names: dict[str, list[str]] = {}
    for name, estimate in estimates:
        if estimate.low is None:
            names.setdefault(estimate.method, []).append(name)
    return [f"{_listed(list(dict.fromkeys(found)))}: {method}" for method, found in names.items()]


def _listed(names: list[str]) -> str:
    """The names, or the first of very many."""
    if len(names) <= _MOST_NAMES:
        return ", ".join(names)
    return f"{', '.join(names[: _MOST_NAMES - 1])} and {len(names) - _MOST_NAMES + 1} more"
