import dataclasses
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from bineval.errors import ModelAuthError, ModelBusyError, ModelRequestError
from bineval.judging.chat import ChatJudge, ChatSettings
from bineval.judging.crew import Crew, Outcome, Task
from bineval.types import Example
from support.asking import CON_1, CON_2, asked, deciding, interrupt

BUSY = ModelBusyError("HTTP 503", model="scripted/judge")


def tasks(n: int) -> Iterator[Task]:
    for i in range(n):
        yield Task(position=i, example=Example(id=f"e{i}", output=f"{i}"), questions=asked(CON_1), repeat=0)


def crew(decide: Callable[[str, str], object], n_tasks: int, *, n_threads: int) -> Crew:
    return Crew(ChatJudge(deciding(decide), task=None), tasks(n_tasks), n_threads=n_threads)


def collect(working: Crew, outcomes: list[Outcome]) -> None:
    for outcome in working.outcomes():
        outcomes.append(outcome)


def positions(outcomes: list[Outcome]) -> list[int]:
    return sorted(outcome.task.position for outcome in outcomes)


@pytest.mark.parametrize("n_threads", [1, 3, 16])
def test_every_task_is_asked_once(n_threads: int) -> None:
    outcomes = list(crew(lambda *_: "yes", 50, n_threads=n_threads).outcomes())
    assert positions(outcomes) == list(range(50))
    assert all(outcome.verdicts[0].answer == "yes" for outcome in outcomes)


def test_no_task_is_no_outcome() -> None:
    assert list(crew(lambda *_: "yes", 0, n_threads=4).outcomes()) == []


def test_the_first_task_is_asked_alone_and_no_more_than_the_limit_later() -> None:
    under_way, most, seen_first = 0, 0, []
    lock = threading.Lock()

    def decide(output: str, _: str) -> str:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        time.sleep(0.05 if output == "0" else 0.005)
        with lock:
            if output == "0":
                seen_first.append(most)
            under_way -= 1
        return "yes"

    list(crew(decide, 40, n_threads=4).outcomes())
    assert seen_first == [1]
    assert 2 <= most <= 4


def test_tasks_are_taken_only_as_they_are_needed() -> None:
    n_taken = 0

    def counted() -> Iterator[Task]:
        nonlocal n_taken
        for task in tasks(10_000):
            n_taken += 1
            yield task

    crew = Crew(ChatJudge(deciding(lambda *_: "yes"), task=None), counted(), n_threads=4)
    for outcome in crew.outcomes():
        if outcome.task.position >= 5:
            break
    crew.stop()
    assert n_taken < 50


# The first question of an example before the rest


def questions_of(n_examples: int, n_each: int) -> Iterator[Task]:
    """Tasks of one question each, whose texts are their numbers."""
    for i in range(n_examples):
        for j in range(n_each):
            question = dataclasses.replace(CON_1, id=f"q{j}", text=f"{j}")
            yield Task(position=i, example=Example(id=f"e{i}", output=f"{i}"), questions=asked(question), repeat=0)


class Log:
    """Notes what is under way; each call takes `delay_s`."""

    def __init__(self, delay_s: float = 0.002) -> None:
        self.lock, self.delay_s = threading.Lock(), delay_s
        self.under_way: set[tuple[str, str]] = set()
        self.finished: list[tuple[str, str]] = []
        self.begun: list[tuple[str, str]] = []
        self.too_early: list[tuple[str, str]] = []
        self.n_under_way: list[int] = []

    def __call__(self, output: str, question: str) -> str:
        key = (output, question)
        with self.lock:
            self.under_way.add(key)
            self.begun.append(key)
            self.n_under_way.append(len(self.under_way))
            if question != "0" and (output, "0") not in self.finished:
                self.too_early.append(key)
        time.sleep(self.delay_s)
        with self.lock:
            self.under_way.remove(key)
            self.finished.append(key)
        return "yes"


def run_all(log: Log, n_examples: int, n_each: int, *, n_threads: int) -> list[Outcome]:
    judge = ChatJudge(deciding(log), task=None)
    return list(Crew(judge, questions_of(n_examples, n_each), n_threads=n_threads).outcomes())


@pytest.mark.parametrize("n_threads", [1, 2, 4, 16])
def test_no_second_question_of_an_example_begins_before_its_first_has_finished(n_threads: int) -> None:
    log = Log()
    outcomes = run_all(log, 20, 5, n_threads=n_threads)
    assert log.too_early == []
    assert sorted(log.finished) == sorted((f"{i}", f"{j}") for i in range(20) for j in range(5))
    assert len(outcomes) == 100


def test_other_examples_keep_the_threads_busy_meanwhile() -> None:
    log = Log(0.02)
    run_all(log, 12, 6, n_threads=4)
    # After the first of all, which is alone, and until the last few, all four threads have something to do.
    assert sum(n == 4 for n in log.n_under_way) >= 0.8 * len(log.n_under_way)
    assert max(log.n_under_way) == 4


def test_the_rest_of_an_example_comes_before_the_examples_after_it() -> None:
    log = Log()
    run_all(log, 30, 8, n_threads=2)
    places = {output: [i for i, (other, _) in enumerate(log.begun) if other == output] for output, _ in log.begun}
    # Two tasks a thread are under way, so four examples at most are open at a time.
    n_open = [sum(min(at) <= i <= max(at) for at in places.values()) for i in range(len(log.begun))]
    assert max(n_open) <= 5


