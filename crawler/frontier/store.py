"""The frontier in the database: what is known, taken, done, in whole transactions."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, and_, bindparam, delete, func, insert, or_, select, update

from crawler.frontier import statements
from crawler.frontier.entries import Taken
from crawler.frontier.exchange import Changes, Departure, Exchange, Opened, Standing
from crawler.frontier.leases import LEASE_SECONDS, RENEWAL_SECONDS, is_gone
from crawler.frontier.table import ROWS_OF_RUNS, TABLES, State, hosts, options, runs, urls, workers
from dedup.ledger.runs.rows import register_rows
from dedup.sql.database import Database, open_tables
from dedup.sql.engines import insert_into

DELETED_AT_ONCE = 10_000
"""Rows that are deleted in one transaction, since others write to the same database."""

WORKERS = select(workers).where(workers.c.run_id == bindparam("run"))


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
        self._parked: frozenset[str] = frozenset()
        statement = insert_into(urls, database.engine.dialect.name)
        statement = statement.on_conflict_do_nothing(index_elements=[urls.c.run_id, urls.c.url_digest])
        # Only thus do both databases say how many were new.
        self._add = statement.returning(urls.c.host)
        saying = insert_into(workers, database.engine.dialect.name)
        said = {name: saying.excluded[name] for name in ("lease_until", "kept", "counts")}
        self._say = saying.on_conflict_do_update(index_elements=[workers.c.run_id, workers.c.name], set_=said)
        open_tables(database, TABLES)
        register_rows(database, ROWS_OF_RUNS)

    def open(self) -> Opened:
        """Start the run of this name, or go on with it where it stopped.

        What workers had taken that are not there any more is queued again, and what was parked.

        Raises:
            DatabaseError: the database cannot be written.
        """
        self._forget_if_finished()
        with self._database.write() as connection:
            self._run = self._open_run(connection)
            self._renewal = self._clock() + RENEWAL_SECONDS
            given_up = self._take_back(connection)
            connection.execute(statements.UNPARK, {"run": self._run})
            rows = connection.execute(statements.COUNTS, {"run": self._run})
            counts = {state: (count, kept) for state, count, kept in rows}
        queued, _ = counts.get(State.QUEUED.value, (0, 0))
        done, kept = counts.get(State.DONE.value, (0, 0))
        return Opened(queued, done, int(kept), given_up)

    def exchange(self, changes: Changes, room: int, standing: Standing | None = None) -> Exchange:
        """Write what happened and take what comes next, in one transaction.

        It may be called again with the same where the connection was lost, whether the transaction was
        committed or not.

        Args:
            changes: what happened since the last time.
            room: how many URLs to take at most.
            standing: how the worker stands; None for one that holds nothing.

        Raises:
            OutageError: the server is away; whether anything was written is not known.
            DatabaseError: nothing was written and nothing taken.
        """
        standing = standing or Standing()
        with self._database.write() as connection:
            added = len(self._write(connection, changes, standing))
            if standing.is_after_outage:
                self._put_back_unknown(connection, standing.held)
            self._note_counts(connection, standing.counts)
            given_up = self._keep_leases(connection)
            taken = self._next(connection, room, standing) if room else []
            is_left = len(taken) >= room or self._is_left(connection)
        return Exchange(added, taken, is_left, given_up)

    def leave(self, changes: Changes, standing: Standing, *, is_finished: bool) -> Departure:
        """Write what happened at last, put back what is not done, and end the run if it is.

        Args:
            changes: what happened since the last exchange.
            standing: how the worker stands.
            is_finished: whether the worker ends because nothing was left to do.

        Raises:
            DatabaseError: the database cannot be written.
        """
        if standing.is_after_outage and self._has_ended_run():
            self._forget_if_finished()
            return Departure(0)
        self.exchange(changes, 0, standing)
        self.release()
        left = self.count_left()
        with self._database.read() as connection:
            rows = connection.execute(WORKERS, {"run": self._run}).all()
            parked = self._count_parked(connection)
        if is_finished and not left:
            self.finish()
        return Departure(left, counts=sum_of_counts(rows) if len(rows) > 1 else {}, parked=parked)

    def release(self) -> None:
        """Put everything that this worker has taken and not done back into the queue.

        Raises:
            DatabaseError: the database cannot be written.
        """
        with self._database.write() as connection:
            connection.execute(statements.RELEASE, {"run": self._run, "me": self._me})

    def count_left(self) -> int:
        """Return how many URLs of the run are queued, taken or parked, by whomever.

        Raises:
            DatabaseError: the database cannot be read.
        """
        left = or_(*map(statements.is_in, (State.QUEUED, State.TAKEN, State.PARKED)))
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

    def _has_ended_run(self) -> bool:
        with self._database.read() as connection:
            run = connection.execute(select(runs.c.finished).where(runs.c.id == self._run)).first()
        return run is None or run.finished is not None

    def _open_run(self, connection: Connection) -> int:
        known = connection.execute(select(runs.c.id).where(runs.c.name == self._name)).scalar()
        if known is None:
            row = {"name": self._name, "started": self._clock()}
            known = connection.execute(insert(runs).values(row).returning(runs.c.id)).scalar_one()
        return int(known)

    def _forget_if_finished(self) -> None:
        finished = select(runs.c.id).where(runs.c.name == self._name, runs.c.finished.is_not(None)).scalar_subquery()
        some = select(urls.c.id).where(urls.c.run_id == finished).limit(DELETED_AT_ONCE)
        deleted = 1
        while deleted:  # not all at once: others write to this database too
            with self._database.write() as connection:
                deleted = connection.execute(delete(urls).where(urls.c.id.in_(some))).rowcount
                if not deleted:
                    for table in (hosts, options, workers):
                        connection.execute(delete(table).where(table.c.run_id == finished))
                    connection.execute(delete(runs).where(runs.c.name == self._name, runs.c.finished.is_not(None)))

    def _write(self, connection: Connection, changes: Changes, standing: Standing) -> Sequence[str]:
        """Write what happened; return the hosts of the URLs that were new."""
        parked = standing.parked
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
            connection.execute(statements.REQUEUE, rows)
        if changes.back:
            self._put_back(connection, changes.back)
        if changes.done:
            connection.execute(statements.FINISH, [{"row": row, "was_kept": int(kept)} for row, kept in changes.done])
        if new_ones := parked if standing.is_after_outage else parked - self._parked:
            connection.execute(statements.PARK, {"run": self._run, "parked": list(new_ones)})
        if parked and (rows_back := [*changes.back, *(row for row, _, _ in changes.again)]):
            connection.execute(statements.PARK_ROWS, {"run": self._run, "parked": list(parked), "ids": rows_back})
        self._parked = parked
        return added

    def _count_parked(self, connection: Connection) -> dict[str, int]:
        return {host: int(count) for host, count in connection.execute(statements.COUNT_PARKED, {"run": self._run})}

    def _note_counts(
        self, connection: Connection, counts: Mapping[str, float], kept: int = 0, lease_until: float | None = None
    ) -> None:
        """Write how far this worker is; a single one has no lease of its own."""
        row = {"run_id": self._run, "name": self._me, "has_closed": 0, "kept": kept, "counts": json.dumps(dict(counts))}
        connection.execute(self._say, {**row, "lease_until": lease_until})

    def _put_back(self, connection: Connection, rows: Sequence[int]) -> None:
        connection.execute(statements.PUT_BACK, [{"row": row, "me": self._me} for row in rows])

    def _put_back_unknown(self, connection: Connection, held: frozenset[int]) -> None:
        """Put back what this worker took in a transaction of which it does not know that it was committed."""
        mine = connection.execute(statements.MY_ROWS, {"run": self._run, "me": self._me})
        unknown = [row.id for row in mine if row.id not in held]
        if unknown:
            self._put_back(connection, unknown)

    def _next(self, connection: Connection, room: int, standing: Standing) -> list[Taken]:
        values = {"run": self._run, "but": list(standing.pauses)}
        following, suspect = statements.NEXT, statements.NEXT_SUSPECT
        if standing.pauses:
            following, suspect = statements.NEXT_OF_OTHERS, statements.NEXT_SUSPECT_OF_OTHERS
        rows = connection.execute(following, {**values, "room": room}).all()
        if not standing.has_suspect and self._may_have_suspects:
            suspects = connection.execute(suspect, values).all()
            self._may_have_suspects = bool(suspects)
            rows = [*suspects, *rows]
        self._take(connection, rows)
        return [Taken(*row) for row in rows]

    def _take(self, connection: Connection, rows: Sequence[Any]) -> None:
        if rows:
            values = {"ids": [row.id for row in rows], "me": self._me, "until": self._clock() + LEASE_SECONDS}
            connection.execute(statements.TAKE, values)

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

    def _take_back(self, connection: Connection, *, is_expired: bool = True) -> list[str]:
        """Queue what was taken by workers that have ended; give up what too many of them died with.

        Args:
            connection: inside a writing transaction.
            is_expired: whether the end of a lease counts as the end of its worker.
        """
        values = {"run": self._run, "me": self._me}
        others = connection.execute(select(urls.c.worker).where(statements.OF_OTHERS).distinct(), values).scalars()
        ended = [worker for worker in others if self._has_ended(worker, self._me)]
        latest = self._clock() if is_expired else 0.0
        lost = and_(statements.OF_OTHERS, or_(urls.c.lease_until < latest, urls.c.worker.in_(ended)))
        is_last = urls.c.attempts + 1 >= self._most_attempts
        given_up = list(connection.execute(select(urls.c.url).where(lost, is_last), values).scalars())
        for condition, state in ((is_last, State.FAILED), (~is_last, State.QUEUED)):
            change = update(urls).where(lost, condition)
            connection.execute(
                change.values(state=state.value, attempts=urls.c.attempts + 1, **statements.FREE), values
            )
        return given_up


def sum_of_counts(rows: Sequence[Row[Any]]) -> dict[str, float]:
    """Return the stats of all workers of a run, added up."""
    counts: Counter[str] = Counter()
    for row in rows:
        counts.update(json.loads(row.counts))
    return dict(counts)
