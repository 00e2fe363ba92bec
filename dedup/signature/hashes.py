"""Hash tokens: MurmurHash3 x64 128 by A. Appleby (public domain), of which the first 64 bits are used."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import compiled, inner
from dedup.compiled.bits import eight_bytes

_C1 = np.uint64(0x87C37B91114253D5)
_C2 = np.uint64(0x4CF5AD432745937F)
_ALL_BITS = np.uint64(2**64 - 1)

_LINE_FEED = 0x0A
_SLACK = 16


@compiled
def murmur3_of_tokens(data: NDArray[np.uint8], edges: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Hash tokens as `mmh3.hash64(token, signed=False)[0]` does, all of up to 15 bytes at once.

    Args:
        data: bytes, at least 16 of them from the start of each token on, and 8 behind it.
        edges: where each token starts and ends, one after the other, shape (2 n,); each has at least one byte.

    Returns:
        The hashes, shape (n,).
    """
    tokens = len(edges) // 2
    hashes, further = np.empty(tokens, np.uint64), np.empty(tokens, np.uint64)
    lengths = np.empty(tokens, np.uint64)
    longest = np.uint64(0)
    for token in range(tokens):
        start = np.uint64(edges[2 * token])
        length = np.uint64(edges[2 * token + 1]) - start
        hashes[token], further[token] = eight_bytes(data, start), eight_bytes(data, start + np.uint64(8))
        lengths[token] = min(length, np.uint64(15))
        longest = max(longest, length)
    _hash_short(hashes, further, lengths)
    if longest > 15:
        for token in range(tokens):
            start, end = np.uint64(edges[2 * token]), np.uint64(edges[2 * token + 1])
            if end - start > 15:
                hashes[token] = _hash_long(data, start, end - start)
    return hashes


@inner
def murmur3_of_bigrams(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hash each two neighbouring tokens, by their hashes, as `mmh3.hash64` does the 16 bytes of these."""
    bigrams = np.empty(max(0, len(hashes) - 1), np.uint64)
    for place in range(len(bigrams)):
        h1, h2 = _with_block(np.uint64(0), np.uint64(0), hashes[place], hashes[place + 1])
        h1, h2 = h1 ^ np.uint64(16), h2 ^ np.uint64(16)
        h1 += h2
        bigrams[place] = _mixed(h1) + _mixed(h2 + h1)
    return bigrams


@inner
def _hash_short(hashes: NDArray[np.uint64], further: NDArray[np.uint64], lengths: NDArray[np.uint64]) -> None:
    """Put the hashes of tokens in the place of their first eight bytes.

    Without a branch the compiler makes eight or four of them at once.

    Args:
        hashes: the first eight bytes from the start of each token on.
        further: the next eight.
        lengths: how many of these are the token's, 1 to 15.
    """
    for token in range(len(hashes)):
        hashes[token] = _finished(np.uint64(0), np.uint64(0), hashes[token], further[token], lengths[token])


@inner
def _hash_long(data: NDArray[np.uint8], start: np.uint64, length: np.uint64) -> np.uint64:
    h1 = h2 = np.uint64(0)
    for _ in range(length // np.uint64(16)):
        h1, h2 = _with_block(h1, h2, eight_bytes(data, start), eight_bytes(data, start + np.uint64(8)))
        start += np.uint64(16)
    return _finished(h1, h2, eight_bytes(data, start), eight_bytes(data, start + np.uint64(8)), length)


@inner
def _with_block(h1: np.uint64, h2: np.uint64, first: np.uint64, second: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Mix the 16 bytes of two numbers into a hash."""
    h1 ^= _rotate(first * _C1, 31) * _C2
    h1 = (_rotate(h1, 27) + h2) * np.uint64(5) + np.uint64(0x52DCE729)
    h2 ^= _rotate(second * _C2, 33) * _C1
    h2 = (_rotate(h2, 31) + h1) * np.uint64(5) + np.uint64(0x38495AB5)
    return h1, h2


@inner
def _finished(h1: np.uint64, h2: np.uint64, value: np.uint64, further: np.uint64, length: np.uint64) -> np.uint64:
    """Hash the last 0 to 15 bytes, the lowest of two numbers, of a token of so many."""
    rest = length & np.uint64(15)
    in_first = min(rest, np.uint64(8))
    # By 64 bits nothing can be shifted at once.
    value &= ~(_ALL_BITS << np.uint64(4) * in_first << np.uint64(4) * in_first)
    further &= ~(_ALL_BITS << np.uint64(8) * (rest - in_first))
    h1 ^= (_rotate(value * _C1, 31) * _C2) ^ length
    h2 ^= (_rotate(further * _C2, 33) * _C1) ^ length
    h1 += h2
    h2 += h1
    return _mixed(h1) + _mixed(h2)


@inner
def _rotate(value: np.uint64, bits: int) -> np.uint64:
    return (value << np.uint64(bits)) | (value >> np.uint64(64 - bits))


@inner
def _mixed(value: np.uint64) -> np.uint64:
    value ^= value >> np.uint64(33)
    value *= np.uint64(0xFF51AFD7ED558CCD)
    value ^= value >> np.uint64(33)
    value *= np.uint64(0xC4CEB9FE1A85EC53)
    value ^= value >> np.uint64(33)
    return value


@compiled
def hashes_of_words(words: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return the hashes of tokens that have a line feed between them, as those of a signature do."""
    data = np.empty(len(words) + _SLACK, np.uint8)
    # One by one: to assign an array takes the compiler two seconds, for a message of an error.
    for place in range(len(words)):
        data[place] = words[place]
    data[len(words) :] = _LINE_FEED
    edges = np.empty(len(words) + 2, np.int32)
    count = start = 0
    for place in range(len(words) + 1 if len(words) else 0):
        if data[place] == _LINE_FEED:
            edges[count], edges[count + 1] = start, place
            count += 2
            start = place + 1
    return murmur3_of_tokens(data, edges[:count])
