"""Probes: which values of which table's prefix are looked up for a fingerprint.

Two rules are united. Flipping every prefix in all ways of a few bits finds everything within an
exact radius (Norouzi, Punjani, Fleet, CVPR 2012). Flipping only its weak bits, those with the
smallest margins, reaches further at a fraction of the cost, since they are the bits in which
near-duplicates differ (S. Sood, D. Loguinov, "Probabilistic near-duplicate detection using
simhash", CIKM 2011).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.errors import SettingsError
from dedup.fingerprint.simhash import BITS
from dedup.index.design import PermutedTable, TableDesign

MAX_PROBES = 4096


class Probe(NamedTuple):
    """One look-up: the permuted fingerprints of a table from `low` to `high`, both included."""

    table: int
    low: int
    high: int
    permuted: int


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

    def probes(self, fingerprint: int, margins: NDArray[np.int64]) -> list[Probe]:
        """Return the probes for a fingerprint; their number is the same for all fingerprints.

        Args:
            fingerprint: 64 bits, unsigned.
            margins: the margin of each bit, shape (64,).
        """
        probes = []
        for table, flips in zip(self.design.tables, self.design.flips_needed(self.exact_radius), strict=True):
            permuted = table.permute(fingerprint)
            free_bits = BITS - len(table.prefix)
            for flipped in self._flipped_prefixes(table, flips, margins):
                low = (permuted ^ flipped) >> free_bits << free_bits
                probes.append(Probe(table.number, low, low | ((1 << free_bits) - 1), permuted))
        return probes

    def _flipped_prefixes(self, table: PermutedTable, flips: int, margins: NDArray[np.int64]) -> list[int]:
        positions = [1 << (BITS - 1 - place) for place in range(len(table.prefix))]
        weakest = np.argsort(margins[list(table.prefix)], kind="stable")[: self.weak_bits]
        flipped = [0] if flips >= 0 or self.weak_bits else []
        for place in weakest.tolist():
            flipped += [mask | positions[place] for mask in flipped]
        if flips > 0:
            flipped = list(
                dict.fromkeys(
                    flipped + [sum(bits) for count in range(1, flips + 1) for bits in combinations(positions, count)]
                )
            )
        return flipped
