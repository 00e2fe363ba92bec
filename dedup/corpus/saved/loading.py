"""The documents of a saved index as what a crawl's database knows before the crawl has seen a page.

The database is a new one, which no crawl opens until all is loaded. Documents are written in the order of their
numbers, and then the keys of each number in their own order: how far that is says what goes on after an interruption.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, delete, func, insert, select, update

from dedup.corpus.saved.export_reader import Exported
from dedup.corpus.saved.folder import CHECKSUMS, require_sums
from dedup.corpus.saved.reader import SavedIndex
from dedup.corpus.state.checkpoint import CHECKPOINT
from dedup.errors import InputError
from dedup.ledger import document_rows
from dedup.ledger.identity import Identity
from dedup.ledger.key_table import fill_keys
from dedup.progress import track
from dedup.rules.settings import RuleSettings
from dedup.rules.verification import keys_of
from dedup.signature.normalise import clean
from dedup.signature.schemes import find_scheme
from dedup.signature.signature import digest
from dedup.signature.sketch import BANDS, Sketch
from dedup.signature.word_lists import pack
from dedup.sql.database import LOADING, Database, open_dedup_database
from dedup.sql.engines import insert_into
from dedup.sql.schema import documents, properties, runs, to_signed, words

AT_ONCE = 5_000

_KNOWN_KEYS = select(documents.c.key_digest)
_TWICE = select(documents.c.text_digest).group_by(documents.c.text_digest).having(func.count() > 1).limit(1)
_leader = documents.alias()
_LED_LEADER = (
    select(_leader.c.key)
    .join(documents, documents.c.leader_id == _leader.c.id)
    .where(_leader.c.leader_id.is_not(None))
    .limit(1)
)
_ANEW = "export the index again, and load it into a new database"


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


class _Entry(NamedTuple):
    """A document of an index: its place, that of its leader if it has one, its words, deflated, and its bands."""

    place: int
    key: str
    text_digest: bytes
    fingerprint: int
    sketch: Sketch
    leader: int | None
    indexed: bool
    words: bytes
    bands: NDArray[np.uint64]


class Source(NamedTuple):
    """An index that is loaded.

    Attributes:
        path: where it is.
        settings: those that it was made with.
        named_settings: the same, as `dedup.corpus.state.checkpoint.about_settings` writes them.
        identity: tells it from any other one.
        entries: yields its documents from a place on.
    """

    path: Path
    settings: RuleSettings
    named_settings: dict[str, str]
    identity: bytes
    entries: Callable[[int], Iterator[_Entry]]


@contextmanager
def open_source(path: Path) -> Iterator[Source]:
    """Open an index to load it.

    Args:
        path: the folder of a saved index, what `dedup index export` wrote, or the folder that Spark wrote.

    Raises:
        InputError: it is none.
        IndexFileError: it is damaged.
    """
    if not (path / CHECKPOINT).is_file():
        exported = Exported(path)
        about = exported.about
        yield Source(path, about.settings, about.named_settings, exported.identity, partial(_of_exported, exported))
        return
    with closing(SavedIndex(path)) as saved:
        require_sums(path)
        identity = digest((path / CHECKSUMS).read_bytes())
        yield Source(path, saved.settings, saved.named_settings, identity, partial(_of_saved, saved))


def load(source: Source, url: str) -> Loaded:
    """Make the database of a crawl that knows the documents of an index; whoever is interrupted calls it again.

    Args:
        source: the index.
        url: where the database will be; none is there yet, or a part of this very index.

    Raises:
        DatabaseError: it cannot be written.
        IncompatibleDatabaseError: something else is there.
        IndexFileError: the index is damaged.
        InputError: a row of the exported index is not what it should be.
    """
    scheme, design = find_scheme(source.settings.scheme), source.settings.tables
    run = f"index {clean(source.path.resolve().name)}"
    database = open_dedup_database(
        url,
        scheme.name,
        str(design),
        word_lists=pack(scheme.word_lists),
        loading=source.identity.hex(),
        mode=source.settings.mode.value,
    )
    with closing(database):
        total = _load_documents(source, database, run)
        _require_sound(database, source.path)
        fill_keys(database, keys_of(source.settings), *_keyed(source))
        with database.write() as connection:
            connection.execute(delete(properties).where(properties.c.name == LOADING))
            ended = {"outcome": document_rows.LOADED, "finished": time.time()}
            connection.execute(update(runs).where(runs.c.name == run).values(ended))
            count = connection.scalar(select(func.count()).select_from(documents)) or 0
    return Loaded(database.name, run, count, total - count)


def _load_documents(source: Source, database: Database, run: str) -> int:
    """Write the documents that are not there yet; return how many the index has."""
    with database.write() as connection:
        run_id = document_rows.open_run(connection, run)
        # Ids are places from 1.
        total = connection.scalar(select(func.max(documents.c.id))) or 0
    left = source.entries(total)
    while some := list(islice(left, AT_ONCE)):
        total = some[-1].place + 1
        with_text = [entry for entry in some if entry.sketch.tokens]
        with database.write() as connection:
            _write(connection, with_text, run_id)
    return total


def _keyed(source: Source) -> tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.uint64]]:
    """Return ids, fingerprints and bands of the documents that have keys, as `fill_keys` takes them."""
    ids, fingerprints, bands = array("q"), array("Q"), array("Q")
    for entry in source.entries(0):
        if entry.indexed:
            ids.append(entry.place + 1)
            fingerprints.append(entry.fingerprint)
            bands.frombytes(entry.bands.tobytes())
    every = np.array(bands, np.uint64).reshape(-1, BANDS)
    return np.array(ids, np.int64), np.array(fingerprints, np.uint64), every


def _of_saved(saved: SavedIndex, first: int) -> Iterator[_Entry]:
    """Yield the documents of an index from a number on."""
    for document, deflated, bands in track(saved.documents(first), "loading", len(saved) - first):
        assert document.text_digest is not None
        yield _Entry(
            document.id,
            document.key,
            document.text_digest,
            document.fingerprint,
            document.sketch,
            document.leader_id,
            document.indexed,
            deflated,
            bands,
        )


def _of_exported(exported: Exported, first: int) -> Iterator[_Entry]:
    """Yield the documents of an exported index from a place on."""
    for _, place, row, leader in exported.rows():
        if place >= first:
            yield _Entry(
                place, row.key, row.digest, row.fingerprint, row.sketch, leader, row.indexed, row.deflated, row.bands
            )


def _require_sound(database: Database, path: Path) -> None:
    """Refuse an index of which nobody has checked that one document fits to the others.

    Raises:
        InputError: one does not.
    """
    with database.read() as connection:
        if twice := connection.execute(_TWICE).first():
            raise InputError(f"{path}: several rows have the digest {bytes(twice[0]).hex()}; {_ANEW}")
        if led := connection.execute(_LED_LEADER).first():
            raise InputError(f"{path}: {led.key!r} leads others and is led by another document; {_ANEW}")


def _write(connection: Connection, some: list[_Entry], run_id: int) -> None:
    if not some:
        return
    identities = list(_identities(connection, some))
    rows = [_row(entry, identity, run_id) for entry, identity in zip(some, identities, strict=True)]
    connection.execute(insert(documents), rows)
    with_words = [{"text_digest": entry.text_digest, "words": entry.words} for entry in some if entry.words]
    if with_words:
        # Who has the same digest is told in the end.
        connection.execute(insert_into(words, connection.dialect.name).on_conflict_do_nothing(), with_words)


def _identities(connection: Connection, some: list[_Entry]) -> Iterator[Identity]:
    """Yield what documents are known by; of one key, further ones have keys of their own, as in a crawl."""
    plain = [Identity(entry.key, entry.key) for entry in some]
    digests = [identity.key_digest for identity in plain]
    taken = {bytes(each) for each in connection.scalars(_KNOWN_KEYS.where(documents.c.key_digest.in_(digests)))}
    for entry, identity, key_digest in zip(some, plain, digests, strict=True):
        is_taken = key_digest in taken
        taken.add(key_digest)
        yield identity.separated(entry.text_digest, None, has_text=True) if is_taken else identity


def _row(entry: _Entry, identity: Identity, run_id: int) -> dict[str, Any]:
    return {
        "id": entry.place + 1,
        "key": clean(identity.key),
        "key_digest": identity.key_digest,
        "given_digest": identity.given_digest,
        "text_digest": entry.text_digest,
        # An index does not have it.
        "text_bytes": 0,
        "fingerprint": to_signed(entry.fingerprint),
        "sketch": entry.sketch.to_bytes(),
        "indexed": int(entry.indexed),
        "leader_id": None if entry.leader is None else entry.leader + 1,
        "first_run_id": run_id,
        "last_run_id": run_id,
        "content_run_id": run_id,
    }
