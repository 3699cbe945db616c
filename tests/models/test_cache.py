import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from bineval.errors import ModelBusyError, ModelError, ModelRequestError, StoreError
from bineval.hashing import Json, tagged_hash
from bineval.models.cache import Cached, reply_key
from bineval.models.scripted import Scripted
from bineval.store.database import Store
from bineval.store.replies import StoredReplies
from bineval.types import Message, Reply, Request, TokenLogprob, Usage
from support.threads import PATIENCE_S, Together

REQUEST = Request(
    messages=(Message(role="system", content="Rules."), Message(role="user", content="Is the sky blue?")),
    max_tokens=50,
    temperature=0.0,
    seed=None,
    schema={"type": "object", "required": ["answer"]},
    top_logprobs=0,
    repeat=0,
)
IDENTITY: Mapping[str, Json] = {"provider": "openai", "model": "m", "base_url": None}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.db") as store:
        yield store


class Server:
    """Counts its calls and answers by the script."""

    def __init__(self, script: Callable[[Request], Reply | str] = lambda request: "yes") -> None:
        self._script, self._lock = script, threading.Lock()
        self.n_calls = 0

    def __call__(self, request: Request) -> Reply | str:
        with self._lock:
            self.n_calls += 1
        return self._script(request)


def model(script: Callable[[Request], Reply | str] = lambda request: "yes", **identity: Json) -> Scripted:
    made = Scripted.from_function(script)
    made.identity = {**IDENTITY, **identity}
    return made


def ask(cached: Cached) -> tuple[str, bool]:
    reply = cached.complete(REQUEST)
    return reply.text, reply.cached


def user(text: str) -> tuple[Message, ...]:
    return (Message(role="system", content="Rules."), Message(role="user", content=text))


OTHERS = {
    "text": (replace(REQUEST, messages=user("Is the sky green?")), {}),
    "a space more": (replace(REQUEST, messages=user("Is the sky blue? ")), {}),
    "a lone surrogate": (replace(REQUEST, messages=user("Is the sky blue?\ud800")), {}),
    "another surrogate": (replace(REQUEST, messages=user("Is the sky blue?\ud801")), {}),
    "a NUL": (replace(REQUEST, messages=user("Is the sky blue?\0")), {}),
    "role": (
        replace(REQUEST, messages=(REQUEST.messages[0], Message(role="assistant", content="Is the sky blue?"))),
        {},
    ),
    "order": (replace(REQUEST, messages=REQUEST.messages[::-1]), {}),
    "no system message": (replace(REQUEST, messages=REQUEST.messages[1:]), {}),
    "a message more": (replace(REQUEST, messages=(*REQUEST.messages, Message(role="user", content=""))), {}),
    "messages joined": (replace(REQUEST, messages=(Message(role="system", content="Rules.Is the sky blue?"),)), {}),
    "max_tokens": (replace(REQUEST, max_tokens=51), {}),
    "temperature": (replace(REQUEST, temperature=0.7), {}),
    "temperature left open": (replace(REQUEST, temperature=None), {}),
    "seed": (replace(REQUEST, seed=0), {}),
    "another seed": (replace(REQUEST, seed=1), {}),
    "schema": (replace(REQUEST, schema={"type": "object", "required": ["score"]}), {}),
    "no schema": (replace(REQUEST, schema=None), {}),
    "logprobs": (replace(REQUEST, top_logprobs=5), {}),
    "repeat": (replace(REQUEST, repeat=1), {}),
    "provider": (REQUEST, {"provider": "anthropic"}),
    "model": (REQUEST, {"model": "m2"}),
    "base URL": (REQUEST, {"base_url": "http://127.0.0.1:8000/v1"}),
    "file": (REQUEST, {"sha256": "0" * 64}),
}


def test_everything_that_can_change_a_reply_changes_its_key() -> None:
    keys = {name: reply_key(model(**identity), request) for name, (request, identity) in OTHERS.items()}
    keys["itself"] = reply_key(model(), REQUEST)
    assert len(set(keys.values())) == len(keys)


