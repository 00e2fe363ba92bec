"""Hash tokens: MurmurHash3 x64 128 by A. Appleby (public domain), of which the first 64 bits are used."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import compiled

_C1 = np.uint64(0x87C37B91114253D5)
_C2 = np.uint64(0x4CF5AD432745937F)


@compiled
def murmur3(data: NDArray[np.uint8], starts: NDArray[np.int32], ends: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Hash parts of a byte string, as `mmh3.hash64(part, signed=False)[0]` does.

    Args:
        data: the bytes, shape (m,).
        starts: where each part starts, shape (n,).
        ends: where each part ends, shape (n,).

    Returns:
        The hashes, shape (n,).
    """
    hashes = np.empty(len(starts), np.uint64)
    for part in range(len(starts)):
        hashes[part] = _murmur3(data, starts[part], ends[part])
    return hashes


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
