"""Candidates by a scan of all fingerprints, which up to half a million are faster than tables.

Fingerprints of real texts crowd: a wide look-up in permuted tables reads a large part of them anyway,
and jumps about for it. What is found is exactly what the plan's probes bring, see `ProbePlan`, by the
functions that look up in tables too.
"""

# Compiled functions are one with those that they call, and take nothing by name.
# ruff: noqa: PLR0912, PLR0917

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.bits import eight_bytes, equal_bytes, ones, signed
from dedup.compiled import compiled
from dedup.fingerprint.signature import BITS
from dedup.index.memory.flips import Flips, firm_bits, first_probed, probe
from dedup.index.memory.recent import block_of
from dedup.index.memory.segment import BLOCK_VALUES, BLOCKS
from dedup.index.probes import ProbePlan

_AT_ONCE = 64
_FIRST = 1 << 12
_GROWTH = 1.25
_WORDS = BLOCK_VALUES // BITS
_BLOCK_MASK = np.uint64(BLOCK_VALUES - 1)
# No distance.
_NONE = 255


class Scan:
    """The fingerprints of documents that are added with rising numbers.

    Args:
        plan: how far around a fingerprint is looked; four tables of one block of 16 bits.
        limit: how many documents at most are wanted.
    """

    def __init__(self, plan: ProbePlan, limit: int) -> None:
        self._flips = Flips.of(plan)
        self._radius = plan.radius
        self._limit = limit
        self._count = 0
        self._fingerprints = np.empty(_FIRST, np.uint64)
        self._numbers = np.empty(_FIRST, np.int64)

    def __len__(self) -> int:
        """How many there are."""
        return self._count

    @property
    def nbytes(self) -> int:
        """How many bytes of memory they take."""
        return self._fingerprints.nbytes + self._numbers.nbytes

    @property
    def entries(self) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """Numbers and fingerprints."""
        return self._numbers[: self._count], self._fingerprints[: self._count]

    def add_many(self, numbers: NDArray[np.int64], fingerprints: NDArray[np.uint64]) -> None:
        """Add documents."""
        self._make_room(len(numbers))
        end = self._count + len(numbers)
        self._numbers[self._count : end] = numbers
        self._fingerprints[self._count : end] = fingerprints
        self._count = end

    def room(self, count: int) -> tuple[NDArray[np.uint64], NDArray[np.int64], Flips, int, int]:
        """Return what compiled code scans, with room for further documents; `entered` counts those put there."""
        self._make_room(count)
        return self._fingerprints, self._numbers, self._flips, self._radius, self._limit

    def entered(self, count: int) -> None:
        """Count what was put in the room behind the others, up to so many in all."""
        self._count = count

    def _make_room(self, count: int) -> None:
        end = self._count + count
        if end > len(self._numbers):
            for array in (self._fingerprints, self._numbers):
                # In place: a copy would need twice the memory.
                array.resize(int(end * _GROWTH), refcheck=False)

    def closest(self, fingerprint: int, margins: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the documents that the plan's probes bring, the closest first, then by number."""
        places = closest(
            self._fingerprints[: self._count],
            np.uint64(fingerprint),
            margins,
            self._flips,
            self._radius,
            min(self._limit, self._count),
        )
        return self._numbers[places]


@compiled
def closest(
    stored: NDArray[np.uint64],
    query: np.uint64,
    margins: NDArray[np.int64],
    flips: Flips,
    radius: int,
    limit: int,
) -> NDArray[np.int64]:
    """Return the places of what is stored that the plan's probes bring, the closest first, then by place.

    Args:
        stored: fingerprints.
        query: the one that is looked around.
        margins: its margins.
        flips: how it is probed.
        radius: the largest distance.
        limit: how many are wanted at most.
    """
    probed = np.zeros((2, BLOCKS, _WORDS), np.uint64)
    values = np.empty(len(flips.exact) + (1 << flips.weak_bits), np.int64)
    firm = firm_bits(margins, flips.firm_margin)
    strong = np.empty(BLOCKS, np.uint64)
    for table in range(BLOCKS):
        block, flipped = block_of(query, table), signed(0)
        for place in range(probe(query, margins, table, flips, values)):
            kind = 0 if place < flips.starts[table + 1] - flips.starts[table] else 1
            probed[kind, table, values[place] >> 6] |= np.uint64(1) << np.uint64(values[place] & 63)
            flipped |= (values[place] ^ block) * kind
        bits = _BLOCK_MASK << np.uint64(48 - 16 * table)
        strong[table] = (firm & ~bits) | (bits & ~(np.uint64(flipped) << np.uint64(48 - 16 * table)))
    count = -(-len(stored) // _AT_ONCE)
    nearest = np.full(-(-count // 8) * 8, _NONE, np.uint8)
    for block in range(count):
        # Without a branch: the compiler does this for several at once.
        least = np.uint64(BITS)
        fingerprints = stored[block * _AT_ONCE : (block + 1) * _AT_ONCE]
        for place in range(len(fingerprints)):
            least = min(least, ones(fingerprints[place] ^ query))
        nearest[block] = least
    places, found = np.empty(limit, np.int64), 0
    for distance in range(radius + 1):
        for eight in range(0, len(nearest), 8):
            if equal_bytes(eight_bytes(nearest, np.uint64(eight)), distance) == 0:
                continue
            for block in range(eight, eight + 8):
                if nearest[block] != distance:
                    continue
                first = block * _AT_ONCE
                nearest[block], here = _look_at(stored[first : first + _AT_ONCE], query, distance)
                while here:
                    place = first + signed(ones((here & -here) - np.uint64(1)))
                    here &= here - np.uint64(1)
                    if not _may_be_probed(stored[place] ^ query, strong, flips.exact_bits):
                        continue
                    if first_probed(probed, query, firm, stored[place]) == BLOCKS:
                        continue
                    if found == limit:
                        return places
                    places[found] = place
                    found += 1
    return places[:found]


@compiled
def _may_be_probed(differing: np.uint64, strong: NDArray[np.uint64], exact_bits: NDArray[np.int64]) -> bool:
    """Say whether it is worth looking up if a fingerprint is probed, by the bits in which it differs.

    Args:
        differing: these bits.
        strong: for each table those in which what weak flips bring cannot differ.
        exact_bits: for each table in how many bits of its block what is always probed differs at most.
    """
    for table in range(BLOCKS):
        if differing & strong[table] == 0:
            return True
        block = differing & (_BLOCK_MASK << np.uint64(48 - 16 * table))
        if signed(ones(block)) <= exact_bits[table]:
            return True
    return False


@compiled
def _look_at(block: NDArray[np.uint64], query: np.uint64, distance: int) -> tuple[int, np.uint64]:
    """Return the least larger distance in a block of 64 fingerprints, and a bit for each that is at a distance."""
    least, here = np.uint64(BITS + 1), np.uint64(0)
    for place in range(len(block)):
        other = ones(block[place] ^ query)
        least = min(least, other if signed(other) > distance else np.uint64(BITS + 1))
        here |= np.uint64(signed(other) == distance) << np.uint64(place)
    return signed(least), here
