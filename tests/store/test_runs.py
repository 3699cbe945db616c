import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bineval.errors import StoreError, UnknownNameError
from bineval.hashing import Json
from bineval.store.database import Store
from bineval.store.ownership import new_owner
from bineval.store.replies import StoredReplies
from bineval.store.runs import PlacedRow, StoredRun, begin_run, delete_run, find_run, run_names
from bineval.types import Checklist, Dimension, Evidence, Example, Question, Usage, Verdict, VerdictRow

CHECKLIST = Checklist(
    name="summary quality",
    questions=(
        Question(id="con-1", text="Are all names right?", dimension="consistency", weight=2.0, violation="Mr. Wrong"),
        Question(id="con-2", text="Is nothing invented?", dimension="consistency", may_not_apply=True),
        Question(id="flu-1", text="Is it fluent?", dimension="fluency", requirement="Fluent.", source="hand"),
    ),
    dimensions={"consistency": Dimension(scale=(1, 5), description="Fits."), "fluency": Dimension()},
    task="Summarize. 🌍",
    scale=(0.0, 10.0),
    provenance={"model": "m", "prompts": ["\ud800"]},
)
YES = Verdict(answer="yes", judge="scripted/x", usage=Usage(input_tokens=100, output_tokens=10, calls=1))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.db") as store:
        yield store


@pytest.fixture
def run(store: Store) -> StoredRun:
    return begin(store)


def begin(store: Store, name: str = "first") -> StoredRun:
    return begin_run(store, name, identity={"data": "abc"}, facts={"n_examples": 0}, checklist=CHECKLIST)


def placed(
    verdict: Verdict, position: int = 0, question: int = 0, repeat: int = 0, unit: int | None = None
) -> PlacedRow:
    asked = CHECKLIST.questions[question]
    row = VerdictRow(
        example_id=f"example {position}",
        question_id=asked.id,
        dimension=asked.dimension,
        unit=unit,
        repeat=repeat,
        verdict=verdict,
    )
    return PlacedRow(position=position, question=question, row=row)


def saved(run: StoredRun, *rows: PlacedRow) -> list[VerdictRow]:
    run.save(rows)
    return list(run.rows())


# --- beginning and finding runs


def test_a_run_is_found_as_it_was_begun(store: Store) -> None:
    identity: dict[str, Json] = {"data": "abc", "judge": {"model": "m\ud800", "temperature": 0.1 + 0.2, "seed": None}}
    facts: dict[str, Json] = {"versions": {"bineval": "1"}, "parameters_changed": {}}
    begun = begin_run(store, "first", identity=identity, facts=facts, checklist=CHECKLIST)
    with Store(store.place) as again:
        found = find_run(again, "first")
        assert (found.id, found.name, found.identity, found.facts) == (begun.id, "first", identity, facts)
        assert found.checklist == CHECKLIST


def test_an_unknown_name_is_answered_with_the_nearest(store: Store, run: StoredRun) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown run 'frist' in .*store.db; did you mean first"):
        find_run(store, "frist")


def test_a_name_can_be_used_once(store: Store, run: StoredRun) -> None:
    with pytest.raises(StoreError, match="there is a run called 'first' already; start again to resume it"):
        begin(store)
    assert run_names(store) == ["first"]


@pytest.mark.parametrize("name", ["a name with spaces", "é 🌍", "x" * 400, "'; DROP TABLE runs; --"])
def test_a_name_may_be_any_text(store: Store, name: str) -> None:
    begin(store, name)
    assert find_run(store, name).name == name


def test_a_name_that_cannot_be_encoded_can_still_be_found(store: Store) -> None:
    begin(store, "caf\udce9")  # what a shell in another encoding hands over
    assert find_run(store, "caf\udce9").name == "caf�"


def test_the_run_worked_on_last_is_named_first(store: Store) -> None:
    first = begin(store, "first")
    begin(store, "second")
    assert run_names(store) == ["second", "first"]
    first.save([placed(YES)])
    assert run_names(store) == ["first", "second"]


