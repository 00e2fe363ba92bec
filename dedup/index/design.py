"""Table designs: which bits of a fingerprint each permuted table is sorted by.

G. S. Manku, A. Jain, A. Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007,
section 3: the 64 bits are cut into n blocks, each table brings r of them to the top, so there are
n choose r tables, and two fingerprints that differ in at most n - r bits agree on the top bits of
at least one table. The bits that are left may be cut and chosen from again (section 3.1.2).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb

from dedup.errors import SettingsError
from dedup.signature.signature import BITS

_TEXT_FORM = re.compile(r"\s*(\d{1,3})\s+choose\s+(\d{1,3})\s*", re.ASCII)
MAX_TABLES = 64


@dataclass(frozen=True, slots=True)
class PermutedTable:
    """One table: the permutation that brings its blocks to the top.

    Attributes:
        number: the table's number, from 0.
        prefix: the bits of the fingerprint (0 the least significant) that stand at the top,
            the topmost first.
        moves: the permutation, block by block: (shift to the right, mask, shift to the left).
    """

    number: int
    prefix: tuple[int, ...]
    moves: tuple[tuple[int, int, int], ...]

    def permute(self, fingerprint: int) -> int:
        """Return the fingerprint with its bits in this table's order."""
        permuted = 0
        for right, mask, left in self.moves:
            permuted |= ((fingerprint >> right) & mask) << left
        return permuted


@dataclass(frozen=True)
class TableDesign:
    """A design of permuted tables.

    Attributes:
        blocks: into how many blocks the 64 bits are cut; 3 gives blocks of 22, 21 and 21 bits.
        chosen: how many blocks stand at the top of each table.
        inner: how the bits of the other blocks are cut and chosen from in their turn, in every
            table; "4 choose 1 then 4 choose 1" has 16 tables with 16 + 12 bits at the top.

    Raises:
        SettingsError: the numbers make no design, or one of more than 64 tables.
    """

    blocks: int
    chosen: int
    inner: TableDesign | None = None

    def __post_init__(self) -> None:
        _check(self, BITS)
        if self.table_count > MAX_TABLES:
            raise SettingsError(f"table design '{self}' needs more than {MAX_TABLES} tables; choose fewer blocks")

    def __str__(self) -> str:
        own = f"{self.blocks} choose {self.chosen}"
        return f"{own} then {self.inner}" if self.inner else own

    @classmethod
    def parse(cls, text: str) -> TableDesign:
        """Read a design as `str` writes it, such as "4 choose 1" or "4 choose 1 then 4 choose 1".

        Raises:
            SettingsError: the text is not of that form, or no design.
        """
        design = None
        for part in reversed(text.split("then")):
            match = _TEXT_FORM.fullmatch(part)
            if match is None:
                raise SettingsError(f"table design {text!r}: expected 'N choose R', such as '3 choose 1'")
            design = cls(int(match[1]), int(match[2]), design)
        assert design is not None  # split returns at least one part
        return design

    @property
    def table_count(self) -> int:
        """How many tables there are: n choose r, times those of the inner design."""
        return comb(self.blocks, self.chosen) * (self.inner.table_count if self.inner else 1)

    @cached_property
    def tables(self) -> tuple[PermutedTable, ...]:
        """The tables, `table_count` of them."""
        bits = range(BITS - 1, -1, -1)
        return tuple(
            PermutedTable(number, prefix, tuple(_moves([*prefix, *(bit for bit in bits if bit not in prefix)])))
            for number, prefix in enumerate(_prefixes(self, bits))
        )

    @property
    def radius(self) -> int:
        """The largest distance, in bits, within which two fingerprints agree on the prefix of at least one table."""
        own = self.blocks - self.chosen
        return min(own, self.inner.radius) if self.inner else own


def _check(design: TableDesign, bits: int) -> None:
    """Refuse a design that cannot be made of so many bits."""
    if not 1 <= design.chosen < design.blocks <= bits:
        raise SettingsError(f"table design '{design}': choose at least 1 and fewer than all of at most {bits} blocks")
    if design.inner:
        # Where the longer blocks are chosen, the fewest bits are left.
        _check(design.inner, bits - sum(_widths(bits, design.blocks)[: design.chosen]))


def _widths(bits: int, blocks: int) -> list[int]:
    width, longer = divmod(bits, blocks)
    return [width + 1] * longer + [width] * (blocks - longer)


def _prefixes(design: TableDesign, bits: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield what stands at the top of each table, where these bits are cut into blocks."""
    blocks, start = [], 0
    for width in _widths(len(bits), design.blocks):
        blocks.append(tuple(bits[start : start + width]))
        start += width
    for choice in combinations(blocks, design.chosen):
        top = tuple(bit for block in choice for bit in block)
        if design.inner is None:
            yield top
        else:
            for below in _prefixes(design.inner, [bit for bit in bits if bit not in top]):
                yield top + below


def _moves(order: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Yield the moves that bring the bits into this order: one for each run of neighbours."""
    start = 0
    for end in range(1, len(order) + 1):
        if end == len(order) or order[end] != order[end - 1] - 1:
            yield order[end - 1], (1 << (end - start)) - 1, BITS - end
            start = end
