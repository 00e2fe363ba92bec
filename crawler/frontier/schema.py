"""The tables of the frontier, and what goes in and out of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import (
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    literal,
)

from dedup.signature.signature import digest
from dedup.store.database import RowsOfRuns, TableSet
from dedup.store.schema import Id

SUSPECT = 2
"""A URL that so many processes died with is handed out only while no other such one is under way."""


class Entry(NamedTuple):
    """A URL that is known to a run.

    Attributes:
        url: the URL.
        url_digest: what is the same for all ways to write it.
        host: its host.
        kind: which of the spider's callbacks it is for.
        depth: how many links from the start.
        priority: the higher the sooner.
        rank: of those at one depth the lower the sooner, see `rank_of`.
        referrer: the page whose link led to it.
        meta: JSON of what redirects and retries have to know; None for nothing.
    """

    url: str
    url_digest: bytes
    host: str
    kind: str
    depth: int
    priority: int
    rank: int
    referrer: str | None
    meta: str | None


class TakenUrl(NamedTuple):
    """A URL that was taken from the frontier, to be fetched.

    Attributes:
        id: its row.
        attempts: how many processes died with it; the others are as in `Entry`.
    """

    id: int
    url: str
    kind: str
    depth: int
    priority: int
    referrer: str | None
    meta: str | None
    attempts: int
    host: str = ""


@dataclass
class Changes:
    """What happened to URLs since the last exchange; written in one transaction.

    Attributes:
        found: URLs that may be new.
        done: rows whose page is dealt with for good, and whether it was kept.
        again: rows to be fetched once more, with their new priority, rank and meta.
        back: rows that were taken and are not to be fetched by this worker.
        passed: rows that are passed over, as long as the rule holds that says that they lead to copies.
        has_fallen: whether such a rule has turned out to be false, so that all that was passed over waits again.
        named: digests of URLs that pages name as their own: where they wait they come before others at their depth.
    """

    found: list[Entry] = field(default_factory=list)
    done: list[tuple[int, bool]] = field(default_factory=list)
    again: list[tuple[int, int, int, str | None]] = field(default_factory=list)
    back: list[int] = field(default_factory=list)
    passed: list[int] = field(default_factory=list)
    has_fallen: bool = False
    named: list[bytes] = field(default_factory=list)

    def split(self, most: int) -> tuple[Changes, Changes]:
        """Return what is written first, with so many URLs at most, and the rest.

        A row is only done when all that its page leads to is written.
        """
        if len(self.found) <= most:
            return self, Changes()
        rest = Changes(self.found[most:], self.done, passed=self.passed, has_fallen=self.has_fallen, named=self.named)
        return Changes(found=self.found[:most], again=self.again, back=self.back), rest


@dataclass(frozen=True)
class WorkerState:
    """What a worker holds and knows at an exchange.

    Attributes:
        held: the rows that it has taken and not finished with.
        has_suspect: whether one of them is a URL that several processes died with.
        is_after_outage: whether the same exchange was tried before, and the connection lost.
        counts: its stats so far.
        pauses: hosts of which nothing is to be handed out, and for how many seconds more.
        filled: hosts of which it holds enough.
        parked: hosts of which nothing is to be handed out to this process any more.
    """

    held: frozenset[int] = frozenset()
    has_suspect: bool = False
    is_after_outage: bool = False
    counts: Mapping[str, float] = field(default_factory=dict)
    pauses: Mapping[str, float] = field(default_factory=dict)
    filled: frozenset[str] = frozenset()
    parked: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ExchangeResult:
    """What a worker gets at an exchange.

    Attributes:
        added: how many of the found URLs were new.
        taken: the URLs to fetch next, those of a host in order.
        is_left: whether there is more to wait for: URLs of this worker's part but for parked hosts, or of others that
            are at work.
        kept_elsewhere: how many pages other processes of the run have kept.
    """

    added: int
    taken: list[TakenUrl]
    is_left: bool
    kept_elsewhere: int = 0


@dataclass(frozen=True)
class LeaveResult:
    """A run as a worker leaves it.

    Attributes:
        left: how many URLs are queued or taken, by whomever.
        goes_on: whether other workers go on with it, or have ended it.
        counts: the stats of all processes that were at it, added up; empty where there was one.
        parts: in how many it was crawled.
        seconds: since its start.
        parked: how many URLs are queued of each host that was asked for nothing more.
        passed: how many URLs were passed over.
    """

    left: int
    goes_on: bool = False
    counts: Mapping[str, float] = field(default_factory=dict)
    parts: int = 1
    seconds: float = 0.0
    parked: Mapping[str, int] = field(default_factory=dict)
    passed: int = 0


class OpenResult(NamedTuple):
    """A run at the start of a process.

    Attributes:
        queued: how many URLs are to be fetched.
        done: how many were dealt with before.
        kept: how many of these were kept.
        given_up: URLs that too many processes died with.
        is_over: whether other workers have finished it already.
    """

    queued: int
    done: int
    kept: int
    given_up: list[str]
    is_over: bool = False


metadata = MetaData()

runs = Table(
    "frontier_runs",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("started", Float, nullable=False),
    Column("finished", Float),
    Column("parts", SmallInteger, nullable=False),
    Column("asked", Text),
    Column("saved", Float),
    comment="one crawl, continued as often as it takes; parts: among how many processes its hosts are shared; asked: "
    "what it was to do when it was started last, as JSON; saved: when that was; times are seconds since 1970",
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
    Column("part", SmallInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("depth", Integer, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("rank", Integer, nullable=False),
    Column("referrer", Text),
    Column("meta", Text),
    Column("state", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("kept", Integer, nullable=False),
    comment="one row a URL of a run; part: of the process that crawls its host; attempts: how many processes died with "
    "it; meta: JSON of redirects and retries",
)

parts = Table(
    "frontier_parts",
    metadata,
    Column("id", Id, primary_key=True),
    Column("run_id", Id, ForeignKey("frontier_runs.id"), nullable=False),
    Column("part", SmallInteger, nullable=False),
    Column("worker", Text),
    Column("seen", Float, nullable=False),
    Column("kept", Integer, nullable=False),
    Column("counts", Text, nullable=False),
    Column("parked", Text, nullable=False),
    Column("is_ending", SmallInteger, nullable=False),
    comment="one row a part of a run; worker: the process that is at work on it; seen: when it was last heard of; "
    "kept: pages; counts: JSON of the stats of all its processes; parked: JSON of the hosts that its process asks for "
    "nothing more; is_ending: whether it writes what comes at the end",
)
Index("frontier_part", parts.c.run_id, parts.c.part, unique=True)

TABLES = TableSet(
    "frontier",
    metadata,
    (
        RowsOfRuns("frontier", "run_id", runs_table="frontier_runs"),
        RowsOfRuns("frontier_parts", "run_id", runs_table="frontier_runs"),
        RowsOfRuns("frontier_runs", "name"),
    ),
)
"""The tables of the frontier."""


class State(StrEnum):
    """What became of a URL; one that was passed over waits until the rule falls by which it was."""

    QUEUED = "queued"
    TAKEN = "taken"
    DONE = "done"
    FAILED = "failed"
    PASSED = "passed over"


Index("frontier_url", urls.c.run_id, urls.c.url_digest, unique=True)


def _index(name: str, *columns: object, state: State, suspects: bool = False) -> None:
    # Partial ones: what is done, which becomes most of the table, costs them nothing.
    condition = urls.c.state == state.value
    if suspects:
        condition &= urls.c.attempts >= SUSPECT
    Index(name, *columns, sqlite_where=condition, postgresql_where=condition)  # type: ignore[arg-type]


IN_ORDER = (urls.c.priority.desc(), urls.c.depth, urls.c.rank, urls.c.id)
_index("frontier_queued", urls.c.run_id, urls.c.part, urls.c.host, *IN_ORDER, state=State.QUEUED)
_index("frontier_suspects", urls.c.run_id, urls.c.part, urls.c.attempts, state=State.QUEUED, suspects=True)
_index("frontier_taken", urls.c.run_id, urls.c.part, state=State.TAKEN)
_index("frontier_passed", urls.c.run_id, urls.c.part, state=State.PASSED)


def is_in(state: State) -> Any:
    """Return the condition that a URL is in a state."""
    # Written into the statement: only then does a partial index serve it.
    return urls.c.state == literal(state.value, literal_execute=True)


def part_of(host: str, count: int) -> int:
    """Return the part that crawls a host, from 0, where a run has so many parts."""
    return int.from_bytes(digest(host.encode("utf-8", "surrogatepass"))[:8], "big") % count