def test_facts_are_kept_when_saved_and_when_released(store: Store, run: StoredRun) -> None:
    run.facts["n_examples"] = 5
    run.save_facts()
    assert find_run(store, "first").facts == {"n_examples": 5}
    run.facts["n_examples"] = 6
    assert find_run(store, "first").facts == {"n_examples": 5}
    run.release()
    assert find_run(store, "first").facts == {"n_examples": 6}


# --- verdicts


@pytest.mark.parametrize(
    "verdict",
    [
        Verdict(answer="yes"),
        Verdict(answer="no", explanation="", judge="openai/m", cached=True),
        Verdict(answer=None, reason="unparsed", explanation="the reply is empty"),
        Verdict(answer=None, reason="not_applicable"),
        Verdict(answer="yes", probability=0.0),
        Verdict(answer="no", probability=0.1 + 0.2),
        Verdict(
            answer="no",
            explanation="Ünïcödé 🌍\r\n\t\u2028 'quotes' \"and\" \\ %s :name ?",
            evidence=(
                Evidence(quote='the "wrong" minister', field="output", verified=True),
                Evidence(quote="", field=None, verified=False),
            ),
            usage=Usage(input_tokens=2**40, output_tokens=1, cached_input_tokens=2**31, calls=3),
            replies=("a" * 64, "b" * 64),
        ),
        Verdict(answer="yes", explanation="long " * 1_000_000),
    ],
    ids=["bare", "empty", "unparsed", "not applicable", "p 0", "p 0.3", "everything", "5 MB"],
)
@pytest.mark.parametrize("unit", [None, 0])
def test_a_verdict_comes_back_as_it_was(run: StoredRun, verdict: Verdict, unit: int | None) -> None:
    item = placed(verdict, repeat=1, unit=unit)
    assert saved(run, item) == [item.row]


def test_text_that_no_database_takes_is_replaced_and_not_a_reason_to_fail(run: StoredRun) -> None:
    verdict = Verdict(
        answer="no", explanation="half \ud83d and \0", judge="m\udcff", evidence=(Evidence(quote="\ud83d \0"),)
    )
    (row,) = saved(run, placed(verdict))
    assert (row.verdict.explanation, row.verdict.judge) == ("half � and �", "m�")
    assert row.verdict.evidence == verdict.evidence


def test_verdicts_come_in_the_order_of_data_checklist_sentence_and_repeat(run: StoredRun) -> None:
    places = [(p, q, u, r) for p in (0, 1, 10) for q in (0, 2) for u in (None, 0, 1, 11) for r in (0, 1)]
    rows = [placed(YES, position=p, question=q, unit=u, repeat=r) for p, q, u, r in places]
    assert saved(run, *reversed(rows)) == [item.row for item in rows]


def test_a_verdict_saved_again_takes_the_place_of_the_first(run: StoredRun) -> None:
    no = Verdict(answer="no")
    saved(run, placed(YES), placed(YES, question=1), placed(YES, repeat=1), placed(YES, position=1))
    verdicts = [row.verdict for row in saved(run, placed(no))]
    assert verdicts == [no, YES, YES, YES]
    assert run.n_verdicts() == 4


def test_verdicts_are_saved_all_or_none(run: StoredRun) -> None:
    good, bad = placed(YES), placed(YES, question=1)
    object.__setattr__(bad.row, "dimension", None)
    with pytest.raises(StoreError, match=r"NOT NULL"):
        run.save([good, bad])
    assert list(run.rows()) == []


def test_nothing_to_save_is_fine(run: StoredRun) -> None:
    assert saved(run) == []


def test_runs_do_not_see_each_others_verdicts(store: Store, run: StoredRun) -> None:
    other = begin(store, "second")
    saved(run, placed(YES), placed(YES, question=1))
    no = placed(Verdict(answer="no"))
    assert saved(other, no) == [no.row]
    assert (run.n_verdicts(), other.n_verdicts()) == (2, 1)
    assert (other.usage(), other.settled(0)) == (Usage(), {(0, None, 0)})


