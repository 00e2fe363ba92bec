"""Documents are erased for good, for whoever has a right to that: digests alone stay, so that they do not come back.

`dedup.store.deduplicator` asks for these digests before it decides.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from sqlalchemy import Connection, CursorResult, column, delete, select, table, update

from dedup.errors import DedupError
from dedup.rules.documents import DUPLICATES, StoredDocument, Verdict
from dedup.store import document_rows
from dedup.store.database import Database, insert_into, read_rows_of_runs
from dedup.store.key_table import read_key_table
from dedup.store.schema import documents, erased, runs, skipped, verdicts
from dedup.store.text_rows import leave_texts
from dedup.store.unit_of_work import remove_documents
from dedup.store.writing import remove_content

FEWEST_TOKENS = 20
"""A text of fewer tokens is had by others, too: its digest does not stay."""

# A statement of SQLite may take 32,766 values.
_DOCUMENTS_AT_ONCE = 500


@dataclass
class Erasure:
    """What an erasure removes.

    Attributes:
        keys: the keys of the documents that are erased.
        digests: what stays of each of them, in hexadecimal: the digests of its key, its text and its bytes.
        forgotten: the keys of copies of them that are not erased; they are decided anew when they are seen again.
        runs: the names of the runs that have seen them: feeds and archives that these have written may hold them.
        rows: how many rows are deleted, by the names of tables.
    """

    keys: list[str] = field(default_factory=list)
    digests: list[list[str]] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)


class _TriedError(Exception):
    """Nothing is to be written."""


def erase(database: Database, key: str, *, with_copies: bool, is_tried: bool) -> Erasure:
    """Erase all documents of a key, in one transaction: rows, keys, words, verdicts, and rows of others about them.

    Args:
        database: where they are, opened to be written.
        key: the key as it was given.
        with_copies: whether the whole cluster of each is erased: the copies that the check has confirmed.
        is_tried: whether nothing is written.

    Returns:
        What is removed, or would be.

    Raises:
        DedupError: the database has no such document.
        DatabaseError: nothing of it was written.
    """
    erasure = Erasure()
    with suppress(_TriedError), database.write() as connection:
        found = document_rows.find_by_key(connection, key)
        chosen = {each.id: each for each in (_clusters(connection, found) if with_copies else found)}
        _erase(connection, key, chosen, erasure)
        if not found and not any(erasure.rows.values()):
            raise DedupError(f"database {database.name} has no document {key!r}: give its key as reports show it")
        if is_tried:
            raise _TriedError
    return erasure


def _clusters(connection: Connection, found: Collection[StoredDocument]) -> Iterator[StoredDocument]:
    for leader in {each.id: each for each in (document_rows.leader_of(connection, one) for one in found)}.values():
        yield leader
        yield from document_rows.find_led_by(connection, leader.id)


def _erase(connection: Connection, key: str, chosen: dict[int, StoredDocument], erasure: Erasure) -> None:
    led = [each for one in chosen for each in document_rows.find_led_by(connection, one) if each.id not in chosen]
    erasure.keys, erasure.forgotten = [each.key for each in chosen.values()], [each.key for each in led]
    digest = document_rows.key_digest(key)
    _keep_away(connection, [digest])
    if not chosen:
        # Others may have rows of it all the same: a page without text, or whose runs were pruned.
        erasure.keys, erasure.digests = [key], [[digest.hex()]]
        _remove_rows(connection, [digest], erasure)
    # What leads others goes last.
    gone = sorted([*led, *chosen.values()], key=lambda each: each.leader_id is None)
    run_ids: set[int] = set()
    for start in range(0, len(gone), _DOCUMENTS_AT_ONCE):
        some = gone[start : start + _DOCUMENTS_AT_ONCE]
        run_ids |= _erase_some(connection, [each for each in some if each.id in chosen], some, erasure)
    of_runs = select(runs.c.name).where(runs.c.id.in_(run_ids)).order_by(runs.c.id)
    erasure.runs = list(connection.scalars(of_runs))


def _erase_some(
    connection: Connection, chosen: list[StoredDocument], gone: list[StoredDocument], erasure: Erasure
) -> set[int]:
    """Remove documents, of which the chosen ones are kept away; return the ids of the runs that saw these."""
    ids = [each.id for each in chosen]
    of_keys = select(*documents.c["id", "key_digest"]).where(documents.c.id.in_(ids))
    digests = {row.id: bytes(row.key_digest) for row in connection.execute(of_keys)}
    run_ids = set(connection.scalars(select(verdicts.c.run_id).where(verdicts.c.document_id.in_(ids)).distinct()))
    # Of several texts under a key one may have been chosen.
    own = {each.id: document_rows.key_digest(each.key) if each.variant else digests[each.id] for each in chosen}
    staying = [[own[each.id], *_digests_of(each)] for each in chosen]
    erasure.digests += [[each.hex() for each in own] for own in staying]
    _keep_away(connection, chain(*staying))
    keys = read_key_table(connection)
    remove_content(connection, keys, gone)
    gone_ids = [each.id for each in gone]
    _remove_verdicts(connection, gone_ids, erasure)
    _remove_rows(connection, list(digests.values()), erasure)
    is_linking = skipped.c.referrer.in_([each.key for each in chosen])
    connection.execute(update(skipped).where(is_linking).values(referrer=""))
    _count(erasure, "dedup_documents", remove_documents(connection, gone_ids))
    leave_texts(connection, keys, {each.text_id for each in gone})
    return run_ids


def _keep_away(connection: Connection, digests: Iterable[bytes]) -> None:
    rows = [{"digest": each, "at": time.time()} for each in set(digests)]
    if rows:
        connection.execute(insert_into(erased, connection.dialect.name).on_conflict_do_nothing(), rows)


def _count(erasure: Erasure, name: str, done: CursorResult[Any]) -> None:
    erasure.rows[name] = erasure.rows.get(name, 0) + done.rowcount


def _remove_rows(connection: Connection, key_digests: list[bytes], erasure: Erasure) -> None:
    """Remove the rows about documents in tables of others, and those of what was not decided."""
    of_others = ((each.table, each.key_column) for each in read_rows_of_runs(connection) if each.key_column)
    for name, key_column in [("dedup_skipped", "key_digest"), *of_others]:
        gone = table(name, column(key_column))
        _count(erasure, name, connection.execute(delete(gone).where(gone.c[key_column].in_(key_digests))))


def _digests_of(document: StoredDocument) -> list[bytes]:
    """Return the digests of text and bytes that stay of a document."""
    text_digest = document.text_digest if document.sketch.tokens >= FEWEST_TOKENS else None
    return [each for each in (text_digest, document.body_digest) if each is not None]


def _remove_verdicts(connection: Connection, gone: Collection[int], erasure: Erasure) -> None:
    """Remove the verdicts on documents; what resembled one of them, or was its copy once, resembles nothing."""
    resembling = verdicts.c.original_id.in_(gone)
    done = connection.execute(delete(verdicts).where(verdicts.c.document_id.in_(gone)))
    _count(erasure, "dedup_verdicts", done)
    alone = dict.fromkeys(("original_id", "matched_id", "distance", "similarity", "rule"))
    # A document without a verdict of a run could not go with it.
    is_related = resembling & verdicts.c.verdict.in_([Verdict.SIMILAR, *DUPLICATES])
    connection.execute(update(verdicts).where(is_related).values(verdict=Verdict.NEW.value, **alone))
    connection.execute(update(verdicts).where(resembling).values(**alone))
    by_member = verdicts.c.matched_id.in_(gone)
    connection.execute(update(verdicts).where(by_member).values(matched_id=verdicts.c.original_id))
    connection.execute(update(verdicts).where(verdicts.c.second_id.in_(gone)).values(second_id=None))
