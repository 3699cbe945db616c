"""Opens the store's database and hands out transactions."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import sqlalchemy as sa

from bineval.errors import StoreError
from bineval.store.schema import migrate

_LOCK_TIMEOUT_S = 30


class Store:
    """An open store; a context manager that closes it.

    Writers take turns within the process; SQLite's write-ahead log lets readers go on meanwhile, and keeps every
    committed transaction when the process is killed.

    Args:
        place: Path of a SQLite file, made when absent, or a database URL.

    Raises:
        StoreError: It cannot be opened, is no database, or was written by a newer bineval.
    """

    def __init__(self, place: str | Path) -> None:
        self.place = str(place)
        self._lock = threading.Lock()
        try:
            self._engine = sa.create_engine(_url(self.place), connect_args=_connect_args(self.place))
            if self._engine.dialect.name == "sqlite":
                sa.event.listen(self._engine, "connect", _set_pragmas)
            with self.writing() as connection:
                migrate(connection, self.place)
        except (sa.exc.ArgumentError, ModuleNotFoundError) as error:
            raise StoreError(f"{self.place}: not a path or database URL that can be used: {error}") from error

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction that writes: committed as a whole at the end, or not at all."""
        with self._lock, self._translated(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A transaction that only reads."""
        with self._translated(), self._engine.connect() as connection:
            yield connection

    def close(self) -> None:
        """Closes all connections."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sa.exc.DBAPIError as error:
            raise StoreError(f"{self.place}: {error.orig}; {_advice(error)}") from error


def _url(place: str) -> str | sa.URL:
    return place if "://" in place else sa.URL.create("sqlite", database=place)


def _connect_args(place: str) -> dict[str, Any]:
    is_sqlite = "://" not in place or place.startswith("sqlite:")
    return {"timeout": _LOCK_TIMEOUT_S} if is_sqlite else {}


def _set_pragmas(connection: sqlite3.Connection, _record: object) -> None:
    # In write-ahead mode "normal" loses nothing when the process dies, and cannot corrupt when the machine does.
    for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}").close()


def _advice(error: sa.exc.DBAPIError) -> str:
    text = str(error.orig)
    if "not a database" in text or "malformed" in text:
        return "the file is not a bineval store: choose another with --store"
    if "locked" in text:
        return "another process is writing to it: wait until it has finished"
    return "check that the folder exists and can be written, or choose another store with --store"