def test_the_format_version_is_part_of_the_key() -> None:
    value: Json = {"model": IDENTITY, "request": REQUEST.to_json()}
    assert reply_key(model(), REQUEST) == tagged_hash("reply/1", value)
    assert reply_key(model(), REQUEST) != tagged_hash("reply/2", value)


def test_keys_do_not_change_between_releases() -> None:
    # With other keys all replies that users paid for are asked again: a new field that nobody uses must not do it.
    assert reply_key(model(), REQUEST) == "6df6cc0349c0b7b32607fed8f1c07c2beafa25b532b39681691c8e8c44856eec"


def test_what_cannot_change_a_reply_does_not_change_its_key() -> None:
    same = model()
    same.name = "openai:m"
    same.identity = dict(reversed(IDENTITY.items()))
    assert reply_key(same, replace(REQUEST, schema=dict(reversed(REQUEST.schema.items())))) == reply_key(
        model(), REQUEST
    )


def test_an_equal_request_is_answered_from_the_cache(store: Store) -> None:
    reply = Reply(
        text="yes \ud800 \0 🌍",
        reasoning="It is noon.",
        logprobs=[TokenLogprob(token="yes", logprob=-0.25, top=(("yes", -0.25), ("no", -1.5)))],
        finish_reason="length",
        usage=Usage(input_tokens=9, output_tokens=3, cached_input_tokens=2, calls=1),
        model="m-2026",
        params_used={"max_tokens": 50},
    )
    server = Server(lambda request: reply)
    cached, key = Cached(model(server), StoredReplies(store)), reply_key(model(), REQUEST)
    assert cached.complete(REQUEST) == replace(reply, key=key, cached=False)
    assert cached.complete(REQUEST) == replace(reply, key=key, cached=True)
    assert server.n_calls == 1
    cached.complete(replace(REQUEST, repeat=1))
    assert server.n_calls == 2


def test_a_reply_is_on_disk_before_it_is_returned(store: Store) -> None:
    key = Cached(model(), StoredReplies(store)).complete(REQUEST).key
    with Store(store.place) as other:
        assert key is not None
        assert StoredReplies(other).get(key) is not None


def test_errors_are_never_cached(store: Store) -> None:
    outcomes: Iterator[str | ModelError] = iter([ModelBusyError("overloaded", model="m", status=503), "yes"])

    def script(request: Request) -> str:
        outcome = next(outcomes)
        if isinstance(outcome, ModelError):
            raise outcome
        return outcome

    cached = Cached(model(script), StoredReplies(store))
    with pytest.raises(ModelBusyError):
        cached.complete(REQUEST)
    reply = cached.complete(REQUEST)
    assert (reply.text, reply.cached) == ("yes", False)


def test_equal_requests_at_the_same_time_make_one_call(store: Store) -> None:
    all_wait = threading.Event()
    server = Server(lambda request: "yes" if all_wait.wait(PATIENCE_S) else "no")
    cached = Cached(model(server), StoredReplies(store))
    asked = Together(lambda _: ask(cached), 16)
    time.sleep(0.05)
    all_wait.set()
    outcomes = asked.outcomes()
    assert server.n_calls == 1
    assert (outcomes.count(("yes", False)), outcomes.count(("yes", True))) == (1, 15)


def test_when_the_first_of_equal_requests_fails_another_asks_itself(store: Store) -> None:
    all_wait = threading.Event()

    def fail_first(request: Request) -> str:
        if server.n_calls == 1:
            all_wait.wait(PATIENCE_S)
            raise ModelBusyError("overloaded", model="m", status=503)
        return "yes"

    server = Server(fail_first)
    cached = Cached(model(server), StoredReplies(store))
    asked = Together(lambda _: ask(cached), 8)
    time.sleep(0.05)
    all_wait.set()
    outcomes = asked.outcomes()
    assert server.n_calls == 2
    assert [type(outcome) for outcome in outcomes].count(ModelBusyError) == 1
    assert (outcomes.count(("yes", False)), outcomes.count(("yes", True))) == (1, 6)


