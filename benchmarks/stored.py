"""A database filled with many documents at once, as it would be had they been decided one after the other.

What depends on how candidates are found is in `_keys_of`, `may_meet` and `look_up`.
"""

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

from benchmarks.edited_texts import EDITS, Texts
from dedup.ledger.tables.permuted import SqlIndex
from dedup.rules.settings import DedupSettings
from dedup.rules.verification import plan_of
from dedup.signature.deflating import deflate
from dedup.signature.signature import Signature, digest, make_signature
from dedup.sql.database import Database
from dedup.sql.schema import documents, fingerprints, to_signed, words

SETTINGS = DedupSettings()
"""Those of the databases, but for where they are."""

_TABLES = SETTINGS.tables.tables
_DOCUMENT = np.dtype([("digest", "V16"), ("fingerprint", "<u8"), ("sketch", "V80"), ("keys", "<i8", (len(_TABLES),))])
_CHUNK = 500
_ROWS = 20_000
_ANY_NUMBER = 1 << 62

# A row of PostgreSQL's binary format: how many fields, and each behind its length.
_COPIED = np.dtype(
    [("fields", ">i2"), ("a", ">i4"), ("number", ">i2"), ("b", ">i4"), ("value", ">i8"), ("c", ">i4"), ("id", ">i8")]
)
_COPY_BEGINS, _COPY_ENDS = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"


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
            _keys_of(signature),
        )
    return found


def _sign_text(number: int) -> Signature:
    return make_signature(_texts[0].text(number))


def _sign_copy(numbered: tuple[int, int]) -> Signature:
    place, number = numbered
    return make_signature(_texts[0].copy(number, EDITS[place % len(EDITS)]))


def _keys_of(signature: Signature) -> list[int]:
    """Return the values of the keys of a document, in the order of their numbers."""
    return [to_signed(table.permute(signature.fingerprint)) for table in _TABLES]


def may_meet(stored: NDArray[Any], asked: Sequence[Signature]) -> NDArray[np.int64]:
    """Return the numbers of the stored documents that some others may be compared with: all of them."""
    return np.arange(len(stored) if asked else 0)


def look_up(connection: Connection, signature: Signature) -> LookedUp:
    """Look a document up as a decision does, and count."""
    plan = plan_of(SETTINGS)
    probes = plan.probes(signature.fingerprint, signature.margins)
    lows, highs = probes.lows.view(np.int64).tolist(), probes.highs.view(np.int64).tolist()
    table_number, permuted, _ = fingerprints.columns
    rows = 0
    for number, low, high in zip(probes.tables.tolist(), lows, highs, strict=True):
        found = select(func.count()).where(table_number == number, permuted.between(low, high))
        rows += connection.scalar(found) or 0
    brought = SqlIndex(plan).query(connection, signature.fingerprint, signature.margins, _ANY_NUMBER)
    return LookedUp(rows, len(brought))


def fill(database: Database, stored: NDArray[Any], run_id: int) -> None:
    """Write documents with their keys, text number n with the id n + 1, into a new database of a `Deduplicator`."""
    for start in range(0, len(stored), _ROWS):
        # Without ids: they are given out in this order, and PostgreSQL goes on counting behind them.
        rows = list(_rows(stored, range(start, min(start + _ROWS, len(stored))), run_id))
        with database.write() as connection:
            connection.execute(insert(documents), rows)
    ids = np.arange(len(stored), dtype=np.int64) + 1
    for number in range(stored["keys"].shape[1]):
        # From the beginning of the key to its end, which takes a fraction of the time of any other order.
        values = np.array(stored["keys"][:, number])
        order = np.lexsort((ids, values))
        for start in range(0, len(ids), _ROWS):
            some_ids = order[start : start + _ROWS]
            with database.write() as connection:
                _write_keys(connection, number, values[some_ids], ids[some_ids])


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


def _write_keys(connection: Connection, number: int, values: NDArray[np.int64], ids: NDArray[np.int64]) -> None:
    if connection.dialect.name == "sqlite":
        rows = [(number, value, document) for value, document in zip(values.tolist(), ids.tolist(), strict=True)]
        connection.exec_driver_sql(f"INSERT INTO {fingerprints.name} VALUES (?, ?, ?)", rows)
        return
    copied = np.empty(len(ids), _COPIED)
    for name, value in (
        ("fields", 3),
        ("a", 2),
        ("number", number),
        ("b", 8),
        ("value", values),
        ("c", 8),
        ("id", ids),
    ):
        copied[name] = value
    # psycopg writes single rows one after the other, for minutes a million.
    driver: Any = connection.connection.driver_connection
    with driver.cursor() as cursor, cursor.copy(f"COPY {fingerprints.name} FROM STDIN (FORMAT BINARY)") as copy:
        copy.write(_COPY_BEGINS + copied.tobytes() + _COPY_ENDS)
