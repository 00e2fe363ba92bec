"""Normalising a text and splitting it into tokens, 64 or eight bytes at a time where they are ASCII.

Eight bytes below 0x80 in a word of 64 bits are told apart by one addition each: it carries into the
topmost bit of a byte, and never into the next byte. H. Warren, "Hacker's Delight", section 6-1.
"""

# Compiled functions take nothing by name, and would make a set anew for each look into it.
# ruff: noqa: PLR0912, PLR0915, PLR0917

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.bits import eight_bytes, ones, signed
from dedup.byte_masks import BLOCK, below, equal_to
from dedup.compiled import compiled
from dedup.fingerprint.folded_block import DIGIT, PART, fold_block
from dedup.fingerprint.folding import ASCII, LONGEST, OTHER, SPACE, WORD
from dedup.fingerprint.hashes import murmur3_of_tokens

_EVERY_BIT = np.uint64(2**64 - 1)
_EVERY = np.uint64(0x0101010101010101)
_TOP = np.uint64(0x8080808080808080)
_TOP_OF_LOWEST = np.uint64(0x80)
_EDGES_AT_ONCE = 8
SLACK = BLOCK
"""How many bytes behind a normalised text are written: whole blocks are read, and 16 bytes from a token's start on."""

_SPACE_BYTE, _LINE_FEED, _DELETE = 0x20, 0x0A, 0x7F


@compiled
def fold_text(
    data: NDArray[np.uint8],
    plain: NDArray[np.uint8],
    plain_kinds: NDArray[np.uint8],
    starts: NDArray[np.int32],
    ends: NDArray[np.int32],
    replaced: NDArray[np.uint8],
    kinds: NDArray[np.uint8],
    normalised: NDArray[np.uint8],
    marks: NDArray[np.uint8],
) -> int:
    """Normalise a text.

    Args:
        data: the text in UTF-8.
        plain: see `dedup.fingerprint.folding.Folding`, as for those up to `kinds`.
        plain_kinds: likewise.
        starts: likewise.
        ends: likewise.
        replaced: likewise.
        kinds: likewise.
        normalised: takes the text; as long as `room_for` says.
        marks: takes for each of its bytes whether it is part of a token, and a digit; as long.

    Returns:
        How many bytes the normalised text has, behind which there are zeros; -1 where a character depends
        on its neighbours, or words are not told by spaces.
    """
    at, size = np.uint64(0), np.uint64(0)
    one, eight = np.uint64(1), np.uint64(8)
    length = np.uint64(len(data))
    # Of white space that follows white space nothing is left, as at the beginning.
    before = _TOP_OF_LOWEST
    not_before = np.uint64(0)
    while at < length:
        if at + np.uint64(BLOCK) <= length and at >= not_before:
            spaces = equal_to(data, at, _SPACE_BYTE)
            odd = below(data, at, _SPACE_BYTE) | ~below(data, at, _DELETE)
            if odd == 0 and spaces & ((spaces << one) | before >> np.uint64(7)) == 0:
                fold_block(data, at, normalised, marks, size)
                before = spaces >> np.uint64(BLOCK - 1) << np.uint64(7)
                at += np.uint64(BLOCK)
                size += np.uint64(BLOCK)
                continue
            not_before = at + np.uint64(BLOCK)
        if at + eight <= length:
            word = eight_bytes(data, at)
            spaces = ~_at_least(word, _SPACE_BYTE + 1) & _TOP
            odd = (word | ~_at_least(word, _SPACE_BYTE) | _at_least(word, _DELETE)) & _TOP
            if odd == 0 and spaces & ((spaces << eight) | before) == 0:
                word |= (_at_least(word, 0x41) & ~_at_least(word, 0x5B)) >> np.uint64(2)
                digits = _at_least(word, 0x30) & ~_at_least(word, 0x3A)
                letters = _at_least(word, 0x61) & ~_at_least(word, 0x7B)
                _put(normalised, size, word)
                _put(marks, size, letters | digits | digits >> np.uint64(1))
                before = spaces >> np.uint64(56)
                at += eight
                size += eight
                continue
        end = min(at + eight, length)
        while at < end:
            # A character becomes a byte, and maybe further ones of which the first is at `further`.
            if data[at] < ASCII:
                byte, kind = plain[data[at]], plain_kinds[data[at]]
                further = last = np.int64(0)
                at += one
            else:
                point, at = _behind_ascii(data, at)
                if point >= len(starts) or starts[point] < 0:
                    return -1
                further, last = np.int64(starts[point]), np.int64(ends[point])
                if further == last:
                    continue
                byte, kind = replaced[further], kinds[further]
                further += np.int64(1)
            while True:
                if kind == SPACE and before == 0:
                    normalised[size], marks[size] = _SPACE_BYTE, 0
                    size += one
                    before = _TOP_OF_LOWEST
                elif kind in (OTHER, WORD):
                    normalised[size] = byte
                    marks[size] = PART if kind == WORD else 0
                    if kind == WORD and 0x30 <= byte <= 0x39:
                        marks[size] = PART | DIGIT
                    size += one
                    before = np.uint64(0)
                if further == last:
                    break
                byte, kind = replaced[further], kinds[further]
                further += np.int64(1)
    if before and size:
        size -= one
    normalised[size : size + np.uint64(SLACK)] = 0
    marks[size : size + np.uint64(SLACK)] = 0
    return signed(size)


