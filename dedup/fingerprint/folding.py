"""What normalisation makes of characters that no neighbour changes, in tables for compiled code.

Most texts of scripts that write spaces have no others: then normalising is a matter of replacing
characters one by one. What each one becomes is asked of `normalise` itself.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import NamedTuple

import numpy as np
import regex
from numpy.typing import NDArray

from dedup.fingerprint.characters import KIND, SEPARATOR, START, character_classes
from dedup.fingerprint.normalise import normalise

NOTHING = 0
"""The kind of what is no byte at all."""
SPACE = 1
"""The kind of a byte of white space."""
OTHER = 2
"""The kind of a byte that separates tokens."""
WORD = 3
"""The kind of a byte that is part of a token."""

ASCII = 0x80
"""How many characters have one byte."""

LONGEST = 3
"""How many times as many bytes a character has at most once it is normalised."""

# Latin, Greek, Cyrillic, Armenian, Hebrew; Latin and Greek with marks, punctuation, symbols.
_BLOCKS = (range(0x600), range(0x1E00, 0x2C00))
_END = _BLOCKS[-1].stop
# The only characters without a combining class that join the one before them are no letters of these
# blocks; those with one are marks.
_MARK = regex.compile(r"\p{M}")


class Folding(NamedTuple):
    """The tables.

    Attributes:
        plain: what ASCII characters become, one byte each, 0 for none; shape (128,).
        plain_kinds: the kind of that byte; 0 for none.
        starts: where each character's bytes start, -1 where it depends on its neighbours, shape (11,264,).
        ends: where they end.
        replaced: the bytes of all characters, in UTF-8.
        kinds: the kind of each of these bytes.
    """

    plain: NDArray[np.uint8]
    plain_kinds: NDArray[np.uint8]
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    replaced: NDArray[np.uint8]
    kinds: NDArray[np.uint8]


@cache
def folding() -> Folding:
    """Return the tables; made in some 20 ms, once."""
    starts, ends = np.full(_END, -1, np.int32), np.zeros(_END, np.int32)
    replaced, kinds = bytearray(), bytearray()
    for block in _BLOCKS:
        for point in block:
            normalised = _folded(chr(point))
            if normalised is None:
                continue
            starts[point] = len(replaced)
            for character in normalised:
                data = character.encode()
                replaced += data
                kinds += bytes([_kind(character)]) * len(data)
            ends[point] = len(replaced)
    plain, plain_kinds = np.zeros(ASCII, np.uint8), np.zeros(ASCII, np.uint8)
    for point in np.flatnonzero(ends[:ASCII] > starts[:ASCII]).tolist():
        plain[point], plain_kinds[point] = replaced[starts[point]], kinds[starts[point]]
    return Folding(plain, plain_kinds, starts, ends, np.frombuffer(replaced, np.uint8), np.frombuffer(kinds, np.uint8))


def _folded(character: str) -> str | None:
    """Return what a character becomes; None if that depends on its neighbours, or it is no part of a plain token."""
    if unicodedata.category(character) == "Cs":
        return None
    normalised = normalise(f"a{character}b")[1:-1]
    if _MARK.search(character + normalised) or len(normalised.encode()) > LONGEST * len(character.encode()):
        return None
    classes = character_classes()
    if any(classes[ord(each)] & KIND not in (SEPARATOR, START) for each in normalised):
        return None
    return normalised


def _kind(character: str) -> int:
    if character.isspace():
        return SPACE
    return OTHER if character_classes()[ord(character)] & KIND == SEPARATOR else WORD
