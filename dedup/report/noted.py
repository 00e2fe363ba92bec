"""The report's questions about what runs noted: what was not examined or skipped, and when."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, exists, func, or_, select, true, union_all

from dedup.report.contents import NotExamined, SkippedPage
from dedup.rules.decision import Verdict
from dedup.rules.scope import BEFORE_HOST
from dedup.sql.schema import documents, runs, skipped, unexamined, verdicts

_ROWS_AT_ONCE = 1000

# Must go on agreeing with `host_of`.
_AFTER_HOST = r"(:[0-9]*)?([/?# ]|\Z)"


def last_run(connection: Connection) -> str:
    """Return the name of the last run that has decided or noted anything, else of the last one."""
    last = select(runs.c.name).order_by(runs.c.started.desc(), runs.c.id.desc()).limit(1)
    has_content = or_(*(exists().where(each.c.run_id == runs.c.id) for each in (verdicts, unexamined, skipped)))
    # A run that goes on after a break keeps its start, so that the last verdict has a say too.
    last_verdict = select(verdicts.c.run_id, verdicts.c.decided).order_by(verdicts.c.id.desc()).limit(1).subquery()
    with_content = select(runs.c.id, runs.c.started.label("moment")).where(has_content)
    signs_of_life = union_all(with_content, select(last_verdict)).subquery()
    names = select(runs.c.name).join(signs_of_life, signs_of_life.c.id == runs.c.id)
    found = connection.scalar(names.order_by(signs_of_life.c.moment.desc(), runs.c.id.desc()).limit(1))
    return str(found if found is not None else connection.scalar(last))


def is_of_host(key: ColumnElement[Any], host: str) -> ColumnElement[bool]:
    """Return the condition that a key is a URL of a host; of any key where there is no host."""
    return key.regexp_match(BEFORE_HOST + re.escape(host) + _AFTER_HOST) if host else true()


def read_not_examined(connection: Connection, run: str | None) -> list[NotExamined]:
    """Return what was not examined in a run, or in all, most first."""
    items = func.sum(unexamined.c["items"])
    statement = (
        select(unexamined.c.item_class, items, unexamined.c.reason, func.max(unexamined.c.fields))
        .join(runs, runs.c.id == unexamined.c.run_id)
        .where(_of_run(run))
        .group_by(unexamined.c.item_class, unexamined.c.reason)
        .order_by(items.desc(), unexamined.c.item_class, unexamined.c.reason)
    )
    return [NotExamined(kind, int(count), *rest) for kind, count, *rest in connection.execute(statement)]


def count_skipped(connection: Connection, run: str | None, host: str) -> dict[str, int]:
    """Return how many pages were skipped in a run, or in all, by reasons, the most frequent first."""
    statement = _skipped(select(skipped.c.reason, func.count()), run, host).group_by(skipped.c.reason)
    return {row[0]: row[1] for row in connection.execute(statement.order_by(func.count().desc(), skipped.c.reason))}


def read_skipped(connection: Connection, run: str | None, host: str) -> Generator[SkippedPage, None, None]:
    """Yield the pages that were skipped in a run, or in all, those of the same reason one after the other."""
    columns = (skipped.c.key, skipped.c.reason, skipped.c.detail, skipped.c.referrer, runs.c.name)
    statement = _skipped(select(*columns), run, host).order_by(skipped.c.reason, skipped.c.id)
    # Who reads only some of them leaves no cursor of the server open.
    with connection.execute(statement, execution_options={"yield_per": _ROWS_AT_ONCE}) as rows:
        yield from map(SkippedPage._make, rows)


def read_moments(connection: Connection, where: ColumnElement[bool]) -> Iterator[tuple[float, Verdict]]:
    """Yield when documents were decided, in seconds since 1970, and their verdicts; `where` is on both tables."""
    decided = verdicts.join(documents, documents.c.id == verdicts.c.document_id)
    statement = select(verdicts.c.decided, verdicts.c.verdict).select_from(decided).where(where)
    for moment, verdict in connection.execute(statement, execution_options={"yield_per": _ROWS_AT_ONCE}):
        yield moment, Verdict(verdict)


def _skipped(statement: Select[Any], run: str | None, host: str) -> Select[Any]:
    return statement.join(runs, runs.c.id == skipped.c.run_id).where(_of_run(run), is_of_host(skipped.c.key, host))


def _of_run(run: str | None) -> ColumnElement[bool]:
    return true() if run is None else runs.c.name == run
