import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bineval.hashing import Json
from bineval.store.database import Store
from bineval.store.replies import StoredReplies
from support.threads import PATIENCE_S, Together


def key(i: int) -> str:
    return f"{i:064d}"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.db") as store:
        yield store


@pytest.mark.parametrize(
    "reply",
    [
        {},
        {"text": ""},
        {"text": "NUL \0, a lone surrogate \ud83d, its other half \ude00, 🌍 and \u2028"},
        {"logprobs": [["yes", -0.1 - 0.2, [["no", -1e-300]]]], "usage": [1, 2**53, 0, 1]},
        {"params_used": {"temperature": None, "nested": [{"a": [True, False]}]}},
        {"text": "x" * 5_000_000},
    ],
    ids=["empty", "no text", "hard characters", "numbers", "nested", "5 MB"],
)
def test_a_reply_comes_back_as_it_was(store: Store, reply: dict[str, Json]) -> None:
    replies = StoredReplies(store)
    replies.put(key(1), reply)
    assert replies.get(key(1)) == (reply, False)
    with Store(store.place) as again:
        assert StoredReplies(again).get(key(1)) == (reply, False)


def test_an_unknown_key_has_no_reply(store: Store) -> None:
    assert StoredReplies(store).get(key(1)) is None


def test_the_reply_that_came_first_stays(store: Store) -> None:
    first, second = StoredReplies(store), StoredReplies(store, run_id=7)
    first.put(key(1), {"text": "first"})
    second.put(key(1), {"text": "second"})
    assert second.get(key(1)) == ({"text": "first"}, False)
    second.put(key(2), {"text": "third"})  # the refused row did not spoil what comes after it
    assert first.get(key(2)) == ({"text": "third"}, False)


def test_the_run_that_paid_is_noted(store: Store) -> None:
    StoredReplies(store, run_id=7).put(key(1), {})
    StoredReplies(store).put(key(2), {})
    StoredReplies(store, run_id=8).put(key(1), {})
    with store.reading() as connection:
        rows = connection.exec_driver_sql("SELECT key, run_id FROM replies ORDER BY key").all()
    assert rows == [(key(1), 7), (key(2), None)]


def test_own_work_that_is_not_counted_yet_is_counted_once(store: Store) -> None:
    StoredReplies(store).put(key(1), {})
    replies = StoredReplies(store, uncounted=[key(1)])
    assert [replies.get(key(1)) for _ in range(3)] == [({}, True), ({}, False), ({}, False)]


def test_one_of_many_threads_counts_it(store: Store) -> None:
    StoredReplies(store).put(key(1), {})
    replies = StoredReplies(store, uncounted=[key(1)])
    start = threading.Barrier(16)

    def look_up(_: int) -> bool:
        start.wait(PATIENCE_S)
        found = replies.get(key(1))
        assert found is not None
        return found[1]

    assert sorted(map(str, Together(look_up, 16).outcomes())) == ["False"] * 15 + ["True"]


def test_16_threads_that_write_the_same_and_other_keys_lose_nothing(store: Store) -> None:
    replies = StoredReplies(store)

    def write(thread: int) -> None:
        for i in range(25):
            replies.put(key(i), {"text": f"shared {i}"})
            replies.put(key(1000 + 25 * thread + i), {"text": f"own {thread} {i}"})

    assert Together(write, 16).outcomes() == [None] * 16
    assert [replies.get(key(i)) for i in range(25)] == [({"text": f"shared {i}"}, False) for i in range(25)]
    own = [replies.get(key(1000 + i)) for i in range(16 * 25)]
    assert own == [({"text": f"own {i // 25} {i % 25}"}, False) for i in range(16 * 25)]
