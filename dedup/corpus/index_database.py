"""A saved index from the database of a crawl, and as what such a database knows before the crawl has seen a page.

The database that an index is loaded into is a new one, which no crawl opens until all is loaded. Documents are written
in the order of their places, and then the keys of each number in their own order: how far that is says what goes on
after an interruption.
"""

from __future__ import annotations

import time
import zlib
from bisect import bisect_left
from contextlib import closing
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, delete, func, insert, select, update

from dedup.console import Progress, track
from dedup.corpus.index import Keyed, SavedIndex
from dedup.corpus.index_writing import NewIndex
from dedup.corpus.parts import DOCUMENT, NULL
from dedup.corpus.signing import identity_of
from dedup.errors import DatabaseError
from dedup.rules.documents import StoredDocument
from dedup.rules.settings import Mode, RuleSettings
from dedup.signature.analysis import bands_of
from dedup.signature.normalise import clean
from dedup.signature.schemes import find_scheme
from dedup.signature.signature import BANDS, Sketch, without_signs
from dedup.store import document_rows
from dedup.store.database import LOADING, Database, open_dedup_database
from dedup.store.document_rows import Identity, key_digest
from dedup.store.key_table import fill_keys
from dedup.store.schema import documents, properties, runs, texts, to_signed, to_unsigned

AT_ONCE = 5_000
_ROWS_AT_ONCE = 1_000
_KNOWN_KEYS = select(documents.c.key_digest)
_KNOWN_TEXTS = select(texts.c.digest, texts.c.id)
_COUNT = select(func.count()).select_from(documents).where(documents.c.text_id.is_not(None))

_STORED = (
    select(
        *documents.c["id", "key", "body_digest", "leader_id"],
        *texts.c["digest", "fingerprint", "sketch", "words"],
    )
    .join_from(documents, texts, texts.c.id == documents.c.text_id)
    .order_by(documents.c.id)
)


