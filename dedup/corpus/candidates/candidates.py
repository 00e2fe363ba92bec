"""Candidates among all documents of a corpus, however many there are."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from dedup.corpus.candidates.look_up import AT_ONCE, Closest, Stored, keys_of, look_up, places_of
from dedup.corpus.candidates.probing import probes_of
from dedup.index.memory.flips import Flips
from dedup.index.memory.index import MemoryIndex, require_design
from dedup.rules.settings import RuleSettings
from dedup.rules.verification import plan_of
from dedup.signature.schemes import find_scheme

MOST_COMPARED = 4_000_000
"""Of so many documents at most all are compared with, where probes flip weak bits.

Fingerprints of real texts crowd, and of those the index in memory takes five times as long. Of fingerprints that are
spread evenly it would take less from some 50,000 on.
"""

MOST_COMPARED_EXACTLY = 500_000
"""Likewise where they flip none, and bring few."""

MOST_CLOSEST = 1 << 24
"""So many candidates at most are kept for documents that are looked around at once, with eight bytes each."""

_GROWTH = 1.25
# More threads gain less than handing out work takes.
_MOST_THREADS = 4
_LEAST_OF_A_THREAD = 32


class Candidates:
    """The closest documents: by comparing with all of them while they are few, by the index in memory then.

    Both find the same.

    Args:
        settings: how far around a fingerprint is looked, and how many are wanted.
        threads: how many of them look at the same time.

    Raises:
        SettingsError: the table design is none that the index in memory has.
    """

    def __init__(self, settings: RuleSettings, threads: int) -> None:
        plan = plan_of(settings)
        require_design(plan)
        self._settings = settings
        self._flips_weak_bits = plan.weak_bits > 0
        self._limit = settings.max_candidates
        self._count = 0
        self._stored = Stored(np.zeros(AT_ONCE, np.uint64), np.zeros(AT_ONCE, np.int64), Flips.of(plan), plan.radius)
        self._threads = min(threads, _MOST_THREADS)
        self._pool = ThreadPoolExecutor(self._threads)

    def __len__(self) -> int:
        """How many there are."""
        return self._count

    @cached_property
    def _index(self) -> MemoryIndex:
        # Its compiled functions take half a second to load.
        return MemoryIndex(plan_of(self._settings), find_scheme(self._settings.scheme).name)

    @property
    def _is_indexed(self) -> bool:
        return self._count > (MOST_COMPARED if self._flips_weak_bits else MOST_COMPARED_EXACTLY)

    @property
    def nbytes(self) -> int:
        """How many bytes of memory they take."""
        stored = self._stored.fingerprints.nbytes + self._stored.numbers.nbytes
        return stored + (self._index.report().nbytes if self._is_indexed else 0)

    def at_once(self, count: int) -> int:
        """Return around how many of a batch it can be looked at once."""
        return max(1, MOST_CLOSEST // min(self._limit, self._count + count))

    def room(self, count: int) -> Stored:
        """Make room for further documents, which whoever enters them counts by `entered`; return all there are."""
        end = self._count + count + AT_ONCE
        if end > len(self._stored.numbers):
            for array in self._stored[:2]:
                # In place: a copy would need twice the memory.
                array.resize(int(end * _GROWTH), refcheck=False)
        return self._stored

    def entered(self, count: int) -> None:
        """Count what was entered behind the others, up to so many in all."""
        start = self._count if self._is_indexed else 0
        self._count = count
        if self._is_indexed:
            self._index.add_many(np.arange(start, count), self._stored.fingerprints[start:count])

    def add_many(self, numbers: NDArray[np.int64], fingerprints: NDArray[np.uint64]) -> None:
        """Add documents, with rising numbers."""
        stored, end = self.room(len(numbers)), self._count + len(numbers)
        stored.fingerprints[self._count : end], stored.numbers[self._count : end] = fingerprints, numbers
        self.entered(end)

    def find(self, queries: NDArray[np.uint64], margins: NDArray[np.int64], first: int) -> Closest:
        """Find the closest documents that the plan's probes bring.

        `look_up` goes on with what is added then, of which there is room for one document a query.

        Args:
            queries: the fingerprints that are looked around, shape (q,), no more than `at_once` says.
            margins: their margins, shape (q, 64).
            first: the place of the first one in its batch.
        """
        # Compiled code is made for one layout.
        queries, margins = np.ascontiguousarray(queries), np.ascontiguousarray(margins)
        size = len(queries)
        closest = Closest(
            first,
            queries,
            np.empty((size, min(self._limit, self._count + size)), np.int64),
            np.zeros(size, np.int64),
            np.zeros(size, np.int64),
            probes_of(queries, margins, self._stored.flips),
        )
        if self._is_indexed:
            self._find_indexed(margins, closest)
        else:
            self._compare_with_all(closest)
        return closest

    def _find_indexed(self, margins: NDArray[np.int64], closest: Closest) -> None:
        finds = self._index.query_many(closest.queries, margins, self._limit)
        closest.counts[:] = np.bincount(finds.queries, minlength=len(closest.counts))
        ranks = np.arange(len(finds.queries)) - np.repeat(np.cumsum(closest.counts) - closest.counts, closest.counts)
        closest.keys[finds.queries, ranks] = keys_of(finds.distances, finds.document_ids)
        closest.ends[:] = self._count

    def _compare_with_all(self, closest: Closest) -> None:
        size = len(closest.queries)
        threads = max(1, min(self._threads, size // _LEAST_OF_A_THREAD))
        bounds = [size * thread // threads for thread in range(threads + 1)]
        find = partial(look_up, self._stored, self._count)
        if threads == 1:
            find(0, size, closest)
            return
        for _ in self._pool.map(find, bounds[:-1], bounds[1:], repeat(closest)):
            pass

    def numbers_of(self, closest: Closest, query: int) -> NDArray[np.int64]:
        """Return the numbers of the closest documents of a query, the closest first, then by number."""
        return self._stored.numbers[places_of(closest.keys[query, : closest.counts[query]])]

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()
