"""Letting go of documents whose content is not known any more."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import Connection, exists, update

from dedup import ledger
from dedup.index.protocol import Index
from dedup.rules.documents import StoredDocument
from dedup.rules.scope import Scopes
from dedup.schema import documents

_NOBODY = -1
_UNKNOWN = {"leader_id": None, "text_digest": None, "body_digest": None, "indexed": 0}


def let_go(connection: Connection, index: Index, scopes: Scopes, documents: Sequence[StoredDocument]) -> None:
    """Forget what documents hold, but not their keys.

    Their content is stored nowhere: without digests they are decided anew when they are seen again,
    and without table entries nothing is dropped because of them. A text that one of them stood for in
    the tables is handed on to another document that has it; the words of a text that none has are
    forgotten. Documents that they lead have to be let go first, or with them.

    Args:
        connection: inside a writing transaction.
        index: the permuted tables.
        scopes: those of the database.
        documents: as they are stored.
    """
    index.remove(connection, [entry_of(document, scopes) for document in documents if document.indexed])
    ledger.change_documents(connection, [document.id for document in documents], _UNKNOWN)
    stood = {document.text_digest for document in documents if document.indexed}
    for text_digest in {document.text_digest for document in documents} - {None}:
        assert text_digest is not None
        heir = ledger.find_for_tables(connection, text_digest, originals_only=False)
        if heir is None:
            ledger.remove_words(connection, text_digest)
        elif text_digest in stood and not heir.indexed:
            index.add(connection, [entry_of(heir, scopes)])
            ledger.change_document(connection, heir.id, {"indexed": 1})


def let_go_by_ids(connection: Connection, index: Index, scopes: Scopes, ids: Collection[int]) -> None:
    """Let go of documents where it is not known by which rules keepers are elected.

    Who is the keeper of their clusters is asked when a copy comes again.

    Args:
        connection: inside a writing transaction.
        index: the permuted tables.
        scopes: those of the database.
        ids: the documents; those that they lead have to be let go first, or with them.
    """
    if not ids:
        return
    stored = ledger.find_with_leaders(connection, ids)
    let_go(connection, index, scopes, [stored[each] for each in ids])
    for column in (documents.c.keeper_id, documents.c.exported_id):
        connection.execute(update(documents).where(column.in_(ids)).values({column: _NOBODY}))
    members = documents.alias()
    is_alone = ~exists().where(members.c.leader_id == documents.c.id)
    leaders = {stored[each].leader_id for each in ids} | set(ids)
    connection.execute(
        update(documents).where(documents.c.id.in_(leaders - {None}), is_alone).values(keeper_id=None, exported_id=None)
    )


def entry_of(document: StoredDocument, scopes: Scopes) -> tuple[int, int]:
    """Return what the permuted tables have of a document that is in them: its id and the bits."""
    return document.id, document.fingerprint ^ scopes.mask(document.key, document.space)
