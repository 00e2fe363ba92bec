"""Text to signature by NumPy, where there is no compiled code: the same signatures, in a millisecond or two."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TypeVar

import mmh3
import numpy as np
from numpy.typing import NDArray

from dedup.signature.dictionaries import Vocabulary, tokenizer_of
from dedup.signature.schemes import Scheme
from dedup.signature.signature import (
    BANDS,
    BITS_OF_A_MINIMUM,
    MINIMA,
    MINIMA_OF_A_BAND,
    MINIMUM,
    MULTIPLIERS,
    NUMBER,
    OFFSETS,
    SHINGLE_WORDS,
    Signature,
    Sketch,
    digest,
)
from dedup.signature.tokens import (
    CONTINUE,
    DIGIT,
    HAN,
    KANA,
    KIND,
    SEPARATOR,
    START,
    UNSPACED,
    Tokens,
    character_classes,
    is_chinese,
)

_Number = TypeVar("_Number", np.uint32, np.uint64)

_C1, _C2 = np.uint64(0x87C37B91114253D5), np.uint64(0x4CF5AD432745937F)
# Their permutations take 4 MB.
_SHINGLES_AT_ONCE = 1 << 13
_UTF32 = f"utf-32-{sys.byteorder[0]}e"
# Frames and copies repeat what stands between two marks; of Chinese to look words up takes most of the time.
_RUNS_KEPT, _LONGEST_KEPT = 1 << 15, 100
# From which characters on one has another byte in UTF-8.
_LONGER = np.array([0x80, 0x800, 0x10000], np.uint32)


def sign_plainly(normalised: str, scheme: Scheme) -> Signature:
    """Make the signature of a text that `normalise` returned; see `dedup.signature.signing.make_signature`."""
    tokens, have_digits = tokenise_plainly(normalised, scheme)
    parts = tokens.parts()
    hashes = hashes_of(parts)
    sketch, bands = make_sketch(hashes, hashes[have_digits])
    # No token has a line feed in it.
    words = b"\0".join((b"\n".join(parts), *tokens.signs()))
    return Signature(digest(tokens.data), fingerprint_of(hashes), sketch, bands, words)


def plain_bands_of(tokens: bytes) -> NDArray[np.uint64]:
    """Return the bands of a text by its tokens, with a line feed between them, shape (24,)."""
    hashes = hashes_of(tokens.split(b"\n") if tokens else [])
    return make_sketch(hashes, hashes[:0])[1]


def hashes_of(tokens: list[bytes]) -> NDArray[np.uint64]:
    """Return the hashes of tokens, shape (n,)."""
    return np.array([mmh3.hash64(token, signed=False)[0] for token in tokens], np.uint64)


def fingerprint_of(hashes: NDArray[np.uint64]) -> int:
    """Return the signs of the sums of the distinct pairs of neighbouring tokens."""
    bigrams = _distinct(_murmur3_of_pairs(hashes[:-1], hashes[1:]))
    ones = np.unpackbits(bigrams.astype("<u8").view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    sums = 2 * ones.sum(axis=0, dtype=np.int64) - len(bigrams)
    return int.from_bytes(np.packbits(sums > 0, bitorder="little").tobytes(), "little")


def _distinct(values: NDArray[_Number]) -> NDArray[_Number]:
    # Of so few values `np.unique` takes ten times as long.
    ordered = np.sort(values)
    found: NDArray[_Number] = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
    return found


def _murmur3_of_pairs(first: NDArray[np.uint64], second: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hash pairs of numbers as `mmh3.hash64(..., signed=False)[0]` does their 16 bytes: MurmurHash3 x64 128."""
    h1 = _rotated(_rotated(first * _C1, 31) * _C2, 27) * np.uint64(5) + np.uint64(0x52DCE729)
    h2 = (_rotated(_rotated(second * _C2, 33) * _C1, 31) + h1) * np.uint64(5) + np.uint64(0x38495AB5)
    h1, h2 = h1 ^ np.uint64(16), h2 ^ np.uint64(16)
    h1 = h1 + h2
    return _mixed(h1) + _mixed(h2 + h1)