def test_what_failed_with_an_error_is_not_settled(run: StoredRun) -> None:
    reasons = ("unparsed", "refused", "truncated", "error", "not_applicable")
    rows = [placed(Verdict(answer=None, reason=reason), repeat=i) for i, reason in enumerate(reasons)]
    saved(run, *rows, placed(YES, question=2), placed(YES, position=1))
    assert run.settled(0) == {(0, None, 0), (0, None, 1), (0, None, 2), (0, None, 4), (2, None, 0)}
    assert (run.settled(1), run.settled(2)) == ({(0, None, 0)}, set())
    assert (run.n_verdicts(), run.n_settled()) == (7, 6)


def test_what_is_settled_is_known_by_question_sentence_and_repeat(run: StoredRun) -> None:
    failed = Verdict(answer=None, reason="error")
    saved(run, placed(YES, unit=0), placed(failed, unit=1), placed(YES, unit=2, repeat=1), placed(YES, question=1))
    assert run.settled(0) == {(0, 0, 0), (0, 2, 1), (1, None, 0)}


def test_verdicts_are_counted_by_reason_and_cache(run: StoredRun) -> None:
    assert run.counts() == {}
    cached, error = Verdict(answer="no", cached=True), Verdict(answer=None, reason="error")
    saved(run, placed(YES), placed(YES, unit=3), placed(cached, question=1), placed(error, question=2))
    assert run.counts() == {(None, False): 2, (None, True): 1, ("error", False): 1}


def test_the_first_unanswered_verdict_is_the_first_in_order_that_should_have_an_answer(run: StoredRun) -> None:
    skipped, error = Verdict(answer=None, reason="not_applicable"), Verdict(answer=None, reason="error")
    saved(run, placed(YES), placed(skipped, question=1))
    assert run.first_unanswered() is None
    later, first = placed(error, position=2), placed(error, position=1, question=2)
    saved(run, later, first)
    assert run.first_unanswered() == first.row


def test_usage_is_the_sum_over_all_verdicts_even_those_that_failed(run: StoredRun) -> None:
    assert run.usage() == Usage()
    large = Usage(input_tokens=2**33, output_tokens=5, cached_input_tokens=7, calls=2)
    failed = Verdict(answer=None, reason="error", usage=large)
    saved(run, placed(YES), placed(YES, question=1), placed(failed, question=2))
    assert run.usage() == Usage(
        input_tokens=2 * 100 + 2**33, output_tokens=2 * 10 + 5, cached_input_tokens=7, calls=2 * 1 + 2
    )


def test_replies_that_no_settled_verdict_counts_are_found_with_what_they_hold(store: Store, run: StoredRun) -> None:
    own, other, nobodys = StoredReplies(store, run_id=run.id), StoredReplies(store, run_id=99), StoredReplies(store)
    for i in range(1200):  # more than one query asks for
        own.put(f"{i:064d}", {"text": f"reply {i}"})
    other.put("e" * 64, {})
    nobodys.put("f" * 64, {})
    failed = Verdict(answer=None, reason="error", replies=(f"{0:064d}",))
    counted = Verdict(answer="yes", replies=(f"{1:064d}", f"{2:064d}", "e" * 64))
    saved(run, placed(failed), placed(counted, question=1))
    uncounted = run.uncounted_replies()
    assert set(uncounted) == {f"{i:064d}" for i in range(1200) if i not in (1, 2)}
    assert uncounted[f"{7:064d}"] == {"text": "reply 7"}


# --- examples


def examples(n: int) -> list[Example]:
    return [
        Example(
            id=f"e{i}",
            output=f"output {i} \ud800 \0 🌍",
            input=None if i % 2 else "x",
            human={"consistency": 4.5},
            metadata={"nested": {"list": [1, None, True]}},
        )
        for i in range(n)
    ]


def test_examples_come_back_in_order_as_they_were(run: StoredRun) -> None:
    data = examples(1203)  # more than two blocks
    run.add_examples(data)
    assert list(run.examples()) == data


