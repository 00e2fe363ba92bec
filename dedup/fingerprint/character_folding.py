"""What normalisation makes of each character, in tables for compiled code.

What becomes of most characters does not depend on their neighbours. Normalising a text is a matter of replacing
them one by one then; what each one becomes is asked of `normalise` itself.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import NamedTuple

import numpy as np
import regex
from numpy.typing import NDArray

from dedup.fingerprint.characters import HAN, character_classes
from dedup.fingerprint.normalise import normalise

CHANGED = 0x02
"""The bit of a character that becomes something else, or nothing; white space has it, as it may follow other."""
COMBINING = 0x01
"""The bit of a character that may change together with the one before it."""

LONGEST = 3
"""How many times as many bytes a changed character has at most; others count as combining."""

# From here on there is only private use, and what is removed.
_END = 0x40000
_REMOVED = slice(0xE0000, 0xE1000)
_BLOCK = 256
_SURROGATES = range(0xD800, 0xE000, _BLOCK)
_MARK = regex.compile(r"\p{M}+")
# Neither a digit nor a character of private use joins a neighbour.
_DIGIT, _PRIVATE = "0", "\ue000"


class Folding(NamedTuple):
    """The tables.

    Attributes:
        classes: of each code point the class of `dedup.fingerprint.characters`, and the bits above; shape (1,114,112,).
        starts: of each changed character where `replaced` says what it becomes, shape (1,114,112,).
        replaced: a number of bytes, and behind it so many bytes of UTF-8, for each changed character.
        replaced_classes: the class of the character that each of these bytes is part of.
    """

    classes: NDArray[np.uint8]
    starts: NDArray[np.int32]
    replaced: NDArray[np.uint8]
    replaced_classes: NDArray[np.uint8]


@cache
def folding() -> Folding:
    """Return the tables; made in some 60 ms, once."""
    every = [chr(point) for point in range(_END)]
    blocks = ["".join(every[at : at + _BLOCK]) for at in range(0, _END, _BLOCK) if at not in _SURROGATES]
    combining = _combining(blocks)
    known = character_classes()
    classes = known.copy()
    classes[[ord(character) for character in combining]] |= COMBINING
    # What is removed becomes the nothing that stands first.
    starts, replaced, replaced_classes = np.zeros(len(classes), np.int32), bytearray(1), bytearray(1)
    classes[_REMOVED] |= CHANGED
    for block in blocks:
        if block == normalise(block) and " " not in block:
            continue
        for character, folded in zip(block, _folded(block), strict=True):
            if character == folded != " " or character in combining:
                continue
            data = folded.encode()
            # Whoever looks for Han finds it in what becomes Han too.
            if any(known[ord(each)] & HAN for each in folded):
                classes[ord(character)] |= HAN
            parts = {*folded, *unicodedata.normalize("NFKC", character)}
            if len(data) > LONGEST * len(character.encode()) or not combining.isdisjoint(parts):
                classes[ord(character)] |= COMBINING
                continue
            classes[ord(character)] |= CHANGED
            if data:
                starts[ord(character)] = len(replaced)
                replaced += bytes([len(data)]) + data
                replaced_classes += bytes(1)
                for each in folded:
                    replaced_classes += bytes([known[ord(each)]]) * len(each.encode())
    return Folding(classes, starts, np.frombuffer(replaced, np.uint8), np.frombuffer(replaced_classes, np.uint8))


def _combining(blocks: list[str]) -> set[str]:
    """Return marks, and what stands behind the first character of any decomposition, such as vowels of Hangul."""
    found = {mark for block in blocks for run in _MARK.findall(block) for mark in run}
    for block in blocks:
        if block != unicodedata.normalize("NFD", block):
            for character in block:
                found.update(unicodedata.normalize("NFD", character)[1:])
    return found


def _folded(characters: str) -> list[str]:
    alone = _PRIVATE.join(f"{_DIGIT}{character}{_DIGIT}" for character in characters)
    return [each[1:-1] for each in normalise(alone).split(_PRIVATE)]
