"""The way of texts to their signatures, by any scheme: one kernel, for texts of all scripts."""

# Compiled functions take nothing by name.
# ruff: noqa: PLR0917

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby, pairwise

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import compiled
from dedup.fingerprint.batch import SIGNATURE, SignedTexts, Texts, encoded
from dedup.fingerprint.character_folding import folding
from dedup.fingerprint.features import FEATURES, WEIGHTS
from dedup.fingerprint.hashes import murmur3_of_tokens
from dedup.fingerprint.minhash import PERMUTATIONS, minima_and_shingles
from dedup.fingerprint.named_hashes import HASHES
from dedup.fingerprint.normalise import clean, normalise
from dedup.fingerprint.schemes import DEFAULT, Scheme
from dedup.fingerprint.segmenter import NO_DICTIONARY, load_dictionary
from dedup.fingerprint.signature import BITS, Signature, digest
from dedup.fingerprint.simhash import fingerprint_of, fold_equal, fold_wide
from dedup.fingerprint.sketch import Sketch
from dedup.fingerprint.text_folding import find_combining, fold_text, room_for
from dedup.fingerprint.token_edges import bloom_of_numbers, find_edges, join_tokens
from dedup.fingerprint.tokens import Tokens

# A signature as the kernel writes it, in words of 64 bits: see `dedup.fingerprint.batch.SIGNATURE`.
_ROW = SIGNATURE.itemsize // 8
_FINGERPRINT, _MINIMA, _COUNTS, _NUMBERS, _MARGINS = 2, 3, 11, 12, 13
_LOWER = 2**32 - 1
# Stretches nearer to each other than so many bytes, on average, are not normalised one by one.
_FAR_APART = 256


def analyse(text: str, scheme: Scheme | None = None) -> Signature:
    """Make the signature of a text; see `dedup.fingerprint.signature.make_signature`."""
    scheme = scheme or DEFAULT
    data = encoded(text)
    texts = Texts(np.frombuffer(data, np.uint8), np.array((0, len(data))))
    rows, normalised, words = _kernel(texts, scheme, with_words=True, is_ascii=text.isascii())
    row = rows[0]
    shingles, tokens = int(row[_COUNTS]) & _LOWER, int(row[_COUNTS]) >> 32
    fingerprint, margins = int(row[_FINGERPRINT]), row[_MARGINS:].view(np.int64)
    if not scheme.is_compiled:
        sums = sums_of(FEATURES[scheme.features].weighted(clean(text), Tokens.of_words(words[0])), scheme)
        fingerprint, margins = fingerprint_of(sums, scheme.tie), np.abs(sums)
    sketch = Sketch(row[_MINIMA:_COUNTS].tobytes(), int(row[_NUMBERS]), tokens, shingles)
    return Signature(digest(normalised[0]), fingerprint, margins, sketch, words[0])


def analyse_texts(texts: Texts, scheme: Scheme, *, with_words: bool) -> SignedTexts:
    """Make the signatures of texts; see `dedup.fingerprint.batch.sign_texts`."""
    rows, normalised, words = _kernel(texts, scheme, with_words=with_words)
    signed = rows.view(SIGNATURE)[:, 0]
    digests = b"".join(map(digest, normalised))
    signed["digest"] = np.frombuffer(digests, np.uint64).reshape(-1, 2)
    return SignedTexts(signed, words)


def edges_of(data: bytes, *, segmenter: bool) -> NDArray[np.int32]:
    """Return start and end of each token of a normalised text, one after the other, shape (2 n,)."""
    array = np.frombuffer(data, np.uint8)
    classes, starts, *_ = tables = folding()
    _, has_han = find_combining(array, np.array((0, len(data))), classes, starts)
    dictionary = load_dictionary() if segmenter and has_han else NO_DICTIONARY
    return _edges_of(array, *tables, *dictionary)


def sums_of(features: Mapping[bytes, float], scheme: Scheme) -> NDArray[np.int64]:
    """Add up features by a scheme's weighting and hash function.

    Args:
        features: the features and their own weights: counts, or the ranks of keywords.
        scheme: the scheme; its kind of features plays no part.

    Returns:
        The sums, shape (bits,), index 0 of the least significant bit; where weights are real in units of
        1 / `dedup.fingerprint.features.UNIT`.
    """
    weigh, hash_of = WEIGHTS[scheme.weights], HASHES[scheme.hash].of
    weights = np.array([weigh(weight) for weight in features.values()], np.int64)
    return fold_wide([hash_of(feature, scheme.bits) for feature in features], weights, scheme.bits)


def _kernel(
    texts: Texts, scheme: Scheme, *, with_words: bool, is_ascii: bool = False
) -> tuple[NDArray[np.uint64], list[memoryview], list[bytes]]:
    """Return the signatures without digests, the normalised texts, and the words."""
    tables, dictionary = folding(), NO_DICTIONARY
    # Functions are compiled anew for arrays that can be written.
    texts.data.flags.writeable = False
    if not is_ascii:
        stretches, has_han = find_combining(*texts, tables.classes, tables.starts)
        if len(stretches):
            texts = _combined(texts, stretches.reshape(-1, 3))
        if scheme.segmenter and has_han:
            dictionary = load_dictionary()
    rows = np.empty((len(texts.offsets) - 1, _ROW), np.uint64)
    normalised, ends, words, word_ends = _sign(
        *texts, scheme.tie, with_words, *tables, *dictionary, *PERMUTATIONS, rows
    )
    return rows, _cut(normalised, ends), [bytes(part) for part in _cut(words, word_ends)] if with_words else []


