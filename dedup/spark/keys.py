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
from dedup.spark.arrow import numbers, rows_of, unsigned

READ = "id long, shares_band boolean, rarity long, earlier array<long>"
"""What `read` yields: of a document and one of its keys the earliest documents that share it, and what it says of
them."""

# Any odd number with bits everywhere. Another one than shuffles have: they spread what it makes.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_NUMBER_BITS = np.uint64(40)
_IS_BAND = np.uint64(1)
_RARITIES = np.array(RARITIES)


def keys_in(contents: DataFrame, settings: RuleSettings) -> DataFrame:
    """Return a row for each key of documents: `key` and `id`.

    Args:
        contents: `id`, `fingerprint` and `bands` of each.
        settings: the tables.
    """
    columns = contents.select("id", "fingerprint", "bands")
    return columns.mapInArrow(partial(_make, keys=keys_of(settings)), "key long, id long")


def _make(batches: Iterable[pa.RecordBatch], keys: Keys) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if len(batch):
            ids = np.repeat(batch.column("id").to_numpy(), keys.count)
            yield pa.RecordBatch.from_pydict({"key": numbers(_mixed(keys, batch).ravel()), "id": pa.array(ids)})


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
