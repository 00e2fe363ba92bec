"""Look-ups that read the candidates of some probes: permuted tables and inverted blocks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dedup.index.design import PermutedTable, TableDesign
from dedup.index.probes import ProbePlan, Probes
from dedup.published.lookups.kernels import scan_lists, scan_tables
from dedup.published.lookups.protocol import LookupResults
from dedup.signature.signature import BITS

_BLOCKS = TableDesign(4, 1)
_BLOCK_VALUES = 1 << 16


class SortedTables:
    """Tables of values, each sorted.

    Args:
        columns: for each table its values, shape (m,) each.
        copies: how many values in succession belong to one stored fingerprint.
    """

    def __init__(self, columns: Sequence[NDArray[np.uint64]], copies: int = 1) -> None:
        shape = len(columns), len(columns[0])
        self._values = np.empty(shape, np.uint64)
        self._positions = np.empty(shape, np.uint32)
        for table, column in enumerate(columns):
            order = np.argsort(column)
            self._values[table] = column[order]
            self._positions[table] = order // copies
        self.nbytes = self._values.nbytes + self._positions.nbytes

    def scan(self, probes: Probes, owners: NDArray[np.int64], radius: int) -> LookupResults:
        """Return what the probes find.

        Args:
            probes: shape (p,) each.
            owners: the number of the query that each belongs to, shape (p,).
            radius: the largest distance of a result, in bits.
        """
        firsts, afters = np.empty(len(owners), np.int64), np.empty(len(owners), np.int64)
        for table, values in enumerate(self._values):
            chosen = np.flatnonzero(probes.tables == table)
            firsts[chosen] = np.searchsorted(values, probes.lows[chosen])
            afters[chosen] = np.searchsorted(values, probes.highs[chosen], side="right")
        asked = owners, probes.tables, firsts, afters, probes.permuted
        results = scan_tables(self._values, self._positions, asked, np.uint64(radius))
        return LookupResults.of(results, len(owners), int((afters - firsts).sum()))


class _Planned:
    """Probes by a `ProbePlan`, for many queries at once."""

    def __init__(self, plan: ProbePlan, stored: int) -> None:
        self.plan = plan
        self.radius = plan.radius
        self.exact_radius = plan.exact_radius
        self.tables = len(plan.design.tables)
        # Without weak bits the probes of a fingerprint are those of 0, moved to where it stands.
        self._of_zero = plan.probes(0, np.zeros(BITS, np.int64))
        widths = (self._of_zero.highs - self._of_zero.lows).astype(np.float64)
        self.expected_candidates = float(stored * widths.sum() / 2.0**BITS)

    def probes(self, fingerprints: NDArray[np.uint64], margins: NDArray[np.int64]) -> tuple[Probes, NDArray[np.int64]]:
        """Return the probes of some queries, and the number of the query that each belongs to."""
        tables, lows, highs, _ = self._of_zero
        owners = np.repeat(np.arange(len(fingerprints)), len(tables))
        if self.plan.weak_bits:
            # The first is there for the case that nothing is asked.
            each = [Probes(tables[:0], lows[:0], lows[:0], lows[:0])]
            each += [self.plan.probes(int(query), margins[number]) for number, query in enumerate(fingerprints)]
            return Probes(*(np.concatenate(column) for column in zip(*each, strict=True))), owners
        ordered = np.stack([permuted(table, fingerprints) for table in self.plan.design.tables], axis=1)[:, tables]
        free = lows ^ highs
        lows = (ordered & ~free) ^ lows
        columns = (np.tile(tables, len(fingerprints)), lows.ravel(), (lows | free).ravel(), ordered.ravel())
        return Probes(*columns), owners


class PermutedTables(_Planned):
    """Permuted tables of any design, with the probes of any plan; the weak-bit probes are among these.

    What is found is what `ProbePlan` promises: everything within its exact radius and, up to its
    radius, what differs within some prefix in weak bits only.

    G. S. Manku, A. Jain, A. Das Sarma, WWW 2007, section 3; M. Norouzi, A. Punjani, D. Fleet, CVPR
    2012; S. Sood, D. Loguinov, CIKM 2011.

    Args:
        fingerprints: those stored, shape (n,).
        plan: the design and the probes.
    """

    def __init__(self, fingerprints: NDArray[np.uint64], plan: ProbePlan) -> None:
        super().__init__(plan, len(fingerprints))
        self._sorted = SortedTables([permuted(table, fingerprints) for table in plan.design.tables])
        self.nbytes = self._sorted.nbytes

    def query(self, fingerprints: NDArray[np.uint64], margins: NDArray[np.int64]) -> LookupResults:
        """Look up some fingerprints; see `Lookup`."""
        return self._sorted.scan(*self.probes(fingerprints, margins), self.radius)


class InvertedBlocks(_Planned):
    """Four inverted blocks: for each of four times 16 bits the positions of every value.

    What is found is what permuted tables of four blocks find: everything within the exact radius
    (up to 3 bits by one probe a block, farther by flipping bits), and up to the radius what has a
    block in common. The fingerprints are kept once, so that every candidate is a jump in memory.

    Args:
        fingerprints: those stored, shape (n,).
        radius: the largest distance of a result, in bits.
        exact_radius: the distance within which nothing is missed, in bits.
    """

    def __init__(self, fingerprints: NDArray[np.uint64], radius: int, exact_radius: int) -> None:
        super().__init__(ProbePlan(_BLOCKS, radius, exact_radius, weak_bits=0), len(fingerprints))
        self._stored = fingerprints
        self._starts = np.zeros((_BLOCKS.blocks, _BLOCK_VALUES + 1), np.uint32)
        self._positions = np.empty((_BLOCKS.blocks, len(fingerprints)), np.uint32)
        for table in _BLOCKS.tables:
            values = _block(permuted(table, fingerprints))
            self._positions[table.number] = np.argsort(values, kind="stable")
            self._starts[table.number, 1:] = np.cumsum(np.bincount(values, minlength=_BLOCK_VALUES))
        self.nbytes = fingerprints.nbytes + self._starts.nbytes + self._positions.nbytes

    def query(self, fingerprints: NDArray[np.uint64], margins: NDArray[np.int64]) -> LookupResults:
        """Look up some fingerprints; see `Lookup`."""
        probes, owners = self.probes(fingerprints, margins)
        asked = owners, probes.tables, _block(probes.lows), fingerprints[owners]
        results, candidates = scan_lists(self._starts, self._positions, self._stored, asked, np.uint64(self.radius))
        return LookupResults.of(results, len(owners), candidates)


def permuted(table: PermutedTable, fingerprints: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the fingerprints, shape (n,), with their bits in the order of the table."""
    ordered = np.zeros(len(fingerprints), np.uint64)
    for right, mask, left in table.moves:
        ordered |= ((fingerprints >> np.uint64(right)) & np.uint64(mask)) << np.uint64(left)
    return ordered


def _block(ordered: NDArray[np.uint64]) -> NDArray[np.int64]:
    return (ordered >> np.uint64(BITS - 16)).astype(np.int64)