def _cut(data: NDArray[np.uint8], ends: NDArray[np.int64]) -> list[memoryview]:
    view = data.data
    return [view[start:end] for start, end in pairwise([0, *ends.tolist()])]


def _combined(texts: Texts, stretches: NDArray[np.int64]) -> Texts:
    """Normalise stretches of texts.

    Args:
        texts: the texts.
        stretches: text, start and end of each stretch, shape (n, 3).
    """
    data, offsets = texts.data.data, texts.offsets.tolist()
    growth = np.zeros(len(offsets) - 1, np.int64)
    parts: list[memoryview | bytes] = []
    at = offsets[0]
    for text, start, end in _dense(stretches.tolist(), offsets):
        # A digit joins nothing, and no space is cut off where there is one.
        normalised = normalise(f"0{str(data[start:end], 'utf-8')}0")[1:-1].encode()
        growth[text] += len(normalised) - (end - start)
        parts += data[at:start], normalised
        at = end
    parts.append(data[at : offsets[-1]])
    return Texts(
        np.frombuffer(b"".join(parts), np.uint8),
        texts.offsets - offsets[0] + np.append(0, np.cumsum(growth)),
    )


def _dense(stretches: list[list[int]], offsets: list[int]) -> Iterator[list[int]]:
    """Yield stretches; the whole text instead of many."""
    for text, each in groupby(stretches, key=lambda stretch: stretch[0]):
        own = list(each)
        start, end = offsets[text], offsets[text + 1]
        if len(own) * _FAR_APART > end - start:
            yield [text, start, end]
        else:
            yield from own


# Arrays one by one: numba takes long to unpack a tuple of them.
@compiled
def _sign(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    tie: int,
    with_words: bool,
    classes: NDArray[np.uint8],
    starts: NDArray[np.int32],
    replaced: NDArray[np.uint8],
    replaced_classes: NDArray[np.uint8],
    trie: NDArray[np.uint64],
    weights: NDArray[np.float64],
    multipliers: NDArray[np.uint32],
    additions: NDArray[np.uint32],
    rows: NDArray[np.uint64],
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64]]:
    """Fill rows but for the digests; return the normalised texts and where each ends, and their words likewise."""
    texts = len(offsets) - 1
    room = room_for(data[offsets[0] : offsets[texts]])
    normalised, kinds = np.empty(room, np.uint8), np.empty(room, np.uint8)
    # Of pairs of characters of three bytes there are seven bytes for three.
    words = np.empty(room * 7 // 3 if with_words else 0, np.uint8)
    ends, word_ends = np.empty(texts, np.int64), np.empty(texts, np.int64)
    end = word_end = 0
    for text in range(texts):
        own = normalised[end:]
        size, han, kana, unspaced = fold_text(
            data, offsets[text], offsets[text + 1], classes, starts, replaced, replaced_classes, own, kinds
        )
        edges = find_edges(own, kinds, size, han, kana, unspaced, trie, weights)
        hashes = murmur3_of_tokens(own, edges)
        sums = fold_equal(hashes)
        minima, shingles = minima_and_shingles(hashes, multipliers, additions)
        row = rows[text]
        row[_FINGERPRINT] = 0
        for bit in range(BITS):
            if sums[bit] > 0 or (sums[bit] == 0 and tie):
                row[_FINGERPRINT] |= np.uint64(1) << np.uint64(bit)
            row[_MARGINS + bit] = abs(sums[bit])
        row[_MINIMA:_COUNTS] = minima.view(np.uint64)
        row[_COUNTS] = np.uint64(len(hashes)) << np.uint64(32) | np.uint64(shingles)
        row[_NUMBERS] = bloom_of_numbers(hashes, edges, kinds, size)
        end += size
        ends[text] = end
        if with_words:
            word_end += join_tokens(own, edges, words[word_end:])
        word_ends[text] = word_end
    return normalised, ends, words, word_ends


@compiled
def _edges_of(
    data: NDArray[np.uint8],
    classes: NDArray[np.uint8],
    starts: NDArray[np.int32],
    replaced: NDArray[np.uint8],
    replaced_classes: NDArray[np.uint8],
    trie: NDArray[np.uint64],
    weights: NDArray[np.float64],
) -> NDArray[np.int32]:
    room = room_for(data)
    normalised, kinds = np.empty(room, np.uint8), np.empty(room, np.uint8)
    size, han, kana, unspaced = fold_text(
        data, 0, len(data), classes, starts, replaced, replaced_classes, normalised, kinds
    )
    return find_edges(normalised, kinds, size, han, kana, unspaced, trie, weights)
