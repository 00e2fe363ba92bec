"""A database filled with many documents at once, as it would be had they been decided one after the other."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, insert, select

from benchmarks.texts import EDITS, Texts
from dedup.index import MOST_READ
from dedup.ledger.key_table import KeyTable, Looked, fill_keys
from dedup.rules.settings import DedupSettings
from dedup.rules.verification import keys_of
from dedup.signature.deflating import deflate
from dedup.signature.signature import BANDS, Signature, digest, make_signature
from dedup.sql.database import Database
from dedup.sql.schema import documents, fingerprints, to_signed, words

SETTINGS = DedupSettings()
"""Those of the databases, but for where they are."""

_KEYS = keys_of(SETTINGS)
_DOCUMENT = np.dtype([("digest", "V16"), ("fingerprint", "<u8"), ("sketch", "V80"), ("bands", "<u8", (BANDS,))])
_CHUNK = 500
_ROWS = 20_000


class LookedUp(NamedTuple):
    """What a look-up costs: how many rows of the keys it reads, and how many documents they bring."""

    rows: int
    candidates: int


class Signing:
    """Makes the signatures of texts in as many processes as there are cores.

    Args:
        real: the texts that the others are made of.
    """

    def __init__(self, real: Sequence[str]) -> None:
        self._pool = ProcessPoolExecutor(os.cpu_count(), initializer=_prepare, initargs=(real,))

    def many(self, count: int, folder: Path) -> NDArray[Any]:
        """Return what is stored of the texts 0 to count - 1, in a file of a folder: it need not fit in memory."""
        found = np.memmap(folder / "documents", _DOCUMENT, "w+", shape=(count,))
        start = 0
        for part in self._pool.map(_sign, range(0, count, _CHUNK)):
            size = min(len(part), count - start)
            found[start : start + size] = part[:size]
            start += size
        return found

    def texts(self, numbers: Iterable[int]) -> Iterator[Signature]:
        """Yield the signatures of texts."""
        left = iter(numbers)
        # In portions: what is done before it is taken waits in memory.
        while some := list(islice(left, _ROWS)):
            yield from self._pool.map(_sign_text, some, chunksize=20)

    def copies(self, numbers: Iterable[int]) -> Iterator[Signature]:
        """Yield the signatures of copies of texts, the edits in turn."""
        return self._pool.map(_sign_copy, enumerate(numbers), chunksize=20)

    def close(self) -> None:
        """End the processes."""
        self._pool.shutdown()


_texts: list[Texts] = []


def _prepare(real: Sequence[str]) -> None:
    _texts[:] = [Texts(real)]


def _sign(start: int) -> NDArray[Any]:
    found = np.zeros(_CHUNK, _DOCUMENT)
    for place in range(_CHUNK):
        signature = _sign_text(start + place)
        found[place] = (
            signature.text_digest,
            signature.fingerprint,
            signature.sketch.to_bytes(),
            signature.bands,
        )
    return found


def _sign_text(number: int) -> Signature:
    return make_signature(_texts[0].text(number))


def _sign_copy(numbered: tuple[int, int]) -> Signature:
    place, number = numbered
    return make_signature(_texts[0].copy(number, EDITS[place % len(EDITS)]))


def may_meet(stored: NDArray[Any], asked: Sequence[Signature]) -> NDArray[np.int64]:
    """Return the numbers of the stored documents that share keys with some others."""
    bits = np.array([each.fingerprint for each in asked], np.uint64)
    wanted = _KEYS.of(bits, np.stack([each.bands for each in asked]))
    found = []
    for start in range(0, len(stored), _ROWS):
        some = stored[start : start + _ROWS]
        keys = _KEYS.of(np.ascontiguousarray(some["fingerprint"]), some["bands"])
        shares = [np.isin(keys[:, number], wanted[:, number]) for number in range(_KEYS.count)]
        found.append(start + np.flatnonzero(np.logical_or.reduce(shares)))
    return np.concatenate(found)


def look_up(connection: Connection, signature: Signature) -> LookedUp:
    """Look a document up as a decision does, and count."""
    table = KeyTable(_KEYS)
    [keys] = table.keys_of([Looked(signature.fingerprint, signature.bands, 0)])
    rows = 0
    for number, value in enumerate(keys):
        number_is, value_is = fingerprints.c.number == number, fingerprints.c.value == value
        of_key = select(fingerprints.c.document_id).where(number_is, value_is)
        rows += connection.scalar(select(func.count()).select_from(of_key.limit(MOST_READ).subquery())) or 0
    with table.batch(connection, [keys]):
        return LookedUp(rows, len(table.find(connection, keys)))


def fill(database: Database, stored: NDArray[Any], run_id: int) -> None:
    """Write documents with their keys, text number n with the id n + 1, into a new database of a `Deduplicator`."""
    for start in range(0, len(stored), _ROWS):
        rows = list(_rows(stored, range(start, min(start + _ROWS, len(stored))), run_id))
        with database.write() as connection:
            connection.execute(insert(documents), rows)
    ids = np.arange(len(stored), dtype=np.int64) + 1
    fill_keys(database, _KEYS, ids, np.ascontiguousarray(stored["fingerprint"]), stored["bands"])


def fill_words(database: Database, signatures: Iterable[Signature]) -> None:
    """Write the words of some of the documents."""
    left = iter(signatures)
    while some := list(islice(left, _CHUNK)):
        rows = [{"text_digest": each.text_digest, "words": deflate(each.words)} for each in some]
        with database.write() as connection:
            connection.execute(insert(words), rows)


def key_of(number: int) -> str:
    """Return the key of a stored document."""
    return f"text {number}"


def _rows(stored: NDArray[Any], numbers: Iterable[int], run_id: int) -> Iterator[dict[str, Any]]:
    for number in numbers:
        key = key_of(number)
        yield {
            "id": number + 1,
            "key": key,
            "key_digest": digest(key.encode()),
            "text_digest": stored["digest"][number].tobytes(),
            "text_bytes": 0,
            "fingerprint": to_signed(int(stored["fingerprint"][number])),
            "sketch": stored["sketch"][number].tobytes(),
            "indexed": 1,
            "first_run_id": run_id,
            "last_run_id": run_id,
            "content_run_id": run_id,
        }
