"""Releasing documents: what a person has found to be no copy stands for itself from then on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlalchemy import Connection

from dedup.ledger import document_rows
from dedup.ledger.forget import leave_clusters
from dedup.rules.documents import StoredDocument
from dedup.signature.normalise import clean
from dedup.sql.database import Database


@dataclass
class Released:
    """What became of the documents that were to be released, by their keys.

    Attributes:
        released: those that stand for themselves now.
        kept: those that are no copies as the database has them: nothing had to be done.
        moved: those that are copies of another original than was said: nothing was done.
        unknown: those that the database does not know.
    """

    released: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    moved: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def release(database: Database, pairs: Iterable[tuple[str, str]]) -> Released:
    """Let documents be no copies of their originals any more, in one transaction.

    A released document keeps what is known of its text, so that it is found unchanged and passed on when it is seen
    again. What has another text by then is decided anew. Verdicts stay as they were.

    Args:
        database: where they are, opened to be written.
        pairs: the keys of original and copy.

    Raises:
        DatabaseError: nothing of it was written.
    """
    outcome = Released()
    with database.write() as connection:
        for original, key in dict.fromkeys(pairs):
            found = [each for each in document_rows.find_by_given_key(connection, key) if each.key == clean(key)]
            copies = [each for each in found if each.leader_id is not None]
            own = [each for each in copies if document_rows.leader_of(connection, each).key == clean(original)]
            if not found:
                outcome.unknown.append(key)
            elif not copies:
                outcome.kept.append(key)
            elif not own:
                outcome.moved.append(key)
            else:
                _release(connection, own)
                outcome.released.append(key)
    return outcome


def _release(connection: Connection, copies: list[StoredDocument]) -> None:
    ids = [each.id for each in copies]
    # Without the digest of its bytes no crawl takes it for seen: its bytes, which are not stored, are fetched again.
    document_rows.change_documents(connection, ids, {"leader_id": None, "body_digest": None})
    leave_clusters(connection, ids, {each.leader_id for each in copies if each.leader_id is not None})
