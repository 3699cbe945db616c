"""The reply cache in the store: every raw reply, with the run that paid for it."""

import json
import threading
from collections.abc import Iterable

import sqlalchemy as sa

from bineval.hashing import Json
from bineval.store.database import Store
from bineval.store.schema import replies


class StoredReplies:
    """Replies by key, for one run or for work outside runs.

    Args:
        store: The store.
        run_id: The run that pays for new replies.
        uncounted: Keys of replies that this run paid for in an earlier sitting that was cut off before their verdicts
            were saved. The first look-up of each is the run's own work, not a cached reply.
    """

    def __init__(self, store: Store, *, run_id: int | None = None, uncounted: Iterable[str] = ()) -> None:
        self._store, self._run_id = store, run_id
        self._uncounted = set(uncounted)
        self._lock = threading.Lock()
        self._select = sa.select(replies.c.reply).where(replies.c.key == sa.bindparam("wanted"))
        self._insert = store.insert_if_new(replies)

    def get(self, key: str) -> tuple[dict[str, Json], bool] | None:
        """Returns the reply, and whether it is the run's own uncounted work."""
        with self._store.reading() as connection:
            text = connection.execute(self._select, {"wanted": key}).scalar()
        if text is None:
            return None
        with self._lock:
            own_work = key in self._uncounted
            self._uncounted.discard(key)
        return json.loads(text), own_work

    def put(self, key: str, reply: dict[str, Json]) -> None:
        """Keeps a reply; a reply that another process kept meanwhile stays."""
        row = {"key": key, "run_id": self._run_id, "reply": json.dumps(reply, ensure_ascii=True)}
        with self._store.writing() as connection:
            connection.execute(self._insert, row)
