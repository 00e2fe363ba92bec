"""The method: from a text to its signature, one step after the other, as `dedup/native/` does it in a twentieth of the
time. It is what that is held to, and what runs where nothing could be compiled.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

import mmh3
import numpy as np
import regex
from numpy.typing import NDArray

from dedup.compiled import WAY_OUT
from dedup.signature.dictionaries import Vocabulary, tokenizer_of
from dedup.signature.normalise import normalise
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
from dedup.signature.tokens import DIGIT, HAN, KANA, LETTER, MARK, SIGN, UNSPACED, Tokens, is_chinese

logger = logging.getLogger(__name__)

_WORD, _RUN_OF_HAN = 1, 2
_TOKEN = regex.compile(rf"({LETTER}[{LETTER}{MARK}]*+)|([{HAN}{KANA}]++)|({UNSPACED}++)", regex.V1)
_KANA, _DIGIT, _SIGN = (regex.compile(each, regex.V1) for each in (KANA, DIGIT, SIGN))
# Their permutations take 4 MB.
_SHINGLES_AT_ONCE = 1 << 13
# Frames and copies repeat what stands between two marks; of Chinese to look words up takes most of the time.
_RUNS_KEPT, _LONGEST_KEPT = 1 << 15, 100


def sign(text: str, scheme: Scheme) -> Signature:
    """Make the signature of a text; see `dedup.signature.signing.make_signature`."""
    _say_so()
    text = normalise(text)
    tokens = tokenise(text, scheme)
    words = tokens.words()
    hash_of = {word: _hash(word) for word in {*words}}
    hashes = _numbers(hash_of[word] for word in words)
    sketch, bands = make_sketch(hashes, _numbers(hash_of[word] for word in hash_of if _DIGIT.search(word)))
    return Signature(digest(text.encode()), fingerprint_of(hashes), sketch, bands, _words(tokens))


def words_of(text: str, scheme: Scheme) -> bytes:
    """Return the words of a text as its signature has them."""
    return _words(tokenise(normalise(text), scheme))


def bands_of(tokens: bytes) -> NDArray[np.uint64]:
    """Return the bands of a text by its tokens, with a line feed between them, shape (24,)."""
    hashes = _numbers(map(_hash, tokens.split(b"\n") if tokens else []))
    return make_sketch(hashes, hashes[:0])[1]


def tokenise(text: str, scheme: Scheme) -> Tokens:
    """Split a normalised text into tokens: words, jieba's words of Chinese, or overlapping pairs of characters."""
    runs = [(found.lastindex, *found.span()) for found in _TOKEN.finditer(text)]
    han = sum(end - start for kind, start, end in runs if kind == _RUN_OF_HAN)
    is_cut = bool(han and scheme.segmenter and is_chinese(han, len(_KANA.findall(text))))
    return Tokens(text, list(_cut(text, runs, scheme.vocabulary if is_cut else None)))


def _cut(text: str, runs: Iterable[tuple[int, int, int]], vocabulary: Vocabulary | None) -> Iterator[tuple[int, int]]:
    for kind, start, end in runs:
        if kind == _WORD:
            yield start, end
        elif kind == _RUN_OF_HAN and vocabulary is not None:
            at = start
            look_up = _word_lengths if end - start <= _LONGEST_KEPT else _word_lengths.__wrapped__
            for length in look_up(text[start:end], vocabulary):
                yield at, at + length
                at += length
        else:
            yield from ((at, min(at + 2, end)) for at in range(start, max(start + 1, end - 1)))


@lru_cache(_RUNS_KEPT)
def _word_lengths(run: str, vocabulary: Vocabulary) -> tuple[int, ...]:
    """Return how many characters each word of a run of Han has."""
    return tuple(len(word) for word in tokenizer_of(vocabulary).cut(run, HMM=False))


def _words(tokens: Tokens) -> bytes:
    """Return the tokens, and behind them each place with a sign: what stands there, and the tokens around it."""
    # No token has a line feed in it.
    return "\0".join(("\n".join(tokens.words()), *_signs(tokens))).encode()


def _signs(tokens: Tokens) -> Iterator[str]:
    text, spans = tokens.text, tokens.spans
    if not spans or not _SIGN.search(text):
        return
    edges = [(0, 0), *spans, (len(text), len(text))]
    for (before, end), (start, after) in pairwise(edges):
        # Between most tokens there is a space.
        if end < start and (start - end > 1 or text[end] != " ") and _SIGN.search(text, end, start):
            yield f"{text[before:end]}\n{text[end:start]}\n{text[start:after]}"


def _hash(token: str | bytes) -> int:
    return mmh3.hash64(token, signed=False)[0]


def _numbers(numbers: Iterable[int]) -> NDArray[np.uint64]:
    return np.array([*numbers], np.uint64)


def fingerprint_of(hashes: NDArray[np.uint64]) -> int:
    """Return the signs of the sums of the distinct pairs of neighbouring tokens; they are hashed as 16 bytes."""
    data = hashes.astype("<u8").tobytes()
    pairs = _numbers({_hash(data[at : at + 16]) for at in range(0, len(data) - 8, 8)})
    ones = np.unpackbits(pairs.astype("<u8").view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    sums = 2 * ones.sum(axis=0, dtype=np.int64) - len(pairs)
    return int.from_bytes(np.packbits(sums > 0, bitorder="little").tobytes(), "little")


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


def _distinct(values: NDArray[Any]) -> NDArray[Any]:
    # Of so few values `np.unique` takes ten times as long.
    ordered = np.sort(values)
    found: NDArray[Any] = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
    return found


@cache
def _say_so() -> None:
    logger.warning("dedup was built without a C compiler: signatures take some twenty times as long; %s", WAY_OUT)
