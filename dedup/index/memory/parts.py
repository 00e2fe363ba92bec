"""The parts of an index: the newest fingerprints and the segments, and how they grow without a pause.

The newest stand in small hash tables. When these are full they become a segment, and segments of
like size are merged in a thread of their own.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dedup.index.memory.building import build, merged
from dedup.index.memory.near import BUFFER_LENGTH
from dedup.index.memory.recent import BUFFER, CAPACITY, RESULTS, RESULTS_LENGTH, Recent, append
from dedup.index.memory.segment import Segment

EVERY = 64
"""After so many additions `advance` is called."""

_RATIO = 3
"""A segment is merged with the smaller ones when it is no more than so many times as large as all of these."""

_MOST_APPENDED = 1 << 11
"""More at once are made a segment of their own."""

_MERGES = 4
_RESULTS = 1024


@dataclass(eq=False)
class Merge:
    """Some segments that become one.

    Attributes:
        sources: the segments.
        made: the new one, sooner or later.
        removed: documents and fingerprints that were removed meanwhile.
    """

    sources: list[Segment]
    made: Future[Segment]
    removed: list[tuple[int, np.uint64]] = field(default_factory=list)


class Parts:
    """The parts, and the table of addresses by which compiled functions find them.

    Args:
        radius: see `Recent`.

    Attributes:
        table: one row for the newest fingerprints and one for each segment; replaced when they change.
        recent: the newest fingerprints.
        segments: the segments.
        merges: what is being merged.
        results: receives what a single query finds, shape (m, 3); see `make_room`.
    """

    def __init__(self, radius: int) -> None:
        self.recent = Recent(radius)
        self.segments: list[Segment] = []
        self.merges: list[Merge] = []
        # Small segments are merged while large ones are, so that there are never many.
        self._threads = ThreadPoolExecutor(_MERGES, "merge index")
        self._buffer = np.empty(BUFFER_LENGTH, np.int64)
        self.recent.row[BUFFER] = self._buffer.ctypes.data
        self.make_room(_RESULTS)

    def __len__(self) -> int:
        return len(self.recent.entries()[0]) + sum(segment.documents for segment in self.segments)

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays, without those of a merge that is under way."""
        return self.recent.nbytes + sum(segment.nbytes for segment in self.segments)

    def make_room(self, results: int) -> None:
        """Make room for so many results of a single query."""
        self.results = np.empty((results, 3), np.int64)
        self.recent.row[[RESULTS, RESULTS_LENGTH]] = self.results.ctypes.data, results
        self._changed()

    def add_many(self, ids: NDArray[np.int64], fingerprints: NDArray[np.uint64]) -> None:
        """Store fingerprints, shape (n,), and merge all that is to be merged."""
        if len(ids) > _MOST_APPENDED:
            self.append(build(ids, fingerprints))
        else:
            for document, fingerprint in zip(ids.tolist(), fingerprints.view(np.int64).tolist(), strict=True):
                if append(self.table, document, fingerprint) == CAPACITY:
                    self.flush()
        self._choose_merges()
        while self.merges:
            self._take_over(self.merges[0])

    def append(self, segment: Segment) -> None:
        """Add a segment."""
        self.segments.append(segment)
        self._changed()

    def remove(self, document_id: int, fingerprint: np.uint64) -> bool:
        """Take a document out, wherever it stands with this fingerprint; return whether it was there."""
        was_there = self.recent.remove(document_id, fingerprint)
        for segment in self.segments:
            was_there |= segment.remove(document_id, fingerprint)
        self._changed()
        for merge in self.merges:
            merge.removed.append((document_id, fingerprint))
        return was_there

    def advance(self, count: int) -> None:
        """Do what is due after some additions: take over a segment that was made, and make room for new fingerprints.

        Args:
            count: how many fingerprints stand in no segment.
        """
        for merge in [each for each in self.merges if each.made.done()]:
            self._take_over(merge)
        if count == CAPACITY:
            self.flush()

    def flush(self) -> None:
        """Make a segment of the newest fingerprints."""
        self.segments += self._newest()
        self.recent.clear()
        self._changed()
        self._choose_merges()

    def compact(self) -> Segment:
        """Make one segment of everything, without what was removed, and return it."""
        whole = compacted(self.frozen())
        self.merges = []
        self.segments = [whole] if len(whole) else []
        self.recent.clear()
        self._changed()
        return whole

    def frozen(self) -> list[Segment]:
        """Return segments of everything that stay as it is now, whatever is added or removed."""
        return _frozen(self.segments) + self._newest()

    def _newest(self) -> list[Segment]:
        ids, fingerprints = self.recent.entries()
        return [build(ids, fingerprints)] if len(ids) else []

    def _changed(self) -> None:
        self.table = np.stack([self.recent.row, *(segment.row for segment in self.segments)])
        self.recent.row = self.table[0]

    def _choose_merges(self) -> None:
        """Begin to merge the segments of like size that are not being merged."""
        merging = [segment for merge in self.merges for segment in merge.sources]
        sources: list[Segment] = []
        for segment in sorted((each for each in self.segments if each not in merging), key=len):
            if len(segment) > _RATIO * sum(map(len, sources)):
                if len(sources) > 1:
                    break
                sources = []
            sources.append(segment)
        if len(sources) > 1:
            self.merges.append(Merge(sources, self._threads.submit(merged, _frozen(sources))))

    def _take_over(self, merge: Merge) -> None:
        """Wait for a merge and put the segment that it made in the place of its sources; another one may begin."""
        self.merges.remove(merge)
        made = merge.made.result()
        for document_id, fingerprint in merge.removed:
            made.remove(document_id, fingerprint)
        self.segments = [segment for segment in self.segments if segment not in merge.sources]
        if len(made):
            self.segments.append(made)
        self._changed()
        self._choose_merges()


def _frozen(segments: list[Segment]) -> list[Segment]:
    """Return the segments as they are now: of one that stays as it is, documents may still be removed."""
    return [replace(each, removed=None if each.removed is None else each.removed.copy()) for each in segments]


def compacted(segments: list[Segment]) -> Segment:
    """Make one segment of several, without what was removed; they are left as they are."""
    if len(segments) == 1 and segments[0].removed is None:
        return segments[0]
    return merged(segments)
