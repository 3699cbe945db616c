import random
import threading
import time
from collections.abc import Callable

import pytest

from bineval.errors import ConfigError, ModelAuthError, ModelBusyError, ModelError
from bineval.models.limits import Limited, Limits
from bineval.models.scripted import Scripted
from bineval.types import Message, Reply, Request, Usage
from support.threads import PATIENCE_S, Together


def request(text: str = "Is the sky blue?", *, max_tokens: int = 50) -> Request:
    return Request(messages=(Message(role="user", content=text),), max_tokens=max_tokens)


def too_many() -> ModelBusyError:
    return ModelBusyError("slow down", model="scripted/x", status=429)


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0

    def read(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Timed:
    """A model with limits on a clock of its own, which notes when each call begins."""

    def __init__(self, limits: Limits, reply: Callable[[], Reply | str] = lambda: "yes") -> None:
        self.clock, self._reply = Clock(), reply
        self.began: list[float] = []
        self.model = Limited(
            Scripted.from_function(self._script), limits, clock=self.clock.read, sleep=self.clock.sleep
        )

    def _script(self, request: Request) -> Reply | str:
        self.began.append(round(self.clock.now - 1000.0, 6))
        return self._reply()


def test_requests_are_spaced_out_evenly() -> None:
    timed = Timed(Limits(requests_per_minute=30))
    for _ in range(5):
        timed.model.complete(request())
    assert timed.began == [0, 2, 4, 6, 8]  # 60 s / 30


@pytest.mark.parametrize("rate", [1, 7, 45, 60, 500])
def test_no_minute_has_more_requests_than_allowed(rate: int) -> None:
    timed = Timed(Limits(requests_per_minute=rate))
    for i in range(3 * rate + 2):
        timed.clock.now += 3.0 if i % 10 == 0 else 0.0  # now and then the caller is slow
        timed.model.complete(request())
    for first in timed.began:
        assert sum(first <= began < first + 60 - 1e-6 for began in timed.began) <= rate


def test_idle_time_is_not_saved_up() -> None:
    timed = Timed(Limits(requests_per_minute=60))
    timed.model.complete(request())
    timed.clock.now += 100
    for _ in range(3):
        timed.model.complete(request())
    assert timed.began == [0, 100, 101, 102]


# 270 bytes of text are estimated as 270 / 3 + 8 = 98 tokens; with 52 for the reply, a call reserves 150 tokens.
# At 600 tokens a minute, that is 10 a second, they take 15 s.
TEXT, N_REPLY = "a" * 270, 52


@pytest.mark.parametrize(
    ("used", "second_at"),
    [
        (Usage(input_tokens=50, output_tokens=10, calls=1), 6),  # 90 of the 150 tokens are given back: 15 s - 9 s
        (Usage(input_tokens=98, output_tokens=52, calls=1), 15),
        (Usage(input_tokens=280, output_tokens=20, calls=1), 30),  # 150 more than reserved: 15 s + 15 s
        (Usage(calls=1), 15),  # the server does not say: all that was reserved counts
    ],
)
def test_tokens_are_spaced_out_by_what_was_really_used(used: Usage, second_at: float) -> None:
    timed = Timed(Limits(tokens_per_minute=600), lambda: Reply(text="yes", usage=used))
    for _ in range(2):
        timed.model.complete(request(TEXT, max_tokens=N_REPLY))
    assert timed.began == [0, second_at]


def test_a_failed_call_keeps_what_it_reserved() -> None:
    outcomes = iter([too_many(), "yes"])

    def reply() -> str:
        outcome = next(outcomes)
        if isinstance(outcome, ModelBusyError):
            raise outcome
        return outcome

    timed = Timed(Limits(tokens_per_minute=600), reply)
    with pytest.raises(ModelBusyError):
        timed.model.complete(request(TEXT, max_tokens=N_REPLY))
    timed.model.complete(request(TEXT, max_tokens=N_REPLY))
    assert timed.began == [0, 15]


def test_a_request_larger_than_a_minute_allows_is_sent_and_the_next_one_pays() -> None:
    used = Usage(input_tokens=1200, output_tokens=0, calls=1)
    timed = Timed(Limits(tokens_per_minute=600), lambda: Reply(text="yes", usage=used))
    for _ in range(2):
        timed.model.complete(request("a" * 3000))
    assert timed.began == [0, 120]  # 1200 tokens at 10 a second


def test_the_stricter_of_two_rates_decides() -> None:
    used = Usage(input_tokens=20, output_tokens=10, calls=1)  # 3 s at 10 tokens a second
    for per_minute, spacing in ((60, 3), (10, 6)):
        limits = Limits(requests_per_minute=per_minute, tokens_per_minute=600)
        timed = Timed(limits, lambda: Reply(text="yes", usage=used))
        for _ in range(3):
            timed.model.complete(request("a" * 30, max_tokens=12))  # reserves 10 + 8 + 12 = 30
        assert timed.began == [0, spacing, 2 * spacing]


def test_threads_share_one_rate() -> None:
    clock, lock = Clock(), threading.Lock()
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        with lock:
            waits.append(seconds)

    model = Limited(
        Scripted.from_function(lambda request: "yes"),
        Limits(concurrency=32, requests_per_minute=60),
        clock=clock.read,
        sleep=sleep,
    )
    ask(model, 100)
    # The clock stands still: each call waits for the turn after all those before it.
    assert sorted(waits) == [float(i) for i in range(1, 100)]


class Crowd:
    """A model that knows how many calls are in it, and how many there ever were at once."""

    def __init__(self, script: Callable[[], Reply | str] = lambda: "yes") -> None:
        self.script, self._lock = script, threading.Lock()
        self.n_inside = self.most_inside = self.n_calls = 0

    def __call__(self, request: Request) -> Reply | str:
        with self._lock:
            self.n_calls += 1
            self.n_inside += 1
            self.most_inside = max(self.most_inside, self.n_inside)
        try:
            return self.script()
        finally:
            with self._lock:
                self.n_inside -= 1


def ask(model: Limited, n: int, *, n_threads: int = 32) -> list[str | Exception]:
    """The texts or errors of `n` calls from many threads."""
    return Together(lambda i: model.complete(request(str(i))).text, n, n_threads=n_threads).outcomes()


def test_concurrency_is_reached_and_never_exceeded_by_32_threads() -> None:
    pause = threading.Event()
    crowd = Crowd(lambda: "yes" if not pause.wait(0.001) else "no")
    model = Limited(Scripted.from_function(crowd), Limits(concurrency=5))
    assert set(ask(model, 300)) == {"yes"}
    assert (crowd.n_calls, crowd.most_inside) == (300, 5)


def test_concurrency_is_halved_when_the_server_says_429_down_to_one() -> None:
    def refuse(request: Request) -> str:
        raise too_many()

    model = Limited(Scripted.from_function(refuse), Limits(concurrency=8))
    seen = []
    for _ in range(5):
        with pytest.raises(ModelBusyError):
            model.complete(request())
        seen.append(model.concurrency)
    assert seen == [4, 2, 1, 1, 1]


def test_one_burst_of_429_halves_concurrency_once() -> None:
    burst = threading.Barrier(8)

    def refuse_together(request: Request) -> str:
        burst.wait(PATIENCE_S)
        raise too_many()

    model = Limited(Scripted.from_function(refuse_together), Limits(concurrency=8))
    assert [type(outcome) for outcome in ask(model, 8, n_threads=8)] == [ModelBusyError] * 8
    assert model.concurrency == 4


@pytest.mark.parametrize(
    "error",
    [
        ModelBusyError("overloaded", model="scripted/x", status=503),
        ModelBusyError("time-out", model="scripted/x"),
        ModelAuthError("quota used up", model="scripted/x", status=429),
    ],
    ids=["503", "time-out", "quota"],
)
def test_other_failures_leave_concurrency_alone(error: ModelError) -> None:
    def fail(request: Request) -> str:
        raise error

    model = Limited(Scripted.from_function(fail), Limits(concurrency=8))
    for _ in range(20):
        with pytest.raises(type(error)):
            model.complete(request())
    assert model.concurrency == 8


def test_concurrency_grows_by_about_one_for_each_full_round_of_successes() -> None:
    outcomes = iter([too_many()])

    def refuse_once(request: Request) -> str:
        for error in outcomes:
            raise error
        return "yes"

    model = Limited(Scripted.from_function(refuse_once), Limits(concurrency=4))
    with pytest.raises(ModelBusyError):
        model.complete(request())
    seen = []
    for _ in range(12):
        model.complete(request())
        seen.append(round(model.concurrency, 3))
    # 2; 2 + 1/2 = 2.5; 2.5 + 1/2.5 = 2.9; 2.9 + 1/2.9 = 3.245; … and never above 4.
    assert seen[:3] == [2.5, 2.9, 3.245]
    assert seen[-1] == 4


def test_one_more_of_those_who_wait_is_let_in_when_concurrency_grows() -> None:
    all_wait, two_inside = threading.Event(), threading.Barrier(2)

    def script() -> str:
        if crowd.n_calls == 1:
            raise too_many()  # two at once become one
        if crowd.n_calls == 2:
            all_wait.wait(PATIENCE_S)  # and its success makes them two again
            return "yes"
        two_inside.wait(PATIENCE_S / 4)
        return "yes"

    crowd = Crowd(script)
    model = Limited(Scripted.from_function(crowd), Limits(concurrency=2))
    with pytest.raises(ModelBusyError):
        model.complete(request())
    three = Together(lambda _: model.complete(request()).text, 3)
    time.sleep(0.05)
    assert crowd.n_inside == 1
    all_wait.set()
    assert three.outcomes() == ["yes", "yes", "yes"]


def test_all_who_wait_are_let_in_while_concurrency_grows_again() -> None:
    refused = threading.Event()

    def refuse_first() -> str:
        if not refused.is_set():
            refused.set()
            raise too_many()
        return "yes"

    crowd = Crowd(refuse_first)
    model = Limited(Scripted.from_function(crowd), Limits(concurrency=2))
    kinds = [type(outcome) for outcome in ask(model, 200)]
    assert (kinds.count(ModelBusyError), kinds.count(str)) == (1, 199)


@pytest.mark.parametrize("seed", range(3))
def test_no_waiting_call_is_lost_and_no_place_leaks_among_random_errors(seed: int) -> None:
    chance, lock = random.Random(seed), threading.Lock()
    quiet = threading.Event()

    def sometimes() -> str:
        with lock:
            luck = 1.0 if quiet.is_set() else chance.random()
        if luck < 0.2:
            raise too_many()
        if luck < 0.3:
            raise ModelBusyError("overloaded", model="scripted/x", status=503)
        if luck < 0.35:
            raise ZeroDivisionError
        return "yes"

    crowd = Crowd(sometimes)
    model = Limited(Scripted.from_function(crowd), Limits(concurrency=6))
    outcomes = ask(model, 3000)
    assert crowd.n_calls == 3000
    assert crowd.most_inside <= 6
    assert {type(outcome) for outcome in outcomes} == {str, ModelBusyError, ZeroDivisionError}

    # Every place is there still: after enough successes, six calls fit in at once.
    quiet.set()
    for _ in range(60):
        model.complete(request())
    assert model.concurrency == 6
    together = threading.Barrier(6)
    crowd.script = lambda: str(together.wait(PATIENCE_S))
    assert sorted(map(str, ask(model, 6, n_threads=6))) == list("012345")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("concurrency", 0),
        ("concurrency", -1),
        ("requests_per_minute", 0),
        ("requests_per_minute", float("nan")),
        ("tokens_per_minute", -5.0),
        ("tokens_per_minute", float("nan")),
    ],
)
def test_a_limit_that_lets_nothing_through_is_refused(name: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"{name} must be greater than 0"):
        Limits(**{name: value})
