"""Choose a table design for a number of fingerprints and a distance, and say why.

G. S. Manku, A. Jain, A. Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007,
sections 3.1.2 and 3.2: the more bits stand at the top of a table, the fewer candidates a probe
brings, and the more tables there must be.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb, log2

from dedup.errors import SettingsError
from dedup.index.design import MAX_TABLES, TableDesign
from dedup.signature.signature import BITS

CANDIDATES_A_PROBE = 128
"""Comparing so many takes about as long as finding them: with `dedup lookups --n 1e7`, 150 a probe
make four tables somewhat slower than ten with two a probe."""

Level = tuple[int, int]
"""Into how many blocks the bits are cut, and how many of these stand at the top."""


@dataclass(frozen=True)
class Choice:
    """A design and why it was chosen.

    Attributes:
        design: the design; None where comparing with every fingerprint is the cheapest.
        tables: how many tables it has; 1, in no particular order, where every fingerprint is compared.
        prefix_bits: how many bits stand at the top of each table, at least.
        expected_candidates: how many fingerprints are compared a query, if their bits are random.
        reason: one sentence for people.
    """

    design: TableDesign | None
    tables: int
    prefix_bits: int
    expected_candidates: float
    reason: str


def least_tables(
    distance: int, size: float, spare: float, bits: Fraction = Fraction(BITS), limit: int | None = None
) -> tuple[int, tuple[Level, ...]] | None:
    """Find the least number of tables in which a probe brings few candidates.

    The recursion of the paper (section 3.2): X(f, k, d) = 1 if d <= tau, else the least of
    C(r, k) X(fk/r, k, d - (r-k)f/r) over all r > k. Its blocks may have fractions of bits.

    Args:
        distance: k, the distance in bits within which everything must be found; at least 1.
        size: d, the logarithm to base 2 of the number of fingerprints.
        spare: tau, the logarithm to base 2 of the number of candidates allowed a probe.
        bits: f, the width of the fingerprints.
        limit: with more tables than this there is no answer; None: there is no limit.

    Returns:
        The number of tables, and the levels of the design, the outermost first; of designs with
        equally many tables the one with the fewest levels, then with the most bits at the top.
        None if there is none.
    """
    if size <= spare:
        return 1, ()
    best, best_rank = None, None
    for blocks in range(distance + 1, int(bits) + 1):
        here = comb(blocks, distance)
        if limit is not None and here > limit:
            break
        chosen = blocks - distance
        rest = least_tables(
            distance,
            size - float(chosen * bits / blocks),
            spare,
            bits * distance / blocks,
            limit // here if limit is not None else None,
        )
        if rest is None:
            continue
        tables, levels = here * rest[0], ((blocks, chosen), *rest[1])
        rank = (tables, len(levels), -blocks)
        if best_rank is None or rank < best_rank:
            best, best_rank, limit = (tables, levels), rank, tables
    return best


def choose_design(n: int, distance: int, candidates: int = CANDIDATES_A_PROBE) -> Choice:
    """Choose the design with the fewest tables whose probes bring few enough candidates.

    Args:
        n: the number of fingerprints; they are taken to be uniformly random, which those of real
            texts are not: expect 10 to 30 times as many candidates of word counts.
        distance: the distance in bits within which everything must be found, by one probe a table.
        candidates: how many candidates a probe may bring.

    Raises:
        SettingsError: a number makes no sense, or no design of at most 64 tables is good enough.
    """
    if n < 1 or candidates < 1:
        raise SettingsError(f"a design for {n:,} fingerprints and {candidates:,} candidates a probe: both must be >= 1")
    if not 1 <= distance < BITS:
        raise SettingsError(f"a design for distance {distance}: give 1 to {BITS - 1} bits")
    size, spare = log2(n), log2(candidates)
    least = least_tables(distance, size, spare, limit=MAX_TABLES)
    if least is None:
        raise SettingsError(
            f"no design of at most {MAX_TABLES} tables finds all within {distance} bits among {n:,} fingerprints at "
            f"{candidates:,} candidates a probe: take a smaller distance, allow more candidates, or compare all"
        )
    tables, levels = least
    if not levels:
        reason = f"{n:,} fingerprints are no more than the {candidates:,} that a probe may bring: compare them all"
        return Choice(None, 1, 0, float(n), reason)
    design = _design(levels)
    shortest = min(len(table.prefix) for table in design.tables)
    expected = sum(n / 2 ** len(table.prefix) for table in design.tables)
    reason = (
        f"{tables} tables of at least {shortest} bits ({design}) are the fewest that find all within {distance} bits "
        f"among {n:,} fingerprints at about {candidates:,} candidates a probe or less: {shown(expected / tables)} "
        f"a probe, {shown(expected)} a query; {_with_fewer_tables(n, distance, tables, spare)}"
    )
    return Choice(design, tables, shortest, expected, reason)


def shown(number: float) -> str:
    """Write a number with as many digits as say something."""
    return f"{number:,.0f}" if number >= 99.5 or number == 0 else f"{number:.2g}"


def _design(levels: tuple[Level, ...]) -> TableDesign:
    design = None
    for blocks, chosen in reversed(levels):
        design = TableDesign(blocks, chosen, design)
    assert design is not None  # there is at least one level
    return design


def _with_fewer_tables(n: int, distance: int, tables: int, spare: float) -> str:
    size = log2(n)
    while spare < size:
        spare += 0.25
        fewer = least_tables(distance, size, spare, limit=tables - 1)
        if fewer is not None and fewer[1]:
            design = _design(fewer[1])
            a_probe = n / 2 ** min(len(table.prefix) for table in design.tables)
            return f"with fewer, {fewer[0]} ({design}), a probe would bring {shown(a_probe)}"
    return "with fewer, every fingerprint would be compared"
