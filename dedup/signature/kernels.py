"""The compiled parts of a signature: edges of tokens, hashes of shingles, simhash and minhash."""

# Compiled functions take nothing by name.
# ruff: noqa: PLR0917

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import BLOCK, below, compiled, eight_bytes, equal_to, inner, ones, put_eight_bytes, signed, slot_of
from dedup.signature import tokens
from dedup.signature.segmenter import cut_run
from dedup.signature.signature import (
    BANDS,
    BITS,
    BITS_OF_A_MINIMUM,
    MINIMA,
    MINIMA_OF_A_BAND,
    MINIMUM,
    MULTIPLIERS,
    NUMBER,
    OFFSETS,
    SHINGLE_WORDS,
)
from dedup.signature.text_folding import character_at
from dedup.signature.tokens import DIGIT, HAN, KIND, SIGN, START, UNSPACED

_C1 = np.uint64(0x87C37B91114253D5)
_C2 = np.uint64(0x4CF5AD432745937F)
_ALL_BITS = np.uint64(2**64 - 1)

_LINE_FEED = 0x0A
# What stands between most tokens, in bytes.
_PLAIN = tuple(b" ,.")
_SLACK = 16

# A word of 64 bits is eight counters of 8 bits.
_LOWEST_OF_BYTES = np.uint64(0x0101010101010101)
_FULL = 255
_GROUP = 8

_MINIMA_A_WORD = 64 // BITS_OF_A_MINIMUM

_EVERY_BIT = np.uint64(2**64 - 1)
_EDGES_AT_ONCE = 8
_RUN = START | HAN | UNSPACED

is_chinese = inner(tokens.is_chinese)
"""That of `dedup.signature.tokens`, for compiled code."""


