"""Probes: which values of which table's prefix are looked up for a fingerprint.

Two rules are united. Flipping every prefix in all ways of a few bits finds everything within an
exact radius (Norouzi, Punjani, Fleet, CVPR 2012). Flipping only its weak bits, those with the
smallest margins, reaches further at a fraction of the cost, since they are the bits in which
near-duplicates differ (S. Sood, D. Loguinov, "Probabilistic near-duplicate detection using
simhash", CIKM 2011). What the second rule finds may be asked to agree in the firm bits, those with
the largest margins: the rest of a full bucket need not be looked at then.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations
from math import comb, inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.errors import SettingsError
from dedup.index.design import PermutedTable, TableDesign
from dedup.signature.signature import BITS

MAX_PROBES = 4096

# The value of each place of a permuted fingerprint, the topmost first.
_PLACES = np.uint64(1) << np.arange(BITS - 1, -1, -1, dtype=np.uint64)


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
    weakest bits of that prefix, those with the smallest sums of margins, and no firm bit of the
    query below the prefix differs.
    So everything within `exact_radius` is found, and most of what lies within `radius`.

    Attributes:
        design: the table design.
        radius: the largest distance of a candidate, in bits.
        exact_radius: the distance within which nothing may be missed, in bits.
        weak_bits: how many of the weakest bits of each prefix may be flipped.
        max_flips: how many of the ways to flip them are tried, besides those for the exact radius.
        firm_margin: a bit is firm if its margin exceeds so many times the square root of the sum of
            all margins. That sum grows with the text, and edits turn sums by the root of what they
            change, so the bound suits long and short texts alike, as long as features are weighted
            by their counts: ten times the weights would ask for the root of ten times the bound.
            Without a bound no bit is firm.

    The defaults are those of `DedupSettings`, but for the bound, which suits counts alone.

    Raises:
        SettingsError: a look-up would take more than 4,096 probes, or the bound is negative.
    """

    design: TableDesign
    radius: int = 16
    exact_radius: int = 3
    weak_bits: int = 8
    max_flips: int = 32
    firm_margin: float = inf

    def __post_init__(self) -> None:
        if not self.firm_margin >= 0:
            raise SettingsError(f"a firm margin of {self.firm_margin}: expected at least 0")
        probes = sum(
            sum(comb(len(table.prefix), flipped) for flipped in range(flips + 1))
            + min(self.max_flips, len(_likely_flips(min(self.weak_bits, len(table.prefix)), flips, self.max_flips)))
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

    def firm_bits(self, margins: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the bits in which what each probe finds has to agree with the fingerprint.

        Args:
            margins: the margin of each bit, shape (64,).

        Returns:
            One mask a probe, in the order of `probes` and of the bits of the probe's table: the firm
            bits below the prefix; 0 for the probes of the exact radius.
        """
        # Without a bound this would be a product of nothing and infinity for a text without features.
        firm = margins > (self.firm_margin * np.sqrt(margins.sum()) if self.firm_margin < inf else inf)
        bits = int.from_bytes(np.packbits(firm, bitorder="little").tobytes(), "little")
        masks = [
            np.array([[table.permute(bits)] for table in group.tables], np.uint64) & group.guarded
            for group in self._groups
        ]
        return np.concatenate([mask.ravel() for mask in masks])

    def brings_without_margins(self, fingerprint: int, stored: int) -> bool:
        """Say whether the probes of the exact radius, which know no margins, bring a stored fingerprint.

        Args:
            fingerprint: that of the query, 64 bits, unsigned.
            stored: the stored fingerprint; the order of the two makes no difference.
        """
        differing = fingerprint ^ stored
        return any(
            (table.permute(differing) >> BITS - len(table.prefix)).bit_count() <= flips
            for table, flips in zip(self.design.tables, self._flips_needed, strict=True)
        )

    def find(self, fingerprint: int, margins: NDArray[np.int64], stored: int) -> tuple[int, int] | None:
        """Say which probe finds a stored fingerprint, whatever its distance.

        Args:
            fingerprint: that of the query, 64 bits, unsigned.
            margins: its margin of each bit, shape (64,).
            stored: the stored fingerprint.

        Returns:
            The number of the table, and how many bits of its prefix the probe flips; None where no
            probe finds it.
        """
        probes = self.probes(fingerprint, margins)
        permuted = np.array([table.permute(stored) for table in self.design.tables], np.uint64)[probes.tables]
        hits = (probes.lows <= permuted) & (permuted <= probes.highs)
        hits &= (permuted ^ probes.permuted) & self.firm_bits(margins) == 0
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
        weak = _likely_flips(min(self.weak_bits, width), flips, self.max_flips)
        probes = len(exact) + min(self.max_flips, len(weak))
        free = np.uint64((1 << (BITS - width)) - 1)
        return _TableGroup(
            tables=tables,
            numbers=np.repeat([table.number for table in tables], probes),
            prefixes=np.array([table.prefix for table in tables]),
            free=free,
            guarded=np.where(np.arange(probes) < len(exact), np.uint64(0), free),
            exact=np.broadcast_to(np.array(exact, np.uint64), (len(tables), len(exact))),
            weak=weak,
            flipped=weak.astype(np.uint64),
        )

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
        flips: NDArray[np.uint64] = np.einsum("tnb,tb->tn", group.flipped[likeliest], _PLACES[weakest])
        return flips


class _TableGroup(NamedTuple):
    """Tables with prefixes of the same length, which are worked on at once.

    Attributes:
        tables: t tables.
        numbers: the number of its table for each probe of the group.
        prefixes: the bits of each prefix, shape (t, prefix length).
        free: the bits below the prefix.
        guarded: for each probe of a table the bits that it may ask to be equal, shape (probes,).
        exact: the flips that the exact radius takes, the same for each table, shape (t, m).
        weak: the flips of the weak bits that it does not take: 1 where row n flips the bit of this
            rank among the weak ones, shape (n, weak bits).
        flipped: the same as whole numbers.
    """

    tables: list[PermutedTable]
    numbers: NDArray[np.int64]
    prefixes: NDArray[np.int64]
    free: np.uint64
    guarded: NDArray[np.uint64]
    exact: NDArray[np.uint64]
    weak: NDArray[np.float64]
    flipped: NDArray[np.uint64]


@cache
def _likely_flips(bits: int, flips: int, limit: int) -> NDArray[np.float64]:
    """Return the flips of weak bits that can be among the likeliest, whatever the margins.

    Args:
        bits: how many weak bits there are, the weakest first.
        flips: flips of up to so many bits are left out, since the exact radius takes them.
        limit: how many of the flips will be looked up, the likeliest.

    Returns:
        Rows with 1 where a bit is flipped, shape (n, bits); row by row the number that they write
        in binary grows, the weakest bit its lowest digit.
    """
    every = (np.arange(2**bits)[:, np.newaxis] >> np.arange(bits) & 1).astype(np.int8)
    # Without weak bits there is nothing to flip, not even in no way.
    every = every[every.sum(axis=1) > flips] if bits else every[:0]
    # A flip that has no more bits than another from any rank on never costs more, and stands before
    # it: with so many that come first anyway, a flip is never looked up.
    from_rank_on = every[:, ::-1].cumsum(axis=1, dtype=np.int8)
    before = np.array([(from_rank_on <= each).all(axis=1).sum() - 1 for each in from_rank_on], np.int64)
    return every[before < limit].astype(np.float64)
