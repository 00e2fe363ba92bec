"""The sketch: what is kept of a document's word shingles, to estimate how alike two texts are.

A. Broder, "On the resemblance and containment of documents", SEQUENCES 1997: resemblance and
containment of shingle sets. P. Li, A. C. König, "b-Bit minwise hashing", WWW 2010: four bits of
each minimum are enough.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

SHINGLE_WORDS = 3
MINIMA = 128
BITS_OF_A_MINIMUM = 4
BANDS = 24
MINIMA_OF_A_BAND = 4

# Any odd multipliers and any offsets permute 2**32; these come from a fixed seed, so that they are
# the same on every machine. They are part of every scheme.
_PCG = np.random.Generator(np.random.PCG64(20070512))
MULTIPLIERS = _PCG.integers(0, 2**32, MINIMA, dtype=np.uint32) | np.uint32(1)
OFFSETS = _PCG.integers(0, 2**32, MINIMA, dtype=np.uint32)
# What numbers and minima are multiplied by to make a band.
NUMBER, MINIMUM = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9

_FORMAT = struct.Struct("<64sQII")
SKETCH_BYTES = _FORMAT.size

_LOWEST_BITS = int.from_bytes(b"\x11" * (MINIMA * BITS_OF_A_MINIMUM // 8))
_EQUAL_BY_CHANCE = 1 / 2**BITS_OF_A_MINIMUM


# Many are made for every document that is decided; a frozen dataclass takes three times as long to make.
class Sketch(NamedTuple):
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
        return cls._make(_FORMAT.unpack(data))


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
    jaccard = jaccard_of((differing & _LOWEST_BITS).bit_count())
    return Similarity(
        jaccard,
        containment_of(jaccard, a.shingles, b.shingles),
        min(a.tokens, b.tokens) / max(a.tokens, b.tokens),
    )


# Of plain numbers, and calling nothing: compiled code takes these two as they stand.
def jaccard_of(differing: int) -> float:
    """Return the estimated Jaccard similarity of two texts, by how many of their minima differ."""
    equal = 1 - differing / MINIMA
    jaccard: float = max(0.0, (equal - _EQUAL_BY_CHANCE) / (1 - _EQUAL_BY_CHANCE))
    return jaccard


def containment_of(jaccard: float, a: int, b: int) -> float:
    """Return the estimated containment of two texts, by their Jaccard similarity and how many shingles each has."""
    return min(1.0, jaccard / (1 + jaccard) * (a + b) / min(a, b))
