"""From keys to the documents that share them, in arrays: what `dedup.store.key_table` is in SQL."""

# Compiled functions take nothing by name.
# ruff: noqa: PLR0917

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import KEY, compiled, inner, ones, signed, slot_of
from dedup.keys import MOST_RANKED, MOST_READ, RADIUS, RARITIES, Keys
from dedup.rules.settings import Limits
from dedup.rules.verification import may_be_alike
from dedup.signature.signature import BITS_OF_A_MINIMUM, MINIMA, similarity_of

NULL = -1
"""In the place of the number of a document: there is none."""

_GROWTH = 1.25
_FEWEST = 1 << 12
_ENTRIES_A_HEAD = 2
# In the place of the next entry: the last one; and of one that was left out, since its key was read to the bound.
_LAST, _LEFT_OUT = np.uint32(0), np.uint32(2**32 - 1)
_MOST_RANKED, _MOST_READ, _RADIUS = MOST_RANKED, MOST_READ, RADIUS
_RARITIES = np.array(RARITIES)
# A rarity of all keys together is less than this; above it stands the number of a document.
_RARITY_BITS, _BAND = np.uint64(28), np.uint64(1 << 27)
_RARITY = np.uint64((1 << 27) - 1)
_LOWEST_BITS = 0x1111111111111111
_WORDS = MINIMA * BITS_OF_A_MINIMUM // 64
# Of each minimum one bit is left, so that those of four words fit in one.
_COUNTED_TOGETHER = 4

# The rule stands in plain Python, for those who do without the compiler.
_similarity_of = inner(similarity_of)
_may_be_alike = inner(may_be_alike)


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


