"""The frontier in the database: what is known, taken, done, in whole transactions, and which runs have not ended."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from scrapy.crawler import Crawler
from sqlalchemy import Connection, Row, and_, bindparam, delete, func, insert, inspect, or_, select, update

from crawler.frontier import schema
from crawler.frontier.leases import LEASE_SECONDS, RENEWAL_SECONDS, HostLeases, is_gone, next_urls
from crawler.frontier.schema import (
    QUEUED_BY_HOST,
    ROWS_OF_RUNS,
    TABLES,
    Changes,
    ExchangeResult,
    LeaveResult,
    OpenResult,
    State,
    TakenUrl,
    WorkerState,
    hosts,
    options,
    runs,
    urls,
    workers,
)
from crawler.page import read_setting
from crawler.runs import UnfinishedRun
from dedup.errors import SettingsError
from dedup.ledger.runs import register_rows
from dedup.rules.setting_values import to_bool
from dedup.sql.database import Database, insert_into, open_tables
from dedup.stage.failures import read_settings, refuse_to_start

MAX_ATTEMPTS = 5
"""How many processes may end while a URL is under way before it is given up."""


DELETED_AT_ONCE = 10_000
"""Rows that are deleted in one transaction, since others write to the same database."""

_WORKERS = select(workers).where(workers.c.run_id == bindparam("run"))
_RUN = select(runs.c.started, runs.c.finished).where(runs.c.id == bindparam("run"))
_LEFT = or_(*map(schema.is_in, (State.QUEUED, State.TAKEN, State.PARKED)))
_COUNT_LEFT = select(func.count()).select_from(urls).where(schema.OF_RUN, _LEFT)
_ENDING = select(workers.c.name, workers.c.lease_until).where(
    workers.c.run_id == bindparam("run"), workers.c.has_closed == 1, workers.c.lease_until.is_not(None)
)
_ME = update(workers).where(workers.c.run_id == bindparam("run"), workers.c.name == bindparam("me"))


@dataclass(frozen=True)
class FrontierSettings:
    """What the frontier is told.

    Attributes:
        database_url: where its tables are: `CRAWLER_DATABASE_URL`, the database of the pages.
        lock_timeout: seconds to wait for another writer.
        run: name of the run: `DEDUP_RUN`; "" for one of its own.
        is_shared: whether other processes crawl the same run at the same time: `CRAWLER_SHARED_RUN`.
    """

    database_url: str
    lock_timeout: float
    run: str
    is_shared: bool

    @classmethod
    def read(cls, crawler: Crawler) -> FrontierSettings:
        """Read the settings of a crawl.

        Raises:
            SystemExit: one of them cannot be used; see `refuse_to_start`.
        """
        settings = read_settings(crawler)
        url = crawler.settings.get("CRAWLER_DATABASE_URL") or settings.database_url
        is_shared = read_setting(crawler, "CRAWLER_SHARED_RUN", False, to_bool)
        if is_shared and not settings.run:
            refuse_to_start(SettingsError("CRAWLER_SHARED_RUN needs DEDUP_RUN, the name of the run that is shared"))
        return cls(url, settings.lock_timeout, settings.run, is_shared)


class FrontierStore:
    """The URLs of one run, as one worker sees them. `open` comes first.

    What one worker has taken no other gets, until its lease ends or its process has. A run of a single worker is
    forgotten when it finishes. Where several workers crawl a run at the same time:

    - A host belongs to one worker at a time: only this one takes its URLs, see `HostLeases`.
    - A worker that says nothing for `LEASE_SECONDS`, or whose process on this machine is gone, has ended: others get
      its hosts and URLs.
    - The first worker that finds nothing left ends the run, and no other does unless this one dies on it. The run is
      remembered, so that a worker that comes later has nothing to do.

    The clock is that of the database, where it is a server. All methods raise `DatabaseError` where it fails.

    Args:
        database: where; the tables are made if they are not there.
        run: the run's name.
        worker: this worker's name.
        is_shared: whether other workers crawl the run at the same time.
        delay: returns the seconds between two requests to a host, as far as they are known here.
        has_ended: says of another worker, and of this one, by their names, whether the other is known to have ended.
        clock: seconds since 1970.

    Raises:
        DatabaseError: the database cannot be reached or written.
    """

    def __init__(
        self,
        database: Database,
        run: str,
        worker: str,
        *,
        is_shared: bool = False,
        delay: Callable[[str], float] = lambda host: 0.0,
        has_ended: Callable[[str, str], bool] = is_gone,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._database = database
        self._name = run
        self._me = worker
        self._is_shared = is_shared
        self._delay = delay
        self._has_ended = has_ended
        self._clock = clock
        self._hosts: HostLeases | None = None
        self._renewal = 0.0
        self._kept = 0
        self._kept_unregistered = 0
        self._parked: frozenset[str] = frozenset()
        self._is_end = False
        dialect = database.engine.dialect.name
        statement = insert_into(urls, dialect)
        statement = statement.on_conflict_do_nothing(index_elements=[urls.c.run_id, urls.c.url_digest])
        # Only thus do both databases say how many were new.
        self._add = statement.returning(urls.c.host)
        saying = insert_into(workers, dialect)
        said = {name: saying.excluded[name] for name in ("lease_until", "kept", "counts")}
        self._say = saying.on_conflict_do_update(index_elements=[workers.c.run_id, workers.c.name], set_=said)
        open_tables(database, TABLES)
        register_rows(database, ROWS_OF_RUNS)

    def is_over(self) -> bool:
        """Say whether the run of this name has finished; forget what is left of it if its last worker could not."""
        with self._database.read() as connection:
            finished = connection.execute(select(runs.c.finished).where(runs.c.name == self._name)).scalar()
        if finished is not None:
            self.forget()
        return finished is not None

    def open(self) -> OpenResult:
        """Start the run of this name, join it, or go on with it where it stopped.

        What workers had taken that are not there any more is queued again, and what was parked.
        """
        if not self._is_shared:
            self.forget()
        with self._database.write() as connection:
            self._use_clock_of(connection)
            self._run = self._open_run(connection)
            if self._is_shared:
                connection.exec_driver_sql(QUEUED_BY_HOST)
                self._hosts = HostLeases(self._run, self._me, self._delay, self._database.engine.dialect.name)
            is_over = self._has_finished(connection)
            if not is_over:
                self._renewal = self._clock() + RENEWAL_SECONDS
                if not self._living(connection):
                    connection.execute(schema.UNPARK, self._names)
                    if self._hosts is not None:  # a single worker, which knows no hosts, may have begun it
                        self._hosts.open_all(connection)
                if self._is_shared:
                    self._note_counts(connection, {}, 0)
                # After an outage all leases have ended, and the others are about to renew theirs.
                given_up = self._take_back(connection, is_expired=not self._is_shared)
                rows = connection.execute(schema.COUNTS, self._names)
                counts = {state: (count, int(kept)) for state, count, kept in rows}
                registered = self._kept_elsewhere(connection)
        if is_over:
            self.forget()
            return OpenResult(0, 0, 0, [], is_over=True)
        queued, _ = counts.get(State.QUEUED.value, (0, 0))
        done, kept = counts.get(State.DONE.value, (0, 0))
        self._kept_unregistered = max(0, kept - registered)
        return OpenResult(queued, done, kept, given_up)

    def exchange(self, changes: Changes, limit: int, worker: WorkerState | None = None) -> ExchangeResult:
        """Write what happened and take what comes next, in one transaction.

        It may be called again with the same where the connection was lost, whether the transaction was
        committed or not.

        Args:
            changes: what happened since the last time.
            limit: how many URLs to take at most.
            worker: this worker; None for one that holds nothing.

        Raises:
            OutageError: the server is away; whether anything was written is not known.
            DatabaseError: nothing was written and nothing taken.
        """
        worker = worker or WorkerState()
        if self._is_shared and worker.is_after_outage:
            self._renewal = self._clock() + RENEWAL_SECONDS  # as in `open`
        with self._database.write() as connection:
            if self._has_finished(connection):
                return ExchangeResult(0, [], is_left=False, given_up=[], lost=worker.held)
            added, kept = self._write(connection, changes, worker)
            held, lost = self._compare(connection, worker)
            given_up = self._keep_leases(connection, worker)
            delays: dict[str, float] = {}
            if self._hosts is None:
                rows = self._next(connection, limit, worker)
            else:
                rows, delays = self._next_of_hosts(connection, self._hosts, limit, held, worker)
            elsewhere = self._kept_elsewhere(connection) if self._is_shared else 0
            if rows:
                values = {"ids": [row.id for row in rows], "me": self._me, "until": self._clock() + LEASE_SECONDS}
                connection.execute(schema.TAKE, values)
            is_left = len(rows) >= limit or any(connection.execute(schema.IS_LEFT, self._names).one())
        self._kept = kept
        leaving = frozenset() if self._hosts is None else self._hosts.leaving
        taken = [TakenUrl(*row) for row in rows]
        return ExchangeResult(added, taken, is_left, given_up, lost, leaving, delays, elsewhere)

    def leave(self, changes: Changes, worker: WorkerState, *, is_finished: bool) -> LeaveResult:
        """Write what happened at last, put back what is not done, and begin to end the run if nobody else does.

        The run has not ended before `end` is called: whoever goes on with it does again what is done in between.

        Args:
            changes: what happened since the last exchange.
            worker: this worker.
            is_finished: whether it ends because nothing was left to do.
        """
        with self._database.write() as connection:
            has_finished = self._has_finished(connection)
            if not has_finished:
                self._write(connection, changes, worker)
                connection.execute(schema.RELEASE, self._names)
                if self._hosts is not None:
                    self._hosts.free_all(connection, self._clock(), worker)
            counted = connection.execute(schema.COUNT_PARKED, self._names)
            parked = {host: int(count) for host, count in counted}
            left = connection.execute(_COUNT_LEFT, self._names).scalar_one()
            connection.execute(_ME.values(lease_until=None), self._names)
            self._is_end = is_finished and not left and not has_finished
            if self._is_end or not (has_finished or self._still_there(self._living(connection))):
                # A run that is only interrupted can be joined by others meanwhile, which end it themselves.
                is_ending = self._is_end or not self._is_shared
                until = self._clock() + LEASE_SECONDS if is_ending else None
                connection.execute(_ME.values(has_closed=1, lease_until=until), self._names)
            run = connection.execute(_RUN, self._names).first()
            rows = connection.execute(_WORKERS, self._names).all()
        if has_finished:
            self.forget()
        has_closed = any(row.has_closed for row in rows if row.name == self._me)
        return LeaveResult(
            left=left,
            goes_on=self._is_shared and not has_closed,
            counts=_sum_of_counts(rows) if len(rows) > 1 else {},
            workers=len(rows),
            seconds=0.0 if run is None else self._clock() - run.started,
            parked=parked,
        )

    def renew(self) -> None:
        """Say that this worker is still about to end the run."""
        with self._database.write() as connection:
            ending = _ME.where(workers.c.lease_until.is_not(None))
            connection.execute(ending.values(lease_until=self._clock() + LEASE_SECONDS), self._names)

    def end(self) -> None:
        """End the run, if nothing is left of it; to be called by the worker that it does not go on without."""
        with self._database.write() as connection:
            ending = update(workers).where(workers.c.run_id == self._run, workers.c.has_closed == 1)
            connection.execute(ending.values(lease_until=None))
            if self._is_end:
                connection.execute(update(runs).where(runs.c.id == self._run).values(finished=self._clock()))
        if self._is_end:
            self.forget()

    def save_options(self, value: str) -> None:
        """Remember with what the run was started, for `find_unfinished`; it is forgotten with the run."""
        with self._database.write() as connection:
            connection.execute(delete(options).where(options.c.run_id == self._run))
            connection.execute(insert(options), {"run_id": self._run, "options": value, "saved": time.time()})

    def forget(self) -> None:
        """Forget a run that has finished: its URLs, and all of it where it was not shared."""
        finished = select(runs.c.id).where(runs.c.name == self._name, runs.c.finished.is_not(None)).scalar_subquery()
        some = select(urls.c.id).where(urls.c.run_id == finished).limit(DELETED_AT_ONCE)
        deleted = 1
        while deleted:  # not all at once: others write to this database too
            with self._database.write() as connection:
                deleted = connection.execute(delete(urls).where(urls.c.id.in_(some))).rowcount
                if not deleted:
                    for table in (hosts,) if self._is_shared else (hosts, options, workers):
                        connection.execute(delete(table).where(table.c.run_id == finished))
                    if not self._is_shared:
                        connection.execute(delete(runs).where(runs.c.id == finished))

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    @property
    def _names(self) -> dict[str, Any]:
        return {"run": self._run, "me": self._me}

    def _use_clock_of(self, connection: Connection) -> None:
        if self._clock is time.time and not self._database.is_sqlite:
            now = float(connection.execute(select(func.extract("epoch", func.clock_timestamp()))).scalar_one())
            ahead = now - time.time()
            self._clock = lambda: time.time() + ahead

    def _open_run(self, connection: Connection) -> int:
        run = connection.execute(select(runs.c.id).where(runs.c.name == self._name)).scalar()
        if run is None:
            row = {"name": self._name, "started": self._clock()}
            run = connection.execute(insert(runs).values(row).returning(runs.c.id)).scalar_one()
        return int(run)

    def _has_finished(self, connection: Connection) -> bool:
        """Say whether the run has finished, or another worker is about to end it."""
        run = connection.execute(_RUN, self._names).first()
        is_over = run is None or run.finished is not None
        if is_over or not self._is_shared:
            return is_over
        rows = connection.execute(_WORKERS, self._names).all()
        ending = [row.name for row in rows if row.has_closed and row.name != self._me and self._has_lease(row)]
        return bool(self._still_there(ending))

    def _write(self, connection: Connection, changes: Changes, worker: WorkerState) -> tuple[int, int]:
        """Write what happened; return how many URLs were new, and how many pages this worker has kept by now."""
        parked = worker.parked
        added: Sequence[str] = ()
        if changes.found:
            new = {"run_id": self._run, "attempts": 0, "kept": 0}
            states = [State.PARKED if entry.host in parked else State.QUEUED for entry in changes.found]
            found = zip(changes.found, states, strict=True)
            rows = [{**entry._asdict(), **new, "state": state.value} for entry, state in found]
            added = connection.execute(self._add, rows).scalars().all()
        if changes.again:
            names = ("row", "new_priority", "new_meta")
            rows = [{**dict(zip(names, row, strict=True)), "me": self._me} for row in changes.again]
            connection.execute(schema.REQUEUE, rows)
        if changes.back:
            self._put_back(connection, changes.back)
        if changes.named:
            connection.execute(schema.PREFER, {"run": self._run, "named": changes.named})
        if changes.done:
            connection.execute(schema.FINISH, [{"row": row, "was_kept": int(kept)} for row, kept in changes.done])
        if new_ones := parked if worker.is_after_outage else parked - self._parked:
            connection.execute(schema.PARK, {"run": self._run, "parked": list(new_ones)})
        if parked and (rows_back := [*changes.back, *(row for row, _, _ in changes.again)]):
            connection.execute(schema.PARK_ROWS, {"run": self._run, "parked": list(parked), "ids": rows_back})
        self._parked = parked
        if self._hosts is not None:
            self._hosts.open(connection, added)
        kept = self._kept + sum(was_kept for _, was_kept in changes.done)
        self._note_counts(connection, worker.counts, kept)
        return len(added), kept

    def _note_counts(self, connection: Connection, counts: Mapping[str, float], kept: int) -> None:
        """Write that this worker is there, and how far; a single one has no lease of its own."""
        row = {"run_id": self._run, "name": self._me, "has_closed": 0, "kept": kept, "counts": json.dumps(dict(counts))}
        until = self._clock() + LEASE_SECONDS if self._is_shared else None
        connection.execute(self._say, {**row, "lease_until": until})

    def _put_back(self, connection: Connection, rows: Sequence[int]) -> None:
        connection.execute(schema.PUT_BACK, [{"row": row, "me": self._me} for row in rows])

    def _compare(self, connection: Connection, worker: WorkerState) -> tuple[Counter[str], frozenset[int]]:
        """Put back what is this worker's without its knowledge; return what it holds by host, and what it has lost.

        A single worker loses nothing, and after an outage alone does it not know what it has taken.
        """
        if not (self._is_shared or worker.is_after_outage):
            return Counter(), frozenset()
        mine = {row.id: row.host for row in connection.execute(schema.MY_ROWS, self._names)}
        unknown = [row for row in mine if row not in worker.held]
        if unknown:
            self._put_back(connection, unknown)
        return Counter(host for row, host in mine.items() if row in worker.held), worker.held - set(mine)

    def _next(self, connection: Connection, limit: int, worker: WorkerState) -> list[Any]:
        if not limit:
            return []
        values = {"run": self._run, "but": list(worker.pauses)}
        rows = list(connection.execute(schema.NEXT, {**values, "limit": limit}))
        return rows if worker.has_suspect else [*connection.execute(schema.NEXT_SUSPECT, values), *rows]

    def _next_of_hosts(
        self, connection: Connection, leases: HostLeases, limit: int, held: Counter[str], worker: WorkerState
    ) -> tuple[list[Any], dict[str, float]]:
        """Return what comes next of this worker's hosts, and of those that are new the delay that others learned."""
        names, delays = leases.tend(connection, self._clock(), len(self._living(connection)), held, worker)
        names = [name for name in names if name not in worker.pauses]
        if not limit or not names:
            return [], delays
        rows = next_urls(connection, self._run, names, limit, held)
        if not worker.has_suspect:
            rows = [*connection.execute(schema.NEXT_SUSPECT_OF, {"run": self._run, "hosts": names}), *rows]
        return rows, delays

    def _keep_leases(self, connection: Connection, worker: WorkerState) -> list[str]:
        """Renew this worker's leases and take back what others have lost; return the URLs that were given up."""
        given_up: list[str] = []
        is_due = self._clock() >= self._renewal
        if is_due or (self._is_shared and worker.is_after_outage):
            connection.execute(schema.RENEW, {**self._names, "until": self._clock() + LEASE_SECONDS})
        if is_due:
            self._renewal = self._clock() + RENEWAL_SECONDS
            given_up = self._take_back(connection)
        if self._is_shared:
            living = self._living(connection)
            if living != self._still_there(living):
                given_up += self._take_back(connection, is_expired=False)
        return given_up

    def _living(self, connection: Connection) -> list[str]:
        """Return the names of the workers whose leases have not ended, and that do not end the run."""
        rows = connection.execute(_WORKERS, self._names).all()
        return [row.name for row in rows if self._has_lease(row) and not row.has_closed]

    def _has_lease(self, worker: Row[Any]) -> bool:
        return worker.lease_until is not None and worker.lease_until >= self._clock()

    def _still_there(self, names: Sequence[str]) -> list[str]:
        return [name for name in names if not self._has_ended(name, self._me)]

    def _kept_elsewhere(self, connection: Connection) -> int:
        rows = connection.execute(_WORKERS, self._names).all()
        return self._kept_unregistered + sum(int(row.kept) for row in rows if row.name != self._me)

    def _take_back(self, connection: Connection, *, is_expired: bool = True) -> list[str]:
        """Queue what was taken by workers that have ended; give up what too many of them died with.

        Args:
            connection: inside a writing transaction.
            is_expired: whether the end of a lease counts as the end of its worker.
        """
        others = connection.execute(select(urls.c.worker).where(schema.OF_OTHERS).distinct(), self._names).scalars()
        ended = [worker for worker in others if self._has_ended(worker, self._me)]
        latest = self._clock() if is_expired else 0.0
        lost = and_(schema.OF_OTHERS, or_(urls.c.lease_until < latest, urls.c.worker.in_(ended)))
        is_last = urls.c.attempts + 1 >= MAX_ATTEMPTS
        given_up = list(connection.execute(select(urls.c.url).where(lost, is_last), self._names).scalars())
        for condition, state in ((is_last, State.FAILED), (~is_last, State.QUEUED)):
            change = update(urls).where(lost, condition)
            change = change.values(state=state.value, attempts=urls.c.attempts + 1, **schema.FREE)
            connection.execute(change, self._names)
        if self._hosts is not None:
            rows = connection.execute(_WORKERS, self._names).all()
            gone = [row.name for row in rows if row.name != self._me and self._is_gone(row, is_expired=is_expired)]
            if gone:
                self._hosts.free_of(connection, self._clock(), gone)
                of_gone = update(workers).where(workers.c.run_id == self._run, workers.c.name.in_(gone))
                connection.execute(of_gone.values(lease_until=None))
        return given_up

    def _is_gone(self, worker: Row[Any], *, is_expired: bool) -> bool:
        if worker.lease_until is None or worker.has_closed:
            return False
        return (is_expired and worker.lease_until < self._clock()) or self._has_ended(worker.name, self._me)


