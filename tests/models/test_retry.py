import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from bineval.errors import (
    BinevalError,
    BudgetExceeded,
    ModelAuthError,
    ModelBusyError,
    ModelNotFoundError,
    ModelRequestError,
)
from bineval.models.retry import ATTEMPTS, Retrying
from bineval.models.scripted import Scripted
from bineval.types import Message, Request


def request(text: str = "Is the sky blue?") -> Request:
    return Request(messages=(Message(role="user", content=text),), max_tokens=50)


def busy(*, retry_after_s: float | None = None) -> ModelBusyError:
    return ModelBusyError("too many requests", model="scripted/x", status=429, retry_after_s=retry_after_s)


class Server:
    """Fails as often as it has errors, then says yes."""

    def __init__(self, *errors: BaseException) -> None:
        self.errors, self.n_calls = list(errors), 0

    def __call__(self, request: Request) -> str:
        self.n_calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "yes"


def test_a_busy_model_is_asked_again_with_longer_and_longer_waits() -> None:
    server, waits = Server(busy(), busy(), busy()), list[float]()
    assert Retrying(Scripted.from_function(server), sleep=waits.append).complete(request()).text == "yes"
    assert server.n_calls == 4
    # 0.5 s, 1 s, 2 s, each between half and all of it.
    assert [0.25 <= waits[0] <= 0.5, 0.5 <= waits[1] <= 1.0, 1.0 <= waits[2] <= 2.0] == [True] * 3


def test_tries_are_bounded_and_the_last_error_is_raised() -> None:
    errors = [busy() for _ in range(ATTEMPTS + 3)]
    server, waits = Server(*errors), list[float]()
    with pytest.raises(ModelBusyError) as caught:
        Retrying(Scripted.from_function(server), sleep=waits.append).complete(request())
    assert caught.value is errors[ATTEMPTS - 1]
    assert (server.n_calls, len(waits)) == (ATTEMPTS, ATTEMPTS - 1)


def test_no_wait_of_its_own_is_longer_than_half_a_minute() -> None:
    server, waits = Server(*[busy() for _ in range(14)]), list[float]()
    Retrying(Scripted.from_function(server), attempts=15, sleep=waits.append).complete(request())
    assert len(waits) == 14
    assert 15.0 <= max(waits) <= 30.0


@pytest.mark.parametrize(("asked_s", "waited_s"), [(7.0, 7.0), (120.0, 120.0), (86_400.0, 300.0)])
def test_the_wait_that_the_server_asks_for_is_honored_up_to_five_minutes(asked_s: float, waited_s: float) -> None:
    server, waits = Server(busy(retry_after_s=asked_s)), list[float]()
    Retrying(Scripted.from_function(server), sleep=waits.append).complete(request())
    assert waits == [waited_s]


def test_a_server_that_asks_for_no_wait_is_not_hammered() -> None:
    server, waits = Server(*[busy(retry_after_s=0.0) for _ in range(3)]), list[float]()
    Retrying(Scripted.from_function(server), sleep=waits.append).complete(request())
    assert [wait >= least for wait, least in zip(waits, (0.25, 0.5, 1.0), strict=True)] == [True] * 3


@pytest.mark.parametrize(
    "error",
    [
        ModelAuthError("quota used up", model="m/x", status=429),
        ModelAuthError("bad key", model="m/x", status=401),
        ModelNotFoundError("no such model", model="m/x", status=404),
        ModelRequestError("the rate limit field is malformed", model="m/x", status=400),
        BudgetExceeded("the next call would pass --max-calls 1"),
        ValueError("a bug"),
        KeyboardInterrupt(),
    ],
    ids=lambda error: f"{type(error).__name__}-{getattr(error, 'status', None)}",
)
def test_what_another_try_cannot_help_is_raised_at_once(error: BaseException) -> None:
    server, waits, notices = Server(error), list[float](), list[str]()
    model = Retrying(Scripted.from_function(server), notice=notices.append, sleep=waits.append)
    with pytest.raises(type(error)) as caught:
        model.complete(request())
    assert caught.value is error
    assert (server.n_calls, waits, notices) == (1, [], [])


def test_an_error_that_no_try_can_help_ends_tries_that_were_under_way() -> None:
    server = Server(busy(), ModelAuthError("account closed", model="m/x", status=403), busy())
    with pytest.raises(ModelAuthError):
        Retrying(Scripted.from_function(server), sleep=lambda seconds: None).complete(request())
    assert server.n_calls == 2


def test_each_wait_is_told_in_words() -> None:
    notices: list[str] = []
    server = Server(busy(retry_after_s=7.0), busy(retry_after_s=9.25))
    Retrying(Scripted.from_function(server), notice=notices.append, sleep=lambda seconds: None).complete(request())
    assert notices == [
        "scripted/x (HTTP 429): too many requests; trying again in 7.0 s",
        "scripted/x (HTTP 429): too many requests; trying again in 9.2 s",
    ]


def test_requests_of_many_threads_are_counted_apart() -> None:
    n_calls: dict[str, int] = {}
    lock = threading.Lock()

    def fails_four_times(request: Request) -> str:
        text = request.messages[0].content
        with lock:
            n_calls[text] = n_calls.get(text, 0) + 1
            if n_calls[text] <= 4:
                raise busy()
        return text

    model = Retrying(Scripted.from_function(fails_four_times), sleep=lambda seconds: None)
    texts = [f"question {i}" for i in range(64)]
    with ThreadPoolExecutor(16) as pool:
        assert [reply.text for reply in pool.map(lambda text: model.complete(request(text)), texts)] == texts
    assert set(n_calls.values()) == {5}


def test_every_error_of_the_tree_but_busy_is_final() -> None:
    def tree(kind: type[BinevalError]) -> list[type[BinevalError]]:
        return [kind, *(deeper for child in kind.__subclasses__() for deeper in tree(child))]

    assert [kind for kind in tree(BinevalError) if getattr(kind, "retryable", False)] == [ModelBusyError]
