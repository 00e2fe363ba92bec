"""What an index tells: finds of many queries, and what it consists of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.index.memory.crowds import Crowd


class Finds(NamedTuple):
    """What many queries found.

    Attributes:
        queries: for each find the number of its query, ascending; shape (m,).
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
        merging: whether two segments are being merged.
        nbytes: the bytes of all arrays, without those of a merge that is under way.
        crowds: blocks that very many fingerprints have in common, the largest first.
    """

    documents: int
    fingerprints: int
    newest: int
    segments: tuple[int, ...]
    merging: bool
    nbytes: int
    crowds: tuple[Crowd, ...]
