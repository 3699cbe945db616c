import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from bineval.errors import StoreError
from bineval.store.database import Store
from bineval.store.runs import begin_run, run_names
from bineval.types import Checklist

EMPTY = Checklist(name="empty", questions=(), dimensions={})

# Opens one store after the other, as it is told.
OPEN = """
import sys
from bineval.store.database import Store
print("ready", flush=True)
for path in sys.stdin:
    Store(path.strip()).close()
    print("opened", flush=True)
"""


def tables(path: Path) -> set[str]:
    with sqlite3.connect(path) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    connection.close()
    return {name for (name,) in names}


def execute(path: Path, statement: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()


def test_an_empty_place_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    Store(path).close()
    assert tables(path) == {"store_version", "runs", "examples", "run_examples", "verdicts", "replies"}
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT version FROM store_version").fetchall() == [(1,)]
    connection.close()


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch()
    Store(path).close()
    assert "verdicts" in tables(path)


def test_opening_again_keeps_what_is_there(tmp_path: Path) -> None:
    for name in ("first", "second"):
        with Store(tmp_path / "store.db") as store:
            begin_run(store, name, identity={}, facts={}, checklist=EMPTY)
    with Store(tmp_path / "store.db") as store:
        assert sorted(run_names(store)) == ["first", "second"]


def test_a_store_of_a_newer_bineval_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    Store(path).close()
    execute(path, "UPDATE store_version SET version = 7")
    execute(path, "DROP TABLE replies")
    with pytest.raises(
        StoreError, match=r"newer bineval \(store version 7, this one reads up to 1\); upgrade"
    ) as caught:
        Store(path)
    assert str(path) in str(caught.value)
    assert "replies" not in tables(path)


@pytest.mark.parametrize("table", ["runs", "bookmarks"])  # one that has a name of ours, one that has not
def test_the_database_of_another_program_is_refused_and_left_alone(tmp_path: Path, table: str) -> None:
    path = tmp_path / "mlflow.db"
    execute(path, f"CREATE TABLE {table} (run_uuid TEXT)")
    with pytest.raises(StoreError, match="holds other tables and is no bineval store"):
        Store(path)
    assert tables(path) == {table}


def test_processes_that_open_a_new_store_together_make_it_once(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen([sys.executable, "-c", OPEN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]

    def answers() -> list[str]:
        return [process.stdout.readline() if process.stdout else "" for process in processes]

    assert answers() == ["ready\n"] * 4
    for i in range(25):
        for process in processes:
            assert process.stdin is not None
            process.stdin.write(f"{tmp_path / f'store {i}.db'}\n")
            process.stdin.flush()
        assert answers() == ["opened\n"] * 4
    for process in processes:
        process.communicate(timeout=20)
