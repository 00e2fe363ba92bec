"""Where the tokens of a normalised text start and end, found by compiled code; see `dedup.signature.tokens`."""

# Compiled functions take nothing by name.
# ruff: noqa: PLR0917

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import inner
from dedup.compiled.bits import eight_bytes, ones, put_eight_bytes, signed
from dedup.compiled.byte_masks import BLOCK, below
from dedup.signature import tokens
from dedup.signature.characters import DIGIT, HAN, START, UNSPACED
from dedup.signature.segmenter import cut_run

_EVERY_BIT = np.uint64(2**64 - 1)
_EDGES_AT_ONCE = 8
_LINE_FEED = 0x0A
_RUN = START | HAN | UNSPACED

is_chinese = inner(tokens.is_chinese)
"""That of `dedup.signature.tokens`, for compiled code."""


@inner
def find_edges(
    normalised: NDArray[np.uint8],
    kinds: NDArray[np.uint8],
    size: int,
    seen: int,
    han: int,
    kana: int,
    trie: NDArray[np.uint64],
    weights: NDArray[np.float64],
) -> NDArray[np.int32]:
    """Find the tokens of a text that `fold_text` normalised.

    Args:
        normalised: the text, with zeros behind it.
        kinds: the class of each of its bytes.
        size: how many bytes it has.
        seen: all bits of these, as `fold_text` returns them.
        han: how many of its characters are Han or kana.
        kana: how many of them are kana.
        trie: the edges of the dictionary for Chinese; empty: it is cut into pairs.
        weights: the weights of the dictionary.

    Returns:
        Start and end of each token, one after the other, shape (2 n,).
    """
    edges = np.empty(size + _EDGES_AT_ONCE + 2, np.int32)
    if not seen & (HAN | UNSPACED):
        return edges[: _find_spaced(kinds, size, edges)]
    is_cut = len(trie) > 0 and is_chinese(han, kana)
    count = start = 0
    while start < size:
        kind = kinds[start] & _RUN
        end = start + 1
        while end < size and kinds[end] & _RUN == kind:
            end += 1
        if kind == START:
            edges[count], edges[count + 1] = start, end
            count += 2
        elif kind == HAN and is_cut:
            for word_end in cut_run(normalised, start, end, trie, weights):
                edges[count], edges[count + 1] = start, word_end
                count += 2
                start = signed(word_end)
        elif kind:
            count = _put_pairs(normalised, start, end, edges, count)
        start = end
    return edges[:count]


@inner
def _find_spaced(kinds: NDArray[np.uint8], size: int, edges: NDArray[np.int32]) -> int:
    """Write the edges of the tokens of a text in which spaces or the like are between all words."""
    count = before = np.uint64(0)
    for first in range(0, size + 1, BLOCK):
        parts = ~below(kinds, np.uint64(first), START)
        changes = parts ^ ((parts << np.uint64(1)) | before)
        before = parts >> np.uint64(63)
        # Some more than there are are written, and overwritten: to ask after each costs a wrong guess a block.
        at = count
        count += ones(changes)
        while at < count:
            for place in range(_EDGES_AT_ONCE):
                edges[at + np.uint64(place)] = np.uint64(first) + ones((changes & -changes) - np.uint64(1))
                changes &= changes - np.uint64(1)
            at += np.uint64(_EDGES_AT_ONCE)
    return signed(count)


@inner
def _put_pairs(data: NDArray[np.uint8], start: int, end: int, edges: NDArray[np.int32], count: int) -> int:
    """Write the edges of overlapping pairs of characters; return where the next edge goes."""
    before, last = -1, start
    for place in range(start + 1, end + 1):
        if place < end and data[place] & 0xC0 == 0x80:
            continue  # within a character
        if before >= 0:
            edges[count], edges[count + 1] = before, place
            count += 2
        before, last = last, place
    if before == start:  # a character alone
        edges[count], edges[count + 1] = start, end
        count += 2
    return count


@inner
def bloom_of_numbers(
    hashes: NDArray[np.uint64], edges: NDArray[np.int32], kinds: NDArray[np.uint8], size: int
) -> np.uint64:
    """Return one bit for the hash of each token that has a decimal digit."""
    digits = np.empty(size // BLOCK + 1, np.uint64)
    figures = bloom = np.uint64(0)
    for block in range(len(digits)):
        digits[block] = ~below(kinds, np.uint64(block * BLOCK), DIGIT)
        figures |= digits[block]
    if figures:
        for token in range(len(hashes)):
            if _is_any(digits, signed(edges[2 * token]), signed(edges[2 * token + 1])):
                bloom |= np.uint64(1) << (hashes[token] & np.uint64(63))
    return bloom


@inner
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


@inner
def join_tokens(normalised: NDArray[np.uint8], edges: NDArray[np.int32], joined: NDArray[np.uint8]) -> int:
    """Write tokens one after the other, a line feed between them, and return how many bytes that takes.

    Args:
        normalised: the text, with `SLACK` bytes behind it.
        edges: what `find_edges` returned.
        joined: takes the tokens, and up to eight bytes behind them.
    """
    # Eight bytes at a time, of which the next token overwrites what is too much.
    size, eight = np.uint64(0), np.uint64(8)
    for token in range(len(edges) // 2):
        start, end = np.uint64(edges[2 * token]), np.uint64(edges[2 * token + 1])
        place = np.uint64(0)
        while start + place < end:
            put_eight_bytes(joined, size + place, eight_bytes(normalised, start + place))
            place += eight
        size += end - start
        joined[size] = _LINE_FEED
        size += np.uint64(1)
    return max(signed(size) - 1, 0)