def _sum_of_counts(rows: Sequence[Row[Any]]) -> dict[str, float]:
    """Return the stats of all workers of a run, added up."""
    counts: Counter[str] = Counter()
    for row in rows:
        counts.update(json.loads(row.counts))
    return dict(counts)


def find_unfinished(database: Database, me: str, *, but: str = "") -> list[UnfinishedRun]:
    """Return the runs that have URLs left, or died as they ended, the one that was started or continued last first.

    Args:
        database: where the frontier is, if there is one.
        me: the name of this process, see `worker_name`.
        but: the name of a run that is of no interest.

    Raises:
        DatabaseError: the database cannot be read.
    """
    with database.read() as connection:
        if not inspect(connection).has_table(runs.name):
            return []
        started = func.coalesce(options.c.saved, runs.c.started)
        query = select(runs.c.id, runs.c.name, options.c.options).where(runs.c.finished.is_(None), runs.c.name != but)
        query = query.outerjoin(options, options.c.run_id == runs.c.id).order_by(started.desc(), runs.c.id.desc())
        rows = connection.execute(query).all()
        found = [_read(connection, row, me) for row in rows]
    return [run for run in found if run.left or run.is_ending]


class Begun(NamedTuple):
    """A run that is known to the frontier.

    Attributes:
        started: when it began, in seconds since 1970.
        options: what `FrontierStore.save_options` has saved last; None where that is not known.
        is_over: whether it has finished.
    """

    started: float
    options: str | None
    is_over: bool


