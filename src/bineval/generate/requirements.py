"""Step 1 of the decomposition: from a task prompt to its requirements, sorted into dimensions."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bineval.generate.drafting import Drafter, Fault
from bineval.generate.replies import DimensionEntry, requirements_form
from bineval.hashing import Json
from bineval.judging.fencing import fence
from bineval.types import OVERALL, Dimension

_NONE_GIVEN = "(none are given)"
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

    def check(entries: Sequence[DimensionEntry]) -> list[Fault[DimensionEntry]]:
        texts = _by_dimension(entries, given)
        faults: list[Fault[DimensionEntry]] = [
            Fault(message=f"There is no requirement under the dimension {name!r}.", grave=True)
            for name in given
            if not texts.get(name)
        ]
        if not any(texts.values()):
            faults.append(Fault(message="There is no requirement at all.", grave=True))
        for entry in entries:
            if given and _name(entry, given) not in given:
                message = f"There is no dimension {entry.name!r}; the dimensions are: {', '.join(given)}."
                faults.append(Fault(message=message, entry=entry))
        return faults

    values = {"task": fence("TASK", task), "dimensions": _described(given)}
    draft = drafter.draft("requirements", values, requirements_form(list(given)), check)
    texts = _by_dimension(draft.entries, given)
    for name, dimension in given.items():
        if not texts.get(name) and dimension.description:
            texts[name] = [dimension.description]
    dimensions = dict(given) or _own_dimensions(draft.entries, texts)
    rows = [(text, name if name in dimensions else None) for name, group in texts.items() for text in group]
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


def _by_dimension(entries: Sequence[DimensionEntry], given: Mapping[str, Dimension]) -> dict[str, list[str]]:
    """The requirements' texts by dimension, given dimensions first; a text that stands twice is kept once."""
    groups: dict[str, list[str]] = {name: [] for name in given}
    seen: set[str] = set()
    for entry in entries:
        group = groups.setdefault(_name(entry, given), [])
        for text in (_MARK.sub("", text) for text in entry.requirements):
            if text.casefold() not in seen:
                seen.add(text.casefold())
                group.append(text)
    return groups


def _own_dimensions(entries: Sequence[DimensionEntry], texts: Mapping[str, list[str]]) -> dict[str, Dimension]:
    descriptions = {_name(entry, {}): entry.description for entry in reversed(entries)}
    return {name: Dimension(description=descriptions[name]) for name, group in texts.items() if group}


def _name(entry: DimensionEntry, given: Mapping[str, Dimension]) -> str:
    """The given name that is meant, or, where the model names its own, a name fit for a command line."""
    same = (name for name in given if name.casefold() == entry.name.casefold())
    own = "-".join(re.findall(r"\w+", entry.name.casefold()))
    return next(same, f"{own}-quality" if own == OVERALL else own)
