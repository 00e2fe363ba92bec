"""Look-ups by all variants: every fingerprint within some bits, of the query or of what is stored."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from dedup.errors import SettingsError
from dedup.index.probes import Probes
from dedup.published.lookups.protocol import LookupResults
from dedup.published.lookups.tables import SortedTables
from dedup.signature.signature import BITS

MAX_VARIANTS = 1_000_000
"""Of one query; 4 bits are 679,121."""

MAX_ROWS = 1 << 25
"""Of all variants stored: 400 MB, and as much again while they are sorted."""


def ball_size(radius: int) -> int:
    """Return how many fingerprints lie within this distance of any one: 43,745 within 3 bits."""
    return sum(comb(BITS, differing) for differing in range(radius + 1))


def _flips(radius: int) -> NDArray[np.uint64]:
    """Return all ways to flip at most so many bits, ascending: neighbours in memory follow each other."""
    powers = np.left_shift(np.uint64(1), np.arange(BITS, dtype=np.uint64))
    every = [
        powers[np.array(list(combinations(range(BITS), differing)))].sum(axis=1, dtype=np.uint64)
        for differing in range(1, radius + 1)
    ]
    return np.sort(np.concatenate([np.zeros(1, np.uint64), *every]))


class QueryVariants:
    """One sorted table, probed for every variant of the query; everything within the radius is found.

    The first of the two extremes in G. S. Manku, A. Jain, A. Das Sarma, WWW 2007, section 3.

    Args:
        fingerprints: those stored, shape (n,).
        radius: the largest distance of a find, in bits.

    Raises:
        SettingsError: a query has more than a million variants.
    """

    tables = 1

    def __init__(self, fingerprints: NDArray[np.uint64], radius: int) -> None:
        if ball_size(radius) > MAX_VARIANTS:
            raise SettingsError(
                f"all variants of the query: {ball_size(radius):,} probes a query at distance {radius}, "
                f"more than {MAX_VARIANTS:,}: take a distance of at most 4"
            )
        self._flips = _flips(radius)
        self._sorted = SortedTables([fingerprints])
        self.radius = self.exact_radius = radius
        self.nbytes = self._sorted.nbytes + self._flips.nbytes
        self.expected_candidates = len(self._flips) * len(fingerprints) / 2.0**BITS

    def query(self, fingerprints: NDArray[np.uint64], _margins: NDArray[np.int64]) -> LookupResults:
        """Look up some fingerprints; see `Lookup`."""
        # One query after the other: the probes of a thousand would fill 2 GB.
        each = [self._query(query, fingerprint) for query, fingerprint in enumerate(fingerprints)]
        return LookupResults(
            np.concatenate([np.zeros(0, np.int64), *(found.queries for found in each)]),
            np.concatenate([np.zeros(0, np.int64), *(found.positions for found in each)]),
            sum(found.probes for found in each),
            sum(found.candidates for found in each),
        )

    def _query(self, query: int, fingerprint: np.uint64) -> LookupResults:
        variants = self._flips ^ fingerprint
        probes = Probes(np.zeros(len(variants), np.int64), variants, variants, np.full(len(variants), fingerprint))
        return self._sorted.scan(probes, np.full(len(variants), query), self.radius)


class StoredVariants:
    """A sorted table of every variant of every fingerprint, probed once; for small n alone.

    Everything within the radius is found. The second extreme in Manku et al., WWW 2007, section 3.

    Args:
        fingerprints: those stored, shape (n,).
        radius: the largest distance of a find, in bits.

    Raises:
        SettingsError: there would be more than 33,554,432 rows.
    """

    tables = 1

    def __init__(self, fingerprints: NDArray[np.uint64], radius: int) -> None:
        rows = len(fingerprints) * ball_size(radius)
        if rows > MAX_ROWS:
            raise SettingsError(
                f"all variants of the stored: {len(fingerprints):,} x {ball_size(radius):,} rows at distance "
                f"{radius} are more than {MAX_ROWS:,}: store at most {MAX_ROWS // ball_size(radius):,} fingerprints"
            )
        flips = _flips(radius)
        self._sorted = SortedTables([(fingerprints[:, np.newaxis] ^ flips).ravel()], copies=len(flips))
        self.radius = self.exact_radius = radius
        self.nbytes = self._sorted.nbytes
        self.expected_candidates = rows / 2.0**BITS

    def query(self, fingerprints: NDArray[np.uint64], _margins: NDArray[np.int64]) -> LookupResults:
        """Look up some fingerprints; see `Lookup`. A query is one probe, and every candidate a find."""
        probes = Probes(np.zeros(len(fingerprints), np.int64), fingerprints, fingerprints, fingerprints)
        return self._sorted.scan(probes, np.arange(len(fingerprints)), self.radius)
