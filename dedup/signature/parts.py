"""What a scheme consists of: a kind of features, a weighting, a hash function; those of the default way.

Further ones, by the same types, are in `dedup.published`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import mmh3

if TYPE_CHECKING:
    from dedup.signature.schemes import Scheme
    from dedup.signature.tokens import Tokens


@dataclass(frozen=True, slots=True)
class Features:
    """A kind of features.

    Attributes:
        weighted: the function from a cleaned text, its tokens and the scheme to features and their own weights.
        weights: the names of the weightings that make sense of them; the usual one first.
        segmenter: whether Chinese words are looked for, so that the sketch is made of them too.
        keywords: whether they are keywords, of which a scheme can say how many, and which words are none.
    """

    weighted: Callable[[str, Tokens, Scheme], Mapping[bytes, float]]
    weights: tuple[str, ...]
    segmenter: bool
    keywords: bool = False


@dataclass(frozen=True, slots=True)
class NamedHash:
    """A hash function.

    Attributes:
        widths: how many bits it can yield.
        of: the function, of bytes and one of the widths, to an integer.
    """

    widths: tuple[int, ...]
    of: Callable[[bytes, int], int]


def lowest_bits(value: int, bits: int) -> int:
    """Return the lowest bits of a hash that is wider than wanted."""
    return value & (1 << bits) - 1


def _tokens(_: str, tokens: Tokens, __: Scheme) -> Mapping[bytes, float]:
    return Counter(tokens.parts())


def _bigrams(_: str, tokens: Tokens, __: Scheme) -> Mapping[bytes, float]:
    return Counter(b"\n".join(pair) for pair in pairwise(tokens.parts()))


def _mmh3(data: bytes, bits: int) -> int:
    return mmh3.hash(data, signed=False) if bits == 32 else lowest_bits(mmh3.hash128(data, signed=False), bits)


def _one(_: float) -> int:
    return 1


FEATURES = {
    "words": Features(_tokens, ("count", "log", "one"), segmenter=True),
    "pairs": Features(_tokens, ("count", "log", "one"), segmenter=False),
    "word-bigrams": Features(_bigrams, ("one", "log", "count"), segmenter=True),
    "pair-bigrams": Features(_bigrams, ("one", "log", "count"), segmenter=False),
}
"""Tokens, and two neighbouring tokens with a line feed between them; Chinese in words, or in pairs of characters."""

WEIGHTS: dict[str, Callable[[float], int]] = {"count": int, "one": _one}
HASHES = {"mmh3": NamedHash((32, 64, 128), _mmh3)}
