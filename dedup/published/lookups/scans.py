"""Look-ups that read everything: the measure of all others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.published.lookups.kernels import compare_all, count_in_lists
from dedup.published.lookups.protocol import LookupResults
from dedup.signature.signature import BITS


class BruteForce:
    """Compare with every fingerprint; everything within the radius is found.

    Args:
        fingerprints: those stored, shape (n,).
        radius: the largest distance of a find, in bits.
    """

    tables = 1

    def __init__(self, fingerprints: NDArray[np.uint64], radius: int) -> None:
        self._stored = fingerprints
        self.radius = self.exact_radius = radius
        self.nbytes = fingerprints.nbytes
        self.expected_candidates = float(len(fingerprints))

    def query(self, fingerprints: NDArray[np.uint64], _margins: NDArray[np.int64]) -> LookupResults:
        """Look up some fingerprints; see `Lookup`. A query is one probe."""
        finds = compare_all(self._stored, fingerprints, np.uint64(self.radius))
        return LookupResults.of(finds, len(fingerprints), len(fingerprints) * len(self._stored))


class BitLists:
    """64 inverted lists, one a bit, used as they can be: by counting.

    The union of the lists that a query shares holds every fingerprint but its exact complement, so
    it is of no use; but a fingerprint that is missing from at most k of those 64 lists is within k
    bits. Everything within the radius is found. A list holds half of all fingerprints, so a bitmap
    is its smallest form.

    Args:
        fingerprints: those stored, shape (n,).
        radius: the largest distance of a find, in bits.
    """

    tables = BITS

    def __init__(self, fingerprints: NDArray[np.uint64], radius: int) -> None:
        self._stored = len(fingerprints)
        words = -(-self._stored // BITS)
        self._lists = np.zeros((BITS, words), np.uint64)
        for bit in range(BITS):
            ones = ((fingerprints >> np.uint64(bit)) & np.uint64(1)).astype(np.uint8)
            bitmap = np.packbits(np.pad(ones, (0, words * BITS - self._stored)), bitorder="little")
            self._lists[bit] = bitmap.view("<u8")
        self.radius = self.exact_radius = radius
        self.nbytes = self._lists.nbytes
        self.expected_candidates = float(self._stored)

    def query(self, fingerprints: NDArray[np.uint64], _margins: NDArray[np.int64]) -> LookupResults:
        """Look up some fingerprints; see `Lookup`. A query is one probe of every list."""
        finds = count_in_lists(self._lists, self._stored, fingerprints, self.radius)
        return LookupResults.of(finds, BITS * len(fingerprints), len(fingerprints) * self._stored)
