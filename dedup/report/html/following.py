"""The state of a run while it goes on, for the page that requests it every two seconds."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from threading import RLock
from typing import Any

from sqlalchemy import Connection, Row, column, func, literal, select, table

from dedup.console import readable
from dedup.errors import DatabaseError
from dedup.ledger.runs import find_begun
from dedup.report.contents import RelatedRow
from dedup.report.html.model import cut_key
from dedup.report.queries import last_run, read_latest
from dedup.rules.documents import DUPLICATES, Verdict
from dedup.sql.database import Database, open_existing_database
from dedup.sql.schema import runs, verdicts

LATEST = 20
"""How many copies are named, and hosts."""

MOST_QUEUED = 100_000
"""How many queued pages are counted at most; those under way come on top."""

NEXT = 20_000
"""Of how many of them the hosts are counted."""

SILENT_SECONDS = 60.0
"""How long a run may decide nothing, and nobody hold a lease of it, until it counts as killed: as long as a lease."""

SHARE_OF_RECOUNTS = 50
"""How many times as long as all verdicts are counted they are then counted from the last one that was seen on."""

_RATE_SECONDS = 30.0
# More than any crawl decides in that time.
_DECIDED_LATELY = 20_000
# Whoever only looks keeps no large database busy.
_SHARE_OF_TIME = 4

# The crawler's queue, where the database has one. This library imports nothing of the crawler, so it goes by names.
_queue_runs = table("frontier_runs", column("id"), column("name"))
_queue = table("frontier", *map(column, ("id", "run_id", "host", "priority", "state", "worker", "lease_until")))
# Written out, since partial indexes serve no values that are bound.
_is_queued, _is_taken = (_queue.c.state == literal(state, literal_execute=True) for state in ("queued", "taken"))


class Follower:
    """Says how far a run is, as JSON: counts, pages a second, the queue, the latest copies, and whether it goes on.

    What an answer costs does not grow with the run: verdicts are counted from the last one that was seen on, and all of
    them anew a fiftieth of the time at most, because some change later. Who asks at the same time gets the same answer.

    Args:
        name_database: returns the URL of the database, which need not be there yet.
        run: the name of the run; empty: the one that began last, whenever that is.
        clock: seconds since 1970.
    """

    def __init__(self, name_database: Callable[[], str], run: str = "", clock: Callable[[], float] = time.time) -> None:
        self._name_database = name_database
        self._wanted = run
        self._clock = clock
        self._lock = RLock()
        self._database: Database | None = None
        self._answer: bytes = b""
        self._next = 0.0
        self._run_id = 0
        self._last = 0
        self._recount = 0.0
        self._counts: Counter[tuple[str, bool]] = Counter()

    def open(self) -> Database:
        """Return the database, opened for marks too.

        Raises:
            DatabaseError: it is not there yet, or cannot be read.
        """
        with self._lock:
            if self._database is None:
                self._database = open_existing_database(self._name_database(), read_only=False)
            return self._database

    def close(self) -> None:
        """Close the database, if it was ever there."""
        if self._database is not None:
            self._database.close()

    def answer(self) -> bytes:
        """Return how far the run is, as JSON."""
        with self._lock:
            started = time.monotonic()
            if started >= self._next:
                # Half a pair of surrogates is no text: it is replaced.
                self._answer = json.dumps(self.look(), ensure_ascii=False).encode("utf-8", "replace")
                taken = time.monotonic() - started
                self._next = started + taken + max(1.0, _SHARE_OF_TIME * taken)
            return self._answer

    def find_run(self) -> str:
        """Return the name of the run that is followed; empty: there is none yet.

        Raises:
            DatabaseError: the database is not there yet, or cannot be read.
        """
        if self._wanted:
            return self._wanted
        found = find_begun(self.open())
        if not found:
            with self.open().read() as connection:
                found = last_run(connection) if connection.scalar(select(runs.c.id).limit(1)) else ""
        return found

    def look(self) -> dict[str, Any]:
        """Return how far the run is, or why that is not known; all of it can be JSON."""
        try:
            name = self.find_run()
            with self.open().read() as connection:
                run = connection.execute(select(runs).where(runs.c.name == name)).first()
                if run is None:
                    return _waiting(f"run {self._wanted!r} has not begun" if self._wanted else "no crawl has begun")
                self._count(connection, run)
                state = self._look_at(connection, run)
            state["latest"] = [_row(each) for each in read_latest(self.open(), run.name, "", LATEST)]
        except DatabaseError as error:
            return _waiting(str(error))
        return state

    def _look_at(self, connection: Connection, run: Row[Any]) -> dict[str, Any]:
        now = self._clock()
        lately = select(verdicts.c.decided).where(verdicts.c.id > self._last - _DECIDED_LATELY, _is_of(run)).subquery()
        newest = select(func.max(lately.c.decided), func.count().filter(lately.c.decided > now - _RATE_SECONDS))
        decided, count = connection.execute(newest).one()
        lease, queue = _read_queue(connection, run.name)
        quiet = max(0.0, now - max(decided or 0.0, run.started))
        state, told = _state(run, quiet, lease, now)
        seconds = min(_RATE_SECONDS, max(1.0, now - run.started))
        return {
            "state": state,
            "told": told,
            "run": run.name,
            "counts": self._totals(),
            "rate": count / seconds if state == "going on" else None,
            "queue": queue,
        }

    def _count(self, connection: Connection, run: Row[Any]) -> None:
        started = time.monotonic()
        top = connection.scalar(select(func.max(verdicts.c.id))) or 0
        kind = (verdicts.c.verdict, verdicts.c.kept.is_not(None))
        counted = select(*kind, func.count()).where(verdicts.c.id <= top).group_by(*kind)
        is_anew = run.id != self._run_id or top < self._last or started >= self._recount
        if is_anew:
            counted = counted.where(verdicts.c.run_id == run.id)
            self._counts.clear()
        else:
            counted = counted.where(verdicts.c.id > self._last, _is_of(run))
        for verdict, is_kept, count in connection.execute(counted):
            self._counts[verdict, bool(is_kept)] += count
        self._run_id, self._last = run.id, top
        if is_anew:
            self._recount = started + SHARE_OF_RECOUNTS * (time.monotonic() - started)

    def _totals(self) -> dict[str, int]:
        counts, copies = self._counts, {verdict.value for verdict in DUPLICATES}
        decided = counts.total()
        exact, near = (counts[each.value, False] for each in (Verdict.EXACT_DUPLICATE, Verdict.NEAR_DUPLICATE))
        return {
            "decided": decided,
            "kept": decided - exact - near,
            "exact": exact,
            "near": near,
            "similar": sum(counts[Verdict.SIMILAR.value, is_kept] for is_kept in (False, True)),
            "marked": sum(count for (verdict, is_kept), count in counts.items() if is_kept and verdict in copies),
        }


def _is_of(run: Row[Any]) -> Any:
    # Not by the index of runs: what is wanted is the end of the table.
    return verdicts.c.run_id + 0 == run.id


def _waiting(why: str) -> dict[str, Any]:
    return {"state": "waiting", "told": why, "run": "", "latest": []}


def _state(run: Row[Any], quiet: float, lease: float | None, now: float) -> tuple[str, str]:
    """Say whether a run goes on, in a word and in a sentence.

    Args:
        run: its row.
        quiet: for how many seconds it has decided nothing.
        lease: until when somebody has taken pages of its queue, in seconds since 1970; None where there is no queue.
        now: the time, in seconds since 1970.
    """
    if run.finished is not None:
        return "ended", "" if run.outcome == "finished" else f"how it ended: {run.outcome}"
    if quiet <= SILENT_SECONDS or (lease is not None and lease > now):
        return "going on", f"nothing was decided for {quiet:.0f} seconds" if quiet > _RATE_SECONDS / 3 else ""
    if lease is None:
        return "silent", f"nothing was decided for {quiet:,.0f} seconds: it is slow, or it was killed"
    return "silent", f"nobody has been at work for {quiet:,.0f} seconds: it was killed; scrapy continue goes on with it"


def _read_queue(connection: Connection, run: str) -> tuple[float | None, dict[str, Any] | None]:
    """Return until when pages of a queue are taken, and what is left to do; None and None where there is no queue."""
    if not connection.dialect.has_table(connection, _queue.name):
        return None, None
    run_id = connection.scalar(select(_queue_runs.c.id).where(_queue_runs.c.name == run))
    if run_id is None:
        return None, None
    of_run = _queue.c.run_id == run_id
    # Workers have names: thus the index of what is taken serves. Each has taken few.
    own = select(_queue.c.host, func.count(), func.max(_queue.c.lease_until)).group_by(_queue.c.host)
    under_way = connection.execute(own.where(of_run, _is_taken, _queue.c.worker > "")).all()
    taken = Counter({host: number for host, number, _ in under_way})
    leases = [until for _, _, until in under_way]
    some = select(_queue.c.id).where(of_run, _is_queued).limit(MOST_QUEUED + 1).subquery()
    queued = connection.scalar(select(func.count()).select_from(some)) or 0
    following = select(_queue.c.host).where(of_run, _is_queued).order_by(_queue.c.priority.desc(), _queue.c.id)
    next_ones = following.limit(NEXT).subquery()
    count = func.count()
    by_host = select(next_ones.c.host, count).group_by(next_ones.c.host)
    hosts = taken + Counter({row[0]: row[1] for row in connection.execute(by_host)})
    most = sorted(hosts.items(), key=lambda each: (-each[1], each[0]))
    return max(leases, default=0.0), {
        "left": taken.total() + min(queued, MOST_QUEUED),
        "is_more": queued > MOST_QUEUED,
        "counted": hosts.total(),
        "hosts": [[cut_key(host), number] for host, number in most[:LATEST]],
        "host_count": len(hosts),
    }


def _row(row: RelatedRow) -> dict[str, Any]:
    dropped, original = cut_key(row.dropped), cut_key(row.original)
    return {
        "verdict": row.verdict.value,
        "similarity": row.similarity,
        "key": dropped,
        "dropped": readable(dropped),
        "original": readable(original),
        "is_kept": row.kept is not None,
        "decided": row.decided,
    }