@compiled
def room_for(data: NDArray[np.uint8]) -> int:
    """Return how many bytes `fold_text` may need for a text."""
    wide = 0
    for place in range(len(data)):
        wide += data[place] >= ASCII
    return len(data) + (LONGEST - 1) * wide + SLACK


@compiled
def hash_tokens(
    normalised: NDArray[np.uint8], marks: NDArray[np.uint8], size: int
) -> tuple[NDArray[np.uint64], np.uint64, NDArray[np.int32]]:
    """Find and hash the tokens of a text that `fold_text` normalised.

    Args:
        normalised: the text, with zeros behind it.
        marks: which of its bytes are part of tokens.
        size: how many bytes it has.

    Returns:
        The hashes of the tokens, one bit for that of each with a digit, and start and end of each.
    """
    blocks = size // BLOCK + 1
    edges, digits = np.empty(size + _EDGES_AT_ONCE + 2, np.int32), np.empty(blocks, np.uint64)
    count = np.uint64(0)
    before = figures = np.uint64(0)
    for block in range(blocks):
        first = np.uint64(block * BLOCK)
        parts, digits[block] = ~below(marks, first, PART), ~below(marks, first, PART | DIGIT)
        figures |= digits[block]
        changes = parts ^ ((parts << np.uint64(1)) | before)
        before = parts >> np.uint64(63)
        # Some more than there are are written, and overwritten: to ask after each costs a wrong guess a block.
        at = count
        count += ones(changes)
        while at < count:
            for place in range(_EDGES_AT_ONCE):
                edges[at + np.uint64(place)] = first + ones((changes & -changes) - np.uint64(1))
                changes &= changes - np.uint64(1)
            at += np.uint64(_EDGES_AT_ONCE)
    edges = edges[: signed(count)]
    hashes = murmur3_of_tokens(normalised, edges)
    bloom = np.uint64(0)
    if figures:
        for token in range(len(hashes)):
            if _is_any(digits, signed(edges[2 * token]), signed(edges[2 * token + 1])):
                bloom |= np.uint64(1) << (hashes[token] & np.uint64(63))
    return hashes, bloom, edges


@compiled
def _is_any(bits: NDArray[np.uint64], start: int, end: int) -> bool:
    """Return whether any bit is 1 from one place to before another."""
    first, last = start // BLOCK, (end - 1) // BLOCK
    from_start = _EVERY_BIT << np.uint64(start % BLOCK)
    to_end = _EVERY_BIT >> np.uint64(BLOCK - 1 - (end - 1) % BLOCK)
    if first == last:
        return bool(bits[first] & from_start & to_end)
    found = (bits[first] & from_start) | (bits[last] & to_end)
    for block in range(first + 1, last):
        found |= bits[block]
    return bool(found)


@compiled
def join_tokens(normalised: NDArray[np.uint8], edges: NDArray[np.int32]) -> NDArray[np.uint8]:
    """Return the tokens between edges that `hash_tokens` found, a line feed between them."""
    # Eight bytes at a time, of which the next token overwrites what is too much.
    joined = np.empty(len(normalised), np.uint8)
    size, eight = np.uint64(0), np.uint64(8)
    for token in range(len(edges) // 2):
        start, end = np.uint64(edges[2 * token]), np.uint64(edges[2 * token + 1])
        place = np.uint64(0)
        while start + place < end:
            _put(joined, size + place, eight_bytes(normalised, start + place))
            place += eight
        size += end - start
        joined[size] = _LINE_FEED
        size += np.uint64(1)
    return joined[: max(signed(size) - 1, 0)]


@compiled
def _at_least(word: np.uint64, least: int) -> np.uint64:
    """Return the topmost bit of each byte that is at least so much; all are below 0x80."""
    return (word + _EVERY * np.uint64(0x80 - least)) & _TOP


@compiled
def _put(target: NDArray[np.uint8], at: np.uint64, word: np.uint64) -> None:
    # Written out this becomes one instruction.
    target[at] = word & np.uint64(0xFF)
    target[at + np.uint64(1)] = (word >> np.uint64(8)) & np.uint64(0xFF)
    target[at + np.uint64(2)] = (word >> np.uint64(16)) & np.uint64(0xFF)
    target[at + np.uint64(3)] = (word >> np.uint64(24)) & np.uint64(0xFF)
    target[at + np.uint64(4)] = (word >> np.uint64(32)) & np.uint64(0xFF)
    target[at + np.uint64(5)] = (word >> np.uint64(40)) & np.uint64(0xFF)
    target[at + np.uint64(6)] = (word >> np.uint64(48)) & np.uint64(0xFF)
    target[at + np.uint64(7)] = word >> np.uint64(56)


@compiled
def _behind_ascii(data: NDArray[np.uint8], at: np.uint64) -> tuple[int, np.uint64]:
    """Return a character that is not ASCII, and where the next one is; of one with four bytes any that is not known."""
    first, second = int(data[at]), int(data[at + np.uint64(1)]) & 0x3F
    if first < 0xE0:
        return (first & 0x1F) << 6 | second, at + np.uint64(2)
    third = int(data[at + np.uint64(2)]) & 0x3F
    if first < 0xF0:
        return (first & 0x0F) << 12 | second << 6 | third, at + np.uint64(3)
    return 1 << 20, at + np.uint64(4)
