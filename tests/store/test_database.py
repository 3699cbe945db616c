import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from bineval.errors import StoreError
from bineval.store import database
from bineval.store.database import Store
from bineval.store.replies import StoredReplies
from support.threads import Together

KEY = "k" * 64


@contextmanager
def without_root_rights() -> Iterator[None]:
    """Root may write everywhere, whatever the mode of a folder says."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can reach."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)
        Path(folder).chmod(0o777)


def test_the_file_is_in_write_ahead_mode(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Store(path) as store:
        StoredReplies(store).put(KEY, {"text": "yes"})
        assert path.with_name("store.db-wal").exists()
        with store.reading() as connection:
            pragmas = [
                connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("synchronous", "foreign_keys")
            ]
        assert pragmas == [1, 1]  # normal, on
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()
    assert not path.with_name("store.db-wal").exists()


def test_readers_go_on_while_somebody_writes(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        StoredReplies(store).put(KEY, {"text": "yes"})
        with store.writing() as connection:
            connection.exec_driver_sql("DELETE FROM replies")
            # Another thread, such as a viewer's, sees nothing of what is not committed.
            assert Together(lambda _: StoredReplies(store).get(KEY), 1).outcomes() == [({"text": "yes"}, False)]
        assert StoredReplies(store).get(KEY) is None


def test_a_transaction_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        with pytest.raises(StoreError, match="no such table: nowhere"):
            _write_and_fail(store)
        with store.reading() as connection:
            assert connection.exec_driver_sql("SELECT count(*) FROM replies").scalar() == 0
            assert connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE name = 'half'").scalar() is None
        StoredReplies(store).put(KEY, {"text": "yes"})  # and the next writer gets its turn


def _write_and_fail(store: Store) -> None:
    with store.writing() as connection:
        connection.exec_driver_sql("INSERT INTO replies VALUES ('a', NULL, '{}')")
        connection.exec_driver_sql("CREATE TABLE half (migrated INTEGER)")
        connection.exec_driver_sql("INSERT INTO nowhere VALUES (1)")


def test_what_a_writer_reads_still_holds_when_it_writes(tmp_path: Path) -> None:
    """Two stores on one file stand for two processes: nobody writes between a writer's look and its change."""
    counts = (Store(tmp_path / "store.db"), Store(tmp_path / "store.db"))
    with counts[0].writing() as connection:
        connection.exec_driver_sql("CREATE TABLE counter (n INTEGER)")
        connection.exec_driver_sql("INSERT INTO counter VALUES (0)")

    def count(store: Store) -> None:
        for _ in range(50):
            with store.writing() as connection:
                n = connection.exec_driver_sql("SELECT n FROM counter").scalar_one()
                connection.exec_driver_sql("UPDATE counter SET n = ?", (n + 1,))

    assert Together(lambda i: count(counts[i % 2]), 4).outcomes() == [None] * 4
    with counts[0].reading() as connection:
        assert connection.exec_driver_sql("SELECT n FROM counter").scalar() == 200
    for store in counts:
        store.close()


@pytest.mark.parametrize("content", [b"id,output\n1,hello\n" * 100, b"SQLite format 3\0" + b"\xff" * 4096])
def test_a_file_that_is_no_database_is_refused_with_advice_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "examples.csv"
    path.write_bytes(content)
    with pytest.raises(StoreError, match="not a bineval store, or is damaged: choose another with --store") as caught:
        Store(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert path.read_bytes() == content


@pytest.mark.parametrize("place", ["missing/store.db", "file/store.db", "."])
def test_a_place_that_cannot_be_opened_is_an_error_with_advice(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="check that the folder exists and can be written"):
        Store(tmp_path / place)


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="the system knows no users")
def test_a_folder_that_cannot_be_written_is_an_error_with_advice(open_folder: Path) -> None:
    open_folder.chmod(0o555)
    with without_root_rights(), pytest.raises(StoreError, match="check that the folder exists and can be written"):
        Store(open_folder / "store.db")
    assert list(open_folder.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="the system knows no users")
def test_a_store_that_cannot_be_written_can_be_read(open_folder: Path) -> None:
    path = open_folder / "store.db"
    with Store(path) as store:
        StoredReplies(store).put(KEY, {"text": "yes"})
    path.chmod(0o444)
    with without_root_rights(), Store(path) as store:
        assert StoredReplies(store).get(KEY) == ({"text": "yes"}, False)
        with pytest.raises(StoreError, match="check that the folder exists and can be written"):
            StoredReplies(store).put("l" * 64, {"text": "no"})


def test_a_store_that_another_process_keeps_locked_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_LOCK_TIMEOUT_S", 0)
    Store(tmp_path / "store.db").close()
    other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with Store(tmp_path / "store.db") as store:
        with pytest.raises(StoreError, match="locked; another process is writing to it: wait until it has finished"):
            StoredReplies(store).put(KEY, {"text": "yes"})
        other.execute("ROLLBACK")
        StoredReplies(store).put(KEY, {"text": "yes"})
    other.close()


@pytest.mark.parametrize("scheme", ["sqlite", "sqlite+pysqlite"])
def test_a_database_url_reaches_the_same_store_as_its_path(tmp_path: Path, scheme: str) -> None:
    path = tmp_path / "store.db"
    with Store(f"{scheme}:///{path}") as store:
        StoredReplies(store).put(KEY, {"text": "yes"})
        with store.reading() as connection:
            assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
            assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 30_000
    with Store(path) as store:
        assert StoredReplies(store).get(KEY) == ({"text": "yes"}, False)


@pytest.mark.parametrize("url", ["sqlite://host/db", "://", "http//::://x"])
def test_a_url_that_makes_no_sense_is_refused(url: str) -> None:
    with pytest.raises(StoreError, match="URL"):
        Store(url)


@pytest.mark.parametrize("kind", ["mysql", "nosuch"])
def test_another_kind_of_database_is_refused(kind: str) -> None:
    with pytest.raises(StoreError, match=rf"a store is a SQLite file or a PostgreSQL database, not {kind}") as caught:
        Store(f"{kind}://me:secret@localhost/evals")
    assert "secret" not in str(caught.value)


@pytest.mark.skipif(find_spec("psycopg") is not None, reason="the driver is installed")
def test_a_missing_driver_is_named_and_the_password_is_not() -> None:
    with pytest.raises(StoreError, match="psycopg") as caught:
        Store("postgresql://me:secret@localhost/evals")
    assert "postgresql://me:***@localhost/evals" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_file_with_a_strange_name_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a?b#c%20d é.db"
    with Store(path) as store:
        assert store.place == str(path)
    assert path.exists()


def test_many_threads_can_read_at_once(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        StoredReplies(store).put(KEY, {"text": "yes"})
        found = Together(lambda _: StoredReplies(store).get(KEY), 1280, n_threads=64).outcomes()
        assert found == [({"text": "yes"}, False)] * 1280
