"""Text files as numbered lines: unzipped, decoded, without byte order mark."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO, cast

from bineval.errors import ConfigError, DataError

_BYTE_ORDER_MARK = "\ufeff"


def read_lines(path: Path, *, encoding: str, newline: str = "\n") -> Iterator[tuple[int, str]]:
    r"""Yields `(number, line)` from 1, one line in memory at a time; lines keep their end.

    Args:
        path: Text file; gzipped if its name ends in ".gz".
        encoding: Name of its encoding.
        newline: What ends a line, as for `open`: "\n", or "" for any of "\n", "\r" and "\r\n".

    Raises:
        ConfigError: There is no such encoding.
        DataError: The file cannot be read, or a line holds bytes that are not `encoding`, or NUL bytes.
    """
    _check_encoding(encoding)
    with open_binary(path) as binary:
        # Bytes that cannot be decoded come out as lone surrogates, so that the line that holds them is known.
        text = TextIOWrapper(binary, encoding=encoding, errors="surrogateescape", newline=newline)
        try:
            for number, line in enumerate(text, 1):
                _check(line, path, number, encoding)
                yield number, line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line
        except UnicodeError as error:
            # Codecs of several bytes a character give up on a whole block: the line is not known.
            raise DataError(f"is not {encoding} text: {error}; give --encoding", file=str(path)) from error


def _check_encoding(encoding: str) -> None:
    try:
        "a".encode(encoding)
    except LookupError as error:
        raise ConfigError(f"unknown encoding {encoding!r}; common ones: utf-8, utf-16, cp1252, latin-1") from error


@contextmanager
def open_binary(path: Path) -> Iterator[BinaryIO]:
    """Opens `path` for reading bytes, unzipped if its name ends in ".gz".

    Raises:
        DataError: The file cannot be opened, or reading it fails later inside the `with` block.
    """
    try:
        with cast(BinaryIO, gzip.open(path, "rb")) if path.suffix.lower() == ".gz" else path.open("rb") as binary:
            yield binary
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"is not a whole gzip file: {error}", file=str(path)) from error
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", file=str(path)) from error


def _check(line: str, path: Path, number: int, encoding: str) -> None:
    try:
        line.encode("utf-8")
    except UnicodeEncodeError as error:
        byte = ord(line[error.start]) - 0xDC00
        raise DataError(
            f"byte 0x{byte:02x} at character {error.start + 1} is not {encoding}; {_hint(line, number)}",
            file=str(path),
            line=number,
        ) from error
    if "\0" in line:
        raise DataError("holds a NUL byte; if the file is UTF-16: --encoding utf-16", file=str(path), line=number)


def _hint(line: str, number: int) -> str:
    if number == 1 and line.startswith(("\udcff\udcfe", "\udcfe\udcff")):
        return "the file looks like UTF-16: --encoding utf-16"
    return "save the file as UTF-8, or say what it is written in, often --encoding cp1252"
