"""What holds in the database of a crawl that has ended, whatever was crawled."""

from __future__ import annotations

import zlib
from collections import defaultdict
from contextlib import closing
from typing import Any

import numpy as np
from sqlalchemy import Connection, Table, select

from crawler.frontier.schema import urls
from crawler.pages.store import pages, visits
from dedup.rules.settings import DedupSettings
from dedup.rules.verification import check, fewest_tokens, is_near_leader, keys_of
from dedup.signature.normalise import clean
from dedup.signature.signature import Sketch, compare
from dedup.signature.signing import bands_of_words, make_signature
from dedup.store import schema
from dedup.store.database import Database
from dedup.store.document_rows import key_digest

SETTINGS = DedupSettings()


def inconsistencies(database_url: str) -> list[str]:
    """Return what is not as it must be in a database that was made with the default settings, a line each."""
    with closing(Database(database_url, read_only=True)) as database, database.read() as connection:
        return [*_of_index(connection), *_of_clusters(connection), *_of_pages(connection)]


def _rows(connection: Connection, table: Table) -> list[Any]:
    return list(connection.execute(select(table).order_by(*table.primary_key.columns)))


def _tokens(document: Any) -> int:
    return Sketch.from_bytes(bytes(document.sketch)).tokens


def _of_index(connection: Connection) -> list[str]:
    documents = _rows(connection, schema.documents)
    words = {bytes(row.text_digest): zlib.decompress(row.words) for row in _rows(connection, schema.words)}
    expected = {
        (number, value, document.id)
        for document in documents
        if document.indexed
        for number, value in enumerate(_keys(document, words.get(bytes(document.text_digest), b"")))
    }
    found = {
        (row.number, schema.to_unsigned(row.value), row.document_id) for row in _rows(connection, schema.fingerprints)
    }
    lines = [f"not in the tables: {row}" for row in expected - found]
    lines += [f"in the tables without a document: {row}" for row in found - expected]
    indexed: dict[bytes, int] = defaultdict(int)
    for document in documents:
        if document.indexed and document.text_digest is None:
            lines.append(f"{document.key} is in the tables without a text")
        elif document.text_digest is not None and _tokens(document) >= fewest_tokens(SETTINGS):
            indexed[bytes(document.text_digest)] += document.indexed
    lines += [f"a text is in the tables {times} times" for times in indexed.values() if times != 1]
    if words.keys() != indexed.keys():
        lines.append(f"words of {len(words.keys() - indexed)} texts too many and {len(indexed.keys() - words)} too few")
    return lines


def _keys(document: Any, words: bytes) -> list[int]:
    fingerprint = np.array([schema.to_unsigned(document.fingerprint)], np.uint64)
    [keys] = keys_of(SETTINGS).of(fingerprint, bands_of_words(words)[np.newaxis]).tolist()
    return keys


def _of_clusters(connection: Connection) -> list[str]:
    documents = {document.id: document for document in _rows(connection, schema.documents)}
    words = {bytes(row.text_digest): zlib.decompress(row.words) for row in _rows(connection, schema.words)}

    def are_near(a: Any, b: Any) -> bool:
        if a.text_digest == b.text_digest:
            return True
        pair = words.get(bytes(a.text_digest), b""), words.get(bytes(b.text_digest), b"")
        return check(*pair, SETTINGS).rule.is_duplicate

    lines = []
    for document in documents.values():
        if document.text_digest is None:
            if document.leader_id or document.body_digest or document.indexed:
                lines.append(f"{document.key} is undecided, and not forgotten")
            continue
        if document.leader_id is None:
            continue
        leader = documents[document.leader_id]
        if leader.leader_id is not None or leader.text_digest is None or leader.id == document.id:
            lines.append(f"{document.key} is led by {leader.key}, which is no original")
            continue
        similarity = compare(Sketch.from_bytes(bytes(document.sketch)), Sketch.from_bytes(bytes(leader.sketch)))
        others = [each for each in documents.values() if each.leader_id == leader.id and each.id != document.id]
        is_by_member = is_near_leader(similarity, SETTINGS) and any(are_near(document, each) for each in others)
        if not are_near(document, leader) and not is_by_member:
            lines.append(f"{document.key} is no copy of {leader.key}")
    return lines


def _of_pages(connection: Connection) -> list[str]:
    documents = {bytes(each.key_digest): each for each in _rows(connection, schema.documents)}
    stored = {bytes(each.url_digest): each for each in _rows(connection, pages)}
    seen = {bytes(each.url_digest): each for each in _rows(connection, visits)}
    # By the last verdict.
    kept = {each.document_id: each.kept for each in _rows(connection, schema.verdicts)}
    lines = [f"{page.url} is misfiled" for digest, page in stored.items() if digest != key_digest(page.url)]
    for digest, document in documents.items():
        page, visit = stored.get(digest), seen.get(digest)
        is_there = visit is not None and visit.gone is None
        if document.text_digest is None:
            if is_there:
                lines.append(f"{document.key} is there, and was not decided anew")
            if page is not None and page.gone is None:
                lines.append(f"{document.key} is stored, and not decided")
            continue
        if not is_there:
            lines.append(f"{document.key} is decided, and not there")
        elif visit is not None and visit.body_digest != document.body_digest:
            lines.append(f"{document.key} was visited with other bytes than it was decided by")
        if document.leader_id is not None:
            if page is not None and kept.get(document.id) is None:
                lines.append(f"{document.key} is a duplicate, and stored")
        elif page is None:
            lines.append(f"{document.key} is an original, and not stored")
        elif page.gone is not None:
            lines.append(f"{document.key} is an original, and marked as gone")
        elif make_signature(page.text).text_digest != document.text_digest:
            lines.append(f"{document.key} is stored with another text than it was decided by")
    for digest, page in stored.items():
        if digest not in documents and page.problem is None:
            lines.append(f"{page.url} is stored, and was never decided")
        if page.url != clean(page.url):
            lines.append(f"{page.url!r} is not clean")
    lines += [f"{url.url} is left in the frontier" for url in _rows(connection, urls)]
    return lines
