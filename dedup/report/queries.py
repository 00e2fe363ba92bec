"""The report's questions to the database; nothing is held in memory that grows with the verdicts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    case,
    distinct,
    exists,
    func,
    or_,
    select,
    true,
    union_all,
)

from dedup.console import program
from dedup.report.contents import (
    Cluster,
    HostTotal,
    NotExamined,
    OverLimit,
    Report,
    Rows,
    Selection,
    SkippedPage,
    Total,
)
from dedup.report.differences import stored_differences
from dedup.report.rows import (
    decided,
    found,
    is_dropped,
    is_duplicate,
    is_found,
    is_similar,
    originals,
    read_rows,
    stream,
)
from dedup.report.stored_texts import PAGES
from dedup.rules.documents import Verdict, join_clusters
from dedup.rules.scope import BEFORE_HOST, host_of
from dedup.rules.settings import DedupSettings
from dedup.store.database import Database
from dedup.store.notes import EXEMPT
from dedup.store.runs import no_run
from dedup.store.schema import documents, runs, skipped, unexamined, verdicts

# Must go on agreeing with `host_of`.
_AFTER_HOST = r"(:[0-9]*)?([/?# ]|\Z)"

_MEMBERS_NAMED = 3
# A statement takes some ten thousands of values at most.
LEADERS_AT_ONCE = 1000

# What is kept and resembles an original belongs to no cluster, and the same text again under its own key makes none.
_is_other = and_(is_duplicate, verdicts.c.original_id != verdicts.c.document_id)


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
    return [
        # Of what has no fields to look into no setting would find more.
        NotExamined(kind, int(count), reason, fields, "DEDUP_TEXT_FIELD" if fields or reason == EXEMPT else "")
        for kind, count, reason, fields in connection.execute(statement)
    ]


def count_skipped(
    connection: Connection, run: str | None, host: str = "", *, fetched: bool | None = None
) -> dict[str, int]:
    """Return how many pages were skipped in a run, or in all, by reasons, the most frequent first.

    Args:
        connection: to the database.
        run: its name; None: all runs.
        host: of the pages; "": any.
        fetched: whether those are wanted that were asked for, or the others; None: both.
    """
    statement = _skipped(select(skipped.c.reason, func.count()), run, host).group_by(skipped.c.reason)
    if fetched is not None:
        statement = statement.where(skipped.c.fetched.is_(fetched))
    return {row[0]: row[1] for row in connection.execute(statement.order_by(func.count().desc(), skipped.c.reason))}


def read_skipped(connection: Connection, run: str | None, host: str) -> Generator[SkippedPage, None, None]:
    """Yield the pages that were skipped in a run, or in all, those of the same reason one after the other."""
    columns = (
        *(skipped.c.key, skipped.c.reason, skipped.c.detail, skipped.c.referrer, skipped.c.fetched),
        runs.c.name,
    )
    order = (skipped.c.fetched.desc(), skipped.c.reason, skipped.c.id)
    statement = _skipped(select(*columns), run, host).order_by(*order)
    yield from map(SkippedPage._make, stream(connection, statement))


def read_moments(connection: Connection, where: ColumnElement[bool]) -> Iterator[tuple[float, Verdict]]:
    """Yield when documents were decided, in seconds since 1970, and their verdicts; `where` is on both tables."""
    statement = select(verdicts.c.decided, verdicts.c.verdict).select_from(decided).where(where)
    for moment, verdict in stream(connection, statement):
        yield moment, Verdict(verdict)


def _skipped(statement: Select[Any], run: str | None, host: str) -> Select[Any]:
    return statement.join(runs, runs.c.id == skipped.c.run_id).where(_of_run(run), is_of_host(skipped.c.key, host))


def _of_run(run: str | None) -> ColumnElement[bool]:
    return true() if run is None else runs.c.name == run


@contextmanager
def open_report(database: Database, selection: Selection) -> Iterator[Report]:
    """Read what was decided in a run or in all of them.

    Args:
        database: an existing database with verdicts.
        selection: which run, which host, and how much of it.

    Yields:
        The report; its duplicates and what is similar can be iterated over once, while it is open.

    Raises:
        DedupError: there is no run at all, or none of this name.
        DatabaseError: the database cannot be read.
    """
    with database.read() as connection:
        selected = _selected_runs(connection, database.name, selection)
        run = None if selection.all_runs else selected[0].name
        where = _condition(run, selection.host)
        hosts, groups = _hosts(connection, where), _groups(connection, where)
        with closing(read_skipped(connection, run, selection.host)) as skipped:
            yield Report(
                runs=[each.name for each in selected],
                started=(selected[0].started, selected[-1].started),
                is_finished=selected[-1].outcome not in (None, "shutdown"),
                host=selection.host,
                totals=_totals(connection, where),
                hosts=hosts[: selection.most_named],
                host_count=len(hosts),
                clusters=_largest_clusters(connection, where, selection.most_named, groups),
                cluster_count=_count_clusters(connection, where, groups),
                over_limit=_over_limit(connection, where, hosts),
                not_examined=[] if selection.host else read_not_examined(connection, run),
                skip_counts=count_skipped(connection, run, selection.host, fetched=True),
                not_fetched=count_skipped(connection, run, selection.host, fetched=False),
                is_crawl=connection.dialect.has_table(connection, PAGES.name),
                duplicates=Rows(partial(read_rows, connection, where & is_duplicate)),
                similar=Rows(partial(read_rows, connection, where & is_similar)),
                skipped=skipped,
                moments=read_moments(connection, where),
                explaining=[program("dedup"), "explain", *database.option],
                reviewing=["dedup", "review", *database.option],
                compare=partial(stored_differences, connection, database.name),
            )


def read_totals(database: Database, run: str) -> dict[Verdict, Total]:
    """Return the totals of a run by verdict; all verdicts are there, with zeros where the run has none."""
    with database.read() as connection:
        return _totals(connection, _condition(run))


class Noted(NamedTuple):
    """What a run has not decided: how many items it did not examine, and how many pages were skipped, by reasons."""

    unexamined: int
    skipped: Mapping[str, int]


def read_noted(database: Database, run: str) -> Noted:
    """Return what a run has not decided; skipped pages whether they were asked for or not."""
    with database.read() as connection:
        items = sum(each.count for each in read_not_examined(connection, run))
        return Noted(items, count_skipped(connection, run))


def _batched(values: Iterable[int]) -> Iterator[list[int]]:
    values = iter(values)
    while batch := list(islice(values, LEADERS_AT_ONCE)):
        yield batch


def _selected_runs(connection: Connection, database_name: str, selection: Selection) -> list[Any]:
    """Return the rows of the runs that a report is about, in the order in which they started."""
    known = connection.execute(
        select(runs.c.name, runs.c.started, runs.c.outcome).order_by(runs.c.started, runs.c.id)
    ).all()
    name = selection.run
    if known and not name and not selection.all_runs:
        name = last_run(connection)
    found = [run for run in known if selection.all_runs or run.name == name]
    if not found:
        raise no_run(database_name, name, [run.name for run in known])
    return found


def _condition(run: str | None, host: str = "") -> ColumnElement[bool]:
    condition: ColumnElement[bool] = true()
    if run is not None:
        condition &= verdicts.c.run_id == select(runs.c.id).where(runs.c.name == run).scalar_subquery()
    return condition & is_of_host(documents.c.key, host)


def _totals(connection: Connection, where: ColumnElement[bool]) -> dict[Verdict, Total]:
    totals = dict.fromkeys(Verdict, Total())
    statement = select(
        verdicts.c.verdict,
        func.count(),
        func.sum(documents.c.text_bytes),
        func.min(verdicts.c.distance),
        func.max(verdicts.c.distance),
        func.min(verdicts.c.similarity),
        func.max(verdicts.c.similarity),
        func.sum(case((runs.c.mark_only == 1, 1), else_=0)),
        func.sum(case((runs.c.mark_only == 1, documents.c.text_bytes), else_=0)),
        func.sum(case((is_dropped, verdicts.c.lost_bytes), else_=0)),
    )
    for verdict, count, size, nearest, farthest, least, most, kept, kept_bytes, lost in connection.execute(
        statement.select_from(decided).where(where).group_by(verdicts.c.verdict)
    ):
        totals[Verdict(verdict)] = Total(
            count,
            size,
            None if nearest is None else (nearest, farthest),
            None if least is None else (least, most),
            kept if Verdict(verdict).is_duplicate else 0,
            kept_bytes if Verdict(verdict).is_duplicate else 0,
            lost or 0,
        )
    return totals


def _hosts(connection: Connection, where: ColumnElement[bool]) -> list[HostTotal]:
    shown = case((is_dropped | (verdicts.c.verdict == Verdict.UNCHANGED), verdicts.c.verdict))
    counts: Counter[tuple[str, str | None]] = Counter()
    for key, verdict in stream(connection, select(documents.c.key, shown).select_from(decided).where(where)):
        counts[host_of(key), verdict] += 1
    hosts = [
        HostTotal(
            host,
            kept=counts[host, None],
            unchanged=counts[host, Verdict.UNCHANGED.value],
            exact=counts[host, Verdict.EXACT_DUPLICATE.value],
            near=counts[host, Verdict.NEAR_DUPLICATE.value],
        )
        for host in {host for host, _ in counts}
    ]
    return sorted(hosts, key=lambda host: (-host.dropped, -host.kept, host.host))


def _groups(connection: Connection, where: ColumnElement[bool]) -> dict[int, list[int]]:
    """Return the leaders whose clusters are counted as one, since a document is a copy of both, by the first of them.

    Only leaders of duplicates are among them.
    """
    both = select(found.c.original_id, found.c.second_id).select_from(decided.join(found, is_found))
    pairs = connection.execute(both.where(where, _is_other).distinct())
    groups: dict[int, list[int]] = {}
    joined = join_clusters((row.original_id, row.second_id) for row in pairs)
    for leaders in _batched(sorted(joined)):
        led = select(verdicts.c.original_id).select_from(decided).where(where, _is_other)
        for leader in connection.scalars(led.where(verdicts.c.original_id.in_(leaders)).distinct()):
            groups.setdefault(joined[leader], []).append(leader)
    return groups


def _count_clusters(connection: Connection, where: ColumnElement[bool], groups: Mapping[int, list[int]]) -> int:
    statement = select(func.count(distinct(verdicts.c.original_id))).select_from(decided).where(where, _is_other)
    return int(connection.execute(statement).scalar_one()) - sum(len(leaders) - 1 for leaders in groups.values())


def _largest_clusters(
    connection: Connection, where: ColumnElement[bool], limit: int | None, groups: Mapping[int, list[int]]
) -> list[Cluster]:
    size = func.count(distinct(verdicts.c.document_id))
    counted = select(verdicts.c.original_id, size).select_from(decided).where(where, _is_other)
    counted = counted.group_by(verdicts.c.original_id)
    grouped = {leader: first for first, leaders in groups.items() for leader in leaders}
    sizes: Counter[int] = Counter()
    for leaders in _batched(grouped):
        for leader, count in connection.execute(counted.where(verdicts.c.original_id.in_(leaders))):
            sizes[grouped[leader]] += count
    most = None if limit is None else limit + len(grouped)
    largest = counted.order_by(size.desc(), verdicts.c.original_id).limit(most)
    sizes.update({leader: count for leader, count in connection.execute(largest) if leader not in grouped})
    first = sorted(sizes, key=lambda leader: (-sizes[leader], leader))[:limit]
    clusters = []
    for some in _batched(first):
        named = select(documents.c.id, documents.c.key).where(documents.c.id.in_(some))
        keys = {row.id: row.key for row in connection.execute(named)}
        members = _first_members(connection, where, [each for leader in some for each in groups.get(leader, [leader])])
        for leader in some:
            of_group = [key for each in groups.get(leader, [leader]) for key in members[each]]
            clusters.append(Cluster(keys[leader], sizes[leader], of_group[:_MEMBERS_NAMED]))
    return clusters


def _over_limit(connection: Connection, where: ColumnElement[bool], hosts: Iterable[HostTotal]) -> list[OverLimit]:
    """Return the clusters and hosts that are over a limit, the largest clusters first."""
    size = func.count(distinct(verdicts.c.document_id))
    large = select(originals.c.key, size).select_from(decided.join(originals, originals.c.id == verdicts.c.original_id))
    large = large.where(where, _is_other).group_by(originals.c.id, originals.c.key)
    large = large.having(size >= DedupSettings.max_cluster).order_by(size.desc(), originals.c.key)
    found = [OverLimit("cluster", key, count + 1, count) for key, count in connection.execute(large)]
    crowded = (each for each in hosts if DedupSettings.are_mostly_duplicates(each.documents, each.dropped))
    return found + [OverLimit("host", each.host, each.documents, each.dropped) for each in crowded if each.host]


def _first_members(connection: Connection, where: ColumnElement[bool], leaders: list[int]) -> dict[int, list[str]]:
    pairs = (
        select(verdicts.c.original_id, verdicts.c.document_id)
        .select_from(decided)
        .where(where, _is_other, verdicts.c.original_id.in_(leaders))
        .distinct()
        .subquery()
    )
    place = func.row_number().over(partition_by=pairs.c.original_id, order_by=pairs.c.document_id)
    placed = select(pairs, place.label("place")).subquery()
    members: dict[int, list[str]] = {leader: [] for leader in leaders}
    for leader, key in connection.execute(
        select(placed.c.original_id, documents.c.key)
        .join(documents, documents.c.id == placed.c.document_id)
        .where(placed.c.place <= _MEMBERS_NAMED)
        .order_by(placed.c.original_id, placed.c.place)
    ):
        members[leader].append(key)
    return members
