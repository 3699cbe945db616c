"""Keeps every reply under a key of all that can change it, so that nothing is paid twice."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol

from bineval.hashing import Json, tagged_hash
from bineval.models.base import Model, Wrapper
from bineval.models.reply_json import reply_from_json, reply_to_json
from bineval.types import Reply, Request


class ReplyCache(Protocol):
    """Where replies are kept; used by many threads at once."""

    def get(self, key: str) -> tuple[dict[str, Json], bool] | None:
        """Returns the reply and whether it was paid for by the present work and not yet counted; None when absent."""
        ...

    def put(self, key: str, reply: dict[str, Json]) -> None:
        """Keeps a reply, durably before returning."""
        ...


class Cached(Wrapper):
    """Answers from the cache where it can. Errors are never cached.

    The key covers the model's identity, the whole request (messages, schema, sampling parameters, repeat index) and the
    format version. Equal requests that run at the same time make one call.
    """

    def __init__(self, inner: Model, replies: ReplyCache) -> None:
        super().__init__(inner)
        self._replies = replies
        self._under_way: dict[str, threading.Event] = {}
        self._uncounted: set[str] = set()
        self._lock = threading.Lock()

    def complete(self, request: Request) -> Reply:
        """Returns the kept reply of an equal request, or asks the model and keeps what it says."""
        key = reply_key(self.inner, request)
        with self._claims([key]):
            return self._look_up(key) or self._keep(key, self.inner.complete(request))

    def complete_many(self, requests: Sequence[Request]) -> list[Reply]:
        """Takes kept replies where there are any, and asks the model for the others together, each once."""
        keys = [reply_key(self.inner, request) for request in requests]
        wanted = dict(zip(keys, requests, strict=True))
        with self._claims(wanted):
            replies = {key: reply for key in wanted if (reply := self._look_up(key)) is not None}
            missing = {key: request for key, request in wanted.items() if key not in replies}
            try:
                made = self.inner.complete_many(list(missing.values())) if missing else []
            except BaseException:
                with self._lock:
                    self._uncounted.update(key for key, reply in replies.items() if not reply.cached)
                raise
            replies |= {key: self._keep(key, reply) for key, reply in zip(missing, made, strict=True)}
        # Of equal requests the first has paid.
        return [replace(replies[key], cached=replies[key].cached or key in keys[:i]) for i, key in enumerate(keys)]

    @contextmanager
    def _claims(self, keys: Iterable[str]) -> Iterator[None]:
        """Holds the keys, once no other call holds one of them."""
        mine, held = threading.Event(), []
        try:
            # In one order everywhere: no two calls wait for each other.
            for key in sorted(keys):
                while (other := self._claim(key, mine)) is not mine:
                    other.wait()
                held.append(key)
            yield
        finally:
            with self._lock:
                for key in held:
                    del self._under_way[key]
            mine.set()

    def _claim(self, key: str, mine: threading.Event) -> threading.Event:
        with self._lock:
            return self._under_way.setdefault(key, mine)

    def _look_up(self, key: str) -> Reply | None:
        found = self._replies.get(key)
        if found is None:
            return None
        value, own_work = found
        with self._lock:
            # Found before by a call that failed, so that nobody counted it.
            own_work = own_work or key in self._uncounted
            self._uncounted.discard(key)
        return reply_from_json(value, key=key, cached=not own_work)

    def _keep(self, key: str, reply: Reply) -> Reply:
        self._replies.put(key, reply_to_json(reply))
        return replace(reply, key=key)


def reply_key(model: Model, request: Request) -> str:
    """Key of the reply to `request` by `model`."""
    return tagged_hash("reply/1", {"model": model.identity, "request": request.to_json()})
