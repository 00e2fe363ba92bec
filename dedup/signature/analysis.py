"""The way of texts to their signatures: one kernel, for texts of all scripts."""

# Compiled functions take nothing by name.
# ruff: noqa: PLR0917

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import BLOCK, KEY, compiled, inner, signed
from dedup.signature.kernels import (
    bloom_of_numbers,
    count_distinct,
    distinct,
    find_edges,
    fold_equal,
    hashes_of_words,
    is_chinese,
    join_signs,
    join_tokens,
    murmur3_of_bigrams,
    murmur3_of_tokens,
    shingle_hashes,
    write_minima,
)
from dedup.signature.normalise import fold
from dedup.signature.schemes import Scheme
from dedup.signature.segmenter import NO_DICTIONARY, load_dictionary, loaded_dictionary
from dedup.signature.signature import BANDS, BITS, SIGNATURE, SignedTexts, Texts, digest, encoded
from dedup.signature.text_folding import COMBINING, find_combining, fold_text, folding, room_for
from dedup.signature.tokens import HAN

# A signature as the kernel writes it, in words of 64 bits: see `dedup.signature.signature.SIGNATURE`.
_ROW = SIGNATURE.itemsize // 8
_FINGERPRINT, _MINIMA, _COUNTS, _NUMBERS, _BANDS = 2, 3, 11, 12, 13
# Until the digest is there, its words say where the normalised text ends, and where its words do.
_END, _WORDS_END = 0, 1
_BLOCK = bytes(BLOCK)


def bands_of(tokens: bytes) -> NDArray[np.uint64]:
    """Return the bands of a text by its tokens, as `dedup.signature.signing.bands_of_words` does, for many texts."""
    return _bands_of(np.frombuffer(tokens, np.uint8)).view(np.uint64)


def find_words(text: str, scheme: Scheme) -> bytes:
    """Return the words of a text; see `dedup.signature.signing.words_of`."""
    return _signed(_alone(text), scheme, with_words=True, with_rows=False)[-1].tobytes()


def analyse_texts(texts: Texts, scheme: Scheme, *, with_words: bool) -> SignedTexts:
    """Make the signatures of texts; see `dedup.signature.signing.sign_texts`."""
    # Functions would be compiled again for an array that can be written.
    data = texts.data.view()
    data.flags.writeable = False
    rows, normalised, words = _signed(Texts(data, texts.offsets), scheme, with_words=with_words)
    own_words = list(map(bytes, _cut(words, rows[:, _WORDS_END]))) if with_words else []
    digests = b"".join(map(digest, _cut(normalised, rows[:, _END])))
    signatures = rows.view(SIGNATURE)[:, 0]
    signatures["digest"] = np.frombuffer(digests, np.uint64).reshape(-1, 2)
    return SignedTexts(signatures, own_words)


def _alone(text: str) -> Texts:
    data = encoded(text)
    # Whole blocks are read faster, and here is one of them behind the text.
    return Texts(np.frombuffer(data + _BLOCK, np.uint8), np.array((0, len(data))))