def test_different_requests_do_not_wait_for_each_other(store: Store) -> None:
    together = threading.Barrier(8)
    cached = Cached(model(lambda request: str(together.wait(PATIENCE_S))), StoredReplies(store))
    texts = Together(lambda i: cached.complete(replace(REQUEST, repeat=i)).text, 8).outcomes()
    assert sorted(map(str, texts)) == list("01234567")


def test_the_first_look_up_of_own_earlier_work_is_not_called_cached(store: Store) -> None:
    server = Server(lambda request: Reply(text="yes", usage=Usage(input_tokens=9, output_tokens=3, calls=1)))
    key = Cached(model(server), StoredReplies(store)).complete(REQUEST).key
    resumed = Cached(model(server), StoredReplies(store, uncounted={key or ""}))
    replies = [resumed.complete(REQUEST) for _ in range(3)]
    assert [reply.cached for reply in replies] == [False, True, True]
    assert replies[0].usage == Usage(input_tokens=9, output_tokens=3, calls=1)
    assert server.n_calls == 1


class Batches(Scripted):
    """Answers together, and keeps how many requests each batch had."""

    sizes: list[int]

    def complete_many(self, requests: Sequence[Request]) -> list[Reply]:
        self.sizes.append(len(requests))
        return super().complete_many(requests)


def batches(script: Callable[[Request], Reply | str] = lambda request: "yes") -> Batches:
    made = Batches.from_function(script, "scripted/batches")
    made.sizes = []
    return made


def test_of_equal_requests_in_a_batch_one_is_asked_and_pays(store: Store) -> None:
    model = batches()
    cached = Cached(model, StoredReplies(store))
    again = replace(REQUEST, repeat=1)
    assert [reply.cached for reply in cached.complete_many([REQUEST, again, REQUEST])] == [False, False, True]
    assert model.sizes == [2]


def test_of_equal_requests_in_a_batch_one_counts_own_earlier_work(store: Store) -> None:
    key = Cached(batches(), StoredReplies(store)).complete(REQUEST).key
    resumed = Cached(batches(), StoredReplies(store, uncounted={key or ""}))
    assert [reply.cached for reply in resumed.complete_many([REQUEST, REQUEST])] == [False, True]


def test_equal_requests_in_batches_of_several_threads_make_one_call_each(store: Store) -> None:
    model = batches(lambda request: time.sleep(0.01) or "yes")
    cached = Cached(model, StoredReplies(store))
    requests = [replace(REQUEST, repeat=i) for i in range(6)]

    def ask_some(i: int) -> list[bool]:
        order = requests[i % 6 :] + requests[: i % 6]
        return [reply.cached for reply in (cached.complete_many(order) if i % 3 else map(cached.complete, order))]

    outcomes = Together(ask_some, 12).outcomes()
    assert sum(flags.count(False) for flags in outcomes) == 6, outcomes


def test_own_earlier_work_that_a_failed_batch_found_is_still_uncounted(store: Store) -> None:
    def script(request: Request) -> str:
        if request.repeat:
            raise ModelRequestError("too long", model="m")
        return "yes"

    key = Cached(batches(script), StoredReplies(store)).complete(REQUEST).key
    resumed = Cached(batches(script), StoredReplies(store, uncounted={key or ""}))
    with pytest.raises(ModelRequestError):
        resumed.complete_many([REQUEST, replace(REQUEST, repeat=1)])
    assert [resumed.complete(REQUEST).cached for _ in range(2)] == [False, True]


def test_a_request_is_free_again_after_the_store_failed(tmp_path: Path) -> None:
    server = Server()
    with Store(tmp_path / "store.db") as store:
        cached = Cached(model(server), StoredReplies(store))
        with store.writing() as connection:
            connection.exec_driver_sql("ALTER TABLE replies RENAME TO gone")
        with pytest.raises(StoreError, match="no such table"):
            cached.complete(REQUEST)
        with store.writing() as connection:
            connection.exec_driver_sql("ALTER TABLE gone RENAME TO replies")
        assert cached.complete(REQUEST).text == "yes"
    assert server.n_calls == 1
