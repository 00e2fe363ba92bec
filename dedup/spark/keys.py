"""Keys of documents as rows: `dedup.index.keys` made, and read in the order of the keys.

A key is one long here: its number and value, mixed. Two of a billion documents' may be the same by chance; such a
candidate is one more that nothing confirms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from dedup.index.keys import MOST_READ, RARITIES, Keys
from dedup.rules.settings import RuleSettings
from dedup.rules.verification import keys_of
from dedup.spark.signing import numbers, rows_of, unsigned

READ = "id long, shares_band boolean, rarity long, earlier array<long>"
"""What `read` yields: of a document and one of its keys the earliest documents that share it, and what it says of
them."""

# Any odd number with bits everywhere. Another one than shuffles have: they spread what it makes.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_NUMBER_BITS = np.uint64(40)
_IS_BAND = np.uint64(1)
_MARKS, _MARKED_BITS = 1 << 25, np.uint64(64 - 25)
_RARITIES = np.array(RARITIES)


def keys_in(contents: DataFrame, settings: RuleSettings, wanted: NDArray[np.uint8] | None = None) -> DataFrame:
    """Return a row for each key of documents: `key` and `id`.

    Args:
        contents: `id`, `fingerprint` and `bands` of each.
        settings: the tables.
        wanted: what `marks_of` returns; keys that were not marked are left out. None: none is.
    """
    columns = contents.select("id", "fingerprint", "bands")
    return columns.mapInArrow(partial(_make, keys=keys_of(settings), wanted=wanted), "key long, id long")


def marks_of(keys: DataFrame) -> NDArray[np.uint8]:
    """Return a bit for each of the highest 25 bits that a key may have, set where one has them: 4 MB, eight to a byte.

    Args:
        keys: what `keys_in` returns.
    """
    # What any task has seen is put together by one: the driver gets it once.
    seen = keys.mapInArrow(_mark, "marks binary").repartition(1).mapInArrow(_together, "marks binary").first()
    return np.frombuffer(seen["marks"], np.uint8) if seen is not None else np.zeros(_MARKS // 8, np.uint8)


def _make(batches: Iterable[pa.RecordBatch], keys: Keys, wanted: NDArray[np.uint8] | None) -> Iterator[pa.RecordBatch]:
    is_wanted = None if wanted is None else np.unpackbits(wanted).astype(np.bool_)
    for batch in batches:
        if len(batch):
            made, ids = _mixed(keys, batch).ravel(), np.repeat(batch.column("id").to_numpy(), keys.count)
            if is_wanted is not None:
                places = np.flatnonzero(is_wanted[made >> _MARKED_BITS])
                made, ids = made[places], ids[places]
            yield pa.RecordBatch.from_pydict({"key": numbers(made), "id": pa.array(ids)})


def _mark(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    marks = np.zeros(_MARKS, np.bool_)
    for batch in batches:
        marks[unsigned(batch.column("key")) >> _MARKED_BITS] = True
    if marks.any():
        yield _row_of(np.packbits(marks))


def _together(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    marks = np.zeros(_MARKS // 8, np.uint8)
    for batch in batches:
        for each in batch.column("marks"):
            marks |= np.frombuffer(each.as_buffer(), np.uint8)
    yield _row_of(marks)


def _row_of(marks: NDArray[np.uint8]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"marks": pa.array([marks.tobytes()], pa.binary())})


def _mixed(keys: Keys, batch: pa.RecordBatch) -> NDArray[np.uint64]:
    """Return the keys of documents with their numbers in them, the lowest bit set in those of bands; (n, keys)."""
    found = keys.of(unsigned(batch.column("fingerprint")), rows_of(batch.column("bands"), np.uint64))
    places = np.arange(keys.count)
    found += places.astype(np.uint64) << _NUMBER_BITS
    found *= _SPREAD
    return np.where(places < keys.tables, found & ~_IS_BAND, found | _IS_BAND)


def read(batches: Iterable[pa.RecordBatch], first_asked: int) -> Iterator[pa.RecordBatch]:
    """Find the earliest documents that share the keys of documents, as `dedup.index.keys` says.

    Args:
        batches: what `keys_in` returns, by `key` and `id`.
        first_asked: documents with smaller ids are found, and nothing is found for them.
    """
    key, begun = np.zeros(1, np.int64), np.zeros(0, np.int64)
    for batch in batches:
        if not len(batch):
            continue
        # The earliest documents of the first key may have come before.
        keys = np.concatenate([np.repeat(key, len(begun)), batch.column("key").to_numpy()])
        ids = np.concatenate([begun, batch.column("id").to_numpy()])
        starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
        start = np.repeat(starts, np.diff(starts, append=len(keys)))
        place = np.arange(len(keys)) - start
        is_asked = (place > 0) & (ids >= first_asked)
        is_asked[: len(begun)] = False
        if is_asked.any():
            yield _read(keys[is_asked], ids, is_asked, start[is_asked], np.minimum(place[is_asked], MOST_READ))
        key, begun = keys[-1:], ids[starts[-1] :][:MOST_READ]


def _read(
    keys: NDArray[np.int64],
    ids: NDArray[np.int64],
    is_asked: NDArray[np.bool_],
    start: NDArray[np.int64],
    count: NDArray[np.int64],
) -> pa.RecordBatch:
    ends = np.cumsum(count)
    places = np.arange(ends[-1]) + np.repeat(start - ends + count, count)
    columns = {
        "id": pa.array(ids[is_asked]),
        "shares_band": pa.array((keys & 1).astype(np.bool_)),
        "rarity": pa.array(_RARITIES[count]),
        "earlier": pa.ListArray.from_arrays(pa.array(np.append(0, ends).astype(np.int32)), pa.array(ids[places])),
    }
    return pa.RecordBatch.from_pydict(columns)
