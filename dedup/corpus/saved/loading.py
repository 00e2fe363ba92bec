"""The documents of a saved index as what a crawl's database knows before the crawl has seen a page.

The database is a new one, which no crawl opens until all is loaded. Documents are written in the order of their
numbers, and then each permuted table in its own order: how far that is says what goes on after an interruption.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, func, insert, select, update

from dedup.corpus.saved.folder import CHECKSUMS
from dedup.corpus.saved.reader import SavedIndex
from dedup.ledger import document_rows
from dedup.ledger.identity import Identity
from dedup.ledger.tables.permuted import fill_tables
from dedup.progress import Progress
from dedup.rules.documents import StoredDocument
from dedup.signature.normalise import clean
from dedup.signature.schemes import find_scheme
from dedup.signature.signature import digest
from dedup.signature.word_lists import pack
from dedup.sql.database import LOADING, Database, open_dedup_database
from dedup.sql.schema import documents, properties, runs, to_signed, words

AT_ONCE = 5_000

_KNOWN_KEYS = select(documents.c.key_digest)


class Loaded(NamedTuple):
    """What was loaded of an index.

    Attributes:
        database: the database, as it may be shown.
        run: the run that the documents belong to.
        documents: how many of them the database knows.
        left_out: how many have no text, and are told by the bytes of their pages, which an index does not have.
    """

    database: str
    run: str
    documents: int
    left_out: int


def load(saved: SavedIndex, url: str) -> Loaded:
    """Make the database of a crawl that knows the documents of an index; whoever is interrupted calls it again.

    Args:
        saved: the index.
        url: where the database will be; none is there yet, or a part of this very index.

    Raises:
        DatabaseError: it cannot be written.
        IncompatibleDatabaseError: something else is there.
        IndexFileError: the index is damaged.
    """
    scheme = find_scheme(saved.settings.scheme)
    run = f"index {clean(saved.folder.resolve().name)}"
    database = open_dedup_database(
        url,
        scheme.name,
        str(saved.settings.tables),
        word_lists=pack(scheme.word_lists),
        loading=digest((saved.folder / CHECKSUMS).read_bytes()).hex(),
    )
    try:
        _load_documents(saved, database, run)
        is_indexed = saved.rows["indexed"] == 1
        ids = is_indexed.nonzero()[0] + 1
        fill_tables(database, saved.settings.tables, ids, saved.rows["fingerprint"][is_indexed])
        with database.write() as connection:
            connection.execute(delete(properties).where(properties.c.name == LOADING))
            ended = {"outcome": document_rows.LOADED, "finished": time.time()}
            connection.execute(update(runs).where(runs.c.name == run).values(ended))
            count = connection.scalar(select(func.count()).select_from(documents)) or 0
    finally:
        database.close()
    return Loaded(database.name, run, count, len(saved) - count)


def _load_documents(saved: SavedIndex, database: Database, run: str) -> None:
    with database.write() as connection:
        run_id = document_rows.open_run(connection, run)
        # Ids are numbers from 1.
        start = connection.scalar(select(func.max(documents.c.id))) or 0
    left = saved.documents(start)
    with Progress("loading", len(saved)) as progress:
        while some := list(islice(left, AT_ONCE)):
            progress.show(some[0][0].id)
            with_text = [(document, signed.words) for document, signed in some if document.sketch.tokens]
            with database.write() as connection:
                _write(connection, with_text, run_id)


def _write(connection: Connection, some: list[tuple[StoredDocument, bytes]], run_id: int) -> None:
    if not some:
        return
    identities = list(_identities(connection, [document for document, _ in some]))
    rows = [_row(document, identity, run_id) for (document, _), identity in zip(some, identities, strict=True)]
    connection.execute(insert(documents), rows)
    with_words = [{"text_digest": document.text_digest, "words": deflated} for document, deflated in some if deflated]
    if with_words:
        connection.execute(insert(words), with_words)


def _identities(connection: Connection, some: list[StoredDocument]) -> Iterator[Identity]:
    """Yield what documents are known by; of one key, further ones have keys of their own, as in a crawl."""
    plain = [Identity(document.key, document.key) for document in some]
    digests = [identity.key_digest for identity in plain]
    taken = {bytes(each) for each in connection.scalars(_KNOWN_KEYS.where(documents.c.key_digest.in_(digests)))}
    for document, identity, key_digest in zip(some, plain, digests, strict=True):
        assert document.text_digest is not None
        is_taken = key_digest in taken
        taken.add(key_digest)
        yield identity.separated(document.text_digest, None, has_text=True) if is_taken else identity


def _row(document: StoredDocument, identity: Identity, run_id: int) -> dict[str, Any]:
    return {
        "id": document.id + 1,
        "key": clean(identity.key),
        "key_digest": identity.key_digest,
        "given_digest": identity.given_digest,
        "text_digest": document.text_digest,
        "text_bytes": document.text_bytes,
        "fingerprint": to_signed(document.fingerprint),
        "sketch": document.sketch.to_bytes(),
        "indexed": int(document.indexed),
        "leader_id": None if document.leader_id is None else document.leader_id + 1,
        "first_run_id": run_id,
        "last_run_id": run_id,
        "content_run_id": run_id,
    }
