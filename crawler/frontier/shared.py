"""A run that several workers share: who they are, who is still there, and who ends it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, func, select, update

from crawler.frontier import statements
from crawler.frontier.entries import Taken
from crawler.frontier.exchange import Changes, Departure, Exchange, Opened, Standing
from crawler.frontier.hosts import HostLeases, next_urls
from crawler.frontier.leases import LEASE_SECONDS, RENEWAL_SECONDS
from crawler.frontier.store import DELETED_AT_ONCE, WORKERS, FrontierStore, sum_of_counts
from crawler.frontier.table import QUEUED_BY_HOST, hosts, runs, urls, workers

_OF_RUN = workers.c.run_id == bindparam("run")
_RUN = select(runs.c.started, runs.c.finished).where(runs.c.id == bindparam("run"))
_ME = (_OF_RUN, workers.c.name == bindparam("me"))
_SUSPECT_OF = statements.NEXT_SUSPECT.where(urls.c.host.in_(bindparam("hosts", expanding=True)))


class SharedFrontierStore(FrontierStore):
    """The URLs of a run, as one of several workers sees them that crawl it at the same time.

    - A host belongs to one worker at a time: only this one takes its URLs. See `HostLeases`.
    - A worker that says nothing for `LEASE_SECONDS`, or whose process on this machine is gone,
      has ended: others get its hosts and URLs.
    - The first worker that finds nothing left ends the run, and no other does. The run is
      remembered, so that a worker that comes later has nothing to do.
    - The clock is that of the database, where it is a server.

    Args:
        *arguments: as for `FrontierStore`.
        delay: returns the seconds between two requests to a host, as far as they are known here.
        **named: as for `FrontierStore`.
    """

    def __init__(self, *arguments: Any, delay: Callable[[str], float] = lambda host: 0.0, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._delay = delay
        self._kept = 0
        self._kept_unregistered = 0

    def is_over(self) -> bool:
        """Say whether the run of this name has finished; forget what is left of it if its last worker could not.

        Raises:
            DatabaseError: the database cannot be read or written.
        """
        with self._database.read() as connection:
            query = select(runs.c.id, runs.c.finished).where(runs.c.name == self._name)
            run = connection.execute(query).first()
        if run is None or run.finished is None:
            return False
        self._run = run.id
        self._forget_urls()
        return True

    def open(self) -> Opened:
        """Join the run of this name, or start it.

        Raises:
            DatabaseError: the database cannot be written.
        """
        with self._database.write() as connection:
            self._use_clock_of(connection)
            connection.exec_driver_sql(QUEUED_BY_HOST)
            self._run = self._open_run(connection)
            self._hosts = HostLeases(self._run, self._me, self._delay, self._database.engine.dialect.name)
            is_over = self._has_finished(connection)
            if not is_over:
                self._renewal = self._clock() + RENEWAL_SECONDS
                if not self._living(connection):  # a crawl of a single worker, which knows no hosts, may have begun it
                    connection.execute(statements.UNPARK, self._names)
                    self._hosts.open_all(connection)
                self._say_that_i_am_here(connection, {})
                # After an outage all leases have ended, and the others are about to renew theirs.
                given_up = self._take_back(connection, is_expired=False)
                rows = connection.execute(statements.COUNTS, {"run": self._run})
                counts = {state: (count, kept) for state, count, kept in rows}
                registered = self._kept_elsewhere(connection)
        if is_over:
            self._forget_urls()
            return Opened(0, 0, 0, [], is_over=True)
        queued, _ = counts.get("queued", (0, 0))
        done, kept = counts.get("done", (0, 0))
        self._kept_unregistered = max(0, int(kept) - registered)
        return Opened(queued, done, int(kept), given_up)

    def exchange(self, changes: Changes, room: int, standing: Standing | None = None) -> Exchange:
        """Write what happened and take what comes next from this worker's hosts, in one transaction.

        Args:
            changes: what happened since the last time.
            room: how many URLs to take at most.
            standing: how the worker stands; None for one that holds nothing.

        Raises:
            OutageError: the server is away; whether anything was written is not known.
            DatabaseError: nothing was written and nothing taken.
        """
        standing = standing or Standing()
        if standing.is_after_outage:
            self._renewal = self._clock() + RENEWAL_SECONDS  # as in `open`
        kept = self._kept + sum(was_kept for _, was_kept in changes.done)
        with self._database.write() as connection:
            if self._has_finished(connection):
                return Exchange(0, [], is_left=False, given_up=[], lost=standing.held)
            found = self._write(connection, changes, standing)
            self._hosts.open(connection, found)
            self._say_that_i_am_here(connection, standing.counts, kept)
            if standing.is_after_outage:
                connection.execute(statements.RENEW, {**self._names, "until": self._clock() + LEASE_SECONDS})
            given_up = self._keep_leases(connection)
            living = self._living(connection)
            if living != self._still_there(living):
                given_up += self._take_back(connection, is_expired=False)
            held, lost = self._compare(connection, standing)
            names, delays = self._hosts.tend(connection, self._clock(), len(living), held, standing)
            names = [name for name in names if name not in standing.pauses]
            rows = next_urls(connection, self._run, names, room, held) if room else []
            if room and names and not standing.has_suspect:
                suspects = connection.execute(_SUSPECT_OF, {"run": self._run, "hosts": names}).all()
                rows = [*suspects, *rows]
            self._take(connection, rows)
            is_left = bool(rows) or self._is_left(connection)
            elsewhere = self._kept_elsewhere(connection)
        self._kept = kept
        taken = [Taken(*row) for row in rows]
        return Exchange(len(found), taken, is_left, given_up, lost, self._hosts.leaving, delays, elsewhere)

    def leave(self, changes: Changes, standing: Standing, *, is_finished: bool) -> Departure:
        """Write what happened at last, put back what is not done, and end the run if nobody else does.

        Args:
            changes: what happened since the last exchange.
            standing: how the worker stands.
            is_finished: whether the worker ends because nothing was left to do.

        Raises:
            DatabaseError: the database cannot be written.
        """
        with self._database.write() as connection:
            has_finished = self._has_finished(connection)
            if not has_finished:
                self._hosts.open(connection, self._write(connection, changes, standing))
                connection.execute(statements.RELEASE, {"run": self._run, "me": self._me})
                self._hosts.free_all(connection, self._clock(), standing)
                kept = self._kept + sum(was_kept for _, was_kept in changes.done)
                self._say_that_i_am_here(connection, standing.counts, kept)
            parked = self._count_parked(connection)
            left = sum(connection.execute(statements.IS_LEFT, {"run": self._run, "me": self._me}).one()) + len(parked)
            connection.execute(update(workers).where(*_ME).values(lease_until=None), self._names)
            if not has_finished and is_finished and not left:
                connection.execute(update(runs).where(runs.c.id == self._run).values(finished=self._clock()))
            is_last = not has_finished and (
                (is_finished and not left) or not self._still_there(self._living(connection))
            )
            if is_last:
                connection.execute(update(workers).where(*_ME).values(has_closed=1), self._names)
            departure = replace(self._departure(connection), parked=parked)
        if left:
            return replace(departure, left=self.count_left())
        self._forget_urls()
        return departure

    def _departure(self, connection: Connection) -> Departure:
        rows = connection.execute(WORKERS, self._names).all()
        started = connection.execute(_RUN, self._names).one().started
        has_closed = any(row.has_closed for row in rows if row.name == self._me)
        return Departure(0, not has_closed, sum_of_counts(rows), len(rows), self._clock() - started)

    def _forget_urls(self) -> None:
        """Forget the URLs and hosts of a run that has finished, but not the run."""
        some = select(urls.c.id).where(urls.c.run_id == self._run).limit(DELETED_AT_ONCE)
        deleted = 1
        while deleted:
            with self._database.write() as connection:
                if not self._has_finished(connection):
                    return
                deleted = connection.execute(delete(urls).where(urls.c.id.in_(some))).rowcount
                if not deleted:
                    connection.execute(delete(hosts).where(hosts.c.run_id == self._run))

    @property
    def _names(self) -> dict[str, Any]:
        return {"run": self._run, "me": self._me}

    def _use_clock_of(self, connection: Connection) -> None:
        if self._clock is time.time and not self._database.is_sqlite:
            now = float(connection.execute(select(func.extract("epoch", func.clock_timestamp()))).scalar_one())
            ahead = now - time.time()
            self._clock = lambda: time.time() + ahead

    def _has_finished(self, connection: Connection) -> bool:
        run = connection.execute(_RUN, {"run": self._run}).first()
        return run is None or run.finished is not None

    def _say_that_i_am_here(self, connection: Connection, counts: Mapping[str, float], kept: int = 0) -> None:
        self._note_counts(connection, counts, kept, self._clock() + LEASE_SECONDS)

    def _living(self, connection: Connection) -> list[str]:
        """Return the names of the workers whose leases have not ended."""
        rows = connection.execute(WORKERS, {"run": self._run}).all()
        return [row.name for row in rows if row.lease_until is not None and row.lease_until >= self._clock()]

    def _kept_elsewhere(self, connection: Connection) -> int:
        rows = connection.execute(WORKERS, {"run": self._run}).all()
        return self._kept_unregistered + sum(int(row.kept) for row in rows if row.name != self._me)

    def _still_there(self, names: Sequence[str]) -> list[str]:
        return [name for name in names if not self._has_ended(name, self._me)]

    def _take_back(self, connection: Connection, *, is_expired: bool = True) -> list[str]:
        given_up = super()._take_back(connection, is_expired=is_expired)
        rows = connection.execute(WORKERS, {"run": self._run}).all()
        gone = [row.name for row in rows if row.name != self._me and self._is_gone(row, is_expired=is_expired)]
        if gone:
            self._hosts.free_of(connection, self._clock(), gone)
            ended = update(workers).where(_OF_RUN, workers.c.name.in_(gone))
            connection.execute(ended.values(lease_until=None), {"run": self._run})
        return given_up

    def _is_gone(self, worker: Row[Any], *, is_expired: bool) -> bool:
        if worker.lease_until is None:
            return False
        return (is_expired and worker.lease_until < self._clock()) or self._has_ended(worker.name, self._me)

    def _compare(self, connection: Connection, standing: Standing) -> tuple[Counter[str], frozenset[int]]:
        """Put back what is this worker's without its knowledge; return what it holds by host, and what it has lost."""
        mine = {row.id: row.host for row in connection.execute(statements.MY_ROWS, self._names)}
        unknown = [row for row in mine if row not in standing.held]
        if unknown:
            self._put_back(connection, unknown)
        return Counter(host for row, host in mine.items() if row in standing.held), standing.held - set(mine)
