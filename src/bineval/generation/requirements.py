"""Step 1 of the decomposition: from a task prompt to its requirements, sorted into dimensions."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bineval.generation.drafting import Draft, Drafter, Fault
from bineval.generation.replies import DescriptionEntry, RequirementEntry, read_entries, requirements_form
from bineval.hashing import Json
from bineval.judging.fencing import fence
from bineval.types import OVERALL, Dimension

_NONE_GIVEN = "Choose them yourself."
_MARK = re.compile(r"^(?:[-*•]|\(?R?\d+[.):])\s+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Requirement:
    """One thing that the task asks of an output.

    Attributes:
        id: "R1", "R2", … in the order of the dimensions.
        text: A sentence.
        dimension: Its dimension; None when the model put it under one that does not exist.
    """

    id: str
    text: str
    dimension: str | None

    def to_json(self) -> dict[str, Json]:
        """All fields as JSON values."""
        return {"id": self.id, "text": self.text, "dimension": self.dimension}


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """The dimensions with their requirements, and how often the model was asked again for them."""

    dimensions: Mapping[str, Dimension]
    requirements: tuple[Requirement, ...]
    n_rounds: int

    def of(self, dimension: str) -> list[Requirement]:
        """The requirements of one dimension."""
        return [requirement for requirement in self.requirements if requirement.dimension == dimension]


def find_requirements(task: str, given: Mapping[str, Dimension], drafter: Drafter) -> Plan:
    """Asks for the requirements of `task`, under the `given` dimensions or, without any, under the model's own.

    A given dimension for which the model names no requirement, even when asked again, gets its own description as one.

    Raises:
        ModelError: See `Drafter.draft`.
    """

    def check(entries: Sequence[RequirementEntry]) -> list[Fault[RequirementEntry]]:
        covered = {_name(entry.dimension, given) for entry in entries}
        missing: list[Fault[RequirementEntry]] = [
            Fault(message=f'There is no requirement under the dimension "{name}".', grave=True)
            for name in given
            if name not in covered
        ]
        strange = [
            Fault(message=f'"{entry.text}" is under "{entry.dimension}"; use {" or ".join(given)}.', entry=entry)
            for entry in entries
            if given and _name(entry.dimension, given) not in given
        ]
        return missing + strange

    values = {"task": fence("TASK", task), "dimensions": _described(given)}
    draft = drafter.draft("requirements", values, requirements_form(list(given)), check)
    dimensions = dict(given) or _own_dimensions(draft)
    rows = _rows(draft.entries, dimensions)
    covered = {name for _, name in rows}
    rows += [(d.description, name) for name, d in given.items() if d.description and name not in covered]
    order = [*dimensions, None]
    rows.sort(key=lambda row: order.index(row[1]))
    return Plan(
        dimensions=dimensions,
        requirements=tuple(
            Requirement(id=f"R{number}", text=text, dimension=name) for number, (text, name) in enumerate(rows, 1)
        ),
        n_rounds=draft.n_rounds,
    )


def describe_dimension(name: str, dimension: Dimension) -> str:
    """One line for a prompt: the name, and the description if there is one."""
    return f"{name}: {' '.join(dimension.description.split())}" if dimension.description else name


def _described(given: Mapping[str, Dimension]) -> str:
    if not given:
        return _NONE_GIVEN
    return fence("DIMENSIONS", "\n".join(describe_dimension(name, dimension) for name, dimension in given.items()))


def _rows(entries: Sequence[RequirementEntry], dimensions: Mapping[str, Dimension]) -> list[tuple[str, str | None]]:
    """Text and dimension of each requirement; a text that stands twice is kept once."""
    rows: dict[str, tuple[str, str | None]] = {}
    for entry in entries:
        text, name = _MARK.sub("", entry.text), _name(entry.dimension, dimensions)
        rows.setdefault(text.casefold(), (text, name if name in dimensions else None))
    return list(rows.values())


def _own_dimensions(draft: Draft[RequirementEntry]) -> dict[str, Dimension]:
    """The dimensions that the model's requirements name, in that order, with its descriptions."""
    described = read_entries(draft.first_reply, DescriptionEntry)
    descriptions = {_name(entry.name, {}): entry.description for entry in described}
    names = dict.fromkeys(_name(entry.dimension, {}) for entry in draft.entries)
    return {name: Dimension(description=descriptions.get(name)) for name in names}


def _name(said: str, known: Mapping[str, Dimension]) -> str:
    """The known name that is meant, or else one fit for a command line."""
    same = (name for name in known if name.casefold() == said.casefold())
    own = "-".join(re.findall(r"\w+", said.casefold()))
    return next(same, f"{own}-quality" if own == OVERALL else own)
