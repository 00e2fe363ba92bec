"""The frontier in the database: what is known, taken, done, in whole transactions."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import Connection, and_, delete, func, insert, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from crawler.frontier import statements
from crawler.frontier.entries import Entry, Taken
from crawler.frontier.leases import LEASE_SECONDS, RENEWAL_SECONDS, is_gone
from crawler.frontier.table import ROWS_OF_RUNS, State, metadata, runs, urls
from dedup.database import Database
from dedup.runs.rows import register_rows

_DELETED_AT_ONCE = 10_000


@dataclass
class Changes:
    """What happened to URLs since the last exchange; written in one transaction.

    Attributes:
        found: URLs that may be new.
        done: rows whose page is dealt with for good, and whether it was kept.
        again: rows to be fetched once more, with their new priority and meta.
    """

    found: list[Entry] = field(default_factory=list)
    done: list[tuple[int, bool]] = field(default_factory=list)
    again: list[tuple[int, int, str | None]] = field(default_factory=list)


@dataclass(frozen=True)
class Exchange:
    """What an exchange brought.

    Attributes:
        added: how many of the found URLs were new.
        taken: the URLs to fetch next, in order.
        is_left: whether others are left, in the queue or in the hands of other workers.
        given_up: URLs that too many processes died with.
    """

    added: int
    taken: list[Taken]
    is_left: bool
    given_up: list[str]


class Opened(NamedTuple):
    """A run at the start of a process.

    Attributes:
        queued: how many URLs are to be fetched.
        done: how many were dealt with before.
        kept: how many of these were kept.
        given_up: URLs that too many processes died with.
    """

    queued: int
    done: int
    kept: int
    given_up: list[str]


class FrontierStore:
    """The URLs of one run, as one worker sees them.

    Any number of workers, of any number of processes, can share a run: what one has taken no
    other gets, until its lease ends or its process has. `open` comes first.

    Args:
        database: where; the tables are made if they are not there.
        run: the run's name.
        most_attempts: a URL that so many processes died with is given up.
        worker: this worker's name.
        has_ended: says of another worker, and of this one, by their names, whether the other is known to have ended.
        clock: seconds since 1970.

    Raises:
        DatabaseError: the database cannot be reached or written.
    """

    def __init__(
        self,
        database: Database,
        run: str,
        most_attempts: int,
        worker: str,
        *,
        has_ended: Callable[[str, str], bool] = is_gone,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._database = database
        self._name = run
        self._most_attempts = most_attempts
        self._me = worker
        self._has_ended = has_ended
        self._clock = clock
        self._renewal = 0.0
        self._may_have_suspects = True
        statement = sqlite.insert(urls) if database.is_sqlite else postgresql.insert(urls)
        statement = statement.on_conflict_do_nothing(index_elements=[urls.c.run_id, urls.c.url_digest])
        # Only thus do both databases say how many were new.
        self._add = statement.returning(urls.c.id)
        database.create(metadata)
        register_rows(database, ROWS_OF_RUNS)

    def open(self) -> Opened:
        """Start the run of this name, or go on with it where it stopped.

        What workers had taken that are not there any more is queued again.

        Raises:
            DatabaseError: the database cannot be written.
        """
        self._forget_if_finished()
        with self._database.write() as connection:
            self._run = self._open_run(connection)
            self._renewal = self._clock() + RENEWAL_SECONDS
            given_up = self._take_back(connection)
            rows = connection.execute(statements.COUNTS, {"run": self._run})
            counts = {state: (count, kept) for state, count, kept in rows}
        queued, _ = counts.get(State.QUEUED.value, (0, 0))
        done, kept = counts.get(State.DONE.value, (0, 0))
        return Opened(queued, done, int(kept), given_up)

    def exchange(self, changes: Changes, room: int, *, suspect: bool = True) -> Exchange:
        """Write what happened and take what comes next, in one transaction.

        Args:
            changes: what happened since the last time.
            room: how many URLs to take at most.
            suspect: whether one of them may be one that several processes died with.

        Raises:
            DatabaseError: nothing was written and nothing taken.
        """
        with self._database.write() as connection:
            added = self._write(connection, changes)
            given_up = self._keep_leases(connection)
            taken = self._next(connection, room, suspect=suspect) if room else []
            is_left = len(taken) >= room or self._is_left(connection)
        return Exchange(added, taken, is_left, given_up)

    def release(self) -> None:
        """Put everything that this worker has taken and not done back into the queue.

        Raises:
            DatabaseError: the database cannot be written.
        """
        with self._database.write() as connection:
            connection.execute(statements.RELEASE, {"run": self._run, "me": self._me})

    def count_left(self) -> int:
        """Return how many URLs of the run are queued or taken, by whomever.

        Raises:
            DatabaseError: the database cannot be read.
        """
        left = or_(statements.is_in(State.QUEUED), statements.is_in(State.TAKEN))
        with self._database.read() as connection:
            query = select(func.count()).select_from(urls).where(statements.OF_RUN, left)
            return int(connection.execute(query, {"run": self._run}).scalar_one())

    def finish(self) -> None:
        """Forget the run and its URLs: nothing is left of it, and its name can be used again.

        Raises:
            DatabaseError: the database cannot be written.
        """
        with self._database.write() as connection:
            connection.execute(update(runs).where(runs.c.id == self._run).values(finished=self._clock()))
        self._forget_if_finished()

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def _open_run(self, connection: Connection) -> int:
        known = connection.execute(select(runs.c.id).where(runs.c.name == self._name)).scalar()
        if known is None:
            row = {"name": self._name, "started": self._clock()}
            known = connection.execute(insert(runs).values(row).returning(runs.c.id)).scalar_one()
        return int(known)

    def _forget_if_finished(self) -> None:
        finished = select(runs.c.id).where(runs.c.name == self._name, runs.c.finished.is_not(None)).scalar_subquery()
        some = select(urls.c.id).where(urls.c.run_id == finished).limit(_DELETED_AT_ONCE)
        deleted = 1
        while deleted:  # not all at once: others write to this database too
            with self._database.write() as connection:
                deleted = connection.execute(delete(urls).where(urls.c.id.in_(some))).rowcount
                if not deleted:
                    connection.execute(delete(runs).where(runs.c.name == self._name, runs.c.finished.is_not(None)))

    def _write(self, connection: Connection, changes: Changes) -> int:
        added = 0
        if changes.found:
            new = {"run_id": self._run, "state": State.QUEUED.value, "attempts": 0, "kept": 0}
            added = len(connection.execute(self._add, [{**entry._asdict(), **new} for entry in changes.found]).all())
        if changes.again:
            names = ("row", "new_priority", "new_meta")
            rows = [{**dict(zip(names, row, strict=True)), "me": self._me} for row in changes.again]
            connection.execute(statements.REQUEUE, rows)
        if changes.done:
            connection.execute(statements.FINISH, [{"row": row, "was_kept": int(kept)} for row, kept in changes.done])
        return added

    def _next(self, connection: Connection, room: int, *, suspect: bool) -> list[Taken]:
        rows = connection.execute(statements.NEXT, {"run": self._run, "room": room}).all()
        if suspect and self._may_have_suspects:
            suspects = connection.execute(statements.NEXT_SUSPECT, {"run": self._run}).all()
            self._may_have_suspects = bool(suspects)
            rows = [*suspects, *rows]
        if rows:
            values = {"ids": [row.id for row in rows], "me": self._me, "until": self._clock() + LEASE_SECONDS}
            connection.execute(statements.TAKE, values)
        return [Taken(*row) for row in rows]

    def _is_left(self, connection: Connection) -> bool:
        left = connection.execute(statements.IS_LEFT, {"run": self._run, "me": self._me}).one()
        # What is queued and was not taken can only be one of those, from another worker's hands perhaps.
        self._may_have_suspects |= bool(left.queued)
        return bool(left.queued or left.elsewhere)

    def _keep_leases(self, connection: Connection) -> list[str]:
        if self._clock() < self._renewal:
            return []
        self._renewal = self._clock() + RENEWAL_SECONDS
        self._may_have_suspects = True
        connection.execute(statements.RENEW, {"run": self._run, "me": self._me, "until": self._clock() + LEASE_SECONDS})
        return self._take_back(connection)

    def _take_back(self, connection: Connection) -> list[str]:
        """Queue what was taken by workers that have ended; give up what too many of them died with."""
        values = {"run": self._run, "me": self._me}
        others = connection.execute(select(urls.c.worker).where(statements.OF_OTHERS).distinct(), values).scalars()
        ended = [worker for worker in others if self._has_ended(worker, self._me)]
        lost = and_(statements.OF_OTHERS, or_(urls.c.lease_until < self._clock(), urls.c.worker.in_(ended)))
        is_last = urls.c.attempts + 1 >= self._most_attempts
        given_up = list(connection.execute(select(urls.c.url).where(lost, is_last), values).scalars())
        for condition, state in ((is_last, State.FAILED), (~is_last, State.QUEUED)):
            change = update(urls).where(lost, condition)
            connection.execute(
                change.values(state=state.value, attempts=urls.c.attempts + 1, **statements.FREE), values
            )
        return given_up
