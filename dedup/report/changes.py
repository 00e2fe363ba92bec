"""Changes between two runs: pages that were added or updated, have moved or are gone; as a table, as JSON or as CSV."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, NamedTuple, TextIO

from sqlalchemy import ColumnElement, Connection, Select, and_, column, exists, func, or_, select, table

from dedup.console import ADDED, NEAR, QUIET, REMOVED, SIMILAR, Line, joined, linked, plain, styled, write_lines
from dedup.errors import DedupError, InputError
from dedup.report.queries import is_of_host, last_run
from dedup.report.render import Format, csv_cell, write_json
from dedup.report.rows import is_duplicate
from dedup.report.stored_texts import find_text_as_of, stored_scheme
from dedup.report.words import WordDiff, are_too_long, diff_words, place_line, place_text, tokens_of
from dedup.rules.documents import Verdict
from dedup.signature.dictionaries import registered
from dedup.signature.schemes import DEFAULT, Scheme
from dedup.store.database import Database
from dedup.store.runs import no_run
from dedup.store.schema import documents, runs, skipped, verdicts

# What a crawler calls a page that is gone, or asks not to be stored.
_GONE = ("http 404", "http 410", "noindex")
# What was forgotten meanwhile is decided once more, whether its text is another or not: the stored texts tell.
_MAY_HAVE_CHANGED = (Verdict.NEW, Verdict.SIMILAR, Verdict.UPDATED)
_INDENT = 9
_NOT_COMPARED = "not compared: a text is too long, or not stored (items: keep their versions, see docs/news.md)"

# The crawler's tables; this library stands without them.
_VISITS = table("visits", *map(column, ("url_digest", "url", "run", "gone", "moved_to_digest")))
_TARGETS = _VISITS.alias("targets")

_STYLES = {"added": ADDED, "updated": NEAR, "moved": SIMILAR, "gone": REMOVED}


class ChangedPage(NamedTuple):
    """One page that has changed.

    Attributes:
        change: `added`, `updated`, `moved` or `gone`.
        key: its key, the new one where it has moved.
        moved_from: the key that it had; empty where it has not moved.
        why: why it counts as gone, such as `http 404`; empty where it does not.
        difference: the words that changed; None where it was not updated, where one of the texts is not stored, and
            where they are too long to be compared.
    """

    change: str
    key: str
    moved_from: str = ""
    why: str = ""
    difference: WordDiff | None = None


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
        yield (span[0][-1].name, span[1][-1].name), _read(connection, database.name, *span, host)


def _find_span(connection: Connection, database: str, names: Sequence[str]) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return the rows of the earlier run and all before it, and those behind it up to the later run."""
    known = connection.execute(select(runs.c.id, runs.c.name).order_by(runs.c.started, runs.c.id)).all()
    places = {row.name: place for place, row in enumerate(known)}
    for name in names or [""]:
        if not known or (name and name not in places):
            raise no_run(database, name, list(places))
    end = places[names[-1] if names else last_run(connection)]
    if len(names) > 1:
        start = places[names[0]]
    else:
        own = select(verdicts.c.document_id).where(verdicts.c.run_id == known[end].id)
        found = set(connection.scalars(select(verdicts.c.run_id).where(verdicts.c.document_id.in_(own)).distinct()))
        start = max((place for place in range(end) if known[place].id in found), default=-1)
    if start < 0:
        raise DedupError(
            f"database {database} holds no earlier run with pages of run {known[end].name!r}: crawl once more, "
            "or name two runs (dedup runs lists them)"
        )
    if start >= end:
        raise InputError(f"run {names[0]!r} did not start before {names[-1]!r}: name the earlier one first")
    return known[: start + 1], known[start + 1 : end + 1]


def _read(
    connection: Connection, database: str, before: Sequence[Any], after: Sequence[Any], host: str
) -> Iterator[ChangedPage]:
    """Yield what changed; the addresses of what was added or is gone are held in memory, texts are not."""
    later = [run.id for run in after]
    is_noted = and_(skipped.c.key_digest == documents.c.key_digest, skipped.c.reason.in_(_GONE))
    # What was gone in the earlier run, and is there again, counts as added.
    was_gone = exists().where(is_noted, skipped.c.run_id == before[-1].id).correlate(documents)
    is_new = or_(documents.c.first_run_id.in_(later), was_gone)
    is_seen = exists().where(verdicts.c.document_id == documents.c.id, verdicts.c.run_id == later[-1])
    pages = select(documents.c.key).where(is_of_host(documents.c.key, host)).order_by(documents.c.key)
    copies = pages.where(~is_new, is_seen, _is_first_kept([run.id for run in before], later))
    found, left = pages.where(is_new, is_seen), pages.where(~is_new, ~is_seen)

    added, first_kept = set(connection.scalars(found)), set(connection.scalars(copies))
    noted = left.add_columns(skipped.c.reason).join(skipped, is_noted).where(skipped.c.run_id.in_(later))
    gone = {row.key: row.reason for row in connection.execute(noted)}
    moved: dict[str, str] = {}
    if connection.dialect.has_table(connection, _VISITS.name):
        for key, target in connection.execute(_redirected(left, [run.name for run in after])):
            if target in added:
                moved[target] = key
            gone.setdefault(key, f"redirects to {target or 'a page that is gone'}")
    olds = set(moved.values())
    for key, old in connection.execute(_with_same_text(found, later)):
        if key not in moved and old not in olds:
            moved[key] = old
            olds.add(old)

    yield from (ChangedPage("added", key) for key in sorted((added - moved.keys()) | first_kept))
    scheme = stored_scheme(connection, database)
    if not registered().keys() >= set(scheme.word_lists):
        # Where its dictionary is not at hand, jieba's words show what differs, too.
        scheme = DEFAULT
    changed = pages.where(~is_new, verdicts.c.run_id.in_(later), verdicts.c.verdict.in_(_MAY_HAVE_CHANGED))
    names = {run.name for run in before}, {run.name for run in (*before, *after)}
    others = gone.keys() | first_kept
    yield from (page for page in _updated(connection, changed, names, scheme) if page.key not in others)
    yield from (ChangedPage("moved", key, moved_from=old) for key, old in sorted(moved.items()))
    yield from (ChangedPage("gone", key, why=gone[key]) for key in sorted(gone.keys() - olds))


