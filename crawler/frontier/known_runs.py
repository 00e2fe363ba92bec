"""The runs that the frontier knows, and the end of one that no process is at."""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy import Connection, Row, func, select, true, update

from crawler.frontier.schema import TABLES, State, parts, runs
from crawler.frontier.store import FrontierStore, count_urls, is_there
from crawler.runs import Asked, CrawlRun
from crawler.settings import Part
from dedup.store.database import Database, has_file, has_tables
from dedup.store.processes import is_gone
from dedup.store.schema import runs as decided_runs


def find_runs(database: Database, me: str, name: str = "") -> list[CrawlRun]:
    """Return what the frontier knows of runs, the one that was started or continued last first.

    Most runs that have finished it knows no more.

    Args:
        database: where the frontier is, if there is one.
        me: the name of this process, see `dedup.store.processes`.
        name: that of the run that is wanted; "" for all.

    Raises:
        DatabaseError: the database cannot be read.
    """
    if not has_file(database):
        return []
    with database.read() as connection:
        if not has_tables(database, connection, TABLES):
            return []
        started = func.coalesce(runs.c.saved, runs.c.started)
        query = select(runs).where(runs.c.name == name if name else true())
        rows = connection.execute(query.order_by(started.desc(), runs.c.id.desc())).all()
        return [_read(connection, row, me) for row in rows]


def find_run(database: Database, me: str, name: str) -> CrawlRun | None:
    """Return the run of this name; None where the frontier does not know it; errors are those of `find_runs`."""
    return next(iter(find_runs(database, me, name)), None)


def find_unfinished(database: Database, me: str) -> list[CrawlRun]:
    """Return those that have URLs left, or died as they ended; arguments and errors as those of `find_runs`."""
    return [run for run in find_runs(database, me) if not run.is_over and (run.left or run.is_ending)]


def give_up(database: Database, run: CrawlRun) -> None:
    """End a run that no process is at: its pages stay, and what is left of it is not fetched.

    Raises:
        DatabaseError: the database cannot be written; the same call goes on.
    """
    store = FrontierStore(database, run.name, "", part=Part(of=run.parts))
    ended: dict[str, object] = {"finished": time.time()}
    with database.write() as connection:
        connection.execute(update(runs).where(runs.c.name == run.name).values(ended))
        if connection.dialect.has_table(connection, decided_runs.name):
            ended["outcome"] = "given up"
            connection.execute(update(decided_runs).where(decided_runs.c.name == run.name).values(ended))
    store.delete_finished()


def _read(connection: Connection, row: Row[Any], me: str) -> CrawlRun:
    counts, kept = count_urls(connection, row.id)
    of_parts = connection.execute(select(parts).where(parts.c.run_id == row.id)).all()
    at_work = [each for each in of_parts if each.worker is not None]
    return CrawlRun(
        name=row.name,
        started=row.started,
        asked=None if row.asked is None else Asked.read(row.asked),
        parts=row.parts,
        is_over=row.finished is not None,
        kept=kept,
        left=counts[State.QUEUED] + counts[State.TAKEN],
        is_under_way=any(is_there(each, is_gone(each.worker, me), time.time()) for each in at_work),
        is_ending=any(each.is_ending for each in of_parts),
    )
