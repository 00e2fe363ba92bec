"""Table designs: which bits of a fingerprint each permuted table is sorted by.

G. S. Manku, A. Jain, A. Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007,
section 3: the 64 bits are cut into n blocks, each table brings r of them to the top, so there are
n choose r tables, and two fingerprints that differ in at most n - r bits agree on the top bits of
at least one table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from dedup.errors import SettingsError
from dedup.fingerprint.signature import BITS

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

    Raises:
        SettingsError: the numbers make no design, or one of more than 64 tables.
    """

    blocks: int = 3
    chosen: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.chosen < self.blocks <= BITS:
            raise SettingsError(f"table design '{self}': choose at least 1 and fewer than all of at most {BITS} blocks")
        if len(self._choices()) > MAX_TABLES:
            raise SettingsError(f"table design '{self}' needs more than {MAX_TABLES} tables; choose fewer blocks")

    def __str__(self) -> str:
        return f"{self.blocks} choose {self.chosen}"

    @classmethod
    def parse(cls, text: str) -> TableDesign:
        """Read a design as `str` writes it, such as "4 choose 1" or "6 choose 3".

        Raises:
            SettingsError: the text is not of that form, or no design.
        """
        match = _TEXT_FORM.fullmatch(text)
        if match is None:
            raise SettingsError(f"table design {text!r}: expected 'N choose R', such as '3 choose 1'")
        return cls(int(match[1]), int(match[2]))

    def _choices(self) -> list[tuple[int, ...]]:
        choices: list[tuple[int, ...]] = []
        for choice in combinations(range(self.blocks), self.chosen):
            choices.append(choice)
            if len(choices) > MAX_TABLES:
                break
        return choices

    @cached_property
    def tables(self) -> tuple[PermutedTable, ...]:
        """The tables, n choose r of them."""
        width, longer = divmod(BITS, self.blocks)
        widths = [width + 1] * longer + [width] * (self.blocks - longer)
        lowest_bits = [BITS - sum(widths[: block + 1]) for block in range(self.blocks)]
        tables = []
        for number, choice in enumerate(self._choices()):
            order = [*choice, *(block for block in range(self.blocks) if block not in choice)]
            moves, free = [], BITS
            for block in order:
                free -= widths[block]
                moves.append((lowest_bits[block], (1 << widths[block]) - 1, free))
            prefix = tuple(
                bit
                for block in choice
                for bit in range(lowest_bits[block] + widths[block] - 1, lowest_bits[block] - 1, -1)
            )
            tables.append(PermutedTable(number, prefix, tuple(moves)))
        return tuple(tables)

    def flips_needed(self, radius: int) -> list[int]:
        """Say how many bits of each table's prefix must be flipped, in all ways, to miss nothing.

        With one block a table, radii per block that sum to radius - n + 1 suffice (M. Norouzi,
        A. Punjani, D. Fleet, "Fast search in Hamming space with multi-index hashing", CVPR 2012,
        section 3). With r blocks a table, the pigeonhole principle is applied to the r blocks that
        differ least; up to a radius of n - r nothing has to be flipped.

        Args:
            radius: the distance in bits within which every fingerprint must be found.

        Returns:
            For each table the number of bits to flip; -1 for a table that need not be asked.
        """
        if self.chosen > 1:
            # The r blocks with the fewest differing bits have most where all blocks have equally many.
            everywhere, rest = divmod(radius, self.blocks)
            needed = everywhere * self.chosen + max(0, rest - (self.blocks - self.chosen))
            return [needed] * len(self.tables)
        base, rest = divmod(radius - self.blocks + 1, self.blocks)
        # The narrower blocks come last; flips cost least there.
        flips = [base] * (self.blocks - rest) + [base + 1] * rest
        return [max(-1, flip) for flip in flips]
