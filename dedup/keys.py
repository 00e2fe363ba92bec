"""Keys of fingerprints, by which candidates are found: prefixes of permuted tables, and bands."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from dedup.errors import SettingsError
from dedup.signature.signature import BANDS, BITS

_TEXT_FORM = re.compile(r"\s*(\d{1,3})\s+choose\s+(\d{1,3})\s*", re.ASCII)
MAX_TABLES = 64

RADIUS = 3
"""The radius of Manku, Jain, Das Sarma, WWW 2007, section 2, in bits."""

MOST_READ = 16
"""Of a key so many documents are read, the earliest."""

MOST_RANKED = 64
"""So many candidates are ranked by their sketches, those that share the rarest keys."""

# The least common multiple of 1 to 15: shares of it are whole numbers, which add up alike in any order.
_OF_ALL = 360_360
RARITIES = (0, *(_OF_ALL // documents for documents in range(1, MOST_READ)), 1)
"""What a shared key says by how many documents are read of it; of one that is cut nearly nothing."""

# Any odd number with bits everywhere.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_NUMBER_BITS = np.uint64(40)
_ALL = 1 << 31


@dataclass(frozen=True, slots=True)
class PermutedTable:
    """One table: the permutation that brings its blocks to the top.

    Attributes:
        prefix: the bits of the fingerprint (0 the least significant) that stand at the top,
            the topmost first.
        moves: the permutation, block by block: (shift to the right, mask, shift to the left).
    """

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

    @classmethod
    def finding(cls, radius: int) -> list[TableDesign]:
        """Return designs that find all within a radius, in bits: those of one, two and three blocks at the top."""
        return [cls(radius + chosen, chosen) for chosen in (1, 2, 3) if comb(radius + chosen, chosen) <= MAX_TABLES]

    @property
    def table_count(self) -> int:
        """How many tables there are: n choose r, times those of the inner design."""
        return comb(self.blocks, self.chosen) * (self.inner.table_count if self.inner else 1)

    @cached_property
    def tables(self) -> tuple[PermutedTable, ...]:
        """The tables, `table_count` of them."""
        bits = range(BITS - 1, -1, -1)
        return tuple(
            PermutedTable(prefix, tuple(_moves([*prefix, *(bit for bit in bits if bit not in prefix)])))
            for prefix in _prefixes(self, bits)
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


class Keys:
    """The keys of documents, numbered: first those of the tables, then those of the bands.

    Args:
        design: the permuted tables.
        with_bands: whether there are keys for bands, too; in the paper's mode there are none.

    Attributes:
        with_bands: as above.
        tables: how many keys are of tables.
        count: how many keys a document has.
        most_read: of a key so many documents are read, the earliest; without bands nothing is confirmed by words, and
            all are read.
        most_ranked: so many candidates are ranked, those that share the rarest keys; without bands all.
    """

    def __init__(self, design: TableDesign, *, with_bands: bool = True) -> None:
        self._tables = design.tables
        self.with_bands = with_bands
        self.tables = design.table_count
        self.count = self.tables + BANDS * with_bands
        self.most_read, self.most_ranked = (MOST_READ, MOST_RANKED) if with_bands else (_ALL, _ALL)

    def of(self, fingerprints: NDArray[np.uint64], bands: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the keys of documents.

        Args:
            fingerprints: 64 bits each, shape (n,).
            bands: those of their signatures, shape (n, 24).

        Returns:
            A key a number, shape (n, count).
        """
        keys = np.empty((len(fingerprints), self.count), np.uint64)
        for number in range(self.tables):
            keys[:, number] = self.numbered(number, fingerprints, bands)
        keys[:, self.tables :] = bands[:, : self.count - self.tables]
        return keys

    def mixed(self, fingerprints: NDArray[np.uint64], bands: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return what `of` does, each key mixed with its number: of another number an equal one is another."""
        keys = self.of(fingerprints, bands)
        keys += np.arange(self.count, dtype=np.uint64) << _NUMBER_BITS
        keys *= _SPREAD
        return keys

    def numbered(self, number: int, fingerprints: NDArray[np.uint64], bands: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the keys of one number, shape (n,); the other arguments are those of `of`."""
        if number >= self.tables:
            return bands[:, number - self.tables]
        table = self._tables[number]
        # Which bits go where is the same for one number and for many.
        permuted: NDArray[np.uint64] = table.permute(fingerprints)  # type: ignore[arg-type,assignment]
        return permuted >> np.uint64(BITS - len(table.prefix))


def choose(found: Iterable[tuple[int, Sequence[int]]], keys: Keys) -> list[tuple[int, bool]]:
    """Choose whom to look at among the documents that share keys with one.

    Args:
        found: the number of each key that is shared, and the earliest `Keys.most_read` documents that share it.
        keys: what the numbers mean, and how many are looked at.

    Returns:
        The documents that share the rarest keys, `Keys.most_ranked` at most, of equally rare ones the earliest first;
        and of each whether it shares a band.
    """
    rarities: defaultdict[int, int] = defaultdict(int)
    sharing_bands: set[int] = set()
    for number, documents in found:
        rarity = RARITIES[min(len(documents), MOST_READ)]
        for document in documents:
            rarities[document] += rarity
        if number >= keys.tables:
            sharing_bands.update(documents)
    order = sorted(rarities, key=lambda document: (-rarities[document], document))
    return [(document, document in sharing_bands) for document in order[: keys.most_ranked]]
