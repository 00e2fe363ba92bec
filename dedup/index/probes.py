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
            sum(comb(len(table.prefix), flipped) for flipped in range(flips + 1)) + min(self.max_flips, len(weak))
            for table, flips, weak in zip(self.design.tables, self._flips_needed, self._weak_flips, strict=True)
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
        columns = []
        for table, exact, weak in zip(self.design.tables, self._exact_flips, self._weak_flips, strict=True):
            permuted = np.uint64(table.permute(fingerprint))
            free = np.uint64((1 << (BITS - len(table.prefix))) - 1)
            flips = np.concatenate((exact, self._likeliest(table, weak, margins)))
            lows = (permuted ^ flips) & ~free
            columns.append(
                (np.full(len(lows), table.number), lows, lows | free, np.full(len(lows), permuted, np.uint64))
            )
        return Probes(*(np.concatenate(column) for column in zip(*columns, strict=True)))

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
        hits = np.flatnonzero((probes.lows <= permuted) & (permuted <= probes.highs))
        if not len(hits):
            return None
        table = self.design.tables[int(probes.tables[hits[0]])]
        differing = fingerprint ^ stored
        return table.number, sum(differing >> bit & 1 for bit in table.prefix)

    @cached_property
    def _exact_flips(self) -> list[NDArray[np.uint64]]:
        """For each table the flips of its prefix, in its order, that the exact radius takes."""
        return [
            np.array(
                [
                    sum(1 << (BITS - 1 - place) for place in places)
                    for count in range(flips + 1)
                    for places in combinations(range(len(table.prefix)), count)
                ],
                np.uint64,
            )
            for table, flips in zip(self.design.tables, self._flips_needed, strict=True)
        ]

    @cached_property
    def _weak_flips(self) -> list[NDArray[np.float64]]:
        """For each table all flips of the weak bits that the exact radius does not take, shape (n, weak bits).

        In float64 their product with margins runs in BLAS; sums below 2**53 stay exact.
        """
        families = []
        for table, flips in zip(self.design.tables, self._flips_needed, strict=True):
            every = _all_flips(min(self.weak_bits, len(table.prefix)))
            # Without weak bits there is nothing to flip, not even in no way.
            families.append(every[every.sum(axis=1) > flips] if self.weak_bits else every[:0])
        return families

    @cached_property
    def _flips_needed(self) -> list[int]:
        return self.design.flips_needed(self.exact_radius)

    def _likeliest(
        self, table: PermutedTable, weak_flips: NDArray[np.float64], margins: NDArray[np.int64]
    ) -> NDArray[np.uint64]:
        """Return the likeliest flips of a fingerprint's weak bits, in the order of the table.

        Near-duplicates differ where little has to be added to a sum to turn it, so that the sum of
        the margins of all flipped bits orders the flips (Q. Lv et al., "Multi-probe LSH", VLDB
        2007, section 4, for another family of hashes).
        """
        in_order = margins[list(table.prefix)]
        weakest = np.argsort(in_order, kind="stable")[: weak_flips.shape[1]]
        if len(weak_flips) > self.max_flips:
            costs = weak_flips @ in_order[weakest].astype(np.float64)
            weak_flips = weak_flips[np.argsort(costs, kind="stable")[: self.max_flips]]
        values = np.left_shift(np.uint64(1), (BITS - 1 - weakest).astype(np.uint64))
        flips: NDArray[np.uint64] = (weak_flips.astype(np.uint64) * values).sum(axis=1, dtype=np.uint64)
        return flips


def _all_flips(bits: int) -> NDArray[np.float64]:
    """Return all ways to flip some of so many bits: 1 in row n where n has the bit; shape (2**bits, bits)."""
    return (np.arange(2**bits)[:, np.newaxis] >> np.arange(bits) & 1).astype(np.float64)