class Chains(NamedTuple):
    """A hash table with chains, for compiled code.

    An entry is a key of a document: that of number k of the document d is the entry d * keys + k. Of a key the first
    documents alone are entered, as no others are read.

    Attributes:
        heads: the first entry of each chain plus one, 0 where there is none; a power of two of them.
        entries: of each entry the hash of its key, and the next entry of its chain plus one; shape (n, 2).
        keys: how many keys a document has.
        tables: how many of them are those of tables.
        most: how many documents of a key are entered.
        key: `dedup.compiled.KEY`.
    """

    heads: NDArray[np.uint32]
    entries: NDArray[np.uint32]
    keys: int
    tables: int
    most: int
    key: np.uint64


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
        self._heads = np.zeros(0, np.uint32)
        self._documents = 0

    @property
    def nbytes(self) -> int:
        """How many bytes of memory it takes."""
        return self._entries.nbytes + self._heads.nbytes

    def room(self, documents: int) -> Chains:
        """Make room for so many documents in all, and return what compiled code works on."""
        documents, count = max(documents, self._documents), self._keys.count
        if documents * count > len(self._entries):
            # In place: a copy would need twice the memory.
            self._entries.resize((max(_FEWEST, int(documents * _GROWTH)) * count, 2), refcheck=False)
        most = self._keys.most_read
        if documents * count > _ENTRIES_A_HEAD * len(self._heads):
            self._heads = np.zeros(1 << (documents * count // _ENTRIES_A_HEAD).bit_length(), np.uint32)
            _rebuild_chains(
                Chains(self._heads, self._entries, count, self._keys.tables, most, KEY), self._documents * count
            )
        self._documents = documents
        return Chains(self._heads, self._entries, count, self._keys.tables, most, KEY)

    def hashes(self, fingerprints: NDArray[np.uint64], bands: NDArray[np.uint64]) -> NDArray[np.uint32]:
        """Return the hashes of the keys of documents, shape (n, keys); the arguments are those of `Keys.of`."""
        return (self._keys.mixed(fingerprints, bands) >> np.uint64(32)).astype(np.uint32)

    def find(
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
        found = Candidates(np.zeros(len(numbers), np.int64), np.empty(len(numbers) * MOST_RANKED, np.int64))
        chains = self.room(int(numbers.max(initial=NULL)) + 1)
        _find(chains, hashes, numbers, comparable, fingerprints, sketches, needed, found)
        return found

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
            _add(self.room(start + len(hashes)), hashes, np.ascontiguousarray(indexed[some]), start)

    def add(self, document: int, hashes: NDArray[np.uint32], *, is_found: bool) -> None:
        """Add the document behind all others by the hashes of its keys; is_found: whether it can be found."""
        _add(self.room(document + 1), hashes[np.newaxis], np.array([is_found], np.int64), document)


@compiled
def _find(
    chains: Chains,
    hashes: NDArray[np.uint32],
    numbers: NDArray[np.int64],
    comparable: NDArray[np.bool_],
    fingerprints: NDArray[np.uint64],
    sketches: Sketches,
    needed: Limits,
    found: Candidates,
) -> None:
    """Do what `KeyMap.find` does with the known keys, and those of the batch, shape (n, keys)."""
    rarities = np.empty(chains.keys * _MOST_READ, np.uint64)
    end = 0
    for place in range(len(hashes)):
        document = numbers[place]
        if document >= 0 and comparable[place]:
            count = _read(chains, hashes[place], document, rarities)
            chosen = _chosen(rarities[:count], fingerprints, fingerprints[document])
            for candidate in rank(chosen, sketches, document, needed):
                found.numbers[end] = candidate
                end += 1
        elif document >= 0:
            _leave_out(chains, document)
        found.ends[place] = end


@compiled
def find_closest(
    chains: Chains, hashes: NDArray[np.uint32], fingerprints: NDArray[np.uint64], fingerprint: np.uint64, radius: int
) -> int:
    """Return the document within the radius that is closest, of equally close ones the first; `NULL` if there is none.

    Args:
        chains: the known keys.
        hashes: those of the keys of the document that is looked up, shape (keys,).
        fingerprints: those of all documents.
        fingerprint: that of the document.
        radius: in bits.
    """
    closest, least = NULL, radius + 1
    for number in range(chains.keys):
        entry = signed(chains.heads[_head_of(hashes[number], chains)]) - 1
        while entry >= 0:
            other = entry // chains.keys
            distance = signed(ones(fingerprints[other] ^ fingerprint))
            if distance < least or (distance == least and other < closest):
                closest, least = other, distance
            entry = signed(chains.entries[entry, 1]) - 1
    return closest


@compiled
def _add(chains: Chains, hashes: NDArray[np.uint32], indexed: NDArray[np.int64], first: int) -> None:
    """Enter the keys of documents with rising numbers."""
    for place in range(len(hashes)):
        if indexed[place]:
            _read(chains, hashes[place], first + place, np.empty(0, np.uint64))
        else:
            _leave_out(chains, first + place)


@inner
def _head_of(value: np.uint32, chains: Chains) -> np.uint64:
    """Return where the first entry of the chain of a key is, by its hash."""
    return slot_of(np.uint64(value), chains.key, np.uint64(len(chains.heads) - 1))


@inner
def _leave_out(chains: Chains, document: int) -> None:
    for number in range(chains.keys):
        chains.entries[document * chains.keys + number, 1] = _LEFT_OUT


@inner
def _read(chains: Chains, hashes: NDArray[np.uint32], document: int, rarities: NDArray[np.uint64]) -> int:
    """Read the documents that share keys with one, and enter its keys.

    Args:
        chains: the known keys.
        hashes: those of its keys, shape (keys,).
        document: its number.
        rarities: takes each document that shares a key, shifted, whether the key is a band, and how rare it is; with
            no room for anything nothing is written.

    Returns:
        How much of it was written.
    """
    end = 0
    for number in range(chains.keys):
        value = hashes[number]
        head = _head_of(value, chains)
        entry, last, count = signed(chains.heads[head]) - 1, NULL, 0
        while entry >= 0 and count < chains.most:
            if chains.entries[entry, 0] == value and entry % chains.keys == number:
                if len(rarities):
                    rarities[end + count] = np.uint64(entry // chains.keys)
                count += 1
            last, entry = entry, signed(chains.entries[entry, 1]) - 1
        own = document * chains.keys + number
        chains.entries[own, 0] = value
        chains.entries[own, 1] = _LAST if count < chains.most else _LEFT_OUT
        if count < chains.most and last >= 0:
            chains.entries[last, 1] = np.uint32(own + 1)
        elif count < chains.most:
            chains.heads[head] = np.uint32(own + 1)
        if len(rarities):
            weight = np.uint64(_RARITIES[count]) | (_BAND if number >= chains.tables else np.uint64(0))
            for place in range(end, end + count):
                rarities[place] = rarities[place] << _RARITY_BITS | weight
            end += count
    return end


@inner
def _chosen(
    rarities: NDArray[np.uint64], fingerprints: NDArray[np.uint64], fingerprint: np.uint64
) -> NDArray[np.int64]:
    """Return whom to look at as `dedup.keys.choose` does, but for those that are too far away; rising."""
    rarities = np.sort(rarities)
    # The rarest first, and then the earliest, as one number.
    orders, bands = np.empty(len(rarities), np.uint64), np.empty(len(rarities), np.bool_)
    count, before = 0, np.uint64(0)
    for each in rarities:
        document = each >> _RARITY_BITS
        if count == 0 or document != before:
            orders[count], bands[count], before = (_RARITY << np.uint64(32)) | document, False, document
            count += 1
        orders[count - 1] -= (each & _RARITY) << np.uint64(32)
        bands[count - 1] |= (each & _BAND) != np.uint64(0)
    limit = np.uint64(2**64 - 1)
    if count > _MOST_RANKED:
        limit = np.sort(orders[:count])[_MOST_RANKED]
    chosen, size = np.empty(min(count, _MOST_RANKED), np.int64), 0
    for place in range(count):
        document = signed(orders[place] & np.uint64(2**32 - 1))
        is_near = bands[place] or signed(ones(fingerprints[document] ^ fingerprint)) <= _RADIUS
        if orders[place] < limit and is_near:
            chosen[size] = document
            size += 1
    return chosen[:size]


@compiled
def _rebuild_chains(chains: Chains, entries: int) -> None:
    """Chain entries by other heads: from the last entry to the first, each becomes the head."""
    for entry in range(entries - 1, -1, -1):
        if chains.entries[entry, 1] != _LEFT_OUT:
            head = _head_of(chains.entries[entry, 0], chains)
            chains.entries[entry, 1] = chains.heads[head]
            chains.heads[head] = np.uint32(entry + 1)


@inner
def rank(candidates: NDArray[np.int64], known: Sketches, document: int, needed: Limits) -> NDArray[np.int64]:
    """Return the candidates that the check may confirm, the most similar first, of equal ones the first.

    As `dedup.rules.matcher.Matcher.rank` does.

    Args:
        candidates: numbers of documents, rising.
        known: the sketches of all documents.
        document: the number of the one that is to be decided.
        needed: what is to be reached.
    """
    found, similarities, count = np.empty(len(candidates), np.int64), np.empty(len(candidates), np.float64), 0
    for number in candidates:
        jaccard, may_be_alike = _compare(known, number, known, document, needed)
        if not may_be_alike:
            continue
        place = count
        while place > 0 and similarities[place - 1] < jaccard:
            similarities[place], found[place] = similarities[place - 1], found[place - 1]
            place -= 1
        similarities[place], found[place] = jaccard, number
        count += 1
    return found[:count]


@compiled
def estimate(ours: Sketches, theirs: Sketches, needed: Limits) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return of pairs of sketches the Jaccard similarity, and whether the check may confirm them.

    Args:
        ours: one of each pair.
        theirs: the other one, at the same place.
        needed: what is to be reached.
    """
    jaccards, may_be_alike = np.empty(len(ours.tokens), np.float64), np.empty(len(ours.tokens), np.bool_)
    for place in range(len(ours.tokens)):
        jaccards[place], may_be_alike[place] = _compare(ours, place, theirs, place, needed)
    return jaccards, may_be_alike


@inner
def _compare(ours: Sketches, a: int, theirs: Sketches, b: int, needed: Limits) -> tuple[float, bool]:
    """Return the Jaccard similarity of two documents, and whether the check may confirm them; see `estimate`."""
    differing = 0
    for half in range(0, _WORDS, _COUNTED_TOGETHER):
        together = np.uint64(0)
        for word in range(_COUNTED_TOGETHER):
            bits = ours.minima[a, half + word] ^ theirs.minima[b, half + word]
            bits |= bits >> np.uint64(2)
            bits |= bits >> np.uint64(1)
            together |= (bits & np.uint64(_LOWEST_BITS)) << np.uint64(word)
        differing += signed(ones(together))
    shingles, other_shingles = signed(ours.shingles[a]), signed(theirs.shingles[b])
    tokens, other_tokens = signed(ours.tokens[a]), signed(theirs.tokens[b])
    jaccard, containment, ratio = _similarity_of(differing, shingles, other_shingles, tokens, other_tokens)
    return jaccard, _may_be_alike(jaccard, containment, ratio, min(tokens, other_tokens), needed)
