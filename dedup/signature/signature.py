"""Signatures: everything that the later stages need to know of documents' texts, one by one and in batches."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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

BITS = 64
"""The width of a fingerprint."""

DIGEST_BYTES = 16

SIGNATURE = np.dtype(
    [
        ("digest", "<u8", 2),
        ("fingerprint", "<u8"),
        ("minima", "<u8", 8),
        ("shingles", "<u4"),
        ("tokens", "<u4"),
        ("numbers", "<u8"),
        ("bands", "<u8", BANDS),
    ]
)
"""A `Signature` without its words, and with its `Sketch`, as a row of an array."""

_SURROGATES = re.compile("[\ud800-\udfff]")


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
    """The estimated similarity of two documents.

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

    The standard error of the Jaccard estimate is at most .047.
    """
    differing = int.from_bytes(a.minima) ^ int.from_bytes(b.minima)
    differing |= differing >> 2
    differing |= differing >> 1
    counts = a.shingles, b.shingles, a.tokens, b.tokens
    return Similarity(*similarity_of((differing & _LOWEST_BITS).bit_count(), *counts))


def similarity_of(
    differing: int, shingles: int, other_shingles: int, tokens: int, other_tokens: int
) -> tuple[float, float, float]:
    """Return what `Similarity` has of two texts, by how many minima differ, and their shingles and tokens.

    Containment follows from the Jaccard similarity and the two counts of shingles, J (a + b) / (1 + J) / min(a, b).
    """
    if not shingles or not other_shingles:
        return 0.0, 0.0, 0.0
    equal = 1 - differing / MINIMA
    jaccard = max(0.0, (equal - _EQUAL_BY_CHANCE) / (1 - _EQUAL_BY_CHANCE))
    containment = min(1.0, jaccard / (1 + jaccard) * (shingles + other_shingles) / min(shingles, other_shingles))
    return jaccard, containment, min(tokens, other_tokens) / max(tokens, other_tokens)


@dataclass(frozen=True, slots=True, eq=False)
class Signature:
    """The signature of one text.

    Attributes:
        text_digest: 16 bytes, equal for texts that are equal once normalised.
        fingerprint: the simhash of the distinct pairs of neighbouring tokens, 64 bits, unsigned.
        sketch: the sketch of the shingles of three tokens.
        bands: a number for each band of minima of these shingles, see `dedup.signature.plain.make_sketch`, shape (24,).
        words: the tokens themselves in UTF-8, a line feed between them, and behind a zero each place with a sign, see
            `dedup.signature.plain`; empty where they are not known. Candidates are compared by them.
    """

    text_digest: bytes
    fingerprint: int
    sketch: Sketch
    bands: NDArray[np.uint64]
    words: bytes = b""


class Texts(NamedTuple):
    """Texts behind each other in one buffer, as a column of Arrow has them.

    Attributes:
        data: the texts in UTF-8, shape (m,).
        offsets: where each starts, and where the last one ends, shape (n + 1,).
    """

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Texts:
        """Put texts behind each other; each lone surrogate becomes U+FFFD."""
        return cls.joined([encoded(text) for text in texts])

    @classmethod
    def joined(cls, parts: Sequence[bytes]) -> Texts:
        """Put texts in UTF-8 behind each other."""
        offsets = np.zeros(len(parts) + 1, np.int64)
        np.cumsum([len(part) for part in parts], out=offsets[1:])
        return cls(np.frombuffer(b"".join(parts), np.uint8), offsets)


class SignedTexts(NamedTuple):
    """Signatures of texts.

    Attributes:
        rows: of the type `SIGNATURE`, shape (n,).
        words: of each text its tokens as `Signature` has them; nothing where they were
            not asked for.
    """

    rows: NDArray[Any]
    words: list[bytes]


def encoded(text: str) -> bytes:
    """Return a text in UTF-8, each lone surrogate as U+FFFD."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATES.sub("\ufffd", text).encode()


def without_signs(words: bytes) -> bytes:
    """Return the tokens alone of a text's words."""
    return words.partition(b"\0")[0]


def digest(data: bytes | memoryview) -> bytes:
    """Return 16 bytes that stand for `data` wherever equality of content is asked for."""
    return blake2b(data, digest_size=DIGEST_BYTES).digest()


def distance(a: int, b: int) -> int:
    """Return the Hamming distance of two fingerprints of the same scheme, in bits."""
    return (a ^ b).bit_count()
