"""Opens the store's database and hands out transactions."""

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from bineval.errors import StoreError
from bineval.store.schema import is_current, migrate

_LOCK_TIMEOUT_S = 30
_LOCK_POLL_S = 0.02
_KINDS = ("sqlite", "postgresql")


class Store:
    """An open store; a context manager that closes it.

    Writers take turns, within the process and between processes; SQLite's write-ahead log lets readers go on meanwhile,
    and keeps every committed transaction when the process is killed.

    Args:
        place: Path of a SQLite file, made when absent, or the URL of a SQLite or PostgreSQL database.

    Attributes:
        place: The same for people to read, without the password of a URL.

    Raises:
        StoreError: It cannot be opened, is no store, or was written by a newer bineval.
    """

    def __init__(self, place: str | Path) -> None:
        url = _url(str(place))
        self.place = url.render_as_string(hide_password=True) if "://" in str(place) else str(place)
        self._lock = threading.Lock()
        self._kind = url.get_backend_name()
        if self._kind not in _KINDS:
            raise StoreError(f"{self.place}: a store is a SQLite file or a PostgreSQL database, not {self._kind}")
        try:
            self._engine = sa.create_engine(url)
        except (sa.exc.ArgumentError, ModuleNotFoundError) as error:
            raise StoreError(f"{self.place}: not a database URL that can be used: {error}") from error
        if self._kind == "sqlite":
            sa.event.listen(self._engine, "connect", _set_up)
        try:
            with self.reading() as connection:
                current = is_current(connection, self.place)
            if not current:
                with self.writing() as connection:
                    migrate(connection, self.place)
        except StoreError:
            self.close()
            raise

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction that writes: committed as a whole at the end, or not at all."""
        with self._lock, self._translated(), self._engine.begin() as connection:
            if self._kind == "sqlite":
                # Takes its turn before it reads, so that what it reads still holds when it writes.
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield connection

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A connection to read with; each statement sees the store as one transaction left it."""
        with self._translated(), self._engine.connect() as connection:
            yield connection

    def insert_if_new(self, table: sa.Table) -> sa.Insert:
        """A statement that inserts rows into `table`; a row whose key is there already stays as it is."""
        if self._kind == "sqlite":
            return sqlite.insert(table).on_conflict_do_nothing()
        from sqlalchemy.dialects import postgresql  # not at the top: every command with a store would load it

        return postgresql.insert(table).on_conflict_do_nothing()

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
            advice = _advice(str(error.orig)) if self._kind == "sqlite" else "check that the database can be reached"
            raise StoreError(f"{self.place}: {error.orig}; {advice}") from error


def _url(place: str) -> sa.URL:
    if "://" not in place:
        return sa.URL.create("sqlite", database=place)
    try:
        return sa.make_url(place)
    except sa.exc.ArgumentError as error:
        raise StoreError(f"the store's database URL cannot be read: {error}") from error


def _set_up(connection: sqlite3.Connection, _record: object) -> None:
    # Python would begin a transaction at its first change only; `writing` begins it before anything is read.
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout = {_LOCK_TIMEOUT_S * 1000}").close()
    _write_ahead(connection)
    # In write-ahead mode "normal" loses nothing when the process dies, and cannot corrupt when the machine does.
    connection.execute("PRAGMA synchronous = NORMAL").close()
    connection.execute("PRAGMA foreign_keys = ON").close()


def _write_ahead(connection: sqlite3.Connection) -> None:
    # Of processes that make a file together, SQLite tells all but one at once that it is locked, without a wait.
    give_up_at = time.monotonic() + _LOCK_TIMEOUT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").close()
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > give_up_at:
                raise
        time.sleep(_LOCK_POLL_S)


def _advice(problem: str) -> str:
    if "not a database" in problem or "malformed" in problem:
        return "the file is not a bineval store, or is damaged: choose another with --store"
    if "locked" in problem:
        return "another process is writing to it: wait until it has finished"
    if "full" in problem:
        return "make room, or choose another store with --store; all that was saved is kept"
    return "check that the folder exists and can be written, or choose another store with --store"
