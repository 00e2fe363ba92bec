"""Candidates among all fingerprints of a corpus that is not too large, by reading those that can be any.

Fingerprints of real texts crowd: a wide look-up brings thousands, of which the closest few are wanted. So
the fingerprints themselves stand in four arrays, each sorted by one block of 16 bits, and what a probe
brings is one run, read from its beginning to its end, 64 fingerprints at a time. The newest ones are read
all, until it is worth sorting them too. What is found is exactly what the plan's probes bring, see
`ProbePlan`; `closest.py` finds it.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import compiled
from dedup.corpus.closest import AT_ONCE, Closest, Scanned, find_closest, places_of
from dedup.index.memory.flips import Flips
from dedup.index.memory.recent import block_of
from dedup.index.memory.segment import BLOCK_VALUES, BLOCKS
from dedup.index.probes import ProbePlan

_GROWTH = 1.25
# So many are read for every look-up before they are sorted, or this share of those that are.
_LEAST_UNSORTED = 1 << 11
_SHARE_UNSORTED = 1 / 16
# More threads gain less than handing out work takes.
_MOST_THREADS = 4
_AT_A_TIME = 32


class LookUps:
    """The closest documents of several fingerprints, while they are found.

    Args:
        scanned: what is looked up in.
        queries: the fingerprints that are looked around, shape (q,).
        margins: their margins, shape (q, 64).
        closest: takes what is found.
    """

    def __init__(
        self, scanned: Scanned, queries: NDArray[np.uint64], margins: NDArray[np.int64], closest: Closest
    ) -> None:
        self._scanned = scanned
        self._queries, self._margins = queries, margins
        self._closest = closest
        # Whoever is done takes the next few, so that a thread that has to wait for a core holds up no other.
        self._starts = iter(range(0, len(queries), _AT_A_TIME))
        self._helping: list[Future[None]] = []

    def share(self, pool: ThreadPoolExecutor, threads: int) -> None:
        """Let so many threads do it, as far as there is work for one more."""
        self._helping = [pool.submit(self._find) for _ in range(min(threads, len(self._queries) // _AT_A_TIME))]

    def result(self) -> Closest:
        """Do what is left of it, and return what was found."""
        self._find()
        for each in self._helping:
            if not each.cancel():
                each.result()
        return self._closest

    def _find(self) -> None:
        for start in self._starts:
            span = slice(start, start + _AT_A_TIME)
            keys, counts, kept, known = self._closest
            part = Closest(keys[span], counts[span], kept[span], known)
            find_closest(self._scanned, part.known, self._queries[span], self._margins[span], part)


class Scan:
    """The fingerprints of documents that are added with rising numbers.

    Args:
        plan: how far around a fingerprint is looked; four tables of one block of 16 bits.
        limit: how many documents at most are wanted.
        threads: how many look up at the same time.
    """

    def __init__(self, plan: ProbePlan, limit: int, threads: int = 1) -> None:
        self._threads = min(threads, _MOST_THREADS)
        self._pool = ThreadPoolExecutor(_MOST_THREADS)
        self._flips = Flips.of(plan)
        self._radius = plan.radius
        self._limit = limit
        self._count = self._sorted = 0
        self._fingerprints, self._numbers = np.empty(0, np.uint64), np.empty(0, np.int64)
        self._grouped, self._places = np.empty(0, np.uint64), np.empty(0, np.uint32)
        self._starts = np.zeros((BLOCKS, BLOCK_VALUES + 1), np.uint32)

    def __len__(self) -> int:
        """How many there are."""
        return self._count

    @property
    def nbytes(self) -> int:
        """How many bytes of memory they take."""
        arrays = self._fingerprints, self._numbers, self._grouped, self._places, self._starts
        return sum(array.nbytes for array in arrays)

    @property
    def entries(self) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """Numbers and fingerprints."""
        return self._numbers[: self._count], self._fingerprints[: self._count]

    def add_many(self, numbers: NDArray[np.int64], fingerprints: NDArray[np.uint64]) -> None:
        """Add documents."""
        _enter_many(self.room(len(numbers)), self._count, numbers, fingerprints)
        self._count += len(numbers)

    def room(self, count: int) -> Scanned:
        """Return what compiled code looks up in, with room for further documents; `entered` counts those put there."""
        end = self._count + count
        if end > len(self._numbers) - AT_ONCE:
            for array in (self._fingerprints, self._numbers):
                # In place: a copy would need twice the memory.
                array.resize(int(end * _GROWTH) + AT_ONCE, refcheck=False)
        if end > len(self._grouped) - (BLOCKS - 1) * self._sorted - AT_ONCE:
            self._sort(count)
        return Scanned(
            self._fingerprints,
            self._numbers,
            self._grouped,
            self._places,
            self._starts,
            self._flips,
            self._radius,
            self._limit,
        )

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()

    def entered(self, count: int) -> None:
        """Count what was put in the room behind the others, up to so many in all."""
        self._count = count

    def closest(self, fingerprint: int, margins: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the documents that the plan's probes bring, the closest first, then by number."""
        found = self.find_closest(np.array([fingerprint], np.uint64), margins[np.newaxis])
        return self._numbers[places_of(found.keys[0, : found.counts[0]])]

    def find_closest(self, queries: NDArray[np.uint64], margins: NDArray[np.int64]) -> Closest:
        """Find the closest documents of several, as `closest` does those of one.

        Args:
            queries: the fingerprints that are looked around, shape (q,).
            margins: their margins, shape (q, 64).
        """
        return self.begin(queries, margins).result()

    def begin(self, queries: NDArray[np.uint64], margins: NDArray[np.int64]) -> LookUps:
        """Begin to find the closest of those documents that there are now; further ones may be added meanwhile."""
        most = min(self._limit, self._count)
        count = len(queries)
        closest = Closest(
            np.empty((count, most), np.int64),
            np.empty(count, np.int64),
            np.empty((count, BLOCKS), np.uint64),
            self._count,
        )
        look_ups = LookUps(self.room(0), queries, margins, closest)
        look_ups.share(self._pool, self._threads - 1)
        return look_ups

    def _sort(self, count: int) -> None:
        """Sort all that there are, and make room for further ones behind them."""
        unsorted = max(_LEAST_UNSORTED, int(self._count * _SHARE_UNSORTED)) + count
        self._sorted = self._count
        size = BLOCKS * self._sorted + unsorted + AT_ONCE
        # What stood in them is not needed to sort, and both at once would take twice the memory.
        self._grouped, self._places = np.empty(0, np.uint64), np.empty(0, np.uint32)
        self._grouped, self._places = np.zeros(size, np.uint64), np.zeros(size, np.uint32)
        # Look-ups that are under way go on with the old ones.
        self._starts = np.zeros_like(self._starts)
        _sort(self._fingerprints, self._sorted, self._grouped, self._places, self._starts)


