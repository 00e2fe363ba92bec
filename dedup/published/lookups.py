"""The published ways to look up near fingerprints, in plain numpy, to be measured beside each other.

The papers that are named by their years:

- 1997: P. O'Neil, D. Quass, "Improved query performance with variant indexes", SIGMOD.
- 2007: G. S. Manku, A. Jain, A. Das Sarma, "Detecting near-duplicates for web crawling", WWW.
- 2012: M. Norouzi, A. Punjani, D. Fleet, "Fast search in Hamming space with multi-index hashing", CVPR.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dedup.errors import SettingsError
from dedup.index.design import PermutedTable, TableDesign
from dedup.signature.signature import BITS

MAX_PROBES = 1_000_000  # of one query; all variants within 4 bits are 679,121
MAX_ROWS = 1 << 25  # of all variants stored: 400 MB, and as much again while they are sorted
POSITION_BITS = 32
_CACHED = 1 << 16  # so many fingerprints, and what is made of them, stay in the cache of a core

Positions = NDArray[np.int64]
Fingerprints = NDArray[np.uint64]


class LookupResults(NamedTuple):
    """What the look-ups of some queries found, and what they took.

    Attributes:
        queries: for each find the number of its query, ascending; shape (m,).
        positions: and that of the stored fingerprint, ascending within a query, each once; shape (m,).
        probes: how many places were looked up, of all queries together.
        candidates: how many stored fingerprints were met there, each as often as it was met.
    """

    queries: Positions
    positions: Positions
    probes: int
    candidates: int

    @classmethod
    def of(cls, finds: Sequence[Positions], probes: int, candidates: int) -> LookupResults:
        """Make it of finds, each `query << 32 | position`, in any order, some twice."""
        unique = np.unique(np.concatenate([np.zeros(0, np.int64), *finds]))
        return cls(unique >> POSITION_BITS, unique & (1 << POSITION_BITS) - 1, probes, candidates)


class Lookup(Protocol):
    """A way to look up near fingerprints; made of an array of fingerprints, shape (n,).

    Attributes:
        radius: the largest distance of a find, in bits.
        exact_radius: the distance within which nothing is missed; beyond it, what probes meet is found.
        tables: how many tables, lists or copies of the fingerprints there are.
        nbytes: the bytes of the arrays that are kept.
    """

    radius: int
    exact_radius: int
    tables: int
    nbytes: int

    def query(self, fingerprints: Fingerprints) -> LookupResults:
        """Look up some fingerprints, shape (q,)."""


class BruteForce:
    """Compare with every fingerprint, in one probe: what all else is measured by; all within the radius is found."""

    tables = 1

    def __init__(self, fingerprints: Fingerprints, radius: int) -> None:
        self._stored = fingerprints
        self.radius = self.exact_radius = radius
        self.nbytes = fingerprints.nbytes

    def query(self, fingerprints: Fingerprints) -> LookupResults:
        """Look up some fingerprints; see `Lookup`."""
        finds = []
        for start in range(0, len(self._stored), _CACHED):
            block = self._stored[start : start + _CACHED]
            for query, fingerprint in enumerate(fingerprints):
                near = np.flatnonzero(np.bitwise_count(block ^ fingerprint) <= self.radius)
                finds.append(near + (query << POSITION_BITS | start))
        return LookupResults.of(finds, len(fingerprints), len(fingerprints) * len(self._stored))


class BitLists:
    """64 inverted lists, one a bit, used as they can be: by counting; all within the radius is found.

    The union of the lists that a query shares holds every fingerprint but its exact complement; but
    one that is missing from at most k of those 64 lists is within k bits. A list holds half of all
    fingerprints, so a bitmap is its smallest form: a bit-sliced index (1997, section 2).
    """

    tables = BITS

    def __init__(self, fingerprints: Fingerprints, radius: int) -> None:
        self._stored = len(fingerprints)
        words = np.zeros(-(-self._stored // BITS) * BITS, np.uint64)
        words[: self._stored] = fingerprints
        # Bit by bit, since all bits at once would take 64 bytes for each fingerprint.
        lists = [np.packbits((words >> np.uint64(bit)).astype(np.uint8) & 1, bitorder="little") for bit in range(BITS)]
        self._lists = np.stack(lists).view(np.uint64)
        self.radius = self.exact_radius = radius
        self.nbytes = self._lists.nbytes

    def query(self, fingerprints: Fingerprints) -> LookupResults:
        """Look up some fingerprints; see `Lookup`. A query is one probe of every list."""
        finds = [self._near(fingerprint) + (query << POSITION_BITS) for query, fingerprint in enumerate(fingerprints)]
        return LookupResults.of(finds, BITS * len(fingerprints), len(fingerprints) * self._stored)

    def _near(self, fingerprint: np.uint64) -> Positions:
        planes = self.radius.bit_length()
        beyond = np.zeros(self._lists.shape[1], np.uint64)
        # Bit i of the planes together is the i-th count, which begins where one beyond the radius overflows.
        first = (1 << planes) - 1 - self.radius
        counts = [beyond if first >> plane & 1 == 0 else ~beyond for plane in range(planes)]
        for bit, stored in enumerate(self._lists):
            carry = ~stored if int(fingerprint) >> bit & 1 else stored
            for plane, count in enumerate(counts):
                counts[plane], carry = count ^ carry, count & carry
            beyond = beyond | carry
        return np.flatnonzero(np.unpackbits((~beyond).view(np.uint8), count=self._stored, bitorder="little"))


class _SortedTable:
    """Values in the order of a table, sorted, and the probes of them that a query makes.

    Args:
        values: in the order in which fingerprints are stored, shape (m,).
        flips: for each probe what is flipped of the query, in the order of the table; shape (p,).
        table: brings fingerprints into that order, and says which bits a probe fixes; None: as they are, all.
        copies: how many values in succession belong to one stored fingerprint.
    """

    def __init__(
        self, values: Fingerprints, flips: Fingerprints, table: PermutedTable | None = None, copies: int = 1
    ) -> None:
        free = BITS - len(table.prefix) if table else 0
        self._moves = table.moves if table else ((0, 2**BITS - 1, 0),)
        self._free = np.uint64((1 << free) - 1)
        values = self._permuted(values)
        order = np.argsort(values)
        self._positions = (order // copies).astype(np.uint32)
        self._values, self.flips = values[order], flips << np.uint64(free)
        self.nbytes = self._values.nbytes + self._positions.nbytes + self.flips.nbytes

    def find(self, fingerprints: Fingerprints, radius: int) -> tuple[Positions, int]:
        """Return what is found, as `query << 32 | position`, and the number of candidates."""
        asked = self._permuted(fingerprints)
        firsts, afters = self._ranges(((asked[:, np.newaxis] ^ self.flips) & ~self._free).ravel())
        counts = afters - firsts
        places = np.arange(counts.sum()) + np.repeat(afters - np.cumsum(counts), counts)
        queries = np.repeat(np.arange(len(counts)) // len(self.flips), counts)
        near = np.bitwise_count(self._read(places) ^ asked[queries]) <= radius
        return queries[near] << POSITION_BITS | self._positions[places[near]], len(places)

    def _ranges(self, lows: Fingerprints) -> tuple[Positions, Positions]:
        return np.searchsorted(self._values, lows), np.searchsorted(self._values, lows | self._free, "right")

    def _read(self, places: Positions) -> Fingerprints:
        return self._values[places]

    def _permuted(self, fingerprints: Fingerprints) -> Fingerprints:
        ordered = np.zeros_like(fingerprints)
        for right, mask, left in self._moves:
            ordered |= (fingerprints >> np.uint64(right) & np.uint64(mask)) << np.uint64(left)
        return ordered


class _BlockLists(_SortedTable):
    """For every value of 16 bits the list of the positions of the fingerprints that have it."""

    def __init__(self, values: Fingerprints, flips: Fingerprints, table: PermutedTable) -> None:
        super().__init__(values, flips, table)
        self._starts = np.searchsorted(self._values >> np.uint64(48), np.arange(2**16 + 1, dtype=np.uint64))
        self.nbytes += self._starts.nbytes - self._values.nbytes
        self._values = values  # what all blocks have in common, unsorted

    def _ranges(self, lows: Fingerprints) -> tuple[Positions, Positions]:
        blocks = lows >> np.uint64(48)
        return self._starts[blocks], self._starts[blocks + np.uint64(1)]

    def _read(self, places: Positions) -> Fingerprints:
        return self._permuted(self._values[self._positions[places]])


class _Probing:
    """A look-up that probes some tables."""

    def __init__(self, tables: Sequence[_SortedTable], radius: int, exact_radius: int) -> None:
        self._tables, self.radius, self.exact_radius = tables, radius, exact_radius
        self.tables = len(tables)
        self.nbytes = sum(table.nbytes for table in tables)

    def query(self, fingerprints: Fingerprints) -> LookupResults:
        """Look up some fingerprints; see `Lookup`."""
        finds, candidates = [], 0
        for table in self._tables:
            step = max(1, _CACHED // len(table.flips))
            for start in range(0, len(fingerprints), step):
                found, met = table.find(fingerprints[start : start + step], self.radius)
                finds.append(found + (start << POSITION_BITS))
                candidates += met
        return LookupResults.of(finds, len(fingerprints) * sum(len(table.flips) for table in self._tables), candidates)


class PermutedTables(_Probing):
    """Permuted tables: everything that agrees with the query in some table's prefix is compared.

    2007, section 3; section 3.1.2 for designs that are nested. Where one block is the prefix and the
    exact radius asks for it, all ways to flip some of its bits are probed: 2012, section 3.

    Raises:
        SettingsError: the design misses something within the exact radius, or takes too many probes.
    """

    _kind: type[_SortedTable] = _SortedTable

    def __init__(self, fingerprints: Fingerprints, radius: int, exact_radius: int, design: TableDesign) -> None:
        flips = [_flips_needed(design, table.number, exact_radius) for table in design.tables]
        asked = [(table, most) for table, most in zip(design.tables, flips, strict=True) if most >= 0]
        _check_probes(str(design), sum(_ball(len(table.prefix), most) for table, most in asked))
        tables = [self._kind(fingerprints, _flips(len(table.prefix), most), table) for table, most in asked]
        super().__init__(tables, radius, exact_radius)


class InvertedBlocks(PermutedTables):
    """Inverted lists of four blocks of 16 bits, as programs keep what 2007, section 3 has in tables.

    They find the same. The fingerprints are kept once, so that every candidate is a jump in memory.
    """

    _kind = _BlockLists

    def __init__(self, fingerprints: Fingerprints, radius: int, exact_radius: int) -> None:
        super().__init__(fingerprints, radius, exact_radius, TableDesign(4, 1))
        self.nbytes += fingerprints.nbytes


class QueryVariants(_Probing):
    """One sorted table, probed for every variant of the query within the radius; 2007, section 3, the first extreme.

    Raises:
        SettingsError: a query has more than a million variants.
    """

    def __init__(self, fingerprints: Fingerprints, radius: int) -> None:
        _check_probes("all variants of the query", _ball(BITS, radius))
        super().__init__([_SortedTable(fingerprints, _flips(BITS, radius))], radius, radius)


class StoredVariants(_Probing):
    """A sorted table of the variants of all fingerprints, probed once; 2007, section 3, the second extreme.

    Raises:
        SettingsError: there would be more than 33,554,432 rows.
    """

    def __init__(self, fingerprints: Fingerprints, radius: int) -> None:
        ball = _ball(BITS, radius)
        if len(fingerprints) * ball > MAX_ROWS:
            raise SettingsError(
                f"all variants of the stored: {len(fingerprints):,} x {ball:,} rows at distance {radius} are more "
                f"than {MAX_ROWS:,}: store at most {MAX_ROWS // ball:,} fingerprints"
            )
        values = (fingerprints[:, np.newaxis] ^ _flips(BITS, radius)).ravel()
        super().__init__([_SortedTable(values, np.zeros(1, np.uint64), copies=ball)], radius, radius)


def _flips_needed(design: TableDesign, number: int, radius: int) -> int:
    """Return how many bits of a table's prefix are flipped, in all ways, to miss nothing; -1: it is not asked."""
    if design.chosen == 1 and design.inner is None:
        # The narrower blocks come last; flips cost least there.
        return max(-1, (radius - design.blocks + 1 + number) // design.blocks)
    level: TableDesign | None = design
    while level is not None:
        if level.blocks - level.chosen < radius:
            raise SettingsError(f"{design}: its tables miss fingerprints within {radius} bits: choose fewer blocks")
        level = level.inner
    return 0


def _check_probes(name: str, probes: int) -> None:
    if probes > MAX_PROBES:
        raise SettingsError(f"{name}: {probes:,} probes a query are more than {MAX_PROBES:,}: take a smaller distance")


def _ball(bits: int, radius: int) -> int:
    """Return how many values of so many bits lie within this distance of any one: of 64, 43,745 within 3 bits."""
    return sum(comb(bits, differing) for differing in range(radius + 1))


def _flips(bits: int, most: int) -> Fingerprints:
    """Return all ways to flip at most so many of the lowest bits, ascending: neighbours in memory follow each other."""
    powers = np.left_shift(np.uint64(1), np.arange(bits, dtype=np.uint64))
    every = [powers[np.array(list(combinations(range(bits), count)), int)].sum(axis=1) for count in range(1, most + 1)]
    return np.sort(np.concatenate([np.zeros(1, np.uint64), *every]))