def test_examples_added_before_stay_and_the_rest_follows(run: StoredRun) -> None:
    data = examples(30)
    run.add_examples(data[:7])
    run.add_examples(data[:3])
    run.add_examples(data)
    run.add_examples(data)
    assert list(run.examples()) == data


def test_equal_examples_are_kept_once_for_all_runs(store: Store, run: StoredRun) -> None:
    data = examples(10)
    twice = [*data, *data[:2]]
    run.add_examples(twice)
    begin(store, "second").add_examples(data[5:] + examples(11)[10:])
    assert list(run.examples()) == twice
    assert [example.id for example in find_run(store, "second").examples()] == [f"e{i}" for i in range(5, 11)]
    with store.reading() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM examples").scalar() == 11


# --- deleting


def test_deleting_a_run_keeps_its_replies_for_others(store: Store, run: StoredRun) -> None:
    StoredReplies(store, run_id=run.id).put("a" * 64, {"text": "yes"})
    run.add_examples(examples(3))
    saved(run, placed(YES))
    other = begin(store, "second")
    other.add_examples(examples(3))
    saved(other, placed(YES))
    delete_run(run)
    assert run_names(store) == ["second"]
    assert (other.n_verdicts(), len(list(other.examples()))) == (1, 3)
    assert StoredReplies(store).get("a" * 64) == ({"text": "yes"}, False)
    again = begin(store)
    assert (again.n_verdicts(), again.uncounted_replies(), list(again.examples())) == (0, {}, [])


# --- one process at a time

WORKER = """
import os, sys
from bineval.errors import StoreError
from bineval.store.database import Store
from bineval.store.runs import find_run
store = Store(sys.argv[1])
print(os.getpid(), flush=True)
runs = {}
for line in sys.stdin:
    verb, _, name = line.strip().partition(" ")
    try:
        getattr(runs.setdefault(name, find_run(store, name)), verb)()
        print("done", flush=True)
    except StoreError as error:
        print(error, flush=True)
"""


