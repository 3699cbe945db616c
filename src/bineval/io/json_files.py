"""JSON files that bineval writes and reads back: checked as a pydantic shape, written whole or not at all."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from bineval.errors import DataError
from bineval.hashing import Json
from bineval.io.files import replacing
from bineval.io.text import read_lines


class JsonShape(BaseModel):
    """What a file must hold: exactly the named fields, of exactly their types, numbers finite."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


_Shape = TypeVar("_Shape", bound=JsonShape)


def read_json_file(path: Path, shape: type[_Shape], *, what: str) -> _Shape:
    """Reads a file as `shape`; `what` it should be, in words, is for the error of a file that is something else.

    Raises:
        DataError: It cannot be read, or the first field that is wrong, and how many more there are.
    """
    text = "".join(line for _, line in read_lines(path, encoding="utf-8"))
    try:
        return shape.model_validate_json(text)
    except ValidationError as error:
        first, *others = error.errors(include_url=False, include_context=False)
        more = f" (and {len(others)} more problem{'s' if len(others) > 1 else ''})" if others else ""
        if first["type"] in ("json_invalid", "model_type"):
            raise DataError(f"is not {what}", file=str(path)) from error
        problem = first["msg"].removeprefix("Value error, ")
        raise DataError(f"{problem}{more}", file=str(path), field=_field(first, text)) from error


def _field(problem: ErrorDetails, text: str) -> str | None:
    """The dotted name of what is wrong; what pydantic adds for the kind of an object is no part of it."""
    location = problem["loc"]
    value: Any = json.loads(text) if location else None
    parts = []
    for part in location:
        known = range(len(value)) if isinstance(value, list) else value if isinstance(value, dict) else ()
        if part in known:
            value = value[part]
            parts.append(part)
    if problem["type"] == "missing":
        parts.append(location[-1])
    return ".".join(map(str, parts)) or None


def write_json_file(path: Path, value: Mapping[str, Json]) -> None:
    """Writes `value` as indented JSON.

    Raises:
        ConfigError: The file cannot be written.
    """
    with replacing(path) as binary:
        binary.write((json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode())
