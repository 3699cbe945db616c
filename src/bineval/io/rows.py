"""A data file as an iterator of rows: JSONL, JSON, CSV, TSV or Parquet, each also gzipped."""

import csv
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from bineval.errors import DataError
from bineval.hashing import Json
from bineval.io.parquet import read_parquet
from bineval.io.text import read_lines
from bineval.io.values import Place, Warn, clean_row

RowFormat = Literal["jsonl", "json", "csv", "tsv", "parquet"]

_FORMATS: dict[str, RowFormat] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
}

# The largest limit that fits a C long everywhere; Python's own, 128 KB, is shorter than many outputs.
_MAX_CELL_CHARS = 2**31 - 1


def row_format(path: Path) -> RowFormat:
    """The format that the name of `path` says, with or without ".gz".

    Raises:
        DataError: The name says none of them.
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        suffixes.pop()
    if not suffixes or suffixes[-1] not in _FORMATS:
        raise DataError(
            f"unknown kind of data file; the name must end in {', '.join(_FORMATS)}, with or without .gz",
            file=str(path),
        )
    return _FORMATS[suffixes[-1]]


def read_rows(
    path: Path, *, encoding: str = "utf-8", warn: Warn | None = None
) -> Iterator[tuple[int, dict[str, Json]]]:
    """Yields `(number, row)`; JSONL, CSV and Parquet are read piece by piece, JSON as a whole.

    The number is the line on which the row begins (JSONL, CSV, TSV) or its place in the list (JSON, Parquet), from 1.
    Cells of CSV and TSV are text, empty ones too.

    Args:
        path: The file; its name says the format.
        encoding: Encoding of text formats.
        warn: Called with the words of each warning; `warnings.warn` if not given.

    Raises:
        ConfigError: There is no such encoding.
        DataError: The file, or a row of it, is not what it should be.
        MissingDependencyError: Parquet without the package that reads it.
    """
    warn = warn or warnings.warn
    for number, row in _raw_rows(path, encoding, warn):
        yield number, clean_row(row, Place(file=str(path), line=number), warn)


def _raw_rows(path: Path, encoding: str, warn: Warn) -> Iterator[tuple[int, object]]:
    match row_format(path):
        case "jsonl":
            return _jsonl_rows(path, encoding)
        case "json":
            return _json_rows(path, encoding, warn)
        case "csv":
            return _csv_rows(path, encoding, ",")
        case "tsv":
            return _csv_rows(path, encoding, "\t")
        case "parquet":
            return read_parquet(path)


def _jsonl_rows(path: Path, encoding: str) -> Iterator[tuple[int, object]]:
    for number, line in read_lines(path, encoding=encoding):
        if line.strip():
            yield number, _parse(line, path, line=number)


def _json_rows(path: Path, encoding: str, warn: Warn) -> Iterator[tuple[int, object]]:
    value = _parse("".join(line for _, line in read_lines(path, encoding=encoding)), path, line=None)
    if isinstance(value, dict):
        lists = [name for name, item in value.items() if isinstance(item, list)]
        if len(lists) != 1:
            found = f"lists {', '.join(lists)}" if lists else "no list"
            raise DataError(f"must hold one list of objects; the object at its top has {found}", file=str(path))
        if others := [name for name in value if name != lists[0]]:
            warn(f"{path}: rows are read from {lists[0]!r}; not used: {', '.join(others)}")
        value = value[lists[0]]
    if not isinstance(value, list):
        raise DataError("must be a list of objects, or an object that holds one such list", file=str(path))
    yield from enumerate(value, 1)


def _parse(text: str, path: Path, *, line: int | None) -> object:
    """The JSON value of `text`, which is one line of the file, or all of it (`line` None)."""
    try:
        return json.loads(text, object_pairs_hook=_without_duplicates)
    except json.JSONDecodeError as error:
        place = f"column {error.colno}" if line is not None else f"line {error.lineno}, column {error.colno}"
        many = line is None and error.msg == "Extra data"
        hint = "; a file with one object a line must be named .jsonl" if many else ""
        raise DataError(f"malformed JSON: {error.msg} ({place}){hint}", file=str(path), line=line) from error
    except _DuplicateKeyError as error:
        raise DataError("the name stands twice in one object", file=str(path), line=line, field=error.key) from error
    except ValueError as error:  # a number of more digits than Python reads
        raise DataError(f"malformed JSON: {error}", file=str(path), line=line) from error
    except RecursionError as error:
        raise DataError("malformed JSON: nested too deeply", file=str(path), line=line) from error


class _DuplicateKeyError(ValueError):
    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(key)


def _without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    # json keeps the last of two equal names and loses the first without a word.
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise _DuplicateKeyError(next(name for name in names if names.count(name) > 1))
    return found


def _csv_rows(path: Path, encoding: str, delimiter: str) -> Iterator[tuple[int, object]]:
    # The limit belongs to the process. It is only ever raised: to set it back would break another thread's reading.
    csv.field_size_limit(max(csv.field_size_limit(), _MAX_CELL_CHARS))
    lines = (line for _, line in read_lines(path, encoding=encoding, newline=""))
    rows = _csv_cells(lines, delimiter, path)
    number, cells = next(rows, (1, []))
    header = _header(cells, path, number)
    for number, cells in rows:
        if len(cells) != len(header):
            raise DataError(
                f"the row has {len(cells)} cells, but the header names {len(header)} columns",
                file=str(path),
                line=number,
            )
        yield number, dict(zip(header, cells, strict=True))


def _csv_cells(lines: Iterator[str], delimiter: str, path: Path) -> Iterator[tuple[int, list[str]]]:
    """Rows that are not blank, each with the line on which it begins."""
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        start = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise DataError(f"the row that begins here is malformed: {error}", file=str(path), line=start) from error
        if cells is None:
            return
        if cells:
            yield start, cells


def _header(cells: list[str], path: Path, number: int) -> list[str]:
    header = [cell.strip() for cell in cells]
    if len(header) == 1 and (separator := next((mark for mark in ";\t" if mark in header[0]), None)):
        problem = f"the header is one column with {separator!r} in it: save the file with commas, or as .tsv with tabs"
        raise DataError(problem, file=str(path), line=number)
    for position, name in enumerate(header):
        if not name:
            raise DataError(f"column {position + 1} has no name in the header", file=str(path), line=number)
        if name in header[:position]:
            raise DataError("two columns have this name", file=str(path), line=number, field=name)
    return header
