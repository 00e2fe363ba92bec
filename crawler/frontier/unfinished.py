"""Runs that were interrupted: with what they were started, and how far they came."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, bindparam, delete, func, insert, inspect, select

from crawler.frontier import schema
from crawler.frontier.leases import is_gone
from crawler.frontier.schema import State, options, runs, urls, workers
from crawler.runs import UnfinishedRun
from dedup.sql.database import Database

_ENDING = select(workers.c.name, workers.c.lease_until).where(
    workers.c.run_id == bindparam("run"), workers.c.has_closed == 1, workers.c.lease_until.is_not(None)
)


def save_options(database: Database, run: str, value: str) -> None:
    """Remember with what a run was started; it is forgotten with the run.

    Args:
        database: that of the frontier, with its tables.
        run: the run's name.
        value: what `find_unfinished` is to return.

    Raises:
        DatabaseError: the database cannot be written.
    """
    with database.write() as connection:
        run_id = connection.execute(select(runs.c.id).where(runs.c.name == run)).scalar_one()
        connection.execute(delete(options).where(options.c.run_id == run_id))
        connection.execute(insert(options), {"run_id": run_id, "options": value, "saved": time.time()})


def find_unfinished(
    database: Database, me: str, *, but: str = "", has_ended: Callable[[str, str], bool] = is_gone
) -> list[UnfinishedRun]:
    """Return the runs that have URLs left, or died as they ended, the one that was started or continued last first.

    Args:
        database: where the frontier is, if there is one.
        me: the name of this process, see `worker_name`.
        but: the name of a run that is of no interest.
        has_ended: says of another worker and of this one, by their names, whether the other is known to have ended.

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
        found = [_read(connection, row, lambda worker: has_ended(worker, me)) for row in rows]
    return [run for run in found if run.left or run.is_ending]


class Begun(NamedTuple):
    """A run that is known to the frontier.

    Attributes:
        started: when it began, in seconds since 1970.
        options: what `save_options` has saved last; None where that is not known.
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


def _read(connection: Connection, row: Row[Any, Any, Any], has_ended: Callable[[str], bool]) -> UnfinishedRun:
    of_run = {"run": row.id}
    counts = {state: (count, kept) for state, count, kept in connection.execute(schema.COUNTS, of_run)}
    left = sum(counts.get(state.value, (0, 0))[0] for state in (State.QUEUED, State.TAKEN, State.PARKED))
    _, kept = counts.get(State.DONE.value, (0, 0))
    leased = select(urls.c.worker).where(schema.OF_RUN, schema.is_in(State.TAKEN), urls.c.lease_until >= time.time())
    ending = connection.execute(_ENDING, of_run).all()
    names = [worker.name for worker in ending if worker.lease_until >= time.time()]
    names += connection.execute(leased.distinct(), of_run).scalars()
    is_under_way = any(not has_ended(worker) for worker in names)
    return UnfinishedRun(row.name, row.options, int(kept), left, is_under_way, bool(ending))
