"""Changes between two runs: pages that were added or updated, have moved or are gone; as a table, as JSON or as CSV."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from typing import Any, NamedTuple, TextIO

from sqlalchemy import Connection, Select, and_, column, exists, func, or_, select, table

from dedup.console import ADDED, NEAR, QUIET, REMOVED, SIMILAR, Line, joined, linked, plain, styled, write_lines
from dedup.errors import DedupError, InputError
from dedup.ledger.runs import no_run
from dedup.report.queries import is_of_host, last_run
from dedup.report.render import Format, csv_cell, write_json
from dedup.report.texts import find_text_as_of, read_made_with
from dedup.report.words import WordDiff, are_too_long, diff_words, place_line, tokens_of
from dedup.rules.documents import Verdict
from dedup.sql.database import Database
from dedup.sql.schema import GIVEN_DIGEST, documents, runs, skipped, verdicts

# What a crawler calls a page that is gone, or asks not to be stored.
_GONE = ("http 404", "http 410", "noindex")
# What was forgotten meanwhile is decided once more, whether its text is another or not: the stored texts tell.
_MAY_HAVE_CHANGED = (Verdict.NEW, Verdict.SIMILAR, Verdict.UPDATED)
_INDENT = 9

# The crawler's tables; this library stands without them.
_VISITS = table("visits", *map(column, ("url_digest", "url", "run", "gone", "moved_to_digest")))
_TARGETS = _VISITS.alias("targets")


class Change(StrEnum):
    """How a page has changed from one run to a later one."""

    ADDED = "added"
    UPDATED = "updated"
    MOVED = "moved"
    GONE = "gone"


_STYLES = {Change.ADDED: ADDED, Change.UPDATED: NEAR, Change.MOVED: SIMILAR, Change.GONE: REMOVED}


class ChangedPage(NamedTuple):
    """One page that has changed.

    Attributes:
        change: how.
        key: its key, the new one where it has moved.
        moved_from: the key that it had; empty where it has not moved.
        why: why it counts as gone, such as `http 404`; empty where it does not.
        difference: the words that changed; None where it was not updated, where one of the texts is not stored, and
            where they are too long to be compared.
    """

    change: Change
    key: str
    moved_from: str = ""
    why: str = ""
    difference: WordDiff | None = None


class _Span(NamedTuple):
    """Rows of the table of runs: the earlier run and all before it, and all behind it up to the later run."""

    before: Sequence[Any]
    later: Sequence[Any]


@contextmanager
def open_changes(
    database: Database, names: Sequence[str] = (), host: str = ""
) -> Iterator[tuple[Sequence[str], Iterator[ChangedPage]]]:
    """Read what changed between two runs.

    Args:
        database: an existing database.
        names: those of the earlier and the later run, or of the later one alone; by default that is the last run, and
            the earlier one the last before it that decided a page of it.
        host: only pages of this host; empty: of all.

    Yields:
        The names of both runs, and what changed, in the order of the changes and of the keys: once, while it is open.

    Raises:
        InputError: the later run is named first.
        DedupError: there is no such run, or no earlier one with the same pages.
        DatabaseError: the database cannot be read.
    """
    with database.read() as connection:
        span = _find_span(connection, database.name, names)
        yield (span.before[-1].name, span.later[-1].name), _read(connection, database.name, span, host)


def _find_span(connection: Connection, database: str, names: Sequence[str]) -> _Span:
    known = connection.execute(select(runs.c.id, runs.c.name).order_by(runs.c.started, runs.c.id)).all()
    places = {row.name: place for place, row in enumerate(known)}
    for name in names or [""]:
        if not known or (name and name not in places):
            raise no_run(database, name, list(places))
    end = places[names[-1] if names else last_run(connection)]
    start = places[names[0]] if len(names) > 1 else _find_related(connection, known, end)
    if start is None:
        raise DedupError(
            f"database {database} holds no run before {known[end].name!r} with a page of it: crawl once more, "
            "or name two runs (dedup runs lists them)"
        )
    if start >= end:
        raise InputError(f"run {names[0]!r} did not start before {names[-1]!r}: name the earlier one first")
    return _Span(known[: start + 1], known[start + 1 : end + 1])


def _find_related(connection: Connection, known: Sequence[Any], end: int) -> int | None:
    """Return the place of the last run before another one that decided a page of it, too; None: there is none."""
    own = select(verdicts.c.document_id).where(verdicts.c.run_id == known[end].id)
    found = set(connection.scalars(select(verdicts.c.run_id).where(verdicts.c.document_id.in_(own)).distinct()))
    return max((place for place in range(end) if known[place].id in found), default=None)


def _read(connection: Connection, database: str, span: _Span, host: str) -> Iterator[ChangedPage]:
    """Yield what changed; the addresses of what was added or is gone are held in memory, texts are not."""
    later, last = [run.id for run in span.later], span.later[-1].id
    is_noted = and_(skipped.c.key_digest == GIVEN_DIGEST, skipped.c.reason.in_(_GONE))
    # What was gone in the earlier run, and is there again, counts as added.
    was_gone = exists().where(is_noted, skipped.c.run_id == span.before[-1].id).correlate(documents)
    is_new = or_(documents.c.first_run_id.in_(later), was_gone)
    is_seen = exists().where(verdicts.c.document_id == documents.c.id, verdicts.c.run_id == last)
    pages = select(documents.c.key).where(is_of_host(documents.c.key, host)).order_by(documents.c.key)
    found, left = pages.where(is_new, is_seen), pages.where(~is_new, ~is_seen)

    added = set(connection.scalars(found))
    noted = left.add_columns(skipped.c.reason).join(skipped, is_noted).where(skipped.c.run_id.in_(later))
    gone = {row.key: row.reason for row in connection.execute(noted)}
    moved: dict[str, str] = {}
    if connection.dialect.has_table(connection, _VISITS.name):
        for key, target in connection.execute(_redirected(left, [run.name for run in span.later])):
            if target in added:
                moved[target] = key
            gone.setdefault(key, f"redirects to {target or 'a page that is gone'}")
    for key, old in connection.execute(_with_same_text(found, later)):
        if key not in moved and old not in moved.values():
            moved[key] = old

    yield from (ChangedPage(Change.ADDED, key) for key in sorted(added - moved.keys()))
    yield from (page for page in _updated(connection, database, span, pages.where(~is_new)) if page.key not in gone)
    yield from (ChangedPage(Change.MOVED, key, moved_from=old) for key, old in sorted(moved.items()))
    yield from (ChangedPage(Change.GONE, key, why=gone[key]) for key in sorted(gone.keys() - moved.values()))


def _redirected(left: Select[Any], names: Sequence[str]) -> Select[Any]:
    """Select those of some pages that some runs found to lead elsewhere for good, and where to."""
    return (
        left.add_columns(_TARGETS.c.url)
        .join(_VISITS, _VISITS.c.url_digest == GIVEN_DIGEST)
        .outerjoin(_TARGETS, _TARGETS.c.url_digest == _VISITS.c.moved_to_digest)
        .where(_VISITS.c.gone.is_not(None), _VISITS.c.run.in_(names))
    )


def _with_same_text(found: Select[Any], later: Sequence[int]) -> Select[Any]:
    """Select those of some pages whose text was kept at an address that some runs have not seen, and that address."""
    old = documents.alias("old")
    # What is gone has no digest any more, but the rest of its signature.
    same = (old.c[name] == documents.c[name] for name in ("fingerprint", "sketch", "text_bytes"))
    is_seen = exists().where(verdicts.c.document_id == old.c.id, verdicts.c.run_id.in_(later))
    was_kept = and_(old.c.leader_id.is_(None), old.c.text_bytes > 0, old.c.first_run_id.not_in(later))
    return found.add_columns(old.c.key).join(old, and_(*same)).where(was_kept, ~is_seen).order_by(old.c.key)


def _updated(connection: Connection, database: str, span: _Span, known: Select[Any]) -> Iterator[ChangedPage]:
    """Yield those of some pages, which the earlier run knew, that have another text in the later one."""
    scheme = read_made_with(connection, database).scheme
    names = {run.name for run in span.before}, {run.name for run in (*span.before, *span.later)}
    decided = known.add_columns(func.max(verdicts.c.verdict)).join(verdicts, verdicts.c.document_id == documents.c.id)
    decided = decided.where(verdicts.c.run_id.in_(run.id for run in span.later))
    decided = decided.where(verdicts.c.verdict.in_(_MAY_HAVE_CHANGED)).group_by(documents.c.key)
    for key, verdict in connection.execute(decided):
        before, now = (find_text_as_of(connection, key, until) for until in names)
        if before is None or now is None:
            if verdict == Verdict.UPDATED:
                yield ChangedPage(Change.UPDATED, key)
        elif before != now:
            words = tokens_of(before, scheme), tokens_of(now, scheme)
            is_told = not are_too_long(*map(len, words))
            yield ChangedPage(Change.UPDATED, key, difference=diff_words(*words) if is_told else None)


def write_changes(runs: Sequence[str], pages: Iterator[ChangedPage], output_format: Format, stream: TextIO) -> None:
    """Write what changed, as `open_changes` yields it; there is no page of HTML for it."""
    if output_format is Format.JSON:
        objects = (page._asdict() | {"difference": page.difference and asdict(page.difference)} for page in pages)
        write_json({"runs": runs}, {"changes": objects}, stream)
    elif output_format is Format.CSV:
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow(ChangedPage._fields)
        for page in pages:
            rows.writerow(map(csv_cell, (*page[:-1], "\n".join(str(place).strip() for place in _places(page)))))
    else:
        write_lines(_lines(runs, pages), stream)


def _lines(runs: Sequence[str], pages: Iterator[ChangedPage]) -> Iterator[Line]:
    yield f"from run {plain(runs[0])} to run {plain(runs[1])}"
    yield ""
    counts: Counter[str] = Counter()
    for page in pages:
        counts[page.change] += 1
        yield joined(styled(f"{page.change:{_INDENT}}", _STYLES[page.change]), linked(page.key))
        if page.moved_from:
            yield joined(" " * _INDENT, styled("from ", QUIET), linked(page.moved_from))
        if page.why:
            yield joined(" " * _INDENT, styled(plain(page.why), QUIET))
        yield from _places(page)
        if page.change is Change.UPDATED and page.difference is None:
            yield styled(f"{'':{_INDENT}}which words changed is not known: one of the texts is not stored", QUIET)
    yield ", ".join(f"{counts[change]:,} {change}" for change in Change)


def _places(page: ChangedPage) -> Iterator[Line]:
    return map(place_line, page.difference.places if page.difference else ())
