"""Hash tokens: MurmurHash3 x64 128 by A. Appleby (public domain), of which the first 64 bits are used."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.bits import eight_bytes, signed
from dedup.compiled import compiled

_C1 = np.uint64(0x87C37B91114253D5)
_C2 = np.uint64(0x4CF5AD432745937F)
_ALL_BITS = np.uint64(2**64 - 1)


@compiled
def murmur3_of_part(data: NDArray[np.uint8], start: int, end: int) -> np.uint64:
    """Hash the bytes from `start` to before `end`, as `mmh3.hash64(part, signed=False)[0]` does."""
    first, length = np.uint64(start), np.uint64(end - start)
    # Most tokens are short, and most are not the text's last.
    if 0 < length <= 8 and first + np.uint64(8) <= len(data):
        return _murmur3_of_8(eight_bytes(data, first), length)
    if 8 < length < 16 and first + np.uint64(16) <= len(data):
        return _murmur3_of_15(eight_bytes(data, first), eight_bytes(data, first + np.uint64(8)), length)
    return _murmur3(data, start, end)


@compiled
def murmur3_of_tokens(data: NDArray[np.uint8], edges: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Hash tokens as `murmur3_of_part` does parts, all of up to 15 bytes at once.

    Args:
        data: bytes, at least 16 of them from the start of each token on.
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
            first, end = signed(edges[2 * token]), signed(edges[2 * token + 1])
            if end - first > 15:
                hashes[token] = _murmur3(data, first, end)
    return hashes


@compiled
def _hash_short(hashes: NDArray[np.uint64], further: NDArray[np.uint64], lengths: NDArray[np.uint64]) -> None:
    """Put the hashes of tokens in the place of their first eight bytes.

    Without a branch the compiler makes eight or four of them at once.

    Args:
        hashes: the first eight bytes from the start of each token on.
        further: the next eight.
        lengths: how many of these are the token's, 1 to 15.
    """
    for token in range(len(hashes)):
        length = lengths[token]
        in_first = min(length, np.uint64(8))
        value = hashes[token] & (_ALL_BITS >> (np.uint64(64) - np.uint64(8) * in_first))
        # By 64 bits nothing can be shifted at once.
        beyond = np.uint64(56) - np.uint64(8) * (length - in_first)
        rest = further[token] << np.uint64(8) << beyond >> beyond >> np.uint64(8)
        h1 = (_rotate(value * _C1, 31) * _C2) ^ length
        h2 = (_rotate(rest * _C2, 33) * _C1) ^ length
        h1 += h2
        h2 += h1
        hashes[token] = _finish(h1) + _finish(h2)


@compiled
def _murmur3_of_8(value: np.uint64, length: np.uint64) -> np.uint64:
    """Hash the lowest 1 to 8 bytes of a number."""
    h1 = value & (_ALL_BITS >> (np.uint64(64) - np.uint64(8) * length))
    h1 = (_rotate(h1 * _C1, 31) * _C2) ^ length
    h1 += length
    return _finish(h1) + _finish(length + h1)


@compiled
def _murmur3_of_15(value: np.uint64, further: np.uint64, length: np.uint64) -> np.uint64:
    """Hash 9 to 15 bytes: the first eight, and the lowest of a second number."""
    further &= _ALL_BITS >> (np.uint64(128) - np.uint64(8) * length)
    h1 = (_rotate(value * _C1, 31) * _C2) ^ length
    h2 = (_rotate(further * _C2, 33) * _C1) ^ length
    h1 += h2
    h2 += h1
    return _finish(h1) + _finish(h2)


@compiled
def _murmur3(data: NDArray[np.uint8], start: int, end: int) -> np.uint64:
    h1 = np.uint64(0)
    h2 = np.uint64(0)
    length = end - start
    at = start
    for _ in range(length // 16):
        h1 ^= _rotate(_little_endian(data, at, 8) * _C1, 31) * _C2
        h1 = (_rotate(h1, 27) + h2) * np.uint64(5) + np.uint64(0x52DCE729)
        h2 ^= _rotate(_little_endian(data, at + 8, 8) * _C2, 33) * _C1
        h2 = (_rotate(h2, 31) + h1) * np.uint64(5) + np.uint64(0x38495AB5)
        at += 16
    rest = end - at
    if rest > 8:
        h2 ^= _rotate(_little_endian(data, at + 8, rest - 8) * _C2, 33) * _C1
    if rest > 0:
        h1 ^= _rotate(_little_endian(data, at, min(rest, 8)) * _C1, 31) * _C2
    h1 ^= np.uint64(length)
    h2 ^= np.uint64(length)
    h1 += h2
    h2 += h1
    return _finish(h1) + _finish(h2)


@compiled
def _little_endian(data: NDArray[np.uint8], at: int, size: int) -> np.uint64:
    value = np.uint64(0)
    for byte in range(size):
        value |= np.uint64(data[at + byte]) << np.uint64(8 * byte)
    return value


@compiled
def _rotate(value: np.uint64, bits: int) -> np.uint64:
    return (value << np.uint64(bits)) | (value >> np.uint64(64 - bits))


@compiled
def _finish(value: np.uint64) -> np.uint64:
    value ^= value >> np.uint64(33)
    value *= np.uint64(0xFF51AFD7ED558CCD)
    value ^= value >> np.uint64(33)
    value *= np.uint64(0xC4CEB9FE1A85EC53)
    value ^= value >> np.uint64(33)
    return value
