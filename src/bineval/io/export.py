"""Tables of verdicts and scores for other programs: JSONL, CSV or Parquet."""

import csv
import gzip
import json
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal, cast

from bineval.errors import ConfigError
from bineval.hashing import Json
from bineval.io.files import replacing
from bineval.io.parquet import ArrowType, write_parquet
from bineval.io.values import storable

ExportFormat = Literal["jsonl", "csv", "parquet"]
ColumnType = Literal["text", "number", "integer", "boolean", "json"]

VERDICT_COLUMNS: Mapping[str, ColumnType] = {
    "run": "text",
    "example_id": "text",
    "question_id": "text",
    "dimension": "text",
    "unit": "integer",
    "repeat": "integer",
    "answer": "text",
    "reason": "text",
    "probability": "number",
    "explanation": "text",
    "evidence": "json",
    "judge": "text",
    "cached": "boolean",
    "input_tokens": "integer",
    "output_tokens": "integer",
}
"""Columns of exported verdicts, in order."""

SCORE_COLUMNS: Mapping[str, ColumnType] = {
    "run": "text",
    "example_id": "text",
    "group": "text",
    "system": "text",
    "dimension": "text",
    "value": "number",
    "scaled": "number",
    "n_answered": "integer",
    "n_asked": "integer",
}
"""Columns of exported scores, in order."""

_ARROW_TYPES: Mapping[ColumnType, ArrowType] = {
    "text": "string",
    "number": "float64",
    "integer": "int64",
    "boolean": "bool_",
    "json": "string",
}

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_PLAIN_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def write_rows(
    rows: Iterable[Mapping[str, Json]],
    *,
    columns: Mapping[str, ColumnType],
    format: ExportFormat,
    path: Path | None,
) -> None:
    """Writes `rows` to a file, whole or not at all, or to stdout.

    JSONL keeps lists and null. CSV has JSON text for lists, an empty cell for null, and an apostrophe before text that
    a spreadsheet would run as a formula. Parquet has JSON text for lists, and the same types whatever the values.

    Args:
        rows: Each with exactly the names in `columns`.
        columns: Names and types, in order.
        format: What to write.
        path: The file, gzipped if its name ends in ".gz"; None for stdout.

    Raises:
        ConfigError: Parquet to stdout, or the file cannot be written.
        MissingDependencyError: Parquet without the package that writes it.
        ValueError: A row has other names, or holds NaN or an infinity: an error of the caller.
    """
    if path is None and format == "parquet":
        raise ConfigError("Parquet cannot be written to stdout; give a file with -o")
    checked = (_checked(row, columns) for row in rows)
    with _stdout() if path is None else _file(path) as binary:
        match format:
            case "jsonl":
                _write_jsonl(checked, binary)
            case "csv":
                _write_csv(checked, columns, binary)
            case "parquet":
                types = {name: _ARROW_TYPES[kind] for name, kind in columns.items()}
                write_parquet((_flat(row, columns) for row in checked), columns=types, binary=binary)


@contextmanager
def _stdout() -> Iterator[BinaryIO]:
    # The bytes below the text layer: no encoding of a console and no translated line ends.
    sys.stdout.flush()
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


@contextmanager
def _file(path: Path) -> Iterator[BinaryIO]:
    with replacing(path) as binary:
        if path.suffix.lower() != ".gz":
            yield binary
            return
        # No name and no time inside, so that equal rows give equal files.
        with gzip.GzipFile(filename="", fileobj=binary, mode="wb", mtime=0) as zipped:
            yield cast(BinaryIO, zipped)


def _checked(row: Mapping[str, Json], columns: Mapping[str, ColumnType]) -> dict[str, Json]:
    if row.keys() != columns.keys():
        raise ValueError(f"a row must have exactly {list(columns)}, not {list(row)}")
    for name, value in row.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"column {name!r} holds {value}; what is unknown must be None")
    return {name: row[name] for name in columns}


def _json(value: Json) -> str:
    return storable(json.dumps(value, ensure_ascii=False, allow_nan=False))


def _flat(row: Mapping[str, Json], columns: Mapping[str, ColumnType]) -> dict[str, Json]:
    """The row with JSON text in columns of type "json", and text that can be stored."""
    flat: dict[str, Json] = {}
    for name, value in row.items():
        as_json = columns[name] == "json" and value is not None
        flat[name] = _json(value) if as_json else storable(value) if isinstance(value, str) else value
    return flat


def _write_jsonl(rows: Iterable[Mapping[str, Json]], binary: BinaryIO) -> None:
    for row in rows:
        binary.write(_json(row).encode() + b"\n")


def _write_csv(rows: Iterable[Mapping[str, Json]], columns: Mapping[str, ColumnType], binary: BinaryIO) -> None:
    # Lines end in CR LF, as RFC 4180 has it: with any other end, csv leaves a lone CR in a cell without quotes.
    writer = csv.writer(_Utf8(binary), lineterminator="\r\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(value) for value in _flat(row, columns).values()])


class _Utf8:
    """A text file over a binary one; unlike `TextIOWrapper` it never closes what it writes to, which may be stdout."""

    def __init__(self, binary: BinaryIO) -> None:
        self._binary = binary

    def write(self, text: str) -> int:
        return self._binary.write(text.encode())


def _cell(value: Json) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        return _json(value)
    if value.startswith(_FORMULA) and not _PLAIN_NUMBER.fullmatch(value):
        return f"'{value}"
    return value
