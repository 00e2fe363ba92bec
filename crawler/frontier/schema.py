"""The tables of the frontier: what is asked of them and changed in them over and over, and requests as their rows."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from scrapy import Request
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
    and_,
    bindparam,
    func,
    literal,
    or_,
    select,
    text,
    update,
)

from crawler.politeness.hosts import FAILED, host_of
from crawler.request_meta import ARCHIVED, GIVEN, KIND, RECORD, ROW
from dedup.signature.normalise import clean
from dedup.signature.signature import digest
from dedup.stage.addresses import LAST, drawn, referrer_of
from dedup.store.database import RowsOfRuns, TableSet
from dedup.store.schema import Id

SUSPECT = 2
"""A URL that so many processes died with is handed out only while no other such one is under way."""

NAMED = 0
"""The rank of an address that a page names as its own."""

_WITH_QUERY = 10_000
_LAST_PLACES = 10_000

_HOPS = "depth"
_NO_PATH = re.compile(r"^([a-z]+://[^/?]+)(?=\?|$)", re.IGNORECASE)
# What redirects and retries have to know of what came before them, and where a page is read instead of fetched.
_CARRIED = ("redirect_times", "redirect_ttl", "redirect_urls", "redirect_reasons", "retry_times", FAILED, RECORD, GIVEN)


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
        is_left: whether there is more to wait for: URLs of this worker's part, or of others that are at work.
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
        left: how many URLs are queued, taken or parked, by whomever.
        goes_on: whether other workers go on with it, or have ended it.
        counts: the stats of all processes that were at it, added up; empty where there was one.
        parts: in how many it was crawled.
        seconds: since its start.
        parked: how many URLs of each host are parked.
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
    Column("is_ending", SmallInteger, nullable=False),
    comment="one row a part of a run; worker: the process that is at work on it; seen: when it was last heard of; "
    "kept: pages; counts: JSON of the stats of all its processes; is_ending: whether it writes what comes at the end",
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

OF_RUN = urls.c.run_id == bindparam("run")
OF_PART = and_(OF_RUN, urls.c.part == bindparam("own_part"))
COLUMNS = [urls.c[name] for name in TakenUrl._fields]
_OF_OTHER_HOSTS = urls.c.host.not_in(bindparam("but", expanding=True))

COUNTS = select(urls.c.state, func.count(), func.sum(urls.c.kept)).where(OF_RUN).group_by(urls.c.state)


class State(StrEnum):
    """What became of a URL.

    One that is parked waits for the next process that goes on with the run, one that was passed over until the rule
    falls by which it was.
    """

    QUEUED = "queued"
    TAKEN = "taken"
    DONE = "done"
    FAILED = "failed"
    PARKED = "parked"
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
_index("frontier_parked", urls.c.run_id, urls.c.host, state=State.PARKED)
_index("frontier_passed", urls.c.run_id, urls.c.part, state=State.PASSED)


def is_in(state: State) -> Any:
    """Return the condition that a URL is in a state."""
    # Written into the statement: only then does a partial index serve it.
    return urls.c.state == literal(state.value, literal_execute=True)


def _attempts(comparison: str) -> Any:
    return urls.c.attempts.op(comparison)(literal(SUSPECT, literal_execute=True))


# Whatever lies before and behind them: the index is entered once for each host.
NEXT_HOSTS = text("""
WITH RECURSIVE waiting (host) AS (
  SELECT (SELECT host FROM frontier WHERE run_id = :run AND part = :own_part AND state = 'queued' AND host > :behind
          ORDER BY host LIMIT 1)
  UNION ALL
  SELECT (SELECT host FROM frontier WHERE run_id = :run AND part = :own_part AND state = 'queued'
          AND host > waiting.host ORDER BY host LIMIT 1)
  FROM waiting WHERE host IS NOT NULL
)
SELECT host FROM waiting WHERE host IS NOT NULL LIMIT :most
""")
NEXT_OF_HOST = (
    select(*COLUMNS)
    .where(OF_PART, is_in(State.QUEUED), urls.c.host == bindparam("of_host"), _attempts("<"))
    .order_by(*IN_ORDER)
    .limit(bindparam("limit"))
)
NEXT_SUSPECT = (
    select(*COLUMNS)
    .where(OF_PART, is_in(State.QUEUED), _attempts(">="), _OF_OTHER_HOSTS)
    .order_by(urls.c.attempts, *IN_ORDER)
    .limit(1)
)
MINE = and_(OF_PART, is_in(State.TAKEN))
IS_LEFT = select(select(urls.c.id).where(OF_PART, is_in(State.QUEUED)).exists())
_OF_OTHERS = and_(OF_RUN, urls.c.part.in_(bindparam("others", expanding=True)))
ARE_LEFT = select(
    or_(*(select(urls.c.id).where(_OF_OTHERS, is_in(state)).exists() for state in (State.QUEUED, State.TAKEN)))
)
_TAKEN_ROW = and_(urls.c.id == bindparam("row"), urls.c.state == State.TAKEN.value)
TAKE = update(urls).where(urls.c.id.in_(bindparam("ids", expanding=True))).values(state=State.TAKEN.value)
FINISH = update(urls).where(urls.c.id == bindparam("row")).values(state=State.DONE.value, kept=bindparam("was_kept"))
REQUEUE = (
    update(urls)
    .where(_TAKEN_ROW)
    .values(
        state=State.QUEUED.value,
        priority=bindparam("new_priority"),
        rank=bindparam("new_rank"),
        meta=bindparam("new_meta"),
    )
)
_NAMED_URLS = urls.c.url_digest.in_(bindparam("named", expanding=True))
PREFER = update(urls).where(OF_RUN, _NAMED_URLS, is_in(State.QUEUED)).values(rank=NAMED)
PUT_BACK = update(urls).where(_TAKEN_ROW).values(state=State.QUEUED.value)
_PARK = update(urls).where(OF_PART, is_in(State.QUEUED), urls.c.host.in_(bindparam("parked", expanding=True)))
PARK = _PARK.values(state=State.PARKED.value)
PARK_ROWS = PARK.where(urls.c.id.in_(bindparam("ids", expanding=True)))
UNPARK = update(urls).where(OF_PART, is_in(State.PARKED)).values(state=State.QUEUED.value)
COUNT_PARKED = select(urls.c.host, func.count()).where(OF_RUN, is_in(State.PARKED)).group_by(urls.c.host)
PASS = update(urls).where(_TAKEN_ROW).values(state=State.PASSED.value)
RESTORE = update(urls).where(OF_PART, is_in(State.PASSED)).values(state=State.QUEUED.value)
COUNT_PASSED = select(func.count()).select_from(urls).where(OF_RUN, is_in(State.PASSED))
MY_ROWS = select(urls.c.id).where(MINE)
GIVEN_UP = select(urls.c.url).where(OF_PART, is_in(State.FAILED))
RELEASE = update(urls).where(MINE).values(state=State.QUEUED.value)


def part_of(host: str, count: int) -> int:
    """Return the part that crawls a host, from 0, where a run has so many parts."""
    return int.from_bytes(digest(host.encode("utf-8", "surrogatepass"))[:8], "big") % count


class FrontierSpider(Protocol):
    """What the frontier needs of a spider."""

    def make_request(self, kind: str, url: str, depth: int) -> Request:
        """Return a request for a URL, with callback and all; its meta name the kind."""
        ...

    def take_named(self) -> list[Request]:
        """Return requests for what pages have named as their own addresses since the last call."""
        ...

    def take_fallen(self) -> bool:
        """Return whether a rule by which URLs were passed over has turned out to be false since the last call."""
        ...

    async def log_in(self) -> None:
        """Do what has to be done before any URL of the frontier is fetched."""
        ...


def to_entry(request: Request, url_digest: bytes) -> Entry:
    """Return what the frontier keeps of a request.

    Args:
        request: made by the spider's `make_request`, or a copy by a redirect.
        url_digest: the request's fingerprint.

    Raises:
        KeyError: it was not made by `make_request`.
    """
    referrer = referrer_of(request)
    return Entry(
        url=_as_asked_for(request.url),
        url_digest=url_digest,
        host=host_of(request),
        kind=request.meta[KIND],
        depth=request.cb_kwargs.get("depth", 0),
        priority=priority_of(request),
        rank=rank_of(request),
        referrer=clean(referrer) if referrer else None,
        meta=carried(request),
    )


def priority_of(request: Request) -> int:
    """Return the priority of a request: what is fetched last comes in no order, so that a few are a sample of all."""
    if request.priority > LAST:
        return request.priority
    # Whatever their depth: it would put all that is found late behind what is found first.
    return LAST - drawn(request.url, _LAST_PLACES)


def rank_of(request: Request) -> int:
    """Return the place of a page among those at its depth: of copies the one at the likely better address comes first.

    Those without a query come before those with one, then shorter ones before longer ones. The host does not count, so
    that those of several take turns.
    """
    if request.meta[KIND] == ARCHIVED:
        return NAMED  # in the order of their files
    address = urlsplit(request.url)
    length = len(address.path) + len(address.query)
    return NAMED + 1 + min(length, _WITH_QUERY - 1) + (_WITH_QUERY if address.query else 0)


def _as_asked_for(url: str) -> str:
    """Return an address as a server is asked for it, so that a page has one key: with a path, without a fragment."""
    return _NO_PATH.sub(r"\1/", url.partition("#")[0])


def carried(request: Request) -> str | None:
    """Return as JSON what of a request's meta is needed to go on with it; None for nothing."""
    meta = request.meta
    kept: dict[str, Any] = {name: meta[name] for name in _CARRIED if name in meta}
    # Scrapy counts redirected sitemaps and robots.txt as steps, the depth of a page does not.
    hops = meta.get(_HOPS, 0)
    if hops != request.cb_kwargs.get("depth", 0):
        kept[_HOPS] = hops
    return json.dumps(kept, separators=(",", ":")) if kept else None


def to_request(taken: TakenUrl, spider: FrontierSpider) -> Request:
    """Return the request for a URL that was taken."""
    request = spider.make_request(taken.kind, taken.url, taken.depth)
    request.priority = taken.priority
    if taken.referrer:
        request.headers["Referer"] = taken.referrer
    request.meta[_HOPS] = request.cb_kwargs.get("depth", 0)
    if taken.meta:
        request.meta.update(json.loads(taken.meta))
    request.meta[ROW] = taken.id
    return request
