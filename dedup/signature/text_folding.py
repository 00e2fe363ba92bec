"""Tables by which compiled code normalises a text character by character, see `dedup/native/folding.h`."""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import NamedTuple

import numpy as np
import regex
from numpy.typing import NDArray

from dedup.signature.normalise import fold
from dedup.signature.tokens import DIGIT, HAN, KANA, LETTER, MARK, SIGN, UNSPACED

START, CONTINUE, HAS_SIGN, PAIRED, IS_HAN, IS_KANA, HAS_DIGIT = 0x40, 0x04, 0x08, 0x10, 0x20, 0x28, 0x80
"""The bits of the classes of characters of `dedup.signature.tokens`, LETTER, MARK, SIGN, UNSPACED, HAN, KANA, DIGIT."""

CHANGED = 0x02
"""The bit of a character that becomes something else, or nothing; white space has it, as it may follow other."""
COMBINING = 0x01
"""The bit of a character that may change together with the one before it."""

LONGEST = 3
"""How many times as many bytes a changed character has at most; others count as combining."""

_CLASSES = {
    LETTER: START,
    MARK: CONTINUE,
    SIGN: HAS_SIGN,
    UNSPACED: PAIRED,
    HAN: IS_HAN,
    KANA: IS_KANA,
    DIGIT: HAS_DIGIT,
}
_ALL = 0x110000
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
        classes: of each code point the bits above, shape (1,114,112,).
        starts: of each changed character where `replaced` says what it becomes, shape (1,114,112,).
        replaced: for each changed character a number of bytes, and behind it these bytes of UTF-8, in the upper eight
            bits the class of the character that each is part of.
    """

    classes: NDArray[np.uint8]
    starts: NDArray[np.int32]
    replaced: NDArray[np.uint16]


@cache
def folding() -> Folding:
    """Return the tables; made once."""
    every = _characters()
    blocks = [every[at : at + _BLOCK] for at in range(0, _END, _BLOCK) if at not in _SURROGATES]
    combining = _combining(blocks)
    known = _classes(every)
    classes = known.copy()
    classes[[ord(character) for character in combining]] |= COMBINING
    # What is removed becomes the nothing that stands first.
    starts, replaced = np.zeros(len(classes), np.int32), [0]
    classes[_REMOVED] |= CHANGED
    for block in blocks:
        if block == fold(block) and " " not in block:
            continue
        for character, folded in zip(block, _folded(block), strict=True):
            if character == folded != " " or character in combining:
                continue
            data = folded.encode()
            parts = {*folded, *unicodedata.normalize("NFKC", character)}
            if len(data) > LONGEST * len(character.encode()) or not combining.isdisjoint(parts):
                classes[ord(character)] |= COMBINING
                continue
            classes[ord(character)] |= CHANGED
            if data:
                starts[ord(character)] = len(replaced)
                replaced.append(len(data))
                replaced += [int(known[ord(each)]) << 8 | byte for each in folded for byte in each.encode()]
    return Folding(classes, starts, np.array(replaced, np.uint16))


def _characters() -> str:
    """Return every character in order, with a space for what is none, so that positions are code points."""
    points = np.arange(_END, dtype="<u4")
    points[_SURROGATES.start : _SURROGATES.stop] = ord(" ")
    return points.tobytes().decode("utf-32-le")


def _classes(every: str) -> NDArray[np.uint8]:
    classes = np.zeros(_ALL, np.uint8)
    for characters, bits in _CLASSES.items():
        for found in regex.finditer(f"{characters}+", every, regex.V1):
            classes[found.start() : found.end()] |= bits
    return classes


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
    return [each[1:-1] for each in fold(alone).split(_PRIVATE)]
