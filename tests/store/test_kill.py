"""A process that is killed in the middle of writing loses nothing that it was told is kept."""

import json
import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

from bineval.store.database import Store
from bineval.store.replies import StoredReplies
from bineval.store.runs import find_run

N_KILLS = 5
ROWS_AT_ONCE = 7

# Writes without end: a reply, then some verdicts together, and says after each what it was told is kept.
WRITER = """
import sys
from bineval.store.database import Store
from bineval.store.replies import StoredReplies
from bineval.store.runs import PlacedRow, begin_run, find_run, run_names
from bineval.types import Checklist, Dimension, Question, Verdict, VerdictRow

place, first, at_once = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
store = Store(place)
if "run" in run_names(store):
    run = find_run(store, "run")
    run.claim()
else:
    question = Question(id="q", text="Is it?", dimension="d")
    checklist = Checklist(name="c", questions=(question,), dimensions={"d": Dimension()})
    run = begin_run(store, "run", identity={}, facts={}, checklist=checklist)
replies = StoredReplies(store, run_id=run.id)
for i in range(first, 1_000_000):
    replies.put(f"{i:064d}", {"text": f"reply {i} " * 300})
    print("reply", i, flush=True)
    rows = [
        PlacedRow(position=i, question=0, row=VerdictRow(
            example_id=str(i), question_id="q", dimension="d", repeat=repeat,
            verdict=Verdict(answer="yes", explanation=f"verdict {i} " * 300, replies=(f"{i:064d}",))))
        for repeat in range(at_once)
    ]
    run.save(rows)
    print("verdicts", i, flush=True)
"""


def write_and_be_killed(path: Path, first: int, alive_s: float) -> dict[str, list[int]]:
    """Returns the numbers of what the process was told is kept, before it was killed."""
    command = [sys.executable, "-c", WRITER, str(path), str(first), str(ROWS_AT_ONCE)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    lines = [process.stdout.readline()]
    time.sleep(alive_s)
    process.kill()
    lines += process.communicate()[0].splitlines()
    told: dict[str, list[int]] = {"reply": [], "verdicts": []}
    for line in lines:
        # The kill may have cut off the last line.
        if len(words := line.split()) == 2 and words[0] in told and int(words[1]) >= first:
            told[words[0]].append(int(words[1]))
    return told


def check(path: Path, told: dict[str, list[int]]) -> int:
    """Checks the file as the next process finds it; returns the first number that is not used."""
    with Store(path) as store:
        with store.reading() as connection:
            assert connection.exec_driver_sql("PRAGMA integrity_check").scalars().all() == ["ok"]
            assert connection.exec_driver_sql("PRAGMA foreign_key_check").all() == []
            keys = set(connection.exec_driver_sql("SELECT key FROM replies").scalars())
        replies = StoredReplies(store)
        for i in told["reply"]:
            assert replies.get(f"{i:064d}") == ({"text": f"reply {i} " * 300}, False)
        n_rows: dict[int, int] = {}
        run = find_run(store, "run")
        for row in run.rows():
            i = int(row.example_id)
            n_rows[i] = n_rows.get(i, 0) + 1
            assert row.verdict.explanation == f"verdict {i} " * 300
            assert row.verdict.replies[0] in keys
        assert set(told["verdicts"]) <= n_rows.keys()
        assert set(n_rows.values()) <= {ROWS_AT_ONCE}  # all verdicts of a save, or none of them
        run.claim()  # the owner is dead
        run.release()
        return max(map(int, keys)) + 1


def test_a_kill_at_any_moment_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    path, first = tmp_path / "store.db", 0
    moments = random.Random(time.time_ns())
    told: dict[str, list[int]] = {"reply": [], "verdicts": []}
    for _ in range(N_KILLS):
        alive_s = moments.uniform(0.0, 0.4)
        for kind, numbers in write_and_be_killed(path, first, alive_s).items():
            told[kind] += numbers
        first = check(path, told)
    assert len(told["reply"]) > N_KILLS
    connection = sqlite3.connect(path)
    (text,) = connection.execute("SELECT reply FROM replies ORDER BY key DESC LIMIT 1").fetchone()
    connection.close()
    assert json.loads(text) == {"text": f"reply {first - 1} " * 300}