def _rotated(values: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
    return (values << np.uint64(bits)) | (values >> np.uint64(64 - bits))


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    values = (values ^ (values >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    values = (values ^ (values >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return values ^ (values >> np.uint64(33))


def tokenise_plainly(text: str, scheme: Scheme) -> tuple[Tokens, NDArray[np.bool_]]:
    """Split a normalised text into tokens; say of each whether it has a decimal digit."""
    points = np.frombuffer(text.encode(_UTF32), np.uint32)
    classes: NDArray[np.uint8] = character_classes()[points]
    starts, ends = _spans(text, classes & np.uint8(KIND), scheme)
    sizes = 1 + _LONGER.searchsorted(points, "right") if not text.isascii() else np.ones(len(points), np.int64)
    places = np.concatenate(([0], np.cumsum(sizes)))
    digits = np.concatenate(([0], np.cumsum(classes & DIGIT != 0)))
    tokens = Tokens(text.encode(), places[starts].astype(np.int32), places[ends].astype(np.int32))
    return tokens, digits[ends] > digits[starts]


def _spans(text: str, kinds: NDArray[np.uint8], scheme: Scheme) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where each token starts and ends, in characters."""
    starts, ends, of = _runs(kinds)
    is_token = of == START
    if not ((of == HAN) | (of == UNSPACED)).any():
        return starts[is_token], ends[is_token]
    han, kana = (int(np.count_nonzero(kinds == kind)) for kind in (HAN, KANA))
    is_cut = scheme.segmenter and is_chinese(han + kana, kana)
    runs = zip(starts.tolist(), ends.tolist(), of.tolist(), strict=True)
    spans = np.array(list(_cut(text, runs, scheme, is_cut=is_cut)), np.int64).reshape(-1, 2)
    return spans[:, 0], spans[:, 1]


def _cut(text: str, runs: Iterable[tuple[int, int, int]], scheme: Scheme, *, is_cut: bool) -> Iterator[tuple[int, int]]:
    for start, end, kind in runs:
        if kind == START:
            yield start, end
        elif kind == HAN and is_cut:
            at = start
            look_up = _word_lengths if end - start <= _LONGEST_KEPT else _word_lengths.__wrapped__
            for length in look_up(text[start:end], scheme.vocabulary):
                yield at, at + length
                at += length
        elif kind in {HAN, UNSPACED}:
            for at in range(start, max(start + 1, end - 1)):
                yield at, min(at + 2, end)


@lru_cache(_RUNS_KEPT)
def _word_lengths(run: str, vocabulary: Vocabulary) -> tuple[int, ...]:
    """Return how many characters each word of a run of Han has."""
    return tuple(len(word) for word in tokenizer_of(vocabulary).cut(run, HMM=False))


def _runs(kinds: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
    """Return start, end and kind of what belongs together; kana count as Han, and marks as what they follow."""
    is_mark = kinds == CONTINUE
    kinds = np.where(kinds == KANA, np.uint8(HAN), kinds)
    if is_mark.any():
        before = kinds[np.maximum.accumulate(np.where(is_mark, 0, np.arange(len(kinds))))]
        kinds = np.where(is_mark, np.where(before == START, np.uint8(START), np.uint8(SEPARATOR)), kinds)
    starts = np.flatnonzero(np.diff(kinds, prepend=np.uint8(255)))
    return starts, np.append(starts[1:], len(kinds))[: len(starts)], kinds[starts]


def make_sketch(hashes: NDArray[np.uint64], numbers: NDArray[np.uint64]) -> tuple[Sketch, NDArray[np.uint64]]:
    """Make the sketch of a document, and its bands.

    Args:
        hashes: the hashes of its tokens in the order of the text, shape (n,).
        numbers: the hashes of those that contain a digit, shape (m,).
    """
    count = max(0, len(hashes) - SHINGLE_WORDS + 1)
    first, second, third = (hashes[at : at + count] for at in range(SHINGLE_WORDS))
    mixed = first * np.uint64(0x9E3779B97F4A7C15)
    mixed = ((mixed ^ (mixed >> np.uint64(29))) + second) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = ((mixed ^ (mixed >> np.uint64(31))) + third) * np.uint64(0x94D049BB133111EB)
    shingles = (mixed >> np.uint64(32)).astype(np.uint32)
    minima = np.full(MINIMA, 2**32 - 1, np.uint32)
    for at in range(0, count, _SHINGLES_AT_ONCE):
        permuted = shingles[at : at + _SHINGLES_AT_ONCE, np.newaxis] * MULTIPLIERS + OFFSETS
        np.minimum(minima, permuted.min(axis=0), out=minima)
    lowest = ((minima ^ (minima >> np.uint32(16))) * np.uint32(0x85EBCA6B) >> np.uint32(28)).astype(np.uint8)
    nibbles = lowest[0::2] | lowest[1::2] << np.uint8(BITS_OF_A_MINIMUM)
    bloom = np.bitwise_or.reduce(np.uint64(1) << (numbers & np.uint64(63)))
    bands = (np.arange(1, BANDS + 1, dtype=np.uint64)) * np.uint64(NUMBER)
    for minimum in minima[: BANDS * MINIMA_OF_A_BAND].reshape(BANDS, MINIMA_OF_A_BAND).T.astype(np.uint64):
        bands = (bands ^ minimum) * np.uint64(MINIMUM)
        bands ^= bands >> np.uint64(29)
    sketch = Sketch(nibbles.tobytes(), int(bloom), len(hashes), len(_distinct(shingles)))
    return sketch, bands if count else np.zeros(BANDS, np.uint64)