@compiled
def murmur3_of_tokens(data: NDArray[np.uint8], edges: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Hash tokens as `mmh3.hash64(token, signed=False)[0]` does, all of up to 15 bytes at once.

    Args:
        data: bytes, at least 16 of them from the start of each token on, and 8 behind it.
        edges: where each token starts and ends, one after the other, shape (2 n,); each has at least one byte.

    Returns:
        The hashes, shape (n,).
    """
    tokens = len(edges) // 2
    hashes, further = np.empty(tokens, np.uint64), np.empty(tokens, np.uint64)
    lengths = np.empty(tokens, np.uint64)
    longest = np.uint64(0)
    for token in range(tokens):
        start = np.uint64(edges[2 * token])
        length = np.uint64(edges[2 * token + 1]) - start
        hashes[token], further[token] = eight_bytes(data, start), eight_bytes(data, start + np.uint64(8))
        lengths[token] = min(length, np.uint64(15))
        longest = max(longest, length)
    _hash_short(hashes, further, lengths)
    if longest > 15:
        for token in range(tokens):
            start, end = np.uint64(edges[2 * token]), np.uint64(edges[2 * token + 1])
            if end - start > 15:
                hashes[token] = _hash_long(data, start, end - start)
    return hashes


@inner
def murmur3_of_bigrams(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hash each two neighbouring tokens, by their hashes, as `mmh3.hash64` does the 16 bytes of these."""
    bigrams = np.empty(max(0, len(hashes) - 1), np.uint64)
    for place in range(len(bigrams)):
        h1, h2 = _with_block(np.uint64(0), np.uint64(0), hashes[place], hashes[place + 1])
        h1, h2 = h1 ^ np.uint64(16), h2 ^ np.uint64(16)
        h1 += h2
        bigrams[place] = _mixed(h1) + _mixed(h2 + h1)
    return bigrams


@inner
def _hash_short(hashes: NDArray[np.uint64], further: NDArray[np.uint64], lengths: NDArray[np.uint64]) -> None:
    """Put the hashes of tokens in the place of their first eight bytes.

    Without a branch the compiler makes eight or four of them at once.

    Args:
        hashes: the first eight bytes from the start of each token on.
        further: the next eight.
        lengths: how many of these are the token's, 1 to 15.
    """
    for token in range(len(hashes)):
        hashes[token] = _finished(np.uint64(0), np.uint64(0), hashes[token], further[token], lengths[token])


@inner
def _hash_long(data: NDArray[np.uint8], start: np.uint64, length: np.uint64) -> np.uint64:
    h1 = h2 = np.uint64(0)
    for _ in range(length // np.uint64(16)):
        h1, h2 = _with_block(h1, h2, eight_bytes(data, start), eight_bytes(data, start + np.uint64(8)))
        start += np.uint64(16)
    return _finished(h1, h2, eight_bytes(data, start), eight_bytes(data, start + np.uint64(8)), length)


@inner
def _with_block(h1: np.uint64, h2: np.uint64, first: np.uint64, second: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Mix the 16 bytes of two numbers into a hash."""
    h1 ^= _rotate(first * _C1, 31) * _C2
    h1 = (_rotate(h1, 27) + h2) * np.uint64(5) + np.uint64(0x52DCE729)
    h2 ^= _rotate(second * _C2, 33) * _C1
    h2 = (_rotate(h2, 31) + h1) * np.uint64(5) + np.uint64(0x38495AB5)
    return h1, h2


@inner
def _finished(h1: np.uint64, h2: np.uint64, value: np.uint64, further: np.uint64, length: np.uint64) -> np.uint64:
    """Hash the last 0 to 15 bytes, the lowest of two numbers, of a token of so many."""
    rest = length & np.uint64(15)
    in_first = min(rest, np.uint64(8))
    # By 64 bits nothing can be shifted at once.
    value &= ~(_ALL_BITS << np.uint64(4) * in_first << np.uint64(4) * in_first)
    further &= ~(_ALL_BITS << np.uint64(8) * (rest - in_first))
    h1 ^= (_rotate(value * _C1, 31) * _C2) ^ length
    h2 ^= (_rotate(further * _C2, 33) * _C1) ^ length
    h1 += h2
    h2 += h1
    return _mixed(h1) + _mixed(h2)


@inner
def _rotate(value: np.uint64, bits: int) -> np.uint64:
    return (value << np.uint64(bits)) | (value >> np.uint64(64 - bits))


@inner
def _mixed(value: np.uint64) -> np.uint64:
    value ^= value >> np.uint64(33)
    value *= np.uint64(0xFF51AFD7ED558CCD)
    value ^= value >> np.uint64(33)
    value *= np.uint64(0xC4CEB9FE1A85EC53)
    value ^= value >> np.uint64(33)
    return value


@compiled
def hashes_of_words(words: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return the hashes of tokens that have a line feed between them, as those of a signature do."""
    data = np.empty(len(words) + _SLACK, np.uint8)
    # One by one: to assign an array takes the compiler two seconds, for a message of an error.
    for place in range(len(words)):
        data[place] = words[place]
    data[len(words) :] = _LINE_FEED
    edges = np.empty(len(words) + 2, np.int32)
    count = start = 0
    for place in range(len(words) + 1 if len(words) else 0):
        if data[place] == _LINE_FEED:
            edges[count], edges[count + 1] = start, place
            count += 2
            start = place + 1
    return murmur3_of_tokens(data, edges[:count])


@compiled
def fold_equal(hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Add up features bit by bit: one more where the hash has 1, one less where it has 0.

    Words are added as 64 adders side by side would do it: three of them become one of ones and one of twos.
    So only every eighth word, of eights, is spread out and counted. H. Warren, "Hacker's Delight", 5-1.

    Args:
        hashes: the features' hashes, shape (n,).

    Returns:
        The 64 sums; index 0 belongs to the least significant bit.
    """
    counts = np.empty(BITS, np.int64)
    for bit in range(BITS):
        counts[bit] = 0
    counters = np.empty(8, np.uint64)
    whole = len(hashes) // _GROUP * _GROUP
    ones = twos = fours = np.uint64(0)
    for start in range(0, whole, _GROUP * _FULL):
        # Written out, the compiler keeps them where it counts.
        a = b = c = d = e = f = g = h = np.uint64(0)
        for at in range(start, min(start + _GROUP * _FULL, whole), _GROUP):
            group = hashes[at : at + _GROUP]
            ones, first = _add(ones, group[0], group[1])
            ones, second = _add(ones, group[2], group[3])
            twos, third = _add(twos, first, second)
            ones, first = _add(ones, group[4], group[5])
            ones, second = _add(ones, group[6], group[7])
            twos, first = _add(twos, first, second)
            fours, bits = _add(fours, third, first)
            a += bits & _LOWEST_OF_BYTES
            b += (bits >> np.uint64(1)) & _LOWEST_OF_BYTES
            c += (bits >> np.uint64(2)) & _LOWEST_OF_BYTES
            d += (bits >> np.uint64(3)) & _LOWEST_OF_BYTES
            e += (bits >> np.uint64(4)) & _LOWEST_OF_BYTES
            f += (bits >> np.uint64(5)) & _LOWEST_OF_BYTES
            g += (bits >> np.uint64(6)) & _LOWEST_OF_BYTES
            h += (bits >> np.uint64(7)) & _LOWEST_OF_BYTES
        counters[0], counters[1], counters[2], counters[3] = a, b, c, d
        counters[4], counters[5], counters[6], counters[7] = e, f, g, h
        for bit in range(BITS):
            counts[bit] += _GROUP * np.int64((counters[bit % 8] >> np.uint64(bit // 8 * 8)) & np.uint64(_FULL))
    _count(counts, ones, 1)
    _count(counts, twos, 2)
    _count(counts, fours, 4)
    for at in range(whole, len(hashes)):
        _count(counts, hashes[at], 1)
    for bit in range(BITS):
        counts[bit] = 2 * counts[bit] - len(hashes)
    return counts


@inner
def _add(a: np.uint64, b: np.uint64, c: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Add three bits at each place; return the sums' lower and higher bits."""
    differing = a ^ b
    return differing ^ c, (a & b) | (differing & c)


@inner
def _count(counts: NDArray[np.int64], bits: np.uint64, weight: int) -> None:
    for bit in range(BITS):
        counts[bit] += weight * np.int64((bits >> np.uint64(bit)) & np.uint64(1))


@inner
def distinct(hashes: NDArray[np.uint64], key: np.uint64) -> NDArray[np.uint64]:
    """Return each hash once, in the order in which they first come; key: `dedup.compiled.KEY`."""
    size = 2
    while size < 2 * len(hashes):
        size *= 2
    slots, mask = np.zeros(size, np.uint64), np.uint64(size - 1)
    found, count, has_zero = np.empty(len(hashes), np.uint64), 0, False
    for value in hashes:
        slot = slot_of(value, key, mask)
        while slots[slot] != 0 and slots[slot] != value:
            slot = (slot + np.uint64(1)) & mask
        # An empty slot is 0.
        if slots[slot] != value or (value == 0 and not has_zero):
            slots[slot] = found[count] = value
            count += 1
            has_zero |= value == 0
    return found[:count]


@inner
def shingle_hashes(hashes: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Return the hash of each shingle.

    Args:
        hashes: the hashes of the tokens in the order of the text, shape (n,).
    """
    shingles = np.empty(max(0, len(hashes) - SHINGLE_WORDS + 1), np.uint32)
    for first in range(len(shingles)):
        mixed = hashes[first] * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(29))) + hashes[first + 1]
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(31))) + hashes[first + 2]
        mixed *= np.uint64(0x94D049BB133111EB)
        shingles[first] = np.uint32(mixed >> np.uint64(32))
    return shingles


@inner
def write_minima(shingles: NDArray[np.uint32], words: NDArray[np.int64], bands: NDArray[np.int64]) -> None:
    """Write what is kept of the minima over some shingles.

    Args:
        shingles: their hashes.
        words: takes four bits of each minimum, 16 of them to a word of 64 bits, the first the lowest, shape (8,).
        bands: takes the bands, shape (24,); zeros where there are no shingles.
    """
    minima = np.empty(MINIMA, np.uint32)
    for each in range(MINIMA):
        minima[each] = 2**32 - 1
    # Four at a time: a minimum is fetched and put back for all of them once.
    rest = len(shingles) // 4 * 4
    for at in range(0, rest, 4):
        a, b, c, d = shingles[at], shingles[at + 1], shingles[at + 2], shingles[at + 3]
        for each in range(MINIMA):
            by, plus = MULTIPLIERS[each], OFFSETS[each]
            first = min(np.uint32(a * by + plus), np.uint32(b * by + plus))
            second = min(np.uint32(c * by + plus), np.uint32(d * by + plus))
            minima[each] = min(minima[each], first, second)
    for at in range(rest, len(shingles)):
        for each in range(MINIMA):
            minima[each] = min(minima[each], np.uint32(shingles[at] * MULTIPLIERS[each] + OFFSETS[each]))
    for each in range(MINIMA):
        # The high bits of a minimum are almost always 0; mixed, its low four bits are uniform.
        mixed = np.uint32((minima[each] ^ (minima[each] >> np.uint32(16))) * np.uint32(0x85EBCA6B))
        word, place = each // _MINIMA_A_WORD, each % _MINIMA_A_WORD
        above = np.int64(0) if place == 0 else words[word]
        words[word] = above | np.int64(mixed >> np.uint32(28)) << (place * BITS_OF_A_MINIMUM)
    for band in range(BANDS):
        value = np.uint64(band + 1) * np.uint64(NUMBER)
        for each in range(band * MINIMA_OF_A_BAND, (band + 1) * MINIMA_OF_A_BAND):
            value = (value ^ np.uint64(minima[each])) * np.uint64(MINIMUM)
            value ^= value >> np.uint64(29)
        bands[band] = signed(value) if len(shingles) else 0


@compiled
def count_distinct(values: NDArray[np.uint32], key: np.uint64) -> int:
    """Count distinct values: each is written where its topmost bits say, and counted where it is the last one.

    Few share their place with another value, and only these need a table that is looked through.
    """
    count = len(values)
    bits = 2
    while (1 << bits) < 4 * count and bits < 32:
        bits += 1
    shift = np.uint32(32 - bits)
    # Nothing is read that was not written before.
    last = np.empty(1 << bits, np.uint32)
    for place in range(count):
        last[values[place] >> shift] = np.uint32(place)
    displaced, others, distinct = np.empty(count, np.uint32), np.uint64(0), 0
    for place in range(count):
        value = values[place]
        winner = last[value >> shift]
        distinct += winner == np.uint32(place)
        # Written in any case and kept if it is another value: no branch to guess.
        displaced[others] = value
        others += np.uint64(values[winner] != value)
    return distinct + _count_probing(displaced[: np.int64(others)], key)


@inner
def _count_probing(values: NDArray[np.uint32], key: np.uint64) -> int:
    """Count distinct values, by a hash table with open addressing."""
    bits = 1
    while (1 << bits) < 2 * len(values):
        bits += 1
    mask = np.uint64((1 << bits) - 1)
    table = np.empty(1 << bits, np.uint64)
    for place in range(1 << bits):
        table[place] = 0
    distinct = 0
    for value in values:
        entry = np.uint64(value) + np.uint64(1)  # 0 is an empty place
        at = slot_of(np.uint64(value), key, mask)
        while table[at] != 0 and table[at] != entry:
            at = (at + np.uint64(1)) & mask
        if table[at] == 0:
            table[at] = entry
            distinct += 1
    return distinct


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
    size = 0
    for token in range(len(edges) // 2):
        size = _put_line(normalised, edges[2 * token], edges[2 * token + 1], joined, size)
    return max(size - 1, 0)


@inner
def join_signs(
    normalised: NDArray[np.uint8],
    kinds: NDArray[np.uint8],
    size: int,
    edges: NDArray[np.int32],
    classes: NDArray[np.uint8],
    joined: NDArray[np.uint8],
) -> int:
    """Write what `dedup.signature.tokens.Tokens.signs` returns, a zero before each, and return how many bytes it takes.

    Args:
        normalised: the text, with `SLACK` bytes behind it.
        kinds: the class of each of its bytes; of signs of ASCII that of a separator.
        size: how many bytes it has.
        edges: what `find_edges` returned.
        classes: see `dedup.signature.text_folding.Folding`.
        joined: takes the places, and up to eight bytes behind them.
    """
    written = behind = token = 0
    for block in range(0, size if len(edges) else 0, BLOCK):
        at = np.uint64(block)
        odd = below(kinds, at, UNSPACED)
        for plain in _PLAIN:
            odd &= ~equal_to(normalised, at, plain)
        while odd:
            place = at + ones((odd & -odd) - np.uint64(1))
            odd &= odd - np.uint64(1)
            if place < np.uint64(behind) or normalised[place] & 0xC0 == 0x80:
                continue
            if classes[character_at(normalised, place)[0]] & KIND != SIGN:
                continue
            while token < len(edges) and edges[token] <= signed(place):
                token += 2
            before, start = (signed(edges[token - 2]), signed(edges[token - 1])) if token else (0, 0)
            behind, end = (signed(edges[token]), signed(edges[token + 1])) if token < len(edges) else (size, size)
            joined[written] = 0
            written = _put_line(normalised, before, start, joined, written + 1)
            written = _put_line(normalised, start, behind, joined, written)
            written = _put_line(normalised, behind, end, joined, written) - 1
    return written


@inner
def _put_line(data: NDArray[np.uint8], start: int, end: int, target: NDArray[np.uint8], at: int) -> int:
    """Copy bytes, and a line feed behind them; return where that ends."""
    # Eight bytes at a time, of which what comes next overwrites what is too much.
    source, behind, place = np.uint64(start), np.uint64(end), np.uint64(at)
    while source < behind:
        put_eight_bytes(target, place, eight_bytes(data, source))
        source += np.uint64(8)
        place += np.uint64(8)
    target[at + end - start] = _LINE_FEED
    return at + end - start + 1