def find_begun(database: Database, run: str) -> Begun | None:
    """Return what the frontier knows of the run of this name; None if nothing, as of most runs that have finished.

    Raises:
        DatabaseError: the database cannot be read.
    """
    query = select(runs.c.started, options.c.options, runs.c.finished.is_not(None).label("is_over"))
    query = query.outerjoin(options, options.c.run_id == runs.c.id).where(runs.c.name == run)
    with database.read() as connection:
        if not {runs.name, options.name} <= set(inspect(connection).get_table_names()):
            return None
        row = connection.execute(query).first()
    return None if row is None else Begun(*row)


def _read(connection: Connection, row: Row[Any, Any, Any], me: str) -> UnfinishedRun:
    of_run = {"run": row.id}
    counts = {state: (count, kept) for state, count, kept in connection.execute(schema.COUNTS, of_run)}
    left = sum(counts.get(state.value, (0, 0))[0] for state in (State.QUEUED, State.TAKEN, State.PARKED))
    _, kept = counts.get(State.DONE.value, (0, 0))
    leased = select(urls.c.worker).where(schema.OF_RUN, schema.is_in(State.TAKEN), urls.c.lease_until >= time.time())
    ending = connection.execute(_ENDING, of_run).all()
    names = [worker.name for worker in ending if worker.lease_until >= time.time()]
    names += connection.execute(leased.distinct(), of_run).scalars()
    is_under_way = any(not is_gone(worker, me) for worker in names)
    return UnfinishedRun(row.name, row.options, int(kept), left, is_under_way, bool(ending))
