"""Probes: which values of which table's prefix are looked up for a fingerprint.

Two rules are united. Flipping every prefix in all ways of a few bits finds everything within an
exact radius (Norouzi, Punjani, Fleet, CVPR 2012). Flipping only its weak bits, those with the
smallest margins, reaches further at a fraction of the cost, since they are the bits in which
near-duplicates differ (S. Sood, D. Loguinov, "Probabilistic near-duplicate detection using
simhash", CIKM 2011).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.errors import SettingsError
from dedup.fingerprint.signature import BITS
from dedup.index.design import PermutedTable, TableDesign

MAX_PROBES = 4096


class Probes(NamedTuple):
    """Look-ups, one an element of each array, all of the same length.

    Attributes:
        tables: the number of the table.
        lows: the smallest permuted fingerprint that is looked for.
        highs: the largest one.
        permuted: the fingerprint itself, in the table's order.
    """

    tables: NDArray[np.int64]
    lows: NDArray[np.uint64]
    highs: NDArray[np.uint64]
    permuted: NDArray[np.uint64]


@dataclass(frozen=True)
class ProbePlan:
    """How far around a fingerprint is looked.

    What it finds is exactly this: every stored fingerprint at a distance of at most `radius` for
    which, in at least one table, the differing bits of the prefix are so few that `exact_radius`
    needs them, or else are one of the `max_flips` likeliest flips of the query's `weak_bits`
    weakest bits of that prefix: those with the smallest sums of margins.
    So everything within `exact_radius` is found, and most of what lies within `radius`.

    Attributes:
        design: the table design.
        radius: the largest distance of a candidate, in bits.
        exact_radius: the distance within which nothing may be missed, in bits.
        weak_bits: how many of the weakest bits of each prefix may be flipped.
        max_flips: how many of the ways to flip them are tried, besides those for the exact radius.

    Raises:
        SettingsError: a look-up would take more than 4,096 probes.
    """

    design: TableDesign
    radius: int = 12
    exact_radius: int = 3
    weak_bits: int = 5
    max_flips: int = 1024

    def __post_init__(self) -> None:
        probes = sum(
            sum(comb(len(table.prefix), flipped) for flipped in range(flips + 1))
            + min(self.max_flips, len(self._weak_flips(len(table.prefix), flips)))
            for table, flips in zip(self.design.tables, self._flips_needed, strict=True)
        )
        if probes > MAX_PROBES:
            raise SettingsError(
                f"'{self.design}' with {self.max_flips} flips of {self.weak_bits} weak bits and an exact radius of "
                f"{self.exact_radius} bits takes {probes:,} probes a look-up, more than "
                f"{MAX_PROBES:,}: take fewer flips, weak bits or tables"
            )

    def probes(self, fingerprint: int, margins: NDArray[np.int64]) -> Probes:
        """Return the probes for a fingerprint; their number is the same for all fingerprints.

        Args:
            fingerprint: 64 bits, unsigned.
            margins: the margin of each bit, shape (64,).
        """
        groups = [self._probes_of(group, fingerprint, margins) for group in self._groups]
        if len(groups) == 1:
            return groups[0]
        return Probes(*(np.concatenate(column) for column in zip(*groups, strict=True)))

    def find(self, fingerprint: int, margins: NDArray[np.int64], stored: int) -> tuple[int, int] | None:
        """Say which probe brings a stored fingerprint, whatever its distance.

        Args:
            fingerprint: that of the query, 64 bits, unsigned.
            margins: its margin of each bit, shape (64,).
            stored: the stored fingerprint.

        Returns:
            The number of the table, and how many bits of its prefix the probe flips; None where no
            probe brings it.
        """
        probes = self.probes(fingerprint, margins)
        permuted = np.array([table.permute(stored) for table in self.design.tables], np.uint64)[probes.tables]
        hits = (probes.lows <= permuted) & (permuted <= probes.highs)
        differing = fingerprint ^ stored
        found = [
            (sum(differing >> bit & 1 for bit in self.design.tables[table].prefix), table)
            for table in set(probes.tables[hits].tolist())
        ]
        if not found:
            return None
        flipped, table = min(found)
        return table, flipped

    @cached_property
    def _flips_needed(self) -> list[int]:
        return self.design.flips_needed(self.exact_radius)

    @cached_property
    def _groups(self) -> list[_TableGroup]:
        members: dict[tuple[int, int], list[PermutedTable]] = {}
        for table, flips in zip(self.design.tables, self._flips_needed, strict=True):
            members.setdefault((len(table.prefix), flips), []).append(table)
        return [self._group(tables, width, flips) for (width, flips), tables in members.items()]

    def _group(self, tables: list[PermutedTable], width: int, flips: int) -> _TableGroup:
        exact = [
            sum(1 << (BITS - 1 - place) for place in places)
            for count in range(flips + 1)
            for places in combinations(range(width), count)
        ]
        weak = self._weak_flips(width, flips)
        probes = len(exact) + min(self.max_flips, len(weak))
        return _TableGroup(
            tables=tables,
            numbers=np.repeat([table.number for table in tables], probes),
            prefixes=np.array([table.prefix for table in tables]),
            free=np.uint64((1 << (BITS - width)) - 1),
            exact=np.broadcast_to(np.array(exact, np.uint64), (len(tables), len(exact))),
            weak=weak,
        )

    def _weak_flips(self, width: int, flips: int) -> NDArray[np.float64]:
        """Return all flips of the weak bits that the exact radius does not take, shape (n, weak bits)."""
        every = _all_flips(min(self.weak_bits, width))
        # Without weak bits there is nothing to flip, not even in no way.
        return every[every.sum(axis=1) > flips] if self.weak_bits else every[:0]

    def _probes_of(self, group: _TableGroup, fingerprint: int, margins: NDArray[np.int64]) -> Probes:
        permuted = np.array([[table.permute(fingerprint)] for table in group.tables], np.uint64)
        flips = np.concatenate((group.exact, self._likeliest(group, margins)), axis=1)
        lows = ((permuted ^ flips) & ~group.free).ravel()
        return Probes(group.numbers, lows, lows | group.free, np.repeat(permuted.ravel(), flips.shape[1]))

    def _likeliest(self, group: _TableGroup, margins: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the likeliest flips of a fingerprint's weak bits, for each table in its own order.

        Near-duplicates differ where little has to be added to a sum to turn it, so that the sum of
        the margins of all flipped bits orders the flips (Q. Lv et al., "Multi-probe LSH", VLDB
        2007, section 4, for another family of hashes).
        """
        in_order = margins[group.prefixes]
        weakest = np.argsort(in_order, axis=1, kind="stable")[:, : group.weak.shape[1]]
        # In float64 the product runs in BLAS, and sums below 2**53 stay exact.
        costs = np.take_along_axis(in_order, weakest, 1).astype(np.float64) @ group.weak.T
        likeliest = np.argsort(costs, axis=1, kind="stable")[:, : self.max_flips]
        values = np.left_shift(np.uint64(1), (BITS - 1 - weakest).astype(np.uint64))
        flips: NDArray[np.uint64] = np.einsum("tnb,tb->tn", group.weak[likeliest].astype(np.uint64), values)
        return flips


class _TableGroup(NamedTuple):
    """Tables with prefixes of the same length, which are worked on at once.

    Attributes:
        tables: t tables.
        numbers: the number of its table for each probe of the group.
        prefixes: the bits of each prefix, shape (t, prefix length).
        free: the bits below the prefix.
        exact: the flips that the exact radius takes, the same for each table, shape (t, m).
        weak: the flips of the weak bits that it does not take: 1 where row n flips the bit of this
            rank among the weak ones, shape (n, weak bits).
    """

    tables: list[PermutedTable]
    numbers: NDArray[np.int64]
    prefixes: NDArray[np.int64]
    free: np.uint64
    exact: NDArray[np.uint64]
    weak: NDArray[np.float64]


def _all_flips(bits: int) -> NDArray[np.float64]:
    """Return all ways to flip some of so many bits: 1 in row n where n has the bit; shape (2**bits, bits)."""
    return (np.arange(2**bits)[:, np.newaxis] >> np.arange(bits) & 1).astype(np.float64)