def _signed(
    texts: Texts, scheme: Scheme, *, with_words: bool, with_rows: bool = True
) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the rows that `_sign` fills, the normalised texts, and the words; rows and words if they are wanted."""
    tables, refused = folding(), COMBINING
    dictionary = loaded_dictionary(scheme.vocabulary) if scheme.segmenter else NO_DICTIONARY
    rows = np.empty((len(texts.offsets) - 1, _ROW), np.int64)
    while True:
        needed, normalised, words = _sign(
            texts.data,
            texts.offsets,
            refused,
            scheme.segmenter,
            with_words,
            with_rows,
            tables.classes,
            tables.starts,
            tables.replaced,
            *dictionary,
            rows,
            KEY,
        )
        if needed == COMBINING:
            texts = _combined(texts, find_combining(*texts, tables.classes, tables.starts).reshape(-1, 3))
            refused = 0
        elif needed == HAN:
            dictionary = load_dictionary(scheme.vocabulary)
        else:
            return rows, normalised, words


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
    for text, start, end in stretches.tolist():
        # A digit joins nothing, and no space is cut off where there is one.
        normalised = fold(f"0{str(data[start:end], 'utf-8')}0")[1:-1].encode()
        growth[text] += len(normalised) - (end - start)
        parts += data[at:start], normalised
        at = end
    parts.append(data[at : offsets[-1]])
    return Texts(np.frombuffer(b"".join(parts), np.uint8), texts.offsets - offsets[0] + np.append(0, np.cumsum(growth)))


# Arrays one by one: numba takes long to unpack a tuple of them.
@compiled
def _sign(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    refused: int,
    segmenter: bool,
    with_words: bool,
    with_rows: bool,
    classes: NDArray[np.uint8],
    starts: NDArray[np.int32],
    replaced: NDArray[np.uint16],
    trie: NDArray[np.uint64],
    weights: NDArray[np.float64],
    rows: NDArray[np.int64],
    key: np.uint64,
) -> tuple[int, NDArray[np.uint8], NDArray[np.uint8]]:
    """Fill rows but for the digests.

    Returns:
        What is needed to do it: 0, COMBINING where such characters must be normalised before, HAN where the dictionary
        is missing; the normalised texts; their words.
    """
    texts = len(offsets) - 1
    room = room_for(data[offsets[0] : offsets[texts]])
    normalised, kinds = np.empty(room, np.uint8), np.empty(room, np.uint8)
    # Where each of two bytes is a word, and the other a sign, there are eight bytes for two.
    words = np.empty(room * 4 if with_words else 0, np.uint8)
    end = word_end = 0
    for text in range(texts):
        own = normalised[end:]
        size, seen, han, kana = fold_text(
            data, offsets[text], offsets[text + 1], refused, classes, starts, replaced, own, kinds
        )
        if seen & refused:
            return COMBINING, normalised[:0], words[:0]
        if segmenter and len(trie) == 0 and is_chinese(han, kana):
            return HAN, normalised[:0], words[:0]
        edges = find_edges(own, kinds, size, seen, han, kana, trie, weights)
        if with_rows:
            _write_row(own, edges, kinds, size, rows[text], key)
        end += size
        if with_words:
            word_end += join_tokens(own, edges, words[word_end:])
            word_end += join_signs(own, kinds, size, edges, classes, words[word_end:])
        rows[text, _END], rows[text, _WORDS_END] = end, word_end
    return 0, normalised[:end], words[:word_end]


@inner
def _write_row(
    normalised: NDArray[np.uint8],
    edges: NDArray[np.int32],
    kinds: NDArray[np.uint8],
    size: int,
    row: NDArray[np.int64],
    key: np.uint64,
) -> None:
    """Write the signature of a normalised text, but for its digest, by the edges of its tokens."""
    hashes = murmur3_of_tokens(normalised, edges)
    sums = fold_equal(distinct(murmur3_of_bigrams(hashes), key))
    shingles = shingle_hashes(hashes)
    fingerprint = np.uint64(0)
    for bit in range(BITS):
        fingerprint |= np.uint64(sums[bit] > 0) << np.uint64(bit)
    row[_FINGERPRINT] = signed(fingerprint)
    write_minima(shingles, row[_MINIMA:_COUNTS], row[_BANDS:])
    row[_COUNTS] = len(hashes) << 32 | count_distinct(shingles, key)
    row[_NUMBERS] = signed(bloom_of_numbers(hashes, edges, kinds, size))


@compiled
def _bands_of(words: NDArray[np.uint8]) -> NDArray[np.int64]:
    minima, bands = np.empty(_COUNTS - _MINIMA, np.int64), np.empty(BANDS, np.int64)
    write_minima(shingle_hashes(hashes_of_words(words)), minima, bands)
    return bands
