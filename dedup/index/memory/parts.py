"""The parts of an index: the newest fingerprints and the segments, and how they grow without a pause.

The newest stand in small hash tables. When these are full they become a segment, and segments of
like size are merged, a little with every few additions.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dedup.index.memory.building import build
from dedup.index.memory.merging import Merge
from dedup.index.memory.near import ENTRIES_A_QUERY
from dedup.index.memory.owners import is_removed, slot_of
from dedup.index.memory.recent import CAPACITY, FILLED, Recent, add_many, remove_recent
from dedup.index.memory.segment import Segment

EVERY = 64
"""After so many additions `advance` is called, and some merging is done."""

_LEAST_STEPS = 1 << 14
_FILLS_A_MERGE = 4
"""A merge is done before the newest part has been filled so often; a large one makes larger steps for it."""

_RATIO = 3
"""A segment is merged with the next smaller one when it is no more than so many times as large."""

_MAX_ID = (1 << 63) - 1


class Parts:
    """The parts, and the table of addresses by which kernels find them.

    Fingerprints of single documents are signed numbers here: kernels are compiled for one type of numbers.

    Args:
        radius: see `Recent`.

    Attributes:
        table: one row for the newest fingerprints and one for each segment; replaced when they change.
        recent: the newest fingerprints.
        segments: the segments.
        merge: what is being merged, if anything.
    """

    def __init__(self, radius: int) -> None:
        _load()
        self.recent = Recent(radius, ENTRIES_A_QUERY)
        self.segments: list[Segment] = []
        self.merge: Merge | None = None
        self.table = self.recent.row[np.newaxis].copy()
        self._steps = 0
        self._removed_in_merge: list[tuple[int, int]] = []

    def __len__(self) -> int:
        newest = self.recent.ids[: self.newest]
        return int((newest >= 0).sum()) + sum(segment.documents for segment in self.segments)

    @property
    def newest(self) -> int:
        """How many documents stand in no segment, the removed ones among them."""
        return int(self.table[0, FILLED])

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays, without those of a merge that is under way."""
        return self.recent.nbytes + sum(segment.nbytes for segment in self.segments)

    def add_many(self, ids: NDArray[np.int64], fingerprints: NDArray[np.uint64]) -> None:
        """Store fingerprints, shape (n,), and merge all that is to be merged."""
        if len(ids) > CAPACITY:
            self.append(build(ids, fingerprints))
        else:
            done = 0
            while done < len(ids):
                done = add_many(self.table, ids, fingerprints, done)
                self.advance(self.newest)
        self._choose_merge()
        while self.merge is not None:
            self._finish_merge()

    def append(self, segment: Segment) -> None:
        """Add a segment."""
        self.segments.append(segment)
        self._changed()

    def remove(self, document_id: int, fingerprint: int) -> bool:
        """Take a document out, wherever it stands with this fingerprint; return whether it was there."""
        was_there = remove_recent(self.table, document_id, fingerprint) > 0
        for segment in self.segments:
            was_there |= _remove_from(segment, document_id, fingerprint)
        self._changed()
        if self.merge is not None:
            self._removed_in_merge.append((document_id, fingerprint))
        return was_there

    def advance(self, count: int) -> None:
        """Do what is due after some additions: a part of a merge, and making room for new ones.

        Args:
            count: how many fingerprints stand in no segment.
        """
        if self.merge is not None:
            self.work(self._steps)
        if count == CAPACITY:
            self.flush()

    def flush(self) -> None:
        """Make a segment of the newest fingerprints."""
        newest = self._newest_segment()
        if newest is not None:
            self.segments.append(newest)
        self.recent.clear()
        self.table[0, FILLED] = 0
        self._changed()
        self._choose_merge()

    def work(self, steps: int) -> None:
        """Do some of the merge that is under way; see `Merge`."""
        assert self.merge is not None
        made = self.merge.work(steps)
        if made is None:
            return
        for document_id, fingerprint in self._removed_in_merge:
            _remove_from(made, document_id, fingerprint)
        self._removed_in_merge = []
        self.segments = [segment for segment in self.segments if segment not in self.merge.sources]
        if len(made):
            self.segments.append(made)
        self.merge = None
        self._changed()
        self._choose_merge()

    def compact(self) -> Segment:
        """Make one segment of everything, without what was removed, and return it."""
        whole = compacted(self.frozen())
        self.merge, self._removed_in_merge = None, []
        self.segments = [whole] if len(whole) else []
        self.recent.clear()
        self.table[0, FILLED] = 0
        self._changed()
        return whole

    def frozen(self) -> list[Segment]:
        """Return segments of everything that stay as it is now, whatever is added or removed."""
        segments = [
            replace(segment, removed=None if segment.removed is None else segment.removed.copy())
            for segment in self.segments
        ]
        newest = self._newest_segment()
        return segments if newest is None else [*segments, newest]

    def _newest_segment(self) -> Segment | None:
        ids = self.recent.ids[: self.newest]
        there = ids >= 0
        return build(ids[there], self.recent.fingerprints[: self.newest][there]) if there.any() else None

    def _changed(self) -> None:
        self.table = np.stack([self.table[0], *(segment.row for segment in self.segments)])

    def _choose_merge(self) -> None:
        """Begin to merge the smallest two segments of like size, if there are any and no other merge is under way."""
        if self.merge is not None:
            return
        for smaller, larger in pairwise(sorted(self.segments, key=len)):
            if len(larger) <= _RATIO * len(smaller):
                self._begin_merge(smaller, larger)
                return

    def _begin_merge(self, a: Segment, b: Segment) -> None:
        self.merge = Merge(a, b)
        self._steps = max(_LEAST_STEPS, self.merge.size * EVERY // (_FILLS_A_MERGE * CAPACITY))

    def _finish_merge(self) -> None:
        """Finish the merge that is under way; another one may begin."""
        merge = self.merge
        while merge is not None and self.merge is merge:
            self.work(merge.size)


def compacted(segments: list[Segment]) -> Segment:
    """Make one segment of several, without what was removed; they are left as they are."""
    left = list(segments)
    while len(left) > 1 or any(segment.removed is not None for segment in left):
        left.sort(key=len)
        merge = Merge(left[0], left[1] if len(left) > 1 else _empty())
        made = None
        while made is None:
            made = merge.work(merge.size)
        left = [*left[2:], made]
    return left[0] if left else _empty()


def _remove_from(segment: Segment, document_id: int, fingerprint: int) -> bool:
    slot = slot_of(segment.row, fingerprint, document_id)
    if slot < 0 or is_removed(segment.row, slot):
        return False
    segment.remove(slot)
    return True


@cache
def _load() -> None:
    """Compile, or load, what is needed later: an addition must not wait for it."""
    fingerprints = np.arange(2, dtype=np.uint64)
    # The documents of one of them need 8 bytes each.
    segments = [build(np.array([0, last]), fingerprints) for last in (1, _MAX_ID)]
    for segment in segments:
        merge = Merge(segment, segment)
        while merge.work(1 << 20) is None:
            pass
    slot_of(segments[0].row, 0, 0)


def _empty() -> Segment:
    return build(np.empty(0, np.int64), np.empty(0, np.uint64))
