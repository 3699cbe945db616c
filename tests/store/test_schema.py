import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from bineval.errors import StoreError
from bineval.judging.runs import Run
from bineval.store.database import Store
from bineval.store.runs import PlacedRow, begin_run, find_run, run_names
from bineval.types import Checklist, Question, Usage, Verdict, VerdictRow

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


# The tables as store version 1 made them, and a run in them.
VERSION_1 = """
CREATE TABLE store_version (version INTEGER NOT NULL, PRIMARY KEY (version));
CREATE TABLE runs (id INTEGER NOT NULL, name VARCHAR(400) NOT NULL, identity TEXT NOT NULL, facts TEXT NOT NULL,
    checklist TEXT NOT NULL, owner VARCHAR(200), touched_at FLOAT NOT NULL, PRIMARY KEY (id), UNIQUE (name));
CREATE TABLE examples (hash VARCHAR(64) NOT NULL, data TEXT NOT NULL, PRIMARY KEY (hash));
CREATE TABLE replies ("key" VARCHAR(64) NOT NULL, run_id INTEGER, reply TEXT NOT NULL, PRIMARY KEY ("key"));
CREATE INDEX ix_replies_run_id ON replies (run_id);
CREATE TABLE run_examples (run_id INTEGER NOT NULL, position INTEGER NOT NULL, hash VARCHAR(64) NOT NULL,
    PRIMARY KEY (run_id, position), FOREIGN KEY(run_id) REFERENCES runs (id),
    FOREIGN KEY(hash) REFERENCES examples (hash));
CREATE TABLE verdicts (run_id INTEGER NOT NULL, position INTEGER NOT NULL, question INTEGER NOT NULL,
    unit INTEGER NOT NULL, repeat INTEGER NOT NULL, example_id VARCHAR NOT NULL, question_id VARCHAR NOT NULL,
    dimension VARCHAR NOT NULL, answer VARCHAR(3), reason VARCHAR(20), probability FLOAT, explanation VARCHAR,
    evidence TEXT, judge VARCHAR NOT NULL, cached BOOLEAN NOT NULL, input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL, cached_input_tokens INTEGER NOT NULL, calls INTEGER NOT NULL,
    replies TEXT NOT NULL, PRIMARY KEY (run_id, position, question, unit, repeat),
    FOREIGN KEY(run_id) REFERENCES runs (id));
INSERT INTO store_version VALUES (1);
INSERT INTO runs VALUES (1, 'old', '{"repeats": 1}', '{"judge_name": "m", "n_examples": 1, "n_planned": 1}',
    '{"name": "c", "provenance": {}, "content": {"task": null, "scale": null, "dimensions": {"d": {"scale": [1, 5],
    "description": null}}, "questions": [{"id": "q", "text": "T?", "dimension": "d", "weight": 1.0, "violation": null,
    "requirement": null, "may_not_apply": false, "source": null}]}}', NULL, 1.5);
INSERT INTO examples VALUES ('e', '{"id": "a", "input": null, "output": "x", "reference": null, "context": null,
    "group": null, "system": null, "human": {}, "metadata": {}}');
INSERT INTO run_examples VALUES (1, 0, 'e');
INSERT INTO verdicts VALUES (1, 0, 0, -1, 0, 'a', 'q', 'd', 'yes', NULL, NULL, 'So it is.', NULL, 'm', 0, 100, 10, 5, 1,
    'k1 k2');
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
    assert tables(path) == {"store_version", "runs", "examples", "run_examples", "verdicts", "replies", "loops"}
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT version FROM store_version").fetchall() == [(3,)]
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


def test_a_store_of_version_1_becomes_the_present_one_and_its_runs_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(VERSION_1)
    connection.close()
    # What version 1 did not know is unknown (cost) or absent (sentence, details).
    usage = Usage(input_tokens=100, output_tokens=10, cached_input_tokens=5, calls=1, cost_usd=None)
    verdict = Verdict(answer="yes", explanation="So it is.", judge="m", usage=usage, replies=("k1", "k2"))
    for _ in range(2):  # the second time it has the present version
        with Store(path) as store:
            run = Run.open(store, "old")
            assert list(run.verdicts()) == [VerdictRow(example_id="a", question_id="q", dimension="d", verdict=verdict)]
            assert run.usage() == usage
            assert run.checklist.questions == (Question(id="q", text="T?", dimension="d"),)
            assert (run.checklist.threshold, run.checklist.language) == (0.5, "en")
            assert [scores["d"].scaled for _, scores in run.scores()] == [5.0]
            assert run.status().finished
    # New rows find their place too.
    with Store(path) as store:
        stored = find_run(store, "old")
        row = VerdictRow(example_id="a", question_id="q", dimension="d", unit=0, sentence="x", verdict=verdict)
        stored.save([PlacedRow(position=0, question=0, row=row)])
        assert list(stored.rows())[1] == row


def test_a_store_of_a_newer_bineval_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    Store(path).close()
    execute(path, "UPDATE store_version SET version = 7")
    execute(path, "DROP TABLE replies")
    with pytest.raises(
        StoreError, match=r"newer bineval \(store version 7, this one reads up to 3\); upgrade"
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
