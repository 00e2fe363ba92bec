"""What an index tells: results of many queries, and what it consists of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.index.memory.crowded import CrowdedBucket


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
