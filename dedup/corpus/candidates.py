"""Candidates among all documents of a corpus, however many there are."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dedup.corpus.scanning import Scan
from dedup.fingerprint.schemes import find_scheme
from dedup.index.memory.index import MemoryIndex, require_design
from dedup.rules.verification import plan_of
from dedup.settings import RuleSettings

_MOST_SCANNED = 500_000
# So many candidates at most are noted at once, with eight bytes each.
_MOST_NOTED = 1 << 24


class Candidates:
    """The closest documents: by a scan while there are few fingerprints, by the index in memory then.

    Both find the same.

    Args:
        settings: how far around a fingerprint is looked, and how many are wanted.
        threads: how many of them scan at the same time.

    Raises:
        SettingsError: the table design is none that the index in memory has.
    """

    def __init__(self, settings: RuleSettings, threads: int) -> None:
        self._settings = settings
        plan = plan_of(settings)
        require_design(plan)
        self._scan: Scan | None = Scan(plan, settings.max_candidates, threads)

    @cached_property
    def _index(self) -> MemoryIndex:
        # Its compiled functions take half a second to load.
        return MemoryIndex(plan_of(self._settings), find_scheme(self._settings.scheme).name)

    @property
    def nbytes(self) -> int:
        """How many bytes of memory they take."""
        return self._index.report().nbytes if self._scan is None else self._scan.nbytes

    def scan_for(self, count: int) -> Scan | None:
        """Return the scan, if it can look around so many at once, and be it still when they are added; else None."""
        if self._scan is None or len(self._scan) + count > _MOST_SCANNED:
            return None
        most = min(self._settings.max_candidates, len(self._scan))
        return self._scan if count * most <= _MOST_NOTED else None

    def close(self) -> None:
        """End the threads."""
        if self._scan is not None:
            self._scan.close()

    def add(self, number: int, fingerprint: int) -> None:
        """Add a document, with a higher number than all before."""
        if self._scan is None:
            self._index.add(number, fingerprint)
        else:
            self.add_many(np.array([number]), np.array([fingerprint], np.uint64))

    def add_many(self, numbers: NDArray[np.int64], fingerprints: NDArray[np.uint64]) -> None:
        """Add documents, with rising numbers."""
        if self._scan is None:
            self._index.add_many(numbers, fingerprints)
            return
        self._scan.add_many(numbers, fingerprints)
        if len(self._scan) > _MOST_SCANNED:
            self._index.add_many(*self._scan.entries)
            self._scan.close()
            self._scan = None

    def closest(self, fingerprint: int, margins: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the documents that `MemoryIndex.query` brings."""
        if self._scan is not None:
            return self._scan.closest(fingerprint, margins)
        queries = np.array([fingerprint], np.uint64)
        return self._index.query_many(queries, margins[np.newaxis], self._settings.max_candidates).document_ids
