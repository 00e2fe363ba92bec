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
    which, in at least one table, the differing bits of the prefix are all among the query's
    `weak_bits` weakest bits of that prefix, or are so few that `exact_radius` needs them.
    So everything within `exact_radius` is found, and most of what lies within `radius`.

    Attributes:
        design: the table design.
        radius: the largest distance of a candidate, in bits.
        exact_radius: the distance within which nothing may be missed, in bits.
        weak_bits: how many of the weakest bits of each prefix are flipped, in all ways.

    Raises:
        SettingsError: a look-up would take more than 4,096 probes.
    """

    design: TableDesign
    radius: int = 12
    exact_radius: int = 3
    weak_bits: int = 5

    def __post_init__(self) -> None:
        probes = sum(
            2**self.weak_bits + sum(comb(len(table.prefix), flipped) for flipped in range(1, flips + 1))
            for table, flips in zip(self.design.tables, self.design.flips_needed(self.exact_radius), strict=True)
        )
        if probes > MAX_PROBES:
            raise SettingsError(
                f"'{self.design}' with {self.weak_bits} weak bits and an exact radius of {self.exact_radius} bits "
                f"takes {probes:,} probes a look-up, more than {MAX_PROBES:,}: take fewer weak bits or tables"
            )

    def probes(self, fingerprint: int, margins: NDArray[np.int64]) -> Probes:
        """Return the probes for a fingerprint; their number is the same for all fingerprints.

        Args:
            fingerprint: 64 bits, unsigned.
            margins: the margin of each bit, shape (64,).
        """
        columns = []
        for table, exact_flips in zip(self.design.tables, self._exact_flips, strict=True):
            permuted = np.uint64(table.permute(fingerprint))
            free = np.uint64((1 << (BITS - len(table.prefix))) - 1)
            lows = (permuted ^ self._flips(table, exact_flips, margins)) & ~free
            columns.append(
                (np.full(len(lows), table.number), lows, lows | free, np.full(len(lows), permuted, np.uint64))
            )
        return Probes(*(np.concatenate(column) for column in zip(*columns, strict=True)))

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
            for table, flips in zip(self.design.tables, self.design.flips_needed(self.exact_radius), strict=True)
        ]

    def _flips(
        self, table: PermutedTable, exact_flips: NDArray[np.uint64], margins: NDArray[np.int64]
    ) -> NDArray[np.uint64]:
        if not self.weak_bits:
            return exact_flips
        weakest = np.argsort(margins[list(table.prefix)], kind="stable")[: self.weak_bits]
        flips = np.zeros(1, np.uint64)
        for bit in np.left_shift(np.uint64(1), (BITS - 1 - weakest).astype(np.uint64)):
            flips = np.concatenate((flips, flips | bit))
        return np.union1d(flips, exact_flips) if len(exact_flips) > 1 else flips
