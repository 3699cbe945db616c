"""Runs in the store: begin or find one, save its verdicts, read them back in order."""

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from bineval.errors import StoreError, UnknownNameError
from bineval.hashing import Json, tagged_hash
from bineval.store.database import Store
from bineval.store.ownership import describe, is_alive, new_owner
from bineval.store.rows import from_columns, to_columns
from bineval.store.schema import WHOLE_OUTPUT, examples, replies, run_examples, runs, verdicts
from bineval.types import Checklist, Example, Reason, Usage, VerdictRow, checklist_from_json

_EXAMPLES_AT_ONCE = 500
_ROWS_AT_ONCE = 500

Settled = tuple[int, int | None, int]
"""`(question's place, unit, repeat)` of a verdict of one example that needs no further call."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlacedRow:
    """A verdict row with the places of its example and question, which give the order of exports."""

    position: int
    question: int
    row: VerdictRow


class StoredRun:
    """One run in an open store.

    Attributes:
        name: Its name, unique in the store.
        identity: What a resumed run must share: hashes of data and checklist, judge, parameters.
        facts: Versions, limits and parameters really used; may change between sittings.
        checklist: The questions that were asked.
    """

    def __init__(self, store: Store, run_id: int, *, owner: str | None = None) -> None:
        self.store, self.id = store, run_id
        self._owner = owner or new_owner()
        with store.reading() as connection:
            row = connection.execute(sa.select(runs).where(runs.c.id == run_id)).one()
        self.name: str = row.name
        self.identity: Mapping[str, Json] = json.loads(row.identity)
        self.facts: dict[str, Json] = json.loads(row.facts)
        content = json.loads(row.checklist)
        self.checklist: Checklist = checklist_from_json(
            content["name"], content["content"], provenance=content["provenance"]
        )

    def claim(self) -> None:
        """Takes the run, so that no two processes or threads work on it at once.

        Raises:
            StoreError: Another one works on it.
        """
        with self.store.writing() as connection:
            self.refuse_if_taken(connection)
            connection.execute(self._update(owner=self._owner))

    def refuse_if_taken(self, connection: sa.Connection) -> None:
        """Makes sure, for the transaction of `connection`, that nobody else works on the run.

        Raises:
            StoreError: One does, or has deleted the run.
        """
        query = sa.select(runs.c.owner, runs.c.touched_at).where(runs.c.id == self.id).with_for_update()
        row = connection.execute(query).one_or_none()
        if row is None:
            raise StoreError(f"run {self.name!r} was deleted by another process meanwhile: start again")
        if row.owner is not None and row.owner != self._owner and is_alive(row.owner, row.touched_at):
            raise StoreError(f"run {self.name!r} is being worked on by {describe(row.owner)}: wait or stop it")

    def save_facts(self) -> None:
        """Saves the facts as they are now."""
        with self.store.writing() as connection:
            connection.execute(self._update(facts=_json(self.facts)))

    def release(self) -> None:
        """Gives the run back, with its facts saved; does nothing if another has taken it meanwhile."""
        with self.store.writing() as connection:
            connection.execute(self._update(owner=None, facts=_json(self.facts)).where(runs.c.owner == self._owner))

    def _update(self, **values: str | None) -> sa.Update:
        return runs.update().where(runs.c.id == self.id).values(touched_at=time.time(), **values)

    def add_examples(self, data: Sequence[Example]) -> None:
        """Keeps the examples of the run; those that are there already stay."""
        with self.store.reading() as connection:
            n_there: int = connection.execute(self._count(run_examples)).scalar_one()
        for start in range(n_there, len(data), _EXAMPLES_AT_ONCE):
            self._add_block(start, data[start : start + _EXAMPLES_AT_ONCE])

    def _add_block(self, start: int, block: Sequence[Example]) -> None:
        values = [example.to_json() for example in block]
        hashes = [tagged_hash("example/1", value) for value in values]
        with self.store.writing() as connection:
            connection.execute(
                self.store.insert_if_new(examples),
                [{"hash": key, "data": _json(value)} for key, value in zip(hashes, values, strict=True)],
            )
            connection.execute(
                run_examples.insert(),
                [{"run_id": self.id, "position": start + i, "hash": key} for i, key in enumerate(hashes)],
            )

    def examples(self) -> Iterator[Example]:
        """Yields the examples in the order of the data."""
        query = (
            sa.select(examples.c.data)
            .join(run_examples, run_examples.c.hash == examples.c.hash)
            .where(run_examples.c.run_id == self.id)
            .order_by(run_examples.c.position)
        )
        with self.store.reading() as connection:
            for text in connection.execution_options(yield_per=_ROWS_AT_ONCE).execute(query).scalars():
                yield Example(**json.loads(text))

    def save(self, rows: Iterable[PlacedRow]) -> None:
        """Saves verdicts, all or none; one that was saved before is replaced."""
        columns = [
            {"run_id": self.id, "position": item.position, "question": item.question, **to_columns(item.row)}
            for item in rows
        ]
        if not columns:
            return
        keys = [{f"k_{name}": row[name] for name in ("position", "question", "unit", "repeat")} for row in columns]
        with self.store.writing() as connection:
            connection.execute(_DELETE, [{"k_run": self.id, **key} for key in keys])
            connection.execute(verdicts.insert(), columns)
            connection.execute(self._update())

    def rows(self) -> Iterator[VerdictRow]:
        """Yields all verdicts in the order of data, checklist, sentence and repeat."""
        with self.store.reading() as connection:
            for columns in connection.execution_options(yield_per=_ROWS_AT_ONCE).execute(self._rows()):
                yield from_columns(columns)

    def first_unanswered(self) -> VerdictRow | None:
        """The first verdict, in the order of `rows`, that should have an answer and has none."""
        query = self._rows().where(verdicts.c.reason != "not_applicable").limit(1)
        with self.store.reading() as connection:
            columns = connection.execute(query).one_or_none()
        return None if columns is None else from_columns(columns)

    def settled(self, position: int) -> set[Settled]:
        """The verdicts of one example that need no further call.

        A verdict that failed with an error is not settled: the same command asks it again.
        """
        query = sa.select(verdicts.c.question, verdicts.c.unit, verdicts.c.repeat).where(
            verdicts.c.run_id == self.id, verdicts.c.position == position, _SETTLED
        )
        with self.store.reading() as connection:
            return {
                (row.question, None if row.unit == WHOLE_OUTPUT else row.unit, row.repeat)
                for row in connection.execute(query)
            }

    def counts(self) -> dict[tuple[Reason | None, bool], int]:
        """Number of verdicts by `(reason for having no answer, cached)`."""
        query = (
            sa.select(verdicts.c.reason, verdicts.c.cached, sa.func.count())
            .where(verdicts.c.run_id == self.id)
            .group_by(verdicts.c.reason, verdicts.c.cached)
        )
        with self.store.reading() as connection:
            return {(reason, cached): n for reason, cached, n in connection.execute(query)}

    def n_verdicts(self) -> int:
        """Number of verdicts saved."""
        with self.store.reading() as connection:
            n: int = connection.execute(self._count(verdicts)).scalar_one()
            return n

    def n_settled(self) -> int:
        """Number of verdicts that need no further call."""
        with self.store.reading() as connection:
            n: int = connection.execute(self._count(verdicts).where(_SETTLED)).scalar_one()
            return n

    def usage(self) -> Usage:
        """Tokens and calls paid for the saved verdicts, over all sittings."""
        names = ("input_tokens", "output_tokens", "cached_input_tokens", "calls")
        sums = [sa.func.coalesce(sa.func.sum(verdicts.c[name]), 0) for name in names]
        cost = sa.func.coalesce(sa.func.sum(verdicts.c.cost_usd), 0.0)
        n_unknown = sa.func.count().filter(verdicts.c.cost_usd.is_(None))
        with self.store.reading() as connection:
            row = connection.execute(sa.select(*sums, cost, n_unknown).where(verdicts.c.run_id == self.id)).one()
        counts = dict(zip(names, map(int, row[: len(names)]), strict=True))
        return Usage(**counts, cost_usd=None if row[-1] else float(row[-2]))

    def uncounted_replies(self) -> dict[str, dict[str, Json]]:
        """Replies that this run paid for and that no settled verdict counts, by key.

        A verdict that found a reply in the cache does not count it: another one of this run has paid.
        """
        with self.store.reading() as connection:
            paid = set(connection.execute(sa.select(replies.c.key).where(replies.c.run_id == self.id)).scalars())
            counted = connection.execute(
                sa.select(verdicts.c.replies).where(
                    verdicts.c.run_id == self.id, _SETTLED, verdicts.c.cached.is_(False)
                )
            ).scalars()
            for keys in counted:
                paid.difference_update(keys.split())
            uncounted, found = sorted(paid), {}
            for start in range(0, len(uncounted), _ROWS_AT_ONCE):
                wanted = replies.c.key.in_(uncounted[start : start + _ROWS_AT_ONCE])
                for row in connection.execute(sa.select(replies.c.key, replies.c.reply).where(wanted)):
                    found[row.key] = json.loads(row.reply)
        return found

    def _rows(self) -> sa.Select[Any]:
        return (
            sa.select(verdicts)
            .where(verdicts.c.run_id == self.id)
            .order_by(verdicts.c.position, verdicts.c.question, verdicts.c.unit, verdicts.c.repeat)
        )

    def _count(self, table: sa.Table) -> sa.Select[int]:
        return sa.select(sa.func.count()).select_from(table).where(table.c.run_id == self.id)


_SETTLED = sa.or_(verdicts.c.reason.is_(None), verdicts.c.reason != "error")

_DELETE = verdicts.delete().where(
    verdicts.c.run_id == sa.bindparam("k_run"),
    verdicts.c.position == sa.bindparam("k_position"),
    verdicts.c.question == sa.bindparam("k_question"),
    verdicts.c.unit == sa.bindparam("k_unit"),
    verdicts.c.repeat == sa.bindparam("k_repeat"),
)


def find_run(store: Store, name: str) -> StoredRun:
    """Returns the run called `name`.

    Raises:
        UnknownNameError: There is none.
    """
    with store.reading() as connection:
        run_id = connection.execute(sa.select(runs.c.id).where(runs.c.name == name)).scalar()
    if run_id is None:
        raise UnknownNameError("run", name, run_names(store), where=store.place)
    return StoredRun(store, run_id)


def run_names(store: Store) -> list[str]:
    """Names of all runs, the one worked on last first."""
    with store.reading() as connection:
        return list(connection.execute(sa.select(runs.c.name).order_by(runs.c.touched_at.desc())).scalars())


def begin_run(
    store: Store, name: str, *, identity: Mapping[str, Json], facts: Mapping[str, Json], checklist: Checklist
) -> StoredRun:
    """Makes the run called `name` and takes it.

    Raises:
        StoreError: There is a run of that name.
    """
    owner = new_owner()
    content: Json = {"name": checklist.name, "content": checklist.to_json(), "provenance": dict(checklist.provenance)}
    row = {
        "name": name,
        "identity": _json(identity),
        "facts": _json(facts),
        "checklist": _json(content),
        "owner": owner,
        "touched_at": time.time(),
    }
    with store.writing() as connection:
        try:
            run_id = connection.execute(runs.insert().returning(runs.c.id), row).scalar_one()
        except sa.exc.IntegrityError as error:
            problem = f"there is a run called {name!r} already; start again to resume it"
            raise StoreError(f"{store.place}: {problem}") from error
    return StoredRun(store, run_id, owner=owner)


def delete_run(run: StoredRun) -> None:
    """Deletes a run with its verdicts; the replies it paid for stay in the cache.

    Raises:
        StoreError: Another process works on it.
    """
    with run.store.writing() as connection:
        run.refuse_if_taken(connection)
        connection.execute(verdicts.delete().where(verdicts.c.run_id == run.id))
        connection.execute(run_examples.delete().where(run_examples.c.run_id == run.id))
        connection.execute(replies.update().where(replies.c.run_id == run.id).values(run_id=None))
        connection.execute(runs.delete().where(runs.c.id == run.id))


def _json(value: Json) -> str:
    # Escaped to ASCII, for a database takes no lone surrogates.
    return json.dumps(value, allow_nan=False)
