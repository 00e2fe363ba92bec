"""What is asked of the frontier's table, and what is changed in it, over and over."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from sqlalchemy import (
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    and_,
    bindparam,
    func,
    literal,
    select,
    update,
)

from crawler.frontier.entries import TakenUrl
from dedup.ledger.runs import RunScopedTable
from dedup.sql.database import TableSet
from dedup.sql.schema import Id

SUSPECT = 2
"""A URL that so many processes died with is handed out only while no other such one is under way."""

metadata = MetaData()

runs = Table(
    "frontier_runs",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("started", Float, nullable=False),
    Column("finished", Float),
    comment="one crawl, continued as often as it takes; times are seconds since 1970",
)

urls = Table(
    "frontier",
    metadata,
    Column("id", Id, primary_key=True),
    Column("run_id", Id, ForeignKey("frontier_runs.id"), nullable=False),
    # URLs can be longer than an index allows, and two of them can mean the same.
    Column("url_digest", LargeBinary(20), nullable=False),
    Column("url", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("depth", Integer, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("referrer", Text),
    Column("meta", Text),
    Column("state", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("kept", Integer, nullable=False),
    Column("worker", Text),
    Column("lease_until", Float),
    comment="one row a URL of a run; attempts: how many processes died with it; meta: JSON of redirects and retries",
)

options = Table(
    "frontier_options",
    metadata,
    Column("id", Id, primary_key=True),
    Column("run_id", Id, ForeignKey("frontier_runs.id"), nullable=False, unique=True),
    Column("options", Text, nullable=False),
    Column("saved", Float, nullable=False),
    comment="with what each run was started last, as JSON, to go on with it; saved: seconds since 1970",
)

TABLES = TableSet("frontier", metadata)
"""The tables of the frontier, and the version that they have."""

_TABLES_OF_RUNS = ("frontier", "frontier_hosts", "frontier_options", "frontier_workers")
ROWS_OF_RUNS = (
    *(RunScopedTable(name, "run_id", runs_table="frontier_runs") for name in _TABLES_OF_RUNS),
    RunScopedTable("frontier_runs", "name"),
)
"""What `dedup runs cancel` takes back of these tables."""

# What follows is used only by runs that several workers share.
hosts = Table(
    "frontier_hosts",
    metadata,
    Column("id", Id, primary_key=True),
    Column("run_id", Id, ForeignKey("frontier_runs.id"), nullable=False),
    Column("host", Text, nullable=False),
    # Whether it may have queued URLs; only who owns it can say that it has none.
    Column("is_open", Integer, nullable=False),
    Column("worker", Text),
    Column("owned_since", Float),
    Column("free_from", Float, nullable=False),
    Column("delay", Float, nullable=False),
    comment="one row a host of a run; it belongs to one worker at a time; delay: seconds between requests",
)

_is_open = hosts.c.is_open == 1

_is_owned = hosts.c.worker.is_not(None)

workers = Table(
    "frontier_workers",
    metadata,
    Column("id", Id, primary_key=True),
    Column("run_id", Id, ForeignKey("frontier_runs.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("lease_until", Float),
    Column("kept", Integer, nullable=False),
    Column("counts", Text, nullable=False),
    Column("has_closed", Integer, nullable=False),
    comment="one row a worker of a run; lease_until: empty once it has left; kept: pages; counts: JSON of its stats; "
    "has_closed: whether it ended the run",
)

OF_RUN = urls.c.run_id == bindparam("run")
COLUMNS = [urls.c[name] for name in TakenUrl._fields]
_OF_OTHER_HOSTS = urls.c.host.not_in(bindparam("but", expanding=True))

FREE = {"worker": None, "lease_until": None}

COUNTS = select(urls.c.state, func.count(), func.sum(urls.c.kept)).where(OF_RUN).group_by(urls.c.state)


class State(StrEnum):
    """What became of a URL; one that is parked waits for the next process that goes on with the run."""

    QUEUED = "queued"
    TAKEN = "taken"
    DONE = "done"
    FAILED = "failed"
    PARKED = "parked"


Index("frontier_url", urls.c.run_id, urls.c.url_digest, unique=True)


def _index(name: str, *columns: object, state: State, suspects: bool = False) -> None:
    # Partial ones: what is done, which becomes most of the table, costs them nothing.
    condition = urls.c.state == state.value
    if suspects:
        condition &= urls.c.attempts >= SUSPECT
    Index(name, *columns, sqlite_where=condition, postgresql_where=condition)  # type: ignore[arg-type]


_index("frontier_queued", urls.c.run_id, urls.c.priority.desc(), urls.c.id, state=State.QUEUED)
_index("frontier_suspects", urls.c.run_id, urls.c.attempts, state=State.QUEUED, suspects=True)
_index("frontier_taken", urls.c.run_id, urls.c.worker, state=State.TAKEN)
_index("frontier_parked", urls.c.run_id, urls.c.host, state=State.PARKED)

Index("frontier_host", hosts.c.run_id, hosts.c.host, unique=True)
Index(
    "frontier_hosts_open",
    hosts.c.run_id,
    hosts.c.free_from,
    hosts.c.id,
    sqlite_where=_is_open,
    postgresql_where=_is_open,
)
Index("frontier_hosts_owned", hosts.c.run_id, hosts.c.worker, sqlite_where=_is_owned, postgresql_where=_is_owned)

Index("frontier_worker", workers.c.run_id, workers.c.name, unique=True)

QUEUED_BY_HOST = (
    "CREATE INDEX IF NOT EXISTS frontier_queued_by_host ON frontier (run_id, host, priority DESC, id) "
    f"WHERE state = '{State.QUEUED.value}'"
)
"""An index of `frontier` that a crawl of one worker does without, and pays nothing for."""


def is_in(state: State) -> Any:
    """Return the condition that a URL is in a state."""
    # Written into the statement: only then does a partial index serve it.
    return urls.c.state == literal(state.value, literal_execute=True)


def _attempts(comparison: str) -> Any:
    return urls.c.attempts.op(comparison)(literal(SUSPECT, literal_execute=True))


NEXT = (
    select(*COLUMNS)
    .where(OF_RUN, is_in(State.QUEUED), _attempts("<"), _OF_OTHER_HOSTS)
    .order_by(urls.c.priority.desc(), urls.c.id)
    .limit(bindparam("limit"))
)
_SUSPECT = (
    select(*COLUMNS)
    .where(OF_RUN, is_in(State.QUEUED), _attempts(">="))
    .order_by(urls.c.attempts, urls.c.priority.desc(), urls.c.id)
    .limit(1)
)
NEXT_SUSPECT = _SUSPECT.where(_OF_OTHER_HOSTS)
NEXT_SUSPECT_OF = _SUSPECT.where(urls.c.host.in_(bindparam("hosts", expanding=True)))
OF_OTHERS = and_(OF_RUN, is_in(State.TAKEN), urls.c.worker != bindparam("me"))
IS_LEFT = select(
    select(urls.c.id).where(OF_RUN, is_in(State.QUEUED)).exists().label("queued"),
    select(urls.c.id).where(OF_OTHERS).exists().label("elsewhere"),
)
MINE = and_(OF_RUN, is_in(State.TAKEN), urls.c.worker == bindparam("me"))
TAKE = (
    update(urls)
    .where(urls.c.id.in_(bindparam("ids", expanding=True)))
    .values(state=State.TAKEN.value, worker=bindparam("me"), lease_until=bindparam("until"))
)
FINISH = update(urls).where(urls.c.id == bindparam("row")).values(state=State.DONE.value, kept=bindparam("was_kept"))
FINISH = FINISH.values(**FREE)
REQUEUE = (
    update(urls)
    .where(urls.c.id == bindparam("row"), urls.c.state == State.TAKEN.value, urls.c.worker == bindparam("me"))
    .values(state=State.QUEUED.value, priority=bindparam("new_priority"), meta=bindparam("new_meta"), **FREE)
)
PUT_BACK = (
    update(urls)
    .where(urls.c.id == bindparam("row"), urls.c.state == State.TAKEN.value, urls.c.worker == bindparam("me"))
    .values(state=State.QUEUED.value, **FREE)
)
_PARK = update(urls).where(OF_RUN, is_in(State.QUEUED), urls.c.host.in_(bindparam("parked", expanding=True)))
PARK = _PARK.values(state=State.PARKED.value)
PARK_ROWS = PARK.where(urls.c.id.in_(bindparam("ids", expanding=True)))
UNPARK = update(urls).where(OF_RUN, is_in(State.PARKED)).values(state=State.QUEUED.value)
COUNT_PARKED = select(urls.c.host, func.count()).where(OF_RUN, is_in(State.PARKED)).group_by(urls.c.host)
MY_ROWS = select(urls.c.id, urls.c.host).where(MINE)
RELEASE = update(urls).where(MINE).values(state=State.QUEUED.value, **FREE)
RENEW = update(urls).where(MINE).values(lease_until=bindparam("until"))