class Loaded(NamedTuple):
    """The outcome of loading an index into a database.

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
    scheme, design = find_scheme(saved.settings.scheme), saved.settings.tables
    run = f"index {clean(saved.folder.resolve().name)}"
    places, fingerprints, bands = _keyed(saved)
    database = open_dedup_database(
        url,
        scheme.name,
        str(design),
        loading=saved.identity.hex(),
        mode=saved.settings.mode.value,
        radius=saved.settings.radius,
    )
    with closing(database):
        _load_documents(saved, database, run)
        fill_keys(database, saved.settings.keys, places + 1, fingerprints, bands)
        with database.write() as connection:
            connection.execute(delete(properties).where(properties.c.name == LOADING))
            ended = {"outcome": document_rows.LOADED, "finished": time.time()}
            connection.execute(update(runs).where(runs.c.name == run).values(ended))
            count = connection.scalar(select(func.count()).select_from(documents)) or 0
    return Loaded(database.name, run, count, len(saved) - count)


def _load_documents(saved: SavedIndex, database: Database, run: str) -> None:
    """Write the documents that are not there yet."""
    with database.write() as connection:
        run_id = document_rows.open_run(connection, run)
        # Ids are places from 1.
        loaded = connection.scalar(select(func.max(documents.c.id))) or 0
    found = track(saved.documents(), "loading", len(saved))
    with_text = (pair for pair in found if pair[0].id >= loaded and pair[0].sketch.tokens)
    while some := list(islice(with_text, AT_ONCE)):
        with database.write() as connection:
            _write(connection, some, run_id)


def _keyed(saved: SavedIndex) -> Keyed:
    """Return what `SavedIndex.keyed` yields in one piece, having read all of the index: it may be damaged."""
    all_of = np.empty(len(saved), np.int64), np.empty(len(saved), np.uint64), np.empty((len(saved), BANDS), np.uint64)
    place = end = 0
    for block in saved.blocks():
        found = np.flatnonzero(block.rows["indexed"])
        start, end = end, end + len(found)
        some = place + found, block.rows["fingerprint"][found], block.rows["bands"][found]
        for whole, part in zip(all_of, some, strict=True):
            whole[start:end] = part
        place += len(block.rows)
    places, fingerprints, bands = all_of
    return places[:end], fingerprints[:end], bands[:end]


def _write(connection: Connection, some: list[tuple[StoredDocument, bytes]], run_id: int) -> None:
    """Write documents with their texts and words, deflated.

    Of one key, further ones have keys of their own, as in a crawl. A text has the number of the first document that
    holds it.
    """
    rows: list[dict[str, Any]] = []
    new: list[dict[str, Any]] = []
    text_digests = [document.text_digest for document, _ in some]
    found = connection.execute(_KNOWN_TEXTS.where(texts.c.digest.in_(text_digests)))
    text_ids = {bytes(row.digest): row.id for row in found}
    digests = [key_digest(document.key) for document, _ in some]
    used = {bytes(each) for each in connection.scalars(_KNOWN_KEYS.where(documents.c.key_digest.in_(digests)))}
    for (document, deflated), digest in zip(some, digests, strict=True):
        assert document.text_digest is not None
        first = Identity(document.key)
        own = first.separated(document.text_digest, None, "", has_text=True) if digest in used else first
        used.add(digest)
        if document.text_digest not in text_ids:
            text_ids[document.text_digest] = document.id + 1
            new.append(_text_row(document, deflated))
        rows.append({**_row(document, own, run_id), "text_id": text_ids[document.text_digest]})
    if new:
        connection.execute(insert(texts), new)
    connection.execute(insert(documents), rows)


def _text_row(document: StoredDocument, deflated: bytes) -> dict[str, Any]:
    return {
        "id": document.id + 1,
        "digest": document.text_digest,
        "fingerprint": to_signed(document.fingerprint),
        "sketch": document.sketch.to_bytes(),
        "indexed": int(document.indexed),
        "words": deflated or None,
    }


def _row(document: StoredDocument, identity: Identity, run_id: int) -> dict[str, Any]:
    return {
        "id": document.id + 1,
        **identity.columns(),
        # An index does not have it.
        "text_bytes": 0,
        "leader_id": None if document.leader_id is None else document.leader_id + 1,
        "first_run_id": run_id,
        "last_run_id": run_id,
        "content_run_id": run_id,
    }


def add_crawled(database: Database, settings: RuleSettings, index: NewIndex) -> int:
    """Add the documents of a database: first the originals, then the duplicates, each in the order of arrival.

    Args:
        database: an existing database.
        settings: those of its crawl, with its scheme and its mode.
        index: where they are added, but for pages without text whose bytes are not known.

    Returns:
        How many documents it has whose content is known.

    Raises:
        DatabaseError: the database cannot be read, a duplicate has no original, or a text no words.
    """
    ids: list[int] = []
    numbers: list[int] = []
    with database.read() as connection, Progress("adding", connection.scalar(_COUNT) or 0) as progress:
        for is_led in (False, True):
            originals = len(ids)
            chosen = documents.c.leader_id.is_not(None) if is_led else documents.c.leader_id.is_(None)
            for row in connection.execute(_STORED.where(chosen), execution_options={"yield_per": _ROWS_AT_ONCE}):
                progress.show(len(ids))
                leader = NULL
                if is_led:
                    place = bisect_left(ids, row.leader_id, hi=originals)
                    if place == originals or ids[place] != row.leader_id or numbers[place] == NULL:
                        raise DatabaseError(
                            f"database {database.name}: {row.key!r} is a duplicate of a document that leads no "
                            "cluster; name a copy of the database that is whole, or crawl anew into a new one"
                        )
                    leader = numbers[place]
                ids.append(row.id)
                numbers.append(_add(row, leader, settings, index, database.name))
    return len(ids)


def _add(row: Any, leader: int, settings: RuleSettings, index: NewIndex, database: str) -> int:
    """Add a document, led by one of a number; return its own, `NULL` if nothing says what it is."""
    sketch = Sketch.from_bytes(bytes(row.sketch))
    body_digest = None if row.body_digest is None else bytes(row.body_digest)
    deflated = b"" if row.words is None else bytes(row.words)
    identity = identity_of(sketch.tokens, bytes(row.digest), body_digest)
    if identity is None:
        return NULL
    is_paper = settings.mode is Mode.PAPER
    indexed = sketch.tokens >= settings.fewest_tokens and not (is_paper and leader != NULL)
    if indexed and not deflated and not is_paper:
        raise DatabaseError(
            f"database {database}: the words of {row.key!r} are not stored; give the min_tokens of its crawl"
        )
    rows = np.zeros(1, DOCUMENT)
    rows["digest"], rows["minima"] = np.frombuffer(identity, np.uint64), np.frombuffer(sketch.minima, np.uint64)
    rows["fingerprint"], rows["shingles"] = to_unsigned(row.fingerprint), sketch.shingles
    rows["tokens"], rows["leader"], rows["indexed"] = sketch.tokens, leader, indexed
    if deflated:
        rows["bands"] = bands_of(without_signs(zlib.decompress(deflated)))
    return index.add(rows, row.key, deflated)
