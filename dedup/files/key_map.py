"""From keys to the documents that share them, in arrays: what `dedup.store.key_table` is in SQL."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import KEY, native
from dedup.keys import MOST_RANKED, RADIUS, RARITIES, Keys
from dedup.rules.measures import may_be_alike
from dedup.rules.settings import Limits
from dedup.signature.signature import similarity_of

NULL = -1
"""In the place of the number of a document: there is none."""

_GROWTH = 1.25
_FEWEST = 1 << 12
_ENTRIES_A_HEAD = 2
_WEIGHTS = np.array(RARITIES)
_LOWEST_BITS = np.uint64(0x1111111111111111)


class Sketches(NamedTuple):
    """Those of all documents.

    Attributes:
        minima: the minima of each, shape (n, 8).
        shingles: how many shingles each has, shape (n,).
        tokens: how many tokens each has, shape (n,).
    """

    minima: NDArray[np.uint64]
    shingles: NDArray[np.uint32]
    tokens: NDArray[np.uint32]

    def of(self, numbers: NDArray[np.int64]) -> Sketches:
        """Return those of some documents."""
        return Sketches(self.minima[numbers], self.shingles[numbers], self.tokens[numbers])


# See `dedup/native/corpus.h`: of each chain the first entry plus one, 0 where there is none; of each entry the hash of
# its key and the next entry plus one. The entry of key k of document d is d * keys + k.
_Chains = tuple[NDArray[np.uint32], NDArray[np.uint32], int, int, int, int]


class Candidates(NamedTuple):
    """The candidates of documents of a batch.

    Attributes:
        ends: where those of each end, shape (n,).
        numbers: the numbers of those that the check may confirm, the most similar first.
    """

    ends: NDArray[np.int64]
    numbers: NDArray[np.int64]

    def of(self, place: int) -> list[int]:
        """Return the candidates of a document by its place in the batch."""
        start = int(self.ends[place - 1]) if place else 0
        candidates: list[int] = self.numbers[start : self.ends[place]].tolist()
        return candidates


class KeyMap:
    """The keys of documents by number.

    It takes some 390 bytes of a document. A hash of 32 bits now and then takes a document for one that shares a key: a
    look-up among a million has .008 of these, which nothing confirms.

    Args:
        keys: makes them. Without bands nothing is confirmed by words, and all documents that share a key are read.
    """

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._entries = np.zeros((0, 2), np.uint32)
        self._heads = np.zeros(1, np.uint32)
        self._documents = 0

    @property
    def nbytes(self) -> int:
        """How many bytes of memory it takes."""
        return self._entries.nbytes + self._heads.nbytes

    def _room(self, documents: int) -> _Chains:
        """Make room for so many documents in all, and return what compiled code works on."""
        documents, count = max(documents, self._documents), self._keys.count
        if documents * count > len(self._entries):
            # In place: a copy would need twice the memory.
            self._entries.resize((max(_FEWEST, int(documents * _GROWTH)) * count, 2), refcheck=False)
        if documents * count > _ENTRIES_A_HEAD * len(self._heads):
            self._heads = np.zeros(1 << (documents * count // _ENTRIES_A_HEAD).bit_length(), np.uint32)
            native.chain_again(self._chains, self._documents * count)
        self._documents = documents
        return self._chains

    @property
    def _chains(self) -> _Chains:
        return self._heads, self._entries, self._keys.count, self._keys.tables, self._keys.most_read, KEY

    def hashes(self, fingerprints: NDArray[np.uint64], bands: NDArray[np.uint64]) -> NDArray[np.uint32]:
        """Return the hashes of the keys of documents, shape (n, keys); the arguments are those of `Keys.of`."""
        return (self._keys.mixed(fingerprints, bands) >> np.uint64(32)).astype(np.uint32)

    def find(  # noqa: PLR0917 -- what a look-up takes
        self,
        hashes: NDArray[np.uint32],
        numbers: NDArray[np.int64],
        comparable: NDArray[np.bool_],
        fingerprints: NDArray[np.uint64],
        sketches: Sketches,
        needed: Limits,
    ) -> Candidates:
        """Look up the documents of a batch, one after the other, and enter their keys.

        Args:
            hashes: what `hashes` returns for them.
            numbers: theirs, rising, and the last of all; `NULL`: it is left out.
            comparable: whether each can be a near-duplicate.
            fingerprints: those of all documents, the batch included.
            sketches: likewise.
            needed: what is to be reached.
        """
        ends, found = np.zeros(len(numbers), np.int64), np.empty(len(numbers) * MOST_RANKED, np.int64)
        chains = self._room(int(numbers.max(initial=NULL)) + 1)
        native.find_candidates(
            chains, hashes, numbers, comparable, fingerprints, _WEIGHTS, MOST_RANKED, RADIUS, ends, found
        )
        found = found[: ends[-1] if len(ends) else 0]
        every = np.arange(len(numbers))
        places = np.repeat(every, np.diff(ends, prepend=0))
        similarities, may_be = estimate(sketches.of(numbers[places]), sketches.of(found), needed)
        # The most similar first; of equal ones the first.
        order = np.lexsort((-np.array(similarities), places))
        chosen = order[np.array(may_be, np.bool_)[order]]
        return Candidates(np.searchsorted(places[chosen], every, "right"), found[chosen])

    def find_closest(
        self, number: int, hashes: NDArray[np.uint32], fingerprints: NDArray[np.uint64], fingerprint: int, radius: int
    ) -> int:
        """Return the document within a radius that is closest, of equally close ones the first; `NULL`: there is none.

        Args:
            number: how many documents there are.
            hashes: those of the keys of the document that is looked up, shape (keys,).
            fingerprints: those of all documents.
            fingerprint: that of the document.
            radius: in bits.
        """
        return native.find_closest(self._room(number), hashes, fingerprints, fingerprint, radius)

    def add_many(
        self,
        fingerprints: NDArray[np.uint64],
        bands: NDArray[np.uint64],
        indexed: NDArray[np.int64],
        at_once: int = 1 << 16,
    ) -> None:
        """Add the first documents.

        Args:
            fingerprints: theirs, by number, shape (n,).
            bands: theirs, shape (n, 24).
            indexed: whether each can be found, shape (n,).
            at_once: so many in a piece.
        """
        for start in range(0, len(fingerprints), at_once):
            some = slice(start, start + at_once)
            hashes = self.hashes(fingerprints[some], np.asarray(bands[some]))
            native.add_keys(self._room(start + len(hashes)), hashes, np.ascontiguousarray(indexed[some]), start)

    def add(self, document: int, hashes: NDArray[np.uint32], *, is_found: bool) -> None:
        """Add the document behind all others by the hashes of its keys; is_found: whether it can be found."""
        native.add_keys(self._room(document + 1), hashes, np.array([is_found], np.int64), document)


def estimate(ours: Sketches, theirs: Sketches, needed: Limits) -> tuple[list[float], list[bool]]:
    """Return of pairs of sketches the Jaccard similarity, and whether the check may confirm them.

    As `dedup.rules.matcher.Matcher.rank` does.

    Args:
        ours: one of each pair.
        theirs: the other one, at the same place.
        needed: what is to be reached.
    """
    bits = ours.minima ^ theirs.minima
    bits |= bits >> np.uint64(2)
    bits |= bits >> np.uint64(1)
    differing = np.bitwise_count(bits & _LOWEST_BITS).sum(axis=1)
    counts = ours.shingles, theirs.shingles, ours.tokens, theirs.tokens
    pairs = [*zip(differing.tolist(), *(each.tolist() for each in counts), strict=True)]
    similarities = [similarity_of(*pair) for pair in pairs]
    may_be = [may_be_alike(*each, min(pair[3:]), needed) for each, pair in zip(similarities, pairs, strict=True)]
    return [jaccard for jaccard, *_ in similarities], may_be
