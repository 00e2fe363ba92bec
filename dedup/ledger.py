"""The ledger: rows of documents, verdicts and runs, read and written for the deduplicator."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, bindparam, insert, select, update

from dedup.fingerprint.signature import digest
from dedup.fingerprint.sketch import Sketch
from dedup.schema import documents, runs, to_unsigned, verdicts


class StoredDocument(NamedTuple):
    """One row of `dedup_documents`, as the deduplicator needs it."""

    id: int
    key: str
    body_digest: bytes | None
    text_digest: bytes | None
    text_bytes: int
    fingerprint: int
    sketch: Sketch
    indexed: bool
    leader_id: int | None


_COLUMNS = select(
    documents.c.id,
    documents.c.key,
    documents.c.body_digest,
    documents.c.text_digest,
    documents.c.text_bytes,
    documents.c.fingerprint,
    documents.c.sketch,
    documents.c.indexed,
    documents.c.leader_id,
)
_BY_KEY = _COLUMNS.where(documents.c.key_digest == bindparam("digest"))
_BY_BODY = _COLUMNS.where(documents.c.body_digest == bindparam("digest")).order_by(documents.c.id)
_BY_TEXT = _COLUMNS.where(documents.c.text_digest == bindparam("digest")).order_by(documents.c.id)
_BY_IDS = _COLUMNS.where(documents.c.id.in_(bindparam("ids", expanding=True)))
_BY_LEADER = _COLUMNS.where(documents.c.leader_id == bindparam("leader"))
_KNOWN_BODIES = (
    select(documents.c.body_digest).where(documents.c.body_digest.in_(bindparam("digests", expanding=True))).distinct()
)
_ADD_DOCUMENT = insert(documents).returning(documents.c.id)
_CHANGE_DOCUMENT = update(documents).where(documents.c.id == bindparam("changed_id"))


def key_digest(key: str) -> bytes:
    """Return the 16 bytes by which a key is looked up; keys can be longer than an index allows."""
    return digest(key.encode())


def find_by_key(connection: Connection, key: str) -> StoredDocument | None:
    """Return the document with this key."""
    return _first(connection, _BY_KEY, digest=key_digest(key))


def find_by_body(connection: Connection, body_digest: bytes) -> StoredDocument | None:
    """Return the earliest document whose page had these bytes."""
    return _first(connection, _BY_BODY.limit(1), digest=body_digest)


def find_by_text(connection: Connection, text_digest: bytes, outside_cluster_of: int | None) -> StoredDocument | None:
    """Return the earliest document with this text.

    Args:
        connection: inside a transaction.
        text_digest: digest of the normalised text.
        outside_cluster_of: id of a document that shall not be found, nor any that it leads.
    """
    statement = _BY_TEXT
    if outside_cluster_of is not None:
        statement = statement.where(
            documents.c.id != outside_cluster_of, documents.c.leader_id.is_distinct_from(outside_cluster_of)
        )
    return _first(connection, statement.limit(1), digest=text_digest)


def find_by_ids(connection: Connection, ids: Iterable[int]) -> dict[int, StoredDocument]:
    """Return the documents with these ids, by id."""
    return {row.id: row for row in map(_stored, connection.execute(_BY_IDS, {"ids": list(ids)}))}


def find_led_by(connection: Connection, leader_id: int) -> list[StoredDocument]:
    """Return the duplicates in the cluster of a leader."""
    return [_stored(row) for row in connection.execute(_BY_LEADER, {"leader": leader_id})]


def find_known_bodies(connection: Connection, body_digests: Iterable[bytes]) -> set[bytes]:
    """Return those of the digests that belong to a known page."""
    return {bytes(row[0]) for row in connection.execute(_KNOWN_BODIES, {"digests": list(body_digests)})}


def add_document(connection: Connection, values: Mapping[str, Any]) -> int:
    """Insert a document and return its id; `values` are columns of `dedup_documents`."""
    return int(connection.execute(_ADD_DOCUMENT, dict(values)).scalar_one())


def change_document(connection: Connection, document_id: int, values: Mapping[str, Any]) -> None:
    """Set columns of one document."""
    connection.execute(_CHANGE_DOCUMENT.values(**values), {"changed_id": document_id})


def add_verdicts(connection: Connection, rows: list[dict[str, Any]]) -> None:
    """Insert rows of `dedup_verdicts`."""
    if rows:
        connection.execute(insert(verdicts), rows)


def open_run(connection: Connection, name: str) -> int:
    """Start the run of this name, or go on with it, and return its id."""
    known = connection.execute(select(runs.c.id).where(runs.c.name == name)).scalar()
    if known is not None:
        connection.execute(update(runs).where(runs.c.id == known).values(finished=None, outcome=None))
        return int(known)
    return int(
        connection.execute(insert(runs).values(name=name, started=time.time()).returning(runs.c.id)).scalar_one()
    )


def close_run(connection: Connection, run_id: int, outcome: str) -> None:
    """Note when a run ended, and how."""
    connection.execute(update(runs).where(runs.c.id == run_id).values(finished=time.time(), outcome=outcome))


def _first(connection: Connection, statement: Select[Any], **parameters: object) -> StoredDocument | None:
    row = connection.execute(statement, parameters).first()
    return None if row is None else _stored(row)


def _stored(row: Any) -> StoredDocument:
    return StoredDocument(
        row.id,
        row.key,
        _bytes(row.body_digest),
        _bytes(row.text_digest),
        row.text_bytes,
        to_unsigned(row.fingerprint),
        Sketch.from_bytes(bytes(row.sketch)),
        bool(row.indexed),
        row.leader_id,
    )


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)