class Worker:
    """Another process with the store open, which does to runs what it is told."""

    def __init__(self, store: Store) -> None:
        command = [sys.executable, "-c", WORKER, store.place]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = int(self.answer())

    def tell(self, words: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(words + "\n")
        self._process.stdin.flush()

    def answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def worker(store: Store) -> Iterator[Worker]:
    worker = Worker(store)
    yield worker
    worker.kill()


ELSEWHERE = "elsewhere|1|5|0123abcd"


def set_owner(store: Store, owner: str | None, *, seconds_ago: float = 0.0) -> None:
    with store.writing() as connection:
        connection.exec_driver_sql("UPDATE runs SET owner = ?, touched_at = ?", (owner, time.time() - seconds_ago))


def test_a_run_that_another_process_works_on_is_refused_until_it_lets_go(
    store: Store, run: StoredRun, worker: Worker
) -> None:
    run.release()
    worker.tell("claim first")
    assert worker.answer() == "done"
    for attempt in (run.claim, lambda: delete_run(run)):
        problem = f"run 'first' is being worked on by process {worker.pid} on .*: wait or stop"
        with pytest.raises(StoreError, match=problem):
            attempt()
    worker.tell("release first")
    assert worker.answer() == "done"
    run.claim()
    worker.tell("claim first")
    assert "being worked on by process" in worker.answer()


def test_a_run_is_taken_from_the_moment_it_begins(run: StoredRun, worker: Worker) -> None:
    worker.tell("claim first")
    assert "run 'first' is being worked on by process" in worker.answer()


def test_a_run_whose_process_was_killed_is_taken_over(store: Store, run: StoredRun, worker: Worker) -> None:
    run.release()
    worker.tell("claim first")
    assert worker.answer() == "done"
    worker.kill()
    run.claim()


def test_claiming_twice_is_fine_and_keeps_others_out(store: Store, run: StoredRun) -> None:
    run.claim()
    run.claim()
    with pytest.raises(StoreError, match="is being worked on"):
        find_run(store, "first").claim()


def test_another_thread_of_the_same_process_is_refused_too(store: Store, run: StoredRun) -> None:
    with pytest.raises(StoreError, match="run 'first' is being worked on by another thread of this process"):
        find_run(store, "first").claim()
    run.release()
    find_run(store, "first").claim()


def test_a_process_that_only_has_the_number_of_a_dead_one_is_no_owner(store: Store, run: StoredRun) -> None:
    host, pid, started, token = new_owner().rsplit("|", 3)
    if not started:
        pytest.skip("this system does not tell when a process began")
    set_owner(store, f"{host}|{pid}|{int(started) - 1}|{token}")
    run.claim()
    with pytest.raises(StoreError, match="is being worked on"):
        find_run(store, "first").claim()


def test_of_processes_that_claim_a_run_together_one_gets_it(store: Store, worker: Worker) -> None:
    other = Worker(store)
    names = [f"run {i}" for i in range(25)]
    for name in names:
        begin(store, name).release()
    for name in names:
        worker.tell(f"claim {name}")
        other.tell(f"claim {name}")
    outcomes = [(worker.answer(), other.answer()) for _ in names]
    other.kill()
    assert [sum(answer == "done" for answer in pair) for pair in outcomes] == [1] * len(names)


def test_a_run_of_another_host_is_taken_over_when_it_was_not_heard_of_for_five_minutes(
    store: Store, run: StoredRun
) -> None:
    set_owner(store, ELSEWHERE, seconds_ago=250)
    with pytest.raises(StoreError, match="worked on by process 1 on elsewhere"):
        run.claim()
    set_owner(store, ELSEWHERE, seconds_ago=350)
    run.claim()


def test_letting_go_of_a_run_that_was_taken_over_changes_nothing(store: Store, run: StoredRun) -> None:
    set_owner(store, ELSEWHERE)
    run.facts["n_examples"] = 9
    run.release()
    assert find_run(store, "first").facts == {"n_examples": 0}
    with pytest.raises(StoreError, match="process 1 on elsewhere"):
        run.claim()


def test_a_run_that_another_process_deleted_says_so(store: Store, run: StoredRun) -> None:
    run.release()
    delete_run(find_run(store, "first"))
    with pytest.raises(StoreError, match="run 'first' was deleted by another process meanwhile: start again"):
        run.claim()


# --- processes that write at once

WRITER = """
import json, sys
from bineval.store.database import Store
from bineval.store.replies import StoredReplies
from bineval.store.runs import PlacedRow, begin_run
from bineval.types import Checklist, Dimension, Example, Question, Verdict, VerdictRow

place, name = sys.argv[1:]
question = Question(id="q", text="Is it?", dimension="d")
with Store(place) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    checklist = Checklist(name="c", questions=(question,), dimensions={"d": Dimension()})
    run = begin_run(store, name, identity={}, facts={}, checklist=checklist)
    run.add_examples([Example(id=str(i), output="the same in both") for i in range(600)])
    replies = StoredReplies(store, run_id=run.id)
    for block in range(40):
        rows = []
        for i in range(5 * block, 5 * block + 5):
            replies.put(f"{i:064d}", {"text": "the same in both"})
            replies.put(f"{name}{i:060d}", {"text": name})
            verdict = Verdict(answer="yes", explanation=f"{name} {i}")
            rows.append(PlacedRow(position=i, question=0, row=VerdictRow(
                example_id=str(i), question_id="q", dimension="d", verdict=verdict)))
        run.save(rows)
    run.release()
"""


def test_processes_that_write_to_one_store_at_once_lose_nothing(store: Store) -> None:
    names = ("left", "rght")
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, store.place, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    assert [process.communicate(timeout=60) for process in processes] == [("", "")] * 2
    for name in names:
        run = find_run(store, name)
        assert [row.verdict.explanation for row in run.rows()] == [f"{name} {i}" for i in range(200)]
        assert len(list(run.examples())) == 600
    with store.reading() as connection:
        texts = [json.loads(text)["text"] for (text,) in connection.exec_driver_sql("SELECT reply FROM replies")]
    assert {text: texts.count(text) for text in texts} == {"the same in both": 200, "left": 200, "rght": 200}
