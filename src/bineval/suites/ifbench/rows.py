"""The constraints that a prompt of IFBench sets, read from the fields of its row."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bineval.errors import ConfigError, DataError
from bineval.hashing import Json
from bineval.io.examples import read_examples_and_prompts
from bineval.io.values import Warn
from bineval.types import Example

_IDS, _ARGUMENTS = "instruction_id_list", "kwargs"


@dataclass(frozen=True, kw_only=True, slots=True)
class Constraint:
    """One thing that a prompt demands of its answer, and that a program can verify.

    Attributes:
        instruction_id: Its type, such as "count:numbers".
        arguments: What the prompt says about it, such as `{"N": 5}`; arguments that it leaves open are absent.
    """

    instruction_id: str
    arguments: Mapping[str, Json] = field(default_factory=dict)

    @property
    def category(self) -> str:
        """The part of the type before the colon."""
        return category_of(self.instruction_id)


def category_of(instruction_id: str) -> str:
    """The part of a constraint's type before the colon."""
    return instruction_id.partition(":")[0]


def load_ifbench(path: str | Path | None, *, warn: Warn) -> tuple[list[Example], list[Example]]:
    """Reads rows `id, group, system, input, output, instruction_id_list, kwargs`; every row sets a constraint.

    Args:
        path: The data file, of any kind that bineval reads; there is no usual one.
        warn: Called with the words of each warning.

    Returns:
        The examples, and the prompts for which no output was recorded, as examples with an empty output.

    Raises:
        ConfigError: No file is given.
        DataError: The file, or a row of it, is not what it should be.
    """
    if path is None:
        raise ConfigError(
            f"IFBench needs outputs to verify: give --data FILE, rows with input, output, {_IDS} and {_ARGUMENTS}"
        )
    examples, prompts = read_examples_and_prompts(path, warn=warn)
    for example in (*examples, *prompts):
        constraints_of(example, source=str(path))
    return examples, prompts


def constraints_of(example: Example, *, source: str = "<data>") -> tuple[Constraint, ...]:
    """Returns the constraints of an example's prompt, at least one, in the order of its row.

    Args:
        example: Its metadata holds `instruction_id_list`, a list of types, and `kwargs`, for each an object with its
            arguments.
        source: Name of the data, for errors.

    Raises:
        DataError: The fields are missing, or are not what is said here.
    """
    ids, arguments = example.metadata.get(_IDS), example.metadata.get(_ARGUMENTS)
    if not isinstance(ids, list) or not ids or not all(isinstance(item, str) for item in ids):
        raise DataError(
            f"example {example.id}: must be a list of constraints, such as count:numbers", file=source, field=_IDS
        )
    if not isinstance(arguments, list) or len(arguments) != len(ids):
        raise DataError(
            f"example {example.id}: must be a list with one object for each of {_IDS}", file=source, field=_ARGUMENTS
        )
    constraints = []
    for instruction_id, given in zip(ids, arguments, strict=True):
        if not isinstance(given, Mapping | None):
            raise DataError(f"example {example.id}: must hold objects, not {given!r}", file=source, field=_ARGUMENTS)
        known = {name: _whole(value) for name, value in (given or {}).items() if value is not None}
        constraints.append(Constraint(instruction_id=str(instruction_id), arguments=known))
    return tuple(constraints)


def _whole(value: Json) -> Json:
    """A whole number without a fraction: tables with gaps have made it a float."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
