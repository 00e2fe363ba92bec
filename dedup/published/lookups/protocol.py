"""What every look-up has in common."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

_POSITION_BITS = 32
_POSITION = (1 << _POSITION_BITS) - 1


class LookupResults(NamedTuple):
    """What the look-ups of some queries found, and what they took.

    Attributes:
        queries: for each find the number of its query, ascending; shape (m,).
        positions: and the position of the stored fingerprint, ascending within a query and each
            once; shape (m,).
        probes: how many places were looked up, of all queries together.
        candidates: how many stored fingerprints were met there, each as often as it was met.
    """

    queries: NDArray[np.int64]
    positions: NDArray[np.int64]
    probes: int
    candidates: int

    @classmethod
    def of(cls, finds: NDArray[np.int64], probes: int, candidates: int) -> LookupResults:
        """Make it of finds as kernels write them (query << 32 | position), in any order, some twice."""
        finds = np.unique(finds)
        return cls(finds >> _POSITION_BITS, finds & _POSITION, probes, candidates)


class Lookup(Protocol):
    """A way to look up near fingerprints; made of an array of fingerprints, uint64 of shape (n,).

    Everything within `exact_radius` bits of a query is found, nothing beyond `radius` is. In
    between, what the probes happen to bring is found; the class says what that is.
    """

    @property
    def radius(self) -> int:
        """The largest distance of a find, in bits."""

    @property
    def exact_radius(self) -> int:
        """The distance within which nothing is missed, in bits."""

    @property
    def tables(self) -> int:
        """How many tables, lists or copies of the fingerprints there are."""

    @property
    def expected_candidates(self) -> float:
        """How many candidates a query meets if all fingerprints are uniformly random."""

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays that are kept."""

    def query(self, fingerprints: NDArray[np.uint64], margins: NDArray[np.int64]) -> LookupResults:
        """Look up some fingerprints, one after the other.

        Args:
            fingerprints: the queries, shape (q,).
            margins: the margins of their bits, shape (q, 64); bit 0 is the least significant.
        """
