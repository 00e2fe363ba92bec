"""The tables of the frontier: runs, and the URLs known to each. `dedup review --follow` reads them by their names."""

from __future__ import annotations

from enum import StrEnum

from sqlalchemy import Column, Float, ForeignKey, Index, Integer, LargeBinary, MetaData, Table, Text

from dedup.ledger.runs.rows import RowsOfRuns
from dedup.sql.database import TableSet
from dedup.sql.schema import Id


class State(StrEnum):
    """What became of a URL; one that is parked waits for the next process that goes on with the run."""

    QUEUED = "queued"
    TAKEN = "taken"
    DONE = "done"
    FAILED = "failed"
    PARKED = "parked"


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
Index("frontier_url", urls.c.run_id, urls.c.url_digest, unique=True)

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
    *(RowsOfRuns(name, "run_id", runs_table="frontier_runs") for name in _TABLES_OF_RUNS),
    RowsOfRuns("frontier_runs", "name"),
)
"""What `dedup runs cancel` takes back of these tables."""


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
Index("frontier_host", hosts.c.run_id, hosts.c.host, unique=True)
_is_open = hosts.c.is_open == 1
Index(
    "frontier_hosts_open",
    hosts.c.run_id,
    hosts.c.free_from,
    hosts.c.id,
    sqlite_where=_is_open,
    postgresql_where=_is_open,
)
_is_owned = hosts.c.worker.is_not(None)
Index("frontier_hosts_owned", hosts.c.run_id, hosts.c.worker, sqlite_where=_is_owned, postgresql_where=_is_owned)

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
Index("frontier_worker", workers.c.run_id, workers.c.name, unique=True)

QUEUED_BY_HOST = (
    "CREATE INDEX IF NOT EXISTS frontier_queued_by_host ON frontier (run_id, host, priority DESC, id) "
    f"WHERE state = '{State.QUEUED.value}'"
)
"""An index of `frontier` that a crawl of one worker does without, and pays nothing for."""
