"""Documents are erased for good, for whoever has a right to that: digests alone stay, so that they do not come back.

`dedup.store.deduplicator` asks for these digests before it decides.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain

from sqlalchemy import Connection, column, delete, or_, select, table, update

from dedup.errors import DedupError
from dedup.rules.documents import DUPLICATES, StoredDocument, Verdict
from dedup.store import document_rows
from dedup.store.database import Database, insert_into, read_rows_of_runs
from dedup.store.key_table import read_key_table
from dedup.store.schema import documents, erased, runs, skipped, verdicts
from dedup.store.writing import remove_content

FEWEST_TOKENS = 20
"""A text of fewer tokens is had by others, too: its digest does not stay."""


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
        found = document_rows.find_by_given_key(connection, key)
        if not found:
            raise DedupError(f"database {database.name} has no document {key!r}: give its key as reports show it")
        chosen = {each.id: each for each in (_clusters(connection, found) if with_copies else found)}
        _erase(connection, key, chosen, erasure)
        if is_tried:
            raise _TriedError
    return erasure


def _clusters(connection: Connection, found: Collection[StoredDocument]) -> Iterator[StoredDocument]:
    for leader in {each.id: each for each in (document_rows.leader_of(connection, one) for one in found)}.values():
        yield leader
        yield from document_rows.find_led_by(connection, leader.id)


def _erase(connection: Connection, key: str, chosen: dict[int, StoredDocument], erasure: Erasure) -> None:
    of_chosen = documents.c.id.in_(chosen)
    of_keys = select(*documents.c["id", "key_digest", "given_digest"]).where(of_chosen)
    digests = {row.id: row for row in connection.execute(of_keys)}
    ids_of_runs = select(verdicts.c.run_id).where(verdicts.c.document_id.in_(chosen))
    erasure.runs = list(connection.scalars(select(runs.c.name).where(runs.c.id.in_(ids_of_runs)).order_by(runs.c.id)))
    led = [each for one in chosen for each in document_rows.find_led_by(connection, one) if each.id not in chosen]
    erasure.keys, erasure.forgotten = [each.key for each in chosen.values()], [each.key for each in led]
    staying = [[bytes(digests[number].key_digest), *_digests_of(each)] for number, each in chosen.items()]
    erasure.digests = [[each.hex() for each in own] for own in staying]
    rows = [{"digest": each, "at": time.time()} for each in {document_rows.key_digest(key), *chain(*staying)}]
    connection.execute(insert_into(erased, connection.dialect.name).on_conflict_do_nothing(), rows)
    remove_content(connection, read_key_table(connection), [*led, *chosen.values()])
    gone = {*chosen, *(each.id for each in led)}
    _remove_verdicts(connection, gone, erasure)
    _remove_rows(connection, [bytes(each.given_digest or each.key_digest) for each in digests.values()], erasure)
    connection.execute(update(skipped).where(skipped.c.referrer.in_(erasure.keys)).values(referrer=""))
    erasure.rows["dedup_documents"] = connection.execute(delete(documents).where(documents.c.id.in_(gone))).rowcount


def _remove_rows(connection: Connection, key_digests: list[bytes], erasure: Erasure) -> None:
    """Remove the rows about documents in tables of others, and those of what was not decided."""
    of_others = ((each.table, each.key_column) for each in read_rows_of_runs(connection) if each.key_column)
    for name, key_column in [("dedup_skipped", "key_digest"), *of_others]:
        gone = table(name, column(key_column))
        done = connection.execute(delete(gone).where(gone.c[key_column].in_(key_digests)))
        erasure.rows[name] = erasure.rows.get(name, 0) + done.rowcount


def _digests_of(document: StoredDocument) -> list[bytes]:
    """Return the digests of text and bytes that stay of a document."""
    text_digest = document.text_digest if document.sketch.tokens >= FEWEST_TOKENS else None
    return [each for each in (text_digest, document.body_digest) if each is not None]


def _remove_verdicts(connection: Connection, gone: Collection[int], erasure: Erasure) -> None:
    """Remove the verdicts on documents, and on what was a copy of one; what resembled one of them resembles nothing."""
    resembling = verdicts.c.original_id.in_(gone)
    of_copies = resembling & verdicts.c.verdict.in_(DUPLICATES)
    done = connection.execute(delete(verdicts).where(or_(verdicts.c.document_id.in_(gone), of_copies)))
    erasure.rows["dedup_verdicts"] = done.rowcount
    alone = dict.fromkeys(("original_id", "matched_id", "distance", "similarity", "rule"))
    is_similar = resembling & (verdicts.c.verdict == Verdict.SIMILAR)
    connection.execute(update(verdicts).where(is_similar).values(verdict=Verdict.NEW.value, **alone))
    connection.execute(update(verdicts).where(resembling).values(**alone))
    by_member = verdicts.c.matched_id.in_(gone)
    connection.execute(update(verdicts).where(by_member).values(matched_id=verdicts.c.original_id))
    connection.execute(update(verdicts).where(verdicts.c.second_id.in_(gone)).values(second_id=None))