@compiled
def _sort(
    fingerprints: NDArray[np.uint64],
    count: int,
    grouped: NDArray[np.uint64],
    places: NDArray[np.uint32],
    starts: NDArray[np.uint32],
) -> None:
    for table in range(BLOCKS):
        sizes = np.zeros(BLOCK_VALUES, np.uint32)
        for place in range(count):
            sizes[block_of(fingerprints[place], table)] += np.uint32(1)
        starts[table, 0] = table * count
        for value in range(BLOCK_VALUES):
            starts[table, value + 1] = starts[table, value] + sizes[value]
        ends = starts[table].copy()
        for place in range(count):
            value = block_of(fingerprints[place], table)
            grouped[ends[value]] = fingerprints[place]
            places[ends[value]] = place
            ends[value] += np.uint32(1)


@compiled
def enter(scanned: Scanned, place: int, number: int, fingerprint: np.uint64) -> None:
    """Put a document in the room behind the others, of which there are `place`."""
    scanned.fingerprints[place] = fingerprint
    scanned.numbers[place] = number
    count = scanned.starts[1, 0]
    scanned.grouped[(BLOCKS - 1) * count + place] = fingerprint
    scanned.places[(BLOCKS - 1) * count + place] = place


@compiled
def _enter_many(scanned: Scanned, place: int, numbers: NDArray[np.int64], fingerprints: NDArray[np.uint64]) -> None:
    for each in range(len(numbers)):
        enter(scanned, place + each, numbers[each], fingerprints[each])