def test_one_thread_asks_example_by_example() -> None:
    log = Log(0)
    run_all(log, 5, 4, n_threads=1)
    assert log.begun == [(f"{i}", f"{j}") for i in range(5) for j in range(4)]


def test_of_each_example_no_more_tasks_are_taken_than_needed() -> None:
    n_taken = 0

    def counted() -> Iterator[Task]:
        nonlocal n_taken
        for task in questions_of(10_000, 3):
            n_taken += 1
            yield task

    working = Crew(ChatJudge(deciding(lambda *_: "yes"), task=None), counted(), n_threads=4)
    for outcome in working.outcomes():
        if outcome.task.position >= 5:
            break
    working.stop()
    assert n_taken < 100


def test_the_rest_of_an_example_is_asked_even_when_its_first_question_failed() -> None:
    def decide(output: str, question: str) -> str:
        if output == "1" and question == "0":
            raise BUSY
        return "yes"

    judge = ChatJudge(deciding(decide), task=None)
    outcomes = list(Crew(judge, questions_of(3, 4), n_threads=2).outcomes())
    assert positions(outcomes) == [0] * 4 + [1] * 4 + [2] * 4
    assert [outcome.task.position for outcome in outcomes if outcome.unreachable] == [1]


# What fails


def test_a_model_that_cannot_be_reached_at_first_ends_it_at_once() -> None:
    sent: list[str] = []

    def decide(output: str, _: str) -> str:
        sent.append(output)
        raise BUSY

    with pytest.raises(ModelBusyError):
        list(crew(decide, 20, n_threads=4).outcomes())
    assert sent == ["0"]


def test_a_task_whose_model_is_unreachable_later_is_an_error_and_the_rest_goes_on() -> None:
    def decide(output: str, _: str) -> str:
        if output == "3":
            raise BUSY
        return "yes"

    outcomes = list(crew(decide, 10, n_threads=2).outcomes())
    failed = [outcome for outcome in outcomes if outcome.unreachable is not None]
    assert positions(outcomes) == list(range(10))
    assert positions(failed) == [3]
    (verdict,) = failed[0].verdicts
    assert (verdict.answer, verdict.reason, verdict.judge) == (None, "error", "scripted/judge")
    assert "HTTP 503" in str(verdict.explanation)


def test_every_question_of_an_unreachable_batch_is_an_error() -> None:
    def decide(output: str, _: str) -> str:
        if output == "1":
            raise BUSY
        return "yes"

    pair = asked(CON_1, CON_2)
    batches = (Task(position=i, example=Example(id=f"{i}", output=f"{i}"), questions=pair, repeat=0) for i in range(2))
    judge = ChatJudge(deciding(decide), task=None, settings=ChatSettings(mode="all"))
    first, second = Crew(judge, batches, n_threads=1).outcomes()
    assert [verdict.answer for verdict in first.verdicts] == ["yes", "yes"]
    assert [verdict.reason for verdict in second.verdicts] == ["error", "error"]


def test_too_many_failures_in_a_row_end_it() -> None:
    sent: list[str] = []

    def decide(output: str, _: str) -> str:
        sent.append(output)
        if int(output) >= 10:
            raise BUSY
        return "yes"

    outcomes: list[Outcome] = []
    with pytest.raises(ModelBusyError):
        outcomes += crew(decide, 500, n_threads=2).outcomes()
    # 2 threads and 8 more in a row, and what was under way then.
    assert 20 <= len(sent) <= 24


def test_failures_that_are_not_in_a_row_end_nothing() -> None:
    def decide(output: str, _: str) -> str:
        if int(output) % 2:
            raise BUSY
        return "yes"

    assert len(list(crew(decide, 60, n_threads=1).outcomes())) == 60


def test_an_error_that_stops_the_run_is_raised_after_what_was_under_way() -> None:
    sent: list[str] = []

    def decide(output: str, _: str) -> str:
        sent.append(output)
        if output == "5":
            raise ModelAuthError("out of quota", model="scripted/judge")
        time.sleep(0.01)
        return "yes"

    outcomes: list[Outcome] = []
    with pytest.raises(ModelAuthError):
        collect(crew(decide, 500, n_threads=3), outcomes)
    assert positions(outcomes) == sorted(int(output) for output in sent if output != "5")
    assert len(sent) < 20


def test_a_request_that_can_never_succeed_is_one_verdict_and_ends_nothing() -> None:
    def decide(output: str, _: str) -> str:
        if output == "0":
            raise ModelRequestError("too long", model="scripted/judge")
        return "yes"

    reasons = {o.task.position: o.verdicts[0].reason for o in crew(decide, 4, n_threads=2).outcomes()}
    assert reasons == {0: "error", 1: None, 2: None, 3: None}


def test_after_an_interruption_what_is_under_way_is_still_collected() -> None:
    release = threading.Event()

    def decide(output: str, _: str) -> str:
        if output == "2":
            time.sleep(0.1)
            interrupt()
        if output != "0":
            release.wait(10)
        return "yes"

    working = crew(decide, 500, n_threads=3)
    outcomes: list[Outcome] = []
    with pytest.raises(KeyboardInterrupt):
        collect(working, outcomes)
    assert positions(outcomes) == [0]
    working.stop()
    release.set()
    collect(working, outcomes)
    # The three that threads had begun; those that were only waiting are taken back.
    assert positions(outcomes) == [0, 1, 2, 3]
