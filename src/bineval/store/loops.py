"""Optimization loops in the store: what each is of, who works on it, and the record of what it tried."""

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import sqlalchemy as sa

from bineval.errors import ConfigError, StoreError, UnknownNameError
from bineval.hashing import Json
from bineval.store.database import Store
from bineval.store.ownership import describe, is_alive, new_owner
from bineval.store.schema import loops
from bineval.types import Usage


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredLoop:
    """One loop as it was left.

    Attributes:
        name: Its name, unique in the store.
        record: What was tried and what came of it; None before the first attempt.
        spent: What its note-taker, and a generator, used over all sittings; the runs of judges count for themselves.
    """

    name: str
    record: Mapping[str, Json] | None
    spent: Usage


class ClaimedLoop:
    """A loop that this process works on, and no other.

    Attributes:
        earlier: How earlier sittings left it.
    """

    def __init__(self, store: Store, name: str, owner: str, earlier: StoredLoop) -> None:
        self._store, self._name, self._owner, self.earlier = store, name, owner, earlier

    def save(self, record: Mapping[str, Json] | None, spent: Usage) -> None:
        """Keeps what it has come to; without a record, the one that is there stays."""
        values = {"spent": json.dumps(asdict(spent)), "touched_at": time.time()}
        if record is not None:
            values["record"] = json.dumps(record)
        self._update(values)

    def release(self) -> None:
        """Gives the loop back."""
        self._update({"owner": None})

    def _update(self, values: Mapping[str, object]) -> None:
        own = (loops.c.name == self._name, loops.c.owner == self._owner)
        with self._store.writing() as connection:
            connection.execute(loops.update().where(*own).values(**values))


def claim_loop(store: Store, name: str, identity: Mapping[str, Json]) -> ClaimedLoop:
    """Begins or resumes the loop called `name`, so that no two processes work on it at once.

    Raises:
        ConfigError: The loop of this name is another one.
        StoreError: Another process works on it.
    """
    owner = new_owner()
    with store.writing() as connection:
        row = connection.execute(sa.select(loops).where(loops.c.name == name).with_for_update()).one_or_none()
        if row is None:
            values = {"name": name, "identity": json.dumps(identity), "owner": owner, "touched_at": time.time()}
            connection.execute(loops.insert(), values)
            return ClaimedLoop(store, name, owner, StoredLoop(name=name, record=None, spent=Usage()))
        kept = json.loads(row.identity)
        if differing := [key for key in json.loads(json.dumps(identity)) if kept.get(key) != identity[key]]:
            raise ConfigError(
                f"loop {name!r} is there already, with other {', '.join(differing)}: choose another --name, or give it "
                "the same"
            )
        if row.owner is not None and is_alive(row.owner, row.touched_at):
            raise StoreError(f"loop {name!r} is being worked on by {describe(row.owner)}: wait or stop it")
        connection.execute(loops.update().where(loops.c.name == name).values(owner=owner, touched_at=time.time()))
    return ClaimedLoop(store, name, owner, _loop(row))


def find_loop(store: Store, name: str) -> StoredLoop:
    """Returns the loop called `name`.

    Raises:
        UnknownNameError: There is none.
    """
    with store.reading() as connection:
        row = connection.execute(sa.select(loops).where(loops.c.name == name)).one_or_none()
    if row is None:
        raise UnknownNameError("loop", name, loop_names(store), where=store.place)
    return _loop(row)


def loop_names(store: Store) -> list[str]:
    """Names of all loops, the one worked on last first."""
    with store.reading() as connection:
        return list(connection.execute(sa.select(loops.c.name).order_by(loops.c.touched_at.desc())).scalars())


def _loop(row: sa.Row[tuple[object, ...]]) -> StoredLoop:
    return StoredLoop(
        name=row.name,
        record=None if row.record is None else json.loads(row.record),
        spent=Usage() if row.spent is None else Usage(**json.loads(row.spent)),
    )
