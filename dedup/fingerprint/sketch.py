"""The sketch: what is kept of a document's word shingles, to estimate how alike two texts are.

A. Broder, "On the resemblance and containment of documents", SEQUENCES 1997: resemblance and
containment of shingle sets. P. Li, A. C. König, "b-Bit minwise hashing", WWW 2010: four bits of
each minimum are enough.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SHINGLE_WORDS = 3
MINIMA = 128
BITS_OF_A_MINIMUM = 4

_FORMAT = struct.Struct("<64sQII")
SKETCH_BYTES = _FORMAT.size

# Any odd multipliers and any offsets permute 2**32; these come from a fixed seed, so that they are
# the same on every machine. They are part of scheme 1.
_PCG = np.random.Generator(np.random.PCG64(20070512))
_MULTIPLIERS = (_PCG.integers(0, 2**32, MINIMA, dtype=np.uint32) | np.uint32(1))[:, np.newaxis]
_OFFSETS = _PCG.integers(0, 2**32, MINIMA, dtype=np.uint32)[:, np.newaxis]
# 128 x 256 values of four bytes stay in the second-level cache.
_CHUNK = 256

_LOWEST_BITS = int.from_bytes(b"\x11" * (MINIMA * BITS_OF_A_MINIMUM // 8))
_EQUAL_BY_CHANCE = 1 / 2**BITS_OF_A_MINIMUM


@dataclass(frozen=True, slots=True)
class Sketch:
    """A document's shingles and numbers in 80 bytes.

    Attributes:
        minima: 128 minima of 4 bits each over the hashes of the distinct shingles.
        numbers: a 64-bit Bloom filter, one bit a number token.
        tokens: how many tokens the text has.
        shingles: how many distinct shingles of three tokens it has.
    """

    minima: bytes
    numbers: int
    tokens: int
    shingles: int

    def to_bytes(self) -> bytes:
        """Return the 80 bytes that `from_bytes` reads."""
        return _FORMAT.pack(self.minima, self.numbers, self.tokens, self.shingles)

    @classmethod
    def from_bytes(cls, data: bytes) -> Sketch:
        """Read what `to_bytes` wrote.

        Raises:
            ValueError: `data` is not 80 bytes long.
        """
        if len(data) != SKETCH_BYTES:
            raise ValueError(f"a sketch has {SKETCH_BYTES} bytes, not {len(data)}")
        return cls(*_FORMAT.unpack(data))


def make_sketch(hashes: NDArray[np.uint64], numbers: NDArray[np.uint64]) -> Sketch:
    """Make the sketch of a document.

    Args:
        hashes: the hashes of its tokens in the order of the text, shape (n,).
        numbers: the hashes of those that contain a digit, shape (m,).
    """
    shingles = _shingle_hashes(hashes)
    return Sketch(
        minima=_minima(shingles),
        numbers=_bloom(numbers),
        tokens=len(hashes),
        shingles=len(shingles),
    )


def _shingle_hashes(hashes: NDArray[np.uint64]) -> NDArray[np.uint32]:
    if len(hashes) < SHINGLE_WORDS:
        return np.empty(0, np.uint32)
    mixed = hashes[:-2] * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(29))) + hashes[1:-1]
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(31))) + hashes[2:]
    mixed *= np.uint64(0x94D049BB133111EB)
    return np.unique((mixed >> np.uint64(32)).astype(np.uint32))


def _minima(shingles: NDArray[np.uint32]) -> bytes:
    minima = np.full(MINIMA, 2**32 - 1, np.uint32)
    for start in range(0, len(shingles), _CHUNK):
        values = shingles[start : start + _CHUNK] * _MULTIPLIERS
        values += _OFFSETS
        np.minimum(minima, values.min(axis=1), out=minima)
    # The high bits of a minimum are almost always 0; mixed, its low four bits are uniform.
    minima ^= minima >> np.uint32(16)
    minima *= np.uint32(0x85EBCA6B)
    nibbles = (minima >> np.uint32(28)).astype(np.uint8)
    return (nibbles[0::2] | (nibbles[1::2] << np.uint8(4))).tobytes()


def _bloom(hashes: NDArray[np.uint64]) -> int:
    bits = np.left_shift(np.uint64(1), hashes & np.uint64(63))
    return int(np.bitwise_or.reduce(bits)) if len(bits) else 0


@dataclass(frozen=True, slots=True)
class Similarity:
    """How alike two documents are, by their sketches.

    Attributes:
        jaccard: estimated share of the shingles of both that both have, 0 to 1.
        containment: estimated share of the smaller one's shingles that the other has, 0 to 1.
        length_ratio: tokens of the shorter one by tokens of the longer one, 0 to 1.
    """

    jaccard: float
    containment: float
    length_ratio: float


def compare(a: Sketch, b: Sketch) -> Similarity:
    """Estimate how alike two documents are.

    The standard error of the Jaccard estimate is at most .047; containment follows from it and
    the two shingle counts, J (a + b) / (1 + J) / min(a, b).
    """
    if not a.shingles or not b.shingles:
        return Similarity(0.0, 0.0, 0.0)
    differing = int.from_bytes(a.minima) ^ int.from_bytes(b.minima)
    differing |= differing >> 2
    differing |= differing >> 1
    equal = 1 - (differing & _LOWEST_BITS).bit_count() / MINIMA
    jaccard = max(0.0, (equal - _EQUAL_BY_CHANCE) / (1 - _EQUAL_BY_CHANCE))
    shared = jaccard / (1 + jaccard) * (a.shingles + b.shingles)
    return Similarity(
        jaccard,
        min(1.0, shared / min(a.shingles, b.shingles)),
        min(a.tokens, b.tokens) / max(a.tokens, b.tokens),
    )
