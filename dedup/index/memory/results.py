"""What an index tells: results of many queries, what it consists of, and crowded buckets.

A bucket is crowded where very many fingerprints have a block in common. That slows nothing down: equal fingerprints
stand once, and in a long range only what matters is read (`skip_search`). But it is a sign of something in the texts,
a frame around all of them or a scheme that does not suit them, and probes of wide plans find all of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.index.memory.segment import BLOCK_VALUES, BLOCKS, Segment

_LEAST_SHARE = 1 / 64
_LEAST_FINGERPRINTS = 4096


class QueryResults(NamedTuple):
    """What many queries found.

    Attributes:
        queries: for each result the number of its query, ascending; shape (m,).
        document_ids: the documents, those of a query the closest first, then by id; shape (m,).
        distances: how far away they are, in bits; shape (m,).
    """

    queries: NDArray[np.int64]
    document_ids: NDArray[np.int64]
    distances: NDArray[np.int64]


class CrowdedBucket(NamedTuple):
    """Many fingerprints with the same value of a block.

    Attributes:
        table: the number of the table, and of the block that comes first in it.
        value: the block's value, 16 bits.
        fingerprints: how many different ones have it.
        share: of all fingerprints.
    """

    table: int
    value: int
    fingerprints: int
    share: float


class Report(NamedTuple):
    """What an index consists of.

    Attributes:
        documents: how many there are.
        fingerprints: how many different ones the segments have, added up.
        newest: how many documents stand in no segment yet.
        segments: how many fingerprints each segment has, the largest first.
        merging: whether segments are being merged.
        nbytes: the bytes of all arrays, without those of a merge that is under way.
        crowded: blocks that very many fingerprints have in common, the largest first.
    """

    documents: int
    fingerprints: int
    newest: int
    segments: tuple[int, ...]
    merging: bool
    nbytes: int
    crowded: tuple[CrowdedBucket, ...]


def crowded_buckets(segments: Iterable[Segment]) -> tuple[CrowdedBucket, ...]:
    """Return the blocks that at least a 64th of all fingerprints have, and at least 4,096; the largest first."""
    lengths = np.zeros((BLOCKS, BLOCK_VALUES), np.int64)
    for segment in segments:
        lengths += segment.directories[:, 1:].astype(np.int64) - segment.directories[:, :-1]
    total = int(lengths[0].sum())
    found = [
        CrowdedBucket(int(table), int(value), int(lengths[table, value]), float(lengths[table, value] / total))
        for table, value in np.argwhere(lengths >= max(_LEAST_FINGERPRINTS, _LEAST_SHARE * total))
    ]
    return tuple(sorted(found, key=lambda bucket: -bucket.fingerprints))
