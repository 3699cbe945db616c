"""The tables of the store, and the steps from each version of them to the next."""

from collections.abc import Callable
from functools import partial

import sqlalchemy as sa

from bineval.errors import StoreError
from bineval.io.values import storable

WHOLE_OUTPUT = -1
"""Value of `verdicts.unit` for a question asked of the whole output; part of a key, so it cannot be null."""


class _Words(sa.TypeDecorator[str]):
    """Text from outside; NUL and lone surrogates, which databases refuse, become U+FFFD."""

    impl = sa.String
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        """The value as the database takes it."""
        return None if value is None else storable(value)


metadata = sa.MetaData()

store_version = sa.Table("store_version", metadata, sa.Column("version", sa.Integer, primary_key=True))

runs = sa.Table(
    "runs",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", _Words(400), nullable=False, unique=True),
    sa.Column("identity", sa.Text, nullable=False),  # JSON: what a resumed run must share
    sa.Column("facts", sa.Text, nullable=False),  # JSON: versions, limit, parameters really used, …
    sa.Column("checklist", sa.Text, nullable=False),  # JSON
    sa.Column("owner", sa.String(200)),  # host:pid of the process that works on it now
    sa.Column("touched_at", sa.Float, nullable=False),  # seconds since 1970, UTC
)

examples = sa.Table(
    "examples",
    metadata,
    sa.Column("hash", sa.String(64), primary_key=True),
    sa.Column("data", sa.Text, nullable=False),  # JSON; shared by all runs over the same example
)

run_examples = sa.Table(
    "run_examples",
    metadata,
    sa.Column("run_id", sa.ForeignKey("runs.id"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("hash", sa.ForeignKey("examples.hash"), nullable=False),
)

verdicts = sa.Table(
    "verdicts",
    metadata,
    sa.Column("run_id", sa.ForeignKey("runs.id"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),  # of the example
    sa.Column("question", sa.Integer, primary_key=True, autoincrement=False),  # its position in the checklist
    sa.Column("unit", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("repeat", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("example_id", _Words, nullable=False),
    sa.Column("question_id", _Words, nullable=False),
    sa.Column("dimension", _Words, nullable=False),
    sa.Column("answer", sa.String(3)),
    sa.Column("reason", sa.String(20)),
    sa.Column("probability", sa.Float),
    sa.Column("explanation", _Words),
    sa.Column("evidence", sa.Text),  # JSON, null when there is none
    sa.Column("judge", _Words, nullable=False),
    sa.Column("cached", sa.Boolean, nullable=False),
    sa.Column("input_tokens", sa.Integer, nullable=False),
    sa.Column("output_tokens", sa.Integer, nullable=False),
    sa.Column("cached_input_tokens", sa.Integer, nullable=False),
    sa.Column("calls", sa.Integer, nullable=False),
    sa.Column("replies", sa.Text, nullable=False),  # keys in the table replies, separated by spaces
    sa.Column("cost_usd", sa.Float),  # null when a price is unknown
    sa.Column("sentence", _Words),  # what `unit` is about
    sa.Column("details", sa.Text),  # JSON: mass outside yes and no, verdicts under this one, …; null when there is none
)

replies = sa.Table(
    "replies",
    metadata,
    sa.Column("key", sa.String(64), primary_key=True),
    sa.Column("run_id", sa.Integer, index=True),  # the run that paid for it; null outside runs
    sa.Column("reply", sa.Text, nullable=False),  # JSON
)


loops = sa.Table(
    "loops",
    metadata,
    sa.Column("name", _Words(400), primary_key=True),
    sa.Column("identity", sa.Text, nullable=False),  # JSON: what a resumed loop must share
    sa.Column("record", sa.Text),  # JSON: what was tried and what came of it; null before the first attempt
    sa.Column("spent", sa.Text),  # JSON: what was used outside runs, over all sittings
    sa.Column("owner", sa.String(200)),  # host:pid of the process that works on it now
    sa.Column("touched_at", sa.Float, nullable=False),  # seconds since 1970, UTC
)


def _add_missing_columns(connection: sa.Connection) -> None:
    """Adds the columns of verdicts that came later; a store made just now has them."""
    there = {column["name"] for column in sa.inspect(connection).get_columns(verdicts.name)}
    for name, kind in (("cost_usd", "FLOAT"), ("sentence", "TEXT"), ("details", "TEXT")):
        if name not in there:
            connection.exec_driver_sql(f"ALTER TABLE {verdicts.name} ADD COLUMN {name} {kind}")


# Step i leads from version i to version i + 1. Released steps are never edited.
_STEPS: tuple[Callable[[sa.Connection], None], ...] = (
    metadata.create_all,
    _add_missing_columns,
    partial(loops.create, checkfirst=True),
)


def is_current(connection: sa.Connection, place: str) -> bool:
    """Whether the store has the present version.

    Raises:
        StoreError: The store was written by a newer bineval, or the database is another program's.
    """
    return _version(connection, place) == len(_STEPS)


def migrate(connection: sa.Connection, place: str) -> None:
    """Brings the store to the present version, whatever older version it has; empty is version 0.

    Raises:
        StoreError: The store was written by a newer bineval, or the database is another program's.
    """
    for step in _STEPS[_version(connection, place) :]:
        step(connection)
    connection.execute(store_version.delete())
    connection.execute(store_version.insert().values(version=len(_STEPS)))


def _version(connection: sa.Connection, place: str) -> int:
    tables = sa.inspect(connection).get_table_names()
    if not tables:
        return 0
    if store_version.name not in tables:
        raise StoreError(f"{place}: the database holds other tables and is no bineval store: choose another --store")
    version: int = connection.execute(sa.select(sa.func.max(store_version.c.version))).scalar() or 0
    if version > len(_STEPS):
        raise StoreError(
            f"{place}: written by a newer bineval (store version {version}, this one reads up to {len(_STEPS)}); "
            "upgrade bineval or use another --store"
        )
    return version
