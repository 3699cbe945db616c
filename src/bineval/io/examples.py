"""Rows of data as examples to judge."""

import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import TypeGuard

from bineval.errors import DataError
from bineval.hashing import Json
from bineval.io.fields import ALIASES, match_fields
from bineval.io.labels import is_label, labels
from bineval.io.rows import read_rows, row_format
from bineval.io.values import Place, Warn, clean_row
from bineval.types import Example


def read_examples(path: str | Path, *, encoding: str = "utf-8", warn: Warn | None = None) -> list[Example]:
    """Reads a data file; `docs/data.md` says how each field is found and what becomes of odd values.

    Args:
        path: JSONL, JSON, CSV, TSV or Parquet file, also gzipped; its name says which.
        encoding: Encoding of text formats.
        warn: Called with the words of each warning; `warnings.warn` if not given.

    Returns:
        At least one example, in the order of the file; ids are unique.

    Raises:
        ConfigError: There is no such encoding.
        DataError: The file, or a row of it, is not what it should be, or there is no row.
        MissingDependencyError: Parquet without the package that reads it.
    """
    path, warn = Path(path), warn or warnings.warn
    return _examples(_rows(path, encoding, warn), source=str(path), text_cells=_has_text_cells(path), warn=warn)


def read_examples_and_prompts(
    path: str | Path, *, encoding: str = "utf-8", warn: Warn | None = None
) -> tuple[list[Example], list[Example]]:
    """Reads a data file whose rows may lack an output, such as prompts that nothing has answered yet.

    Arguments and errors as for `read_examples`, but that a missing or null output is no error.

    Returns:
        The examples, and the rows without an output as examples whose output is empty; at least one in all.
    """
    path, warn = Path(path), warn or warnings.warn
    rows = _rows(path, encoding, warn)
    names = dict.fromkeys(name for _, row in rows for name in row)
    output = match_fields(names, source=str(path), warn=lambda _: None).get("output", "output")
    filled = [(line, row if row.get(output) is not None else {**row, output: ""}) for line, row in rows]
    examples = _examples(filled, source=str(path), text_cells=_has_text_cells(path), warn=warn)
    has_output = [row.get(output) is not None for _, row in rows]
    return list(compress(examples, has_output)), list(compress(examples, (not there for there in has_output)))


def examples_from(
    rows: Iterable[Mapping[str, object] | Example], *, source: str = "<data>", warn: Warn | None = None
) -> list[Example]:
    """Makes examples of rows in memory, by the same rules as for a file.

    Args:
        rows: Mappings, such as pandas gives by `to_dict("records")`, or examples.
        source: Name of the data in errors and warnings.
        warn: Called with the words of each warning; `warnings.warn` if not given.

    Returns:
        One example a row, in order; ids are unique.

    Raises:
        DataError: A row is not what it should be; its number, from 1, stands as the line.
    """
    warn = warn or warnings.warn
    cleaned = [
        (number, clean_row(_as_row(row), Place(file=source, line=number), warn)) for number, row in enumerate(rows, 1)
    ]
    return _examples(cleaned, source=source, text_cells=False, warn=warn)


def _rows(path: Path, encoding: str, warn: Warn) -> list[tuple[int, dict[str, Json]]]:
    rows = list(read_rows(path, encoding=encoding, warn=warn))
    if not rows:
        raise DataError("holds no rows", file=str(path))
    return rows


def _has_text_cells(path: Path) -> bool:
    return row_format(path) in ("csv", "tsv")


def _as_row(row: Mapping[str, object] | Example) -> object:
    if not isinstance(row, Example):
        return row
    return {name: value for name, value in row.to_json().items() if value is not None}


def _examples(
    rows: Sequence[tuple[int, Mapping[str, Json]]], *, source: str, text_cells: bool, warn: Warn
) -> list[Example]:
    names = dict.fromkeys(name for _, row in rows for name in row)
    reading = _Reading(fields=match_fields(names, source=source, warn=warn), text_cells=text_cells)
    lines: dict[str, int] = {}
    examples = []
    for index, (line, row) in enumerate(rows, 1):
        place = Place(file=source, line=line)
        example = reading.example(row, place, index)
        if example.id in lines:
            raise place.error(f"the id {example.id!r} is already used in {source}:{lines[example.id]}", "id")
        lines[example.id] = line
        examples.append(example)
    return examples


@dataclass(frozen=True, kw_only=True, slots=True)
class _Reading:
    """How rows of one file are read.

    Attributes:
        fields: `{field: name in the file}` of the texts.
        text_cells: Whether all values are text, and an empty one may mean a missing one (CSV and TSV).
    """

    fields: Mapping[str, str]
    text_cells: bool

    def example(self, row: Mapping[str, Json], place: Place, index: int) -> Example:
        return Example(
            id=self._id(row, place, index),
            output=self._output(row, place),
            input=self._optional(row, "input"),
            reference=self._optional(row, "reference"),
            context=self._optional(row, "context"),
            group=self._optional(row, "group"),
            system=self._optional(row, "system"),
            human=labels(row, place, text_cells=self.text_cells),
            metadata=self._metadata(row, place),
        )

    def _id(self, row: Mapping[str, Json], place: Place, index: int) -> str:
        value = self._present(row, "id")
        if value is None:
            return f"row-{index}"
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            raise place.error(f"must be text or a whole number, not {value!r}", "id")
        return str(value)

    def _output(self, row: Mapping[str, Json], place: Place) -> str:
        name = self.fields.get("output")
        if name is None:
            raise place.error(
                f"no output to judge; name it output (or {', '.join(ALIASES['output'])}); the row has {_names(row)}",
                "output",
            )
        value = row.get(name)
        if value is None:
            what = "is null" if name in row else f"is missing (other rows have it); the row has {_names(row)}"
            raise place.error(f'{what}; an output that is really empty is written ""', name)
        return _text(value)

    def _optional(self, row: Mapping[str, Json], field: str) -> str | None:
        value = self._present(row, self.fields.get(field, field))
        if value is None:
            return None
        if field == "context" and _is_texts(value):
            return "\n\n".join(value)
        if field == "input" and (messages := _messages(value)):
            return messages
        return _text(value)

    def _present(self, row: Mapping[str, Json], name: str) -> Json:
        value = row.get(name)
        return None if self.text_cells and value == "" else value

    def _metadata(self, row: Mapping[str, Json], place: Place) -> dict[str, Json]:
        used = {"id", "group", "system", "human", "metadata", *self.fields.values()}
        unused = {name: value for name, value in row.items() if name not in used and not is_label(name)}
        given = self._present(row, "metadata")
        if given is None:
            return unused
        if not isinstance(given, Mapping):
            return {**unused, "metadata": given}
        if twice := unused.keys() & given.keys():
            raise place.error("stands both in the row and in its metadata", min(twice))
        return {**unused, **given}


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _names(row: Mapping[str, Json]) -> str:
    return ", ".join(row) or "no field"


def _is_texts(value: Json) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _messages(value: Json) -> str | None:
    """A conversation as paragraphs "role: content"; None if it holds more than that, which only JSON would keep."""
    if not isinstance(value, list) or not value:
        return None
    paragraphs = []
    for item in value:
        if not isinstance(item, Mapping) or item.keys() != {"role", "content"} or not _is_texts([*item.values()]):
            return None
        paragraphs.append(f"{item['role']}: {item['content']}")
    return "\n\n".join(paragraphs)
