"""What a task does that has a chunk of the stored documents: it goes through those that are looked around."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dedup.corpus.deciding.chunk import Chunk
from dedup.corpus.deciding.known import ROW
from dedup.rules.settings import RuleSettings
from dedup.spark.arrow import rows_of, unsigned

FOUND = "query long, task long, counts binary, near array<struct<distance:int,rank:int,candidate:long,jaccard:double>>"
"""What `compare` yields: of each document that probes bring anything of, how many of the closest are at which
distance, and those that its sketch does not rule out, `rank` being how many at the same distance come first."""

_NEAR = {"distance": pa.int32(), "rank": pa.int32(), "candidate": pa.int64(), "jaccard": pa.float64()}
_SCHEMA = pa.schema(
    {
        "query": pa.int64(),
        "task": pa.int64(),
        "counts": pa.binary(),
        "near": pa.list_(pa.struct(_NEAR)),
    }
)
_RANKED = pa.schema({"id": pa.int64(), "candidates": pa.list_(pa.int64())})
_AT_ONCE = 512
_COUNT = np.uint16


def compare(batches: Iterable[pa.RecordBatch], settings: RuleSettings) -> Iterator[pa.RecordBatch]:
    """Find the closest documents in chunks.

    Args:
        batches: by `task`, first the stored documents and then those that are looked around (`is_asked`), each by `id`.
        settings: how far is looked, and how many are wanted.
    """
    parts = (part for batch in batches for part in _parts(batch))
    for task, of_task in groupby(parts, lambda part: part.column("task")[0].as_py()):
        ids, rows, chunk = [np.zeros(0, np.int64)], [np.zeros(0, ROW)], None
        for part in of_task:
            if not part.column("is_asked")[0].as_py():
                ids.append(part.column("id").to_numpy())
                rows.append(_rows(part))
                continue
            chunk = chunk or Chunk(settings, np.concatenate(ids), np.concatenate(rows))
            for start in range(0, len(part), _AT_ONCE):
                yield _found(chunk, part.slice(start, _AT_ONCE), task)


def _parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield what is of one task, and stored or looked around."""
    tasks, is_asked = (batch.column(name).to_numpy(zero_copy_only=False) for name in ("task", "is_asked"))
    changes = 1 + np.flatnonzero((np.diff(tasks) != 0) | (is_asked[1:] != is_asked[:-1]))
    for start, end in zip([0, *changes], [*changes, len(batch)], strict=True):
        if end > start:
            yield batch.slice(start, end - start)


def _found(chunk: Chunk, asked: pa.RecordBatch, task: int) -> pa.RecordBatch:
    ids = asked.column("id").to_numpy()
    near = chunk.find(ids, _rows(asked), rows_of(asked.column("margins"), np.int64))
    wanted, end = np.flatnonzero(near.counts.any(axis=1)), int(near.ends[-1])
    columns = {
        "distance": near.distances[:end].astype(np.int32),
        "rank": near.ranks[:end].astype(np.int32),
        "candidate": chunk.ids[near.places[:end]],
        "jaccard": near.jaccards[:end],
    }
    structs = pa.StructArray.from_arrays([pa.array(column) for column in columns.values()], list(columns))
    # Those that are left out in between have no entries.
    starts = np.where(wanted > 0, near.ends[wanted - 1], 0)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(ids[wanted]),
            pa.array(np.full(len(wanted), task)),
            pa.array([row.tobytes() for row in near.counts[wanted].astype(_COUNT)], pa.binary()),
            pa.ListArray.from_arrays(pa.array(np.append(starts, end).astype(np.int32)), structs),
        ],
        schema=_SCHEMA,
    )


def merge(batches: Iterable[pa.RecordBatch], settings: RuleSettings) -> Iterator[pa.RecordBatch]:
    """Merge what chunks have of each document: its id and its candidates, the most similar first.

    Args:
        batches: what `compare` yields, by `query` and `task`: of two chunks the earlier one comes first.
        settings: how many are wanted.
    """
    begun = pa.Table.from_batches([], _SCHEMA)
    for batch in batches:
        rows = pa.concat_tables([begun, pa.Table.from_batches([batch]).cast(_SCHEMA)]).combine_chunks()
        # The rows of one document may go on in the next batch.
        queries = rows.column("query").to_numpy()
        end = int(np.searchsorted(queries, queries[-1])) if len(queries) else 0
        begun = rows.slice(end)
        if end:
            yield _merged(rows.slice(0, end), settings.max_candidates)
    if len(begun):
        yield _merged(begun, settings.max_candidates)


def _merged(rows: pa.Table, limit: int) -> pa.RecordBatch:
    [batch] = rows.to_batches()
    queries, near = batch.column("query").to_numpy(), batch.column("near")
    counts = rows_of(batch.column("counts"), _COUNT).astype(np.int64)
    _, starts, sizes = np.unique(queries, return_index=True, return_counts=True)
    entries = {name: near.flatten().field(name).to_numpy() for name in _NEAR}
    of_row = np.repeat(np.arange(len(queries)), near.value_lengths().to_numpy())
    in_all = np.add.reduceat(counts, starts)
    closer = np.repeat(np.cumsum(in_all, axis=1) - in_all, sizes, axis=0)
    of_earlier = np.cumsum(counts, axis=0) - counts
    of_earlier -= np.repeat(of_earlier[starts], sizes, axis=0)
    before = (closer + of_earlier)[of_row, entries["distance"]] + entries["rank"]
    order = np.lexsort((entries["candidate"], entries["distance"], -entries["jaccard"], queries[of_row]))
    order = order[before[order] < limit]
    found, ends = np.unique(queries[of_row[order]], return_index=True)
    lists = pa.ListArray.from_arrays(
        pa.array(np.append(ends, len(order)).astype(np.int32)), pa.array(entries["candidate"][order])
    )
    return pa.RecordBatch.from_arrays([pa.array(found), lists], schema=_RANKED)


def _rows(batch: pa.RecordBatch) -> NDArray[Any]:
    """Return documents as the compiled code knows them, without what it does not look at."""
    rows = np.zeros(len(batch), ROW)
    rows["fingerprint"] = unsigned(batch.column("fingerprint"))
    rows["minima"] = rows_of(batch.column("minima"), np.uint64)
    rows["shingles"], rows["tokens"] = (batch.column(name).to_numpy() for name in ("shingles", "tokens"))
    return rows