def _is_first_kept(before: Sequence[int], later: Sequence[int]) -> ColumnElement[bool]:
    """Return the condition that all runs before dropped a document as a copy, and one of the later ones has kept it."""
    of_document = exists().where(verdicts.c.document_id == documents.c.id).correlate(documents)
    is_own = of_document.where(verdicts.c.run_id.in_(later), verdicts.c.verdict.in_((Verdict.NEW, Verdict.SIMILAR)))
    of_before = of_document.where(verdicts.c.run_id.in_(before))
    # Some runs only mark duplicates, and pass them on.
    passing_on = select(runs.c.id).where(runs.c.mark_only == 1)
    return and_(is_own, of_before, ~of_before.where(or_(~is_duplicate, verdicts.c.run_id.in_(passing_on))))


def _redirected(left: Select[Any], names: Sequence[str]) -> Select[Any]:
    """Select those of some pages that some runs found to lead elsewhere for good, and where to."""
    return (
        left.add_columns(_TARGETS.c.url)
        .join(_VISITS, _VISITS.c.url_digest == documents.c.key_digest)
        .outerjoin(_TARGETS, _TARGETS.c.url_digest == _VISITS.c.moved_to_digest)
        .where(_VISITS.c.gone.is_not(None), _VISITS.c.run.in_(names))
    )


def _with_same_text(found: Select[Any], later: Sequence[int]) -> Select[Any]:
    """Select those of some pages whose text was kept at an address that some runs have not seen, and that address."""
    old = documents.alias("old")
    # What is gone holds it no more.
    same = or_(old.c.text_id == documents.c.text_id, old.c.former_text_id == documents.c.text_id)
    is_seen = exists().where(verdicts.c.document_id == old.c.id, verdicts.c.run_id.in_(later))
    was_kept = and_(old.c.leader_id.is_(None), old.c.text_bytes > 0, old.c.first_run_id.not_in(later))
    return found.add_columns(old.c.key).join(old, same).where(was_kept, ~is_seen).order_by(old.c.key)


def _updated(
    connection: Connection, changed: Select[Any], names: tuple[set[str], set[str]], scheme: Scheme
) -> Iterator[ChangedPage]:
    """Yield those of some decided pages whose text is another one at the end of some runs than at that of others."""
    # Of several verdicts `updated` is the last one of the alphabet.
    decided = changed.add_columns(func.max(verdicts.c.verdict)).group_by(documents.c.key)
    decided = decided.join(verdicts, verdicts.c.document_id == documents.c.id)
    for key, verdict in connection.execute(decided):
        before, now = (find_text_as_of(connection, key, until) for until in names)
        if before is None or now is None:
            if verdict == Verdict.UPDATED:
                yield ChangedPage("updated", key)
        elif before != now:
            words = tokens_of(before, scheme), tokens_of(now, scheme)
            is_told = not are_too_long(*map(len, words))
            yield ChangedPage("updated", key, difference=diff_words(*words) if is_told else None)


def write_changes(runs: Sequence[str], pages: Iterator[ChangedPage], output_format: Format, stream: TextIO) -> None:
    """Write what changed, as `open_changes` yields it; there is no page of HTML for it."""
    if output_format is Format.JSON:
        objects = (page._asdict() | {"difference": page.difference and asdict(page.difference)} for page in pages)
        write_json({"runs": runs}, {"changes": objects}, stream)
    elif output_format is Format.CSV:
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow(ChangedPage._fields)
        for page in pages:
            places = page.difference.places if page.difference else ()
            rows.writerow(map(csv_cell, (*page[:-1], "\n".join(str(place_text(place)) for place in places))))
    else:
        write_lines(_lines(runs, pages), stream)


def _lines(runs: Sequence[str], pages: Iterator[ChangedPage]) -> Iterator[Line]:
    yield f"from run {plain(runs[0])} to run {plain(runs[1])}"
    yield ""
    counts: Counter[str] = Counter()
    indent = " " * _INDENT
    for page in pages:
        counts[page.change] += 1
        yield joined(styled(f"{page.change:{_INDENT}}", _STYLES[page.change]), linked(page.key))
        if page.moved_from:
            yield joined(indent, styled("from ", QUIET), linked(page.moved_from))
        if page.why:
            yield joined(indent, styled(plain(page.why), QUIET))
        if page.difference is not None:
            yield from map(place_line, page.difference.places)
        elif page.change == "updated":
            yield joined(indent, styled(_NOT_COMPARED, QUIET))
    if counts:
        yield ""
    yield ", ".join(f"{counts[change]:,} {change}" for change in _STYLES)
