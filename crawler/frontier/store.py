"""The frontier in the database: what is known, taken, done, in whole transactions, and which runs have not ended."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from scrapy.crawler import Crawler
from sqlalchemy import Connection, Row, and_, bindparam, delete, func, insert, literal, select, text, update

from crawler.frontier.requests import NAMED
from crawler.frontier.schema import (
    IN_ORDER,
    SUSPECT,
    TABLES,
    Changes,
    ExchangeResult,
    LeaveResult,
    OpenResult,
    State,
    TakenUrl,
    WorkerState,
    is_in,
    part_of,
    parts,
    runs,
    urls,
)
from crawler.request_meta import AGAIN
from crawler.runs import Asked
from crawler.settings import CrawlerSettings, Part
from dedup.console import plain
from dedup.errors import DedupError, SettingsError
from dedup.stage.project import read_settings, settings_of
from dedup.stage.running import refuse_to_start
from dedup.store.database import Database, insert_into, open_tables
from dedup.store.processes import is_gone

MAX_ATTEMPTS = 5
"""How many processes may end while a URL is under way before it is given up."""

SILENT_SECONDS = 60.0
"""Who has nothing to do waits for parts that were heard of within so many seconds: they may find something for it."""

SEEN_SECONDS = SILENT_SECONDS / 3
"""How often a process at least lets others hear of it."""

MOST_HOSTS = 64
"""Of so many hosts URLs are taken at once; those of more take turns."""

DELETED_AT_ONCE = 10_000
"""Rows that are deleted in one transaction, since others write to the same database."""

_OF_RUN = urls.c.run_id == bindparam("run")
_OF_PART = and_(_OF_RUN, urls.c.part == bindparam("own_part"))
_TAKEN_ROW = and_(urls.c.id == bindparam("row"), urls.c.state == State.TAKEN.value)
_COLUMNS = [urls.c[name] for name in TakenUrl._fields]

_RUN = select(runs.c.started, runs.c.finished).where(runs.c.id == bindparam("run"))
_PARTS = select(parts).where(parts.c.run_id == bindparam("run"))
_ME = update(parts).where(parts.c.run_id == bindparam("run"), parts.c.part == bindparam("own_part"))

# Whatever lies before and behind them: the index is entered once for each host.
_NEXT_HOSTS = text("""
WITH RECURSIVE waiting (host) AS (
  SELECT (SELECT host FROM frontier WHERE run_id = :run AND part = :of_part AND state = 'queued' AND host > :behind
          ORDER BY host LIMIT 1)
  UNION ALL
  SELECT (SELECT host FROM frontier WHERE run_id = :run AND part = :of_part AND state = 'queued'
          AND host > waiting.host ORDER BY host LIMIT 1)
  FROM waiting WHERE host IS NOT NULL
)
SELECT host FROM waiting WHERE host IS NOT NULL LIMIT :most
""")
_QUEUED = select(*_COLUMNS).where(_OF_PART, is_in(State.QUEUED))
_SUSPECT = literal(SUSPECT, literal_execute=True)
_NEXT_OF_HOST = (
    _QUEUED.where(urls.c.host == bindparam("of_host"), urls.c.attempts < _SUSPECT)
    .order_by(*IN_ORDER)
    .limit(bindparam("limit"))
)
_SUSPECTS = _QUEUED.where(urls.c.attempts >= _SUSPECT).order_by(urls.c.attempts, *IN_ORDER)
_TAKE = update(urls).where(urls.c.id.in_(bindparam("ids", expanding=True))).values(state=State.TAKEN.value)
_MINE = select(urls.c.id).where(_OF_PART, is_in(State.TAKEN))
_LET_GO = update(urls).where(_TAKEN_ROW).values(state=bindparam("new_state"))
_RETRY = _LET_GO.values(priority=bindparam("new_priority"), rank=bindparam("new_rank"), meta=bindparam("new_meta"))
_FINISH = update(urls).where(urls.c.id == bindparam("row")).values(state=State.DONE.value, kept=bindparam("was_kept"))
_RELEASE = update(urls).where(_OF_PART, is_in(State.TAKEN)).values(state=State.QUEUED.value)
_RESTORE = update(urls).where(_OF_PART, is_in(State.PASSED)).values(state=State.QUEUED.value)
_NAMED_URLS = urls.c.url_digest.in_(bindparam("named", expanding=True))
_PREFER = update(urls).where(_OF_RUN, _NAMED_URLS, is_in(State.QUEUED)).values(rank=NAMED)
_ARE_TAKEN = select(
    select(urls.c.id)
    .where(_OF_RUN, urls.c.part.in_(bindparam("of_parts", expanding=True)), is_in(State.TAKEN))
    .exists()
)
_GIVEN_UP = select(urls.c.url).where(_OF_PART, is_in(State.FAILED))
_BY_STATE = select(urls.c.state, func.count(), func.sum(urls.c.kept)).where(_OF_RUN).group_by(urls.c.state)
_BY_HOST = select(urls.c.host, func.count()).where(_OF_RUN, is_in(State.QUEUED)).group_by(urls.c.host)


@dataclass(frozen=True)
class FrontierSettings:
    """What the frontier is told.

    Attributes:
        database_url: where its tables are.
        lock_timeout: seconds to wait for another writer.
        run: name of the run: `DEDUP_RUN`; "" for one of its own.
        part: what this process crawls of it: `CRAWLER_PART`.
    """

    database_url: str
    lock_timeout: float
    run: str
    part: Part

    @property
    def is_shared(self) -> bool:
        """Whether other processes crawl the same run."""
        return self.part.of > 1

    @classmethod
    def read(cls, crawler: Crawler) -> FrontierSettings:
        """Read the settings of a crawl.

        Raises:
            SystemExit: one of them cannot be used; see `refuse_to_start`.
        """
        settings = read_settings(crawler)
        part = settings_of(crawler, CrawlerSettings).part
        if part.of > 1 and not settings.run:
            refuse_to_start(SettingsError("CRAWLER_PART needs DEDUP_RUN, the name of the run that has several parts"))
        return cls(settings.database_url, settings.lock_timeout, settings.run, part)


class FrontierStore:
    """The URLs of one run, as the process sees them that crawls one part of it. `open` comes first.

    Each host belongs to one part, by its digest, and so do its URLs: only the process of that part takes them, and all
    queue into one table. No process waits for another one: what was taken by a process that ended is queued again when
    its part is started again. The first process that finds nothing left of the whole run ends it; a run of several
    parts is remembered then, so that a process that comes later has nothing to do, and any other one is forgotten.

    The clock is that of the database, where it is a server. All methods raise `DatabaseError` where it fails.

    Args:
        database: where; the tables are made if they are not there.
        run: the run's name.
        worker: this process's name, see `dedup.store.processes`.
        part: what it crawls.
        has_ended: what `is_gone` is.
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
        part: Part = Part(),  # noqa: B008 -- it cannot change
        has_ended: Callable[[str, str], bool | None] = is_gone,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._database = database
        self._name = run
        self._me = worker
        self._part = part
        self._has_ended = has_ended
        self._clock = clock
        self._kept_before = self._kept = 0
        self._counts_before: Mapping[str, float] = {}
        # When processes start, or a server comes back, others may not have been heard of yet.
        self._patient_until = 0.0
        self._behind, self._is_end = "", False
        add, known = insert_into(urls, database.engine.dialect.name), [urls.c.run_id, urls.c.url_digest]
        new = {name: add.excluded[name] for name in ("kind", "depth", "priority", "rank", "meta", "state")}
        # Only with what they return do both databases say how many were new.
        self._add = add.on_conflict_do_nothing(index_elements=known).returning(urls.c.id)
        self._add_again = add.on_conflict_do_update(
            index_elements=known, set_=new, where=urls.c.state == State.DONE.value
        ).returning(urls.c.id)
        open_tables(database, TABLES)

    def is_over(self) -> bool:
        """Return whether the run of this name has finished; forget what is left of it if its process could not."""
        with self._database.read() as connection:
            finished = connection.execute(select(runs.c.finished).where(runs.c.name == self._name)).scalar()
        if finished is not None:
            self.delete_finished()
        return finished is not None

    def open(self) -> OpenResult:
        """Start the run of this name, or this part of it, or go on with it where it stopped.

        What an earlier process of this part had taken or passed over is queued again, its parked hosts are asked.

        Raises:
            DedupError: another process is at work on the same part, or the run has another number of parts.
        """
        if self._part.of == 1:
            self.delete_finished()
        with self._database.write() as connection:
            self._use_clock_of(connection)
            self._patient_until = self._clock() + SILENT_SECONDS
            self._run = self._open_run(connection)
            is_over = self._has_finished(connection)
            if not is_over:
                self._open_part(connection)
                given_up = self._take_back(connection)
                # By the rules of this process that may be passed over which was to be fetched instead.
                connection.execute(_RESTORE, self._names)
                counts, kept = count_urls(connection, self._run)
        if is_over:
            self.delete_finished()
            return OpenResult(0, 0, 0, [], is_over=True)
        return OpenResult(counts[State.QUEUED], counts[State.DONE], kept, given_up)

    def exchange(self, changes: Changes, limit: int, worker: WorkerState | None = None) -> ExchangeResult:
        """Write what happened and take what comes next, in one transaction.

        It may be called again with the same where the connection was lost, whether the transaction was
        committed or not.

        Args:
            changes: what happened since the last time.
            limit: how many URLs to take at most of each host, of `MOST_HOSTS` at once.
            worker: this process; None for one that holds nothing.

        Raises:
            OutageError: the server is away; whether anything was written is not known.
            DatabaseError: nothing was written and nothing taken.
        """
        worker = worker or WorkerState()
        with self._database.write() as connection:
            if self._has_finished(connection):
                return ExchangeResult(0, [], is_left=False)
            added, kept = self._write(connection, changes, worker)
            if worker.is_after_outage:
                self._patient_until = self._clock() + SILENT_SECONDS
                self._put_back_unknown(connection, worker.held)
            rows = self._next(connection, limit, worker)
            if rows:
                connection.execute(_TAKE, {"ids": [row.id for row in rows]})
            others = [row for row in connection.execute(_PARTS, self._names) if row.part != self._part.number]
            is_left = self._is_left(connection, others, worker.parked)
        self._kept = kept
        elsewhere = sum(row.kept for row in others)
        return ExchangeResult(added, [TakenUrl(*row) for row in rows], is_left, self._kept_before + elsewhere)

    def leave(self, changes: Changes, worker: WorkerState, *, is_finished: bool) -> LeaveResult:
        """Write what happened at last, put back what is not done, and begin to end the run if nobody else does.

        The run has not ended before `end` is called: whoever goes on with it does again what is done in between.

        Args:
            changes: what happened since the last exchange.
            worker: this process.
            is_finished: whether it ends because nothing was left to do.
        """
        with self._database.write() as connection:
            has_finished = self._has_finished(connection)
            if not has_finished:
                self._write(connection, changes, worker)
                connection.execute(_RELEASE, self._names)
            counts, _ = count_urls(connection, self._run)
            left = counts[State.QUEUED] + counts[State.TAKEN]
            of_parts = connection.execute(_PARTS, self._names).all()
            parked = {host for row in of_parts for host in json.loads(row.parked)}
            waiting = connection.execute(_BY_HOST, self._names).all() if parked else []
            others = self._at_work([row for row in of_parts if row.part != self._part.number])
            is_ending = any(row.is_ending for row in of_parts if row.part in others)
            self._is_end = is_finished and not left and not has_finished and not is_ending
            is_last = self._is_end or not (has_finished or others)
            ending = {"is_ending": int(is_last)} if is_last else {"is_ending": 0, "worker": None}
            connection.execute(_ME.values(**ending), self._names)
            run = connection.execute(_RUN, self._names).first()
        if has_finished:
            self.delete_finished()
        is_of_several = self._part.of > 1 or bool(self._counts_before)
        return LeaveResult(
            left=left,
            goes_on=not is_last,
            counts=_sum_of_counts(of_parts) if is_of_several else {},
            parts=self._part.of,
            seconds=0.0 if run is None else self._clock() - run.started,
            parked={host: int(count) for host, count in waiting if host in parked},
            passed=counts[State.PASSED],
        )

    def end(self) -> None:
        """End the run, if nothing is left of it; to be called by the process that it does not go on without."""
        with self._database.write() as connection:
            connection.execute(_ME.values(is_ending=0, worker=None), self._names)
            if self._is_end:
                connection.execute(update(runs).where(runs.c.id == self._run).values(finished=self._clock()))
        if self._is_end:
            self.delete_finished()

    def save_asked(self, asked: Asked) -> None:
        """Remember what the run is asked for, for whoever goes on with it; it is forgotten with the run."""
        with self._database.write() as connection:
            saved = {"asked": str(asked), "saved": time.time()}
            connection.execute(update(runs).where(runs.c.id == self._run).values(saved))

    def delete_finished(self) -> None:
        """Delete what is stored of the run, if it has finished: its URLs, and all of it where it had one part."""
        finished = select(runs.c.id).where(runs.c.name == self._name, runs.c.finished.is_not(None)).scalar_subquery()
        some = select(urls.c.id).where(urls.c.run_id == finished).limit(DELETED_AT_ONCE)
        deleted = 1
        while deleted:  # not all at once: others write to this database too
            with self._database.write() as connection:
                deleted = connection.execute(delete(urls).where(urls.c.id.in_(some))).rowcount
                if not deleted and self._part.of == 1:
                    connection.execute(delete(parts).where(parts.c.run_id == finished))
                    connection.execute(delete(runs).where(runs.c.id == finished))

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    @property
    def _names(self) -> dict[str, Any]:
        return {"run": self._run, "own_part": self._part.number}

    def _use_clock_of(self, connection: Connection) -> None:
        if self._clock is time.time and not self._database.is_sqlite:
            now = float(connection.execute(select(func.extract("epoch", func.clock_timestamp()))).scalar_one())
            ahead = now - time.time()
            self._clock = lambda: time.time() + ahead

    def _open_run(self, connection: Connection) -> int:
        run = connection.execute(select(runs.c.id, runs.c.parts).where(runs.c.name == self._name)).first()
        if run is None:
            row = {"name": self._name, "started": self._clock(), "parts": self._part.of}
            return int(connection.execute(insert(runs).values(row).returning(runs.c.id)).scalar_one())
        if run.parts != self._part.of:
            way_out = f"CRAWLER_PART = 1/{run.parts} to {run.parts}/{run.parts}" if run.parts > 1 else "no CRAWLER_PART"
            raise DedupError(f"run {plain(self._name)!r} was begun in {run.parts} parts: go on with {way_out}")
        return int(run.id)

    def _open_part(self, connection: Connection) -> None:
        """Note that this process is at work on its part, after others that have ended."""
        mine = _PARTS.where(parts.c.part == bindparam("own_part"))
        row = connection.execute(mine, self._names).first()
        now = {"worker": self._me, "seen": self._clock(), "parked": "[]", "is_ending": 0}
        if row is None:
            values = {"run_id": self._run, "part": self._part.number, "kept": 0, "counts": "{}", **now}
            connection.execute(insert(parts), values)
            return
        if row.worker not in {None, self._me} and is_there(row, self._has_ended(row.worker, self._me), self._clock()):
            of_several = f"part {self._part} of " if self._part.of > 1 else ""
            raise DedupError(
                f"{of_several}run {plain(self._name)!r} is under way in another process ({plain(row.worker)}): "
                "wait for it to end, or stop it"
            )
        self._kept_before, self._counts_before = int(row.kept), json.loads(row.counts)
        connection.execute(_ME.values(**now), self._names)

    def _has_finished(self, connection: Connection) -> bool:
        """Return whether the run has finished; one that is not known any more has."""
        run = connection.execute(_RUN, self._names).first()
        return run is None or run.finished is not None

    def _write(self, connection: Connection, changes: Changes, worker: WorkerState) -> tuple[int, int]:
        """Write what happened; return how many URLs were new, and how many pages this process has kept by now."""
        added = self._write_found(connection, changes)
        if changes.again:
            names = ("row", "new_priority", "new_rank", "new_meta", "new_state")
            rows = [dict(zip(names, (*row, State.QUEUED.value), strict=True)) for row in changes.again]
            connection.execute(_RETRY, rows)
        _let_go(connection, changes.back, State.QUEUED)
        _let_go(connection, changes.passed, State.PASSED)
        if changes.has_fallen:
            connection.execute(_RESTORE, self._names)
        if changes.named:
            connection.execute(_PREFER, {"run": self._run, "named": changes.named})
        if changes.done:
            connection.execute(_FINISH, [{"row": row, "was_kept": int(kept)} for row, kept in changes.done])
        kept = self._kept + sum(was_kept for _, was_kept in changes.done)
        counts = Counter(self._counts_before)
        counts.update(worker.counts)
        heard_of = {"seen": self._clock(), "kept": self._kept_before + kept, "counts": json.dumps(counts)}
        connection.execute(_ME.values(**heard_of, parked=json.dumps(sorted(worker.parked))), self._names)
        return added, kept

    def _write_found(self, connection: Connection, changes: Changes) -> int:
        """Queue what is new, and what is to be fetched once more though it was done; return how many these are."""
        new: list[dict[str, Any]] = []
        again: list[dict[str, Any]] = []
        for entry in changes.found:
            state = {"attempts": 0, "kept": 0, "state": State.QUEUED.value}
            row = {**entry._asdict(), "run_id": self._run, "part": part_of(entry.host, self._part.of), **state}
            (again if entry.kind == AGAIN else new).append(row)
        added = len(connection.execute(self._add, new).all()) if new else 0
        return added + (len(connection.execute(self._add_again, again).all()) if again else 0)

    def _put_back_unknown(self, connection: Connection, held: frozenset[int]) -> None:
        """Put back what was taken without the knowledge of this process, as the connection was lost."""
        taken = connection.scalars(_MINE, self._names).all()
        _let_go(connection, [row for row in taken if row not in held], State.QUEUED)

    def _next(self, connection: Connection, limit: int, worker: WorkerState) -> list[Any]:
        """Return what is fetched next of each host that is to be asked and of which enough is not held."""
        if not limit:
            return []
        resting = worker.pauses.keys() | worker.parked
        suspects = () if worker.has_suspect else connection.execute(_SUSPECTS, self._names)
        rows: list[Any] = [*islice((row for row in suspects if row.host not in resting), 1)]
        for host in self._next_hosts(connection, worker.parked):
            if host not in resting and host not in worker.filled:
                rows += connection.execute(_NEXT_OF_HOST, {**self._names, "of_host": host, "limit": limit})
        return rows

    def _next_hosts(self, connection: Connection, parked: frozenset[str]) -> list[str]:
        """Return hosts that have something queued and are not parked: the next ones behind those of the last call."""
        is_from_beginning = not self._behind
        while True:
            found = self._find_hosts(connection, self._part.number, self._behind, MOST_HOSTS)
            self._behind = found[-1] if len(found) == MOST_HOSTS else ""
            hosts = [host for host in found if host not in parked]
            if hosts or (not self._behind and is_from_beginning):
                return hosts
            is_from_beginning |= not self._behind

    def _find_hosts(self, connection: Connection, part: int, behind: str, most: int) -> list[str]:
        asked = {"run": self._run, "of_part": part, "behind": behind, "most": most}
        return list(connection.scalars(_NEXT_HOSTS, asked))

    def _is_left(self, connection: Connection, others: Sequence[Row[Any]], parked: Collection[str]) -> bool:
        """Return whether URLs of this part are left, or of parts that are at work and may find some of this one's."""
        if self._is_waiting(connection, self._part.number, parked):
            return True
        at_work = self._at_work(others)
        if at_work and connection.execute(_ARE_TAKEN, {"run": self._run, "of_parts": at_work}).scalar():
            return True
        parked_there = {row.part: json.loads(row.parked) for row in others}
        return any(self._is_waiting(connection, part, parked_there.get(part, ())) for part in at_work)

    def _is_waiting(self, connection: Connection, part: int, parked: Collection[str]) -> bool:
        """Return whether anything is queued of a part, of hosts that are not parked."""
        behind = ""
        while hosts := self._find_hosts(connection, part, behind, min(len(parked) + 1, MOST_HOSTS)):
            if not set(hosts).issubset(parked):
                return True
            behind = hosts[-1]
        return False

    def _at_work(self, others: Sequence[Row[Any]]) -> list[int]:
        """Return which other parts have processes, as far as these were heard of, or may still be starting."""
        now = self._clock()
        is_patient = now < self._patient_until
        at_work = [
            row.part for row in others if row.worker is not None and (is_patient or row.seen >= now - SILENT_SECONDS)
        ]
        if is_patient:
            at_work += set(range(self._part.of)) - {self._part.number, *(row.part for row in others)}
        return at_work

    def _take_back(self, connection: Connection) -> list[str]:
        """Queue what an earlier process of this part had taken; return what is given up, as too many died with it."""
        is_last = urls.c.attempts + 1 >= MAX_ATTEMPTS
        for condition, state in ((is_last, State.FAILED), (~is_last, State.QUEUED)):
            change = update(urls).where(_OF_PART, is_in(State.TAKEN), condition)
            connection.execute(change.values(state=state.value, attempts=urls.c.attempts + 1), self._names)
        # Also those of before: their process may have died before it told of them.
        return list(connection.scalars(_GIVEN_UP, self._names))


def count_urls(connection: Connection, run: int) -> tuple[Counter[str], int]:
    """Return how many URLs of a run are in each state, and how many of their pages were kept."""
    rows = connection.execute(_BY_STATE, {"run": run}).all()
    return Counter({state: count for state, count, _ in rows}), sum(int(kept) for *_, kept in rows)


def _let_go(connection: Connection, rows: Sequence[int], state: State) -> None:
    if rows:
        connection.execute(_LET_GO, [{"row": row, "new_state": state.value} for row in rows])


def is_there(row: Row[Any], has_ended: bool | None, now: float) -> bool:
    """Return whether the process is there that was at work on a part; has_ended: what `is_gone` says of it."""
    return row.seen >= now - SILENT_SECONDS if has_ended is None else not has_ended


def _sum_of_counts(of_parts: Sequence[Row[Any]]) -> dict[str, float]:
    """Return the stats of all processes of a run, added up."""
    counts: Counter[str] = Counter()
    for row in of_parts:
        counts.update(json.loads(row.counts))
    return dict(counts)
