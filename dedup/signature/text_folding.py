"""Normalising a text, 64 bytes at a time where they are ASCII."""

# Compiled functions take nothing by name.
# ruff: noqa: PLR0912, PLR0915, PLR0917

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, cast

import numpy as np
import regex
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from dedup.compiled import BLOCK, below, compiled, eight_bytes, equal_to, inner, ones, put_eight_bytes, signed
from dedup.signature.normalise import fold
from dedup.signature.tokens import CONTINUE, DIGIT, HAN, KANA, KIND, START, character_classes

_BYTES = ir.VectorType(ir.IntType(8), BLOCK)
_LOWER = 0x20

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

SLACK = BLOCK
"""How many bytes behind a normalised text are written: whole blocks are read, and 16 bytes from a token's start on."""

_ASCII, _FIRST_LEAD, _DELETE = 0x80, 0xC0, 0x7F
_SPACE = 0x20
# Stretches nearer to each other than so many bytes, on average, are not worth being normalised one by one.
_FAR_APART = 256
_EVERY_BYTE = np.uint64(0x0101010101010101)


def _fold(_typing: Any, data: Any, at: Any, normalised: Any, classes: Any, to: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        def block_of(kind: Any, array: Any, place: Any) -> Any:
            start = context.make_array(kind)(context, builder, array).data
            return builder.bitcast(builder.gep(start, [place]), _BYTES.as_pointer())

        source, target = block_of(data, *arguments[:2]), block_of(normalised, arguments[2], arguments[4])
        characters = builder.load(source, align=1)
        upper = _where(builder, characters, "AZ", _LOWER)
        lower = builder.or_(characters, upper)
        kinds = builder.or_(_where(builder, lower, "az", START), _where(builder, lower, "09", START | DIGIT))
        builder.store(lower, target, align=1)
        builder.store(kinds, block_of(classes, *arguments[3:]), align=1)
        return context.get_dummy_value()

    return types.void(data, types.uint64, normalised, classes, types.uint64), generate


def _where(builder: Any, characters: Any, ends: str, byte: int) -> Any:
    """Return this byte where there is a character from the first of two to the second, elsewhere 0."""
    first, last = map(ord, ends)
    above = builder.sub(characters, _every(first))
    return builder.select(builder.icmp_unsigned("<=", above, _every(last - first)), _every(byte), _every(0))


def _every(byte: int) -> Any:
    return ir.Constant(_BYTES, [byte] * BLOCK)


fold_block = cast("Callable[..., None]", intrinsic(_fold))
"""Write a block of plain ASCII, as `fold_text` does.

Its arguments: the text, where in it the block begins, what takes the normalised text and the classes, and
where in these it goes.
"""


class Folding(NamedTuple):
    """The tables.

    Attributes:
        classes: of each code point the class of `dedup.signature.tokens`, and the bits above; shape (1,114,112,).
        starts: of each changed character where `replaced` says what it becomes, shape (1,114,112,).
        replaced: for each changed character a number of bytes, and behind it these bytes of UTF-8, in the upper eight
            bits the class of the character that each is part of.
    """

    classes: NDArray[np.uint8]
    starts: NDArray[np.int32]
    replaced: NDArray[np.uint16]


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


@compiled
def find_combining(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], classes: NDArray[np.uint8], starts: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Find the stretches whose normalisation depends on more than single characters.

    Args:
        data: texts in UTF-8.
        offsets: where each starts, and where the last one ends, shape (n + 1,).
        classes: see `dedup.signature.text_folding.Folding`.
        starts: likewise.

    Returns:
        Text, start and end of each stretch, a character and what may join it behind it, one stretch after the other;
        instead of many the whole text.
    """
    stretches = np.empty(3 * 8, np.int64)
    count = 0
    one, block = np.uint64(1), np.uint64(BLOCK)
    for text in range(len(offsets) - 1):
        at = behind = np.uint64(offsets[text])
        first = count
        length = np.uint64(offsets[text + 1])
        while at < length:
            leads = _leads(data, at, length)
            at += block
            while leads:
                place = at - block + ones((leads & -leads) - one)
                leads &= leads - one
                point, following = character_at(data, place)
                if not classes[point] & COMBINING or place < behind:
                    continue
                # What is removed in between does not part them.
                start = place
                while start > behind:
                    start -= one
                    while data[start] & 0xC0 == _ASCII:
                        start -= one
                    if not _is_removed(character_at(data, start)[0], classes, starts):
                        break
                behind = following
                while behind < length:
                    point, following = character_at(data, behind)
                    if not classes[point] & COMBINING and not _is_removed(point, classes, starts):
                        break
                    behind = following
                if count == len(stretches):
                    stretches = np.append(stretches, np.empty_like(stretches))
                stretches[count], stretches[count + 1], stretches[count + 2] = text, start, behind
                count += 3
        if (count - first) // 3 * _FAR_APART > offsets[text + 1] - offsets[text]:
            stretches[first], stretches[first + 1], stretches[first + 2] = text, offsets[text], offsets[text + 1]
            count = first + 3
    return stretches[:count]


@inner
def _leads(data: NDArray[np.uint8], at: np.uint64, end: np.uint64) -> np.uint64:
    """Return of each of 64 bytes whether it is the first of a character of several, up to where a text ends."""
    if at + np.uint64(BLOCK) <= len(data):
        leads = ~below(data, at, _FIRST_LEAD)
        beyond = at + np.uint64(BLOCK) - min(end, at + np.uint64(BLOCK))
        return leads << beyond >> beyond if beyond < BLOCK else np.uint64(0)
    leads = np.uint64(0)
    for place in range(end - at):
        leads |= np.uint64(data[at + place] >= _FIRST_LEAD) << place
    return leads


@inner
def _is_removed(point: int, classes: NDArray[np.uint8], starts: NDArray[np.int32]) -> bool:
    return bool(classes[point] & CHANGED and starts[point] == 0)


@compiled
def room_for(data: NDArray[np.uint8]) -> int:
    """Return how many bytes `fold_text` may need for texts."""
    wide = 0
    for place in range(len(data)):
        wide += data[place] >= _ASCII
    return len(data) + (LONGEST - 1) * wide + SLACK


@compiled
def fold_text(
    data: NDArray[np.uint8],
    start: int,
    end: int,
    refused: int,
    classes: NDArray[np.uint8],
    starts: NDArray[np.int32],
    replaced: NDArray[np.uint16],
    normalised: NDArray[np.uint8],
    kinds: NDArray[np.uint8],
) -> tuple[int, int, int, int]:
    """Normalise a text.

    Args:
        data: texts in UTF-8.
        start: where the text starts.
        end: where it ends.
        refused: bits of classes: at the first character with any of them it stops.
        classes: see `dedup.signature.text_folding.Folding`, as for the two below.
        starts: likewise.
        replaced: likewise.
        normalised: takes the text, combining characters as they stand; as long as `room_for` says.
        kinds: takes for each of its bytes the class of its character; as long. A sign of ASCII may have none.

    Returns:
        How many bytes the normalised text has, behind which there are zeros; all bits of the classes of what is not
        ASCII, or those of the character that is refused; how many characters are Han or kana, and how many of
        them kana.
    """
    one, block, eight = np.uint64(1), np.uint64(BLOCK), np.uint64(8)
    at, behind, length = np.uint64(start), np.uint64(end), np.uint64(len(data))
    size = np.uint64(0)
    # Of white space that follows white space nothing is left, as at the beginning.
    is_behind_space = one
    seen = han = kana = 0
    while at < behind:
        stop = behind
        if at + block <= length:
            spaces = equal_to(data, at, _SPACE)
            odd = below(data, at, _SPACE) | ~below(data, at, _DELETE)
            odd |= spaces & ((spaces << one) | is_behind_space)
            plain = min(ones((odd & -odd) - one), behind - at)
            if plain:
                # All of it is written, and overwritten from the first byte on that is not plain.
                fold_block(data, at, normalised, kinds, size)
                is_behind_space = (spaces >> (plain - one)) & one
                at += plain
                size += plain
            stop = at + one if plain < block else at
        while at < behind and (at < stop or data[at] >= _ASCII or (at + one < behind and data[at + one] >= _ASCII)):
            point, following = character_at(data, at)
            kind = signed(classes[point])
            if kind & refused:
                return 0, kind & refused, 0, 0
            if kind & CHANGED:
                first = np.uint64(starts[point])
                for place in range(first + one, first + one + np.uint64(replaced[first])):
                    byte, kind = signed(replaced[place]) & 0xFF, signed(replaced[place]) >> 8
                    if byte == _SPACE:
                        if is_behind_space:
                            continue
                        is_behind_space = one
                    else:
                        is_behind_space = np.uint64(0)
                    seen |= kind
                    if kind & HAN and byte & 0xC0 != _ASCII:
                        han += 1
                        kana += kind & KANA == KANA
                    normalised[size], kinds[size] = byte, kind
                    size += one
            else:
                if kind & CONTINUE:
                    kind = signed(kinds[size - one]) & START if size else 0
                kind &= KIND | DIGIT
                seen |= kind
                if kind & HAN:
                    han += 1
                    kana += kind & KANA == KANA
                is_behind_space = np.uint64(0)
                if at + eight <= length:
                    # What is too much is overwritten.
                    put_eight_bytes(normalised, size, eight_bytes(data, at))
                    put_eight_bytes(kinds, size, np.uint64(kind) * _EVERY_BYTE)
                    size += following - at
                else:
                    for place in range(at, following):
                        normalised[size], kinds[size] = data[place], kind
                        size += one
            at = following
    if is_behind_space and size:
        size -= one
    normalised[size : size + np.uint64(SLACK)] = 0
    kinds[size : size + np.uint64(SLACK)] = 0
    return signed(size), seen, han, kana


@inner
def character_at(data: NDArray[np.uint8], at: np.uint64) -> tuple[int, np.uint64]:
    """Return a character of valid UTF-8, and where the next one is."""
    first = signed(data[at])
    if first < 0x80:
        return first, at + np.uint64(1)
    second = signed(data[at + np.uint64(1)]) & 0x3F
    if first < 0xE0:
        return (first & 0x1F) << 6 | second, at + np.uint64(2)
    third = signed(data[at + np.uint64(2)]) & 0x3F
    if first < 0xF0:
        return (first & 0x0F) << 12 | second << 6 | third, at + np.uint64(3)
    fourth = signed(data[at + np.uint64(3)]) & 0x3F
    return (first & 0x07) << 18 | second << 12 | third << 6 | fourth, at + np.uint64(4)
