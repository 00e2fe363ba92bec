"""Keys: the numbers by which documents are found, and what is read of those that many documents share.

A document has a key in each permuted table, the top bits of its permuted fingerprint, and a key for each band of its
minima. Two documents are candidates of each other if they share a key; of tables alone only if their fingerprints are
within the paper's radius of 3 bits: what is within it shares the prefix of at least one table (G. S. Manku, A. Jain,
A. Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007, section 3).

Pages of one template share keys with all others of it. So of each key the earliest documents alone are read, and of
what they bring those are looked at that share rare keys: an original shares with its copy what the template has not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from dedup.index.design import TableDesign
from dedup.signature.signature import BITS
from dedup.signature.sketch import BANDS

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


class Keys:
    """The keys of documents, numbered: first those of the tables, then those of the bands.

    Args:
        design: the permuted tables.
        with_bands: whether there are keys for bands, too; in the paper's mode there are none.
    """

    def __init__(self, design: TableDesign, *, with_bands: bool = True) -> None:
        self._tables = design.tables
        self.tables = design.table_count
        self.count = self.tables + BANDS * with_bands

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
        found: the number of each key that is shared, and the earliest `MOST_READ` documents that share it.
        keys: what the numbers mean; without bands all are looked at, and all documents are read.

    Returns:
        The documents that share the rarest keys, `MOST_RANKED` at most, of equally rare ones the earliest first; and of
        each whether it shares a band.
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
    most = MOST_RANKED if keys.count > keys.tables else len(order)
    return [(document, document in sharing_bands) for document in order[:most]]
