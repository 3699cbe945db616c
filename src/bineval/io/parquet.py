"""Parquet files, read and written in batches; the package for them is imported when one is met."""

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import BinaryIO, Literal

from bineval.errors import DataError, MissingDependencyError
from bineval.hashing import Json
from bineval.io.text import open_binary

ArrowType = Literal["string", "float64", "int64", "bool_"]

# Rows held at once. Few are read, as an output may have megabytes; more are written, as small row groups read slowly.
_READ_ROWS, _WRITE_ROWS = 256, 10_000


def read_parquet(path: Path) -> Iterator[tuple[int, dict[str, object]]]:
    """Yields `(row number from 1, row)` as Python values.

    Raises:
        DataError: The file is not Parquet, or two of its columns have one name.
        MissingDependencyError: pyarrow is not installed.
    """
    arrow, parquet = _pyarrow()
    with open_binary(path) as binary:
        # Parquet is read from its end, which a gzip stream can only reach by unpacking all of it.
        source = io.BytesIO(binary.read()) if path.suffix.lower() == ".gz" else binary
        try:
            file = parquet.ParquetFile(source)
            _check_names(file.schema_arrow.names, path)
            number = 0
            for batch in file.iter_batches(batch_size=_READ_ROWS):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
        except arrow.ArrowException as error:
            raise DataError(f"is not a Parquet file that can be read: {error}", file=str(path)) from error


def write_parquet(rows: Iterable[Mapping[str, Json]], *, columns: Mapping[str, ArrowType], binary: BinaryIO) -> None:
    """Writes `rows` with exactly `columns`, whose types stay the same when all values are null.

    Raises:
        MissingDependencyError: pyarrow is not installed.
    """
    arrow, parquet = _pyarrow()
    schema = arrow.schema([(name, getattr(arrow, kind)()) for name, kind in columns.items()])
    with parquet.ParquetWriter(binary, schema) as writer:
        batch: list[Mapping[str, Json]] = []
        for row in rows:
            batch.append(row)
            if len(batch) == _WRITE_ROWS:
                writer.write_table(arrow.Table.from_pylist(batch, schema=schema))
                batch.clear()
        writer.write_table(arrow.Table.from_pylist(batch, schema=schema))


def _pyarrow() -> tuple[ModuleType, ModuleType]:
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise MissingDependencyError("pyarrow", "parquet", "Parquet") from error


def _check_names(names: Sequence[str], path: Path) -> None:
    for position, name in enumerate(names):
        if name in names[:position]:
            raise DataError("two columns have this name", file=str(path), field=name)
