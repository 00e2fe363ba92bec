"""Signing lines in compiled code: those that are plain JSON, of texts that need no look at neighbouring characters."""

# Compiled functions take nothing by name, and would make a set anew for each look into it.
# ruff: noqa: PLR0917

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup import byte_masks
from dedup.bits import ones, signed
from dedup.byte_masks import below, equal_to
from dedup.compiled import compiled
from dedup.corpus.appending import LENGTH_BYTES
from dedup.corpus.json_fields import ABSENT, ESCAPED, INTEGER, STRING, find_fields, unescape
from dedup.fingerprint.blake2b import BLOCK, digests_of
from dedup.fingerprint.folded_text import fold_text, hash_tokens
from dedup.fingerprint.folding import ASCII, Folding
from dedup.fingerprint.minhash import minima_and_shingles
from dedup.fingerprint.simhash import fold_equal
from dedup.fingerprint.spaced import signs_of

TEXTS_AT_ONCE = 1 << 19
"""How many bytes of texts are gathered until their digests are made."""

LONGEST_NUMBER = 20
"""How many bytes the number of a line has at most."""

_LINE_FEED, _BACKSLASH = 0x0A, 0x5C


class Columns(NamedTuple):
    """Columns of `SIGNED_LINE`."""

    digest: NDArray[np.uint64]
    fingerprint: NDArray[np.uint64]
    minima: NDArray[np.uint64]
    shingles: NDArray[np.uint32]
    tokens: NDArray[np.uint32]
    numbers: NDArray[np.uint64]
    margins: NDArray[np.int64]
    text_bytes: NDArray[np.int64]


class Wanted(NamedTuple):
    """What is looked for in lines.

    Attributes:
        names: the names of the fields in UTF-8, one behind the other: of the text, of those that may be keys.
        name_ends: where each of them ends.
        needs_key: whether a line without a key is no document.
        max_bytes: of how many bytes a line is too large.
        tie: the bit that a sum of 0 gives.
    """

    names: NDArray[np.uint8]
    name_ends: NDArray[np.int64]
    needs_key: bool
    max_bytes: int
    tie: int


class Keys(NamedTuple):
    """The keys of lines.

    Attributes:
        keys: takes them, each behind its length.
        ends: takes where that of each line ends; that of a line without one, where the last one before it does.
        prefix: what stands before the number of a line in the key of one that has none of its own.
        after: the number of the line before the first.
    """

    keys: NDArray[np.uint8]
    ends: NDArray[np.int64]
    prefix: NDArray[np.uint8]
    after: int


class Space(NamedTuple):
    """What the work needs besides.

    Attributes:
        texts: takes normalised texts; `TEXTS_AT_ONCE` bytes, a `BLOCK`, and as many as the marks.
        marks: as long as the longest text of all lines may become, and `SLACK`.
    """

    texts: NDArray[np.uint8]
    marks: NDArray[np.uint8]


@compiled
def find_ends(data: NDArray[np.uint8], size: int, ends: NDArray[np.int64]) -> tuple[int, int, int]:
    """Find where each line ends: at its line feed, the last one maybe with the bytes.

    Args:
        data: lines, with zeros behind them up to the end of a block of `byte_masks`.
        size: how many bytes they have.
        ends: takes the ends; as long.

    Returns:
        How many lines there are, how many parts of characters beyond ASCII, and how many backslashes.
    """
    lines = 0
    wide = backslashes = np.uint64(0)
    for block in range(0, size, byte_masks.BLOCK):
        at = np.uint64(block)
        wide += ones(~below(data, at, ASCII))
        backslashes += ones(equal_to(data, at, _BACKSLASH))
        feeds = equal_to(data, at, _LINE_FEED)
        while feeds:
            ends[lines] = block + signed(ones((feeds & -feeds) - np.uint64(1)))
            feeds &= feeds - np.uint64(1)
            lines += 1
    if size > 0 and data[size - 1] != _LINE_FEED:
        ends[lines] = size
        lines += 1
    return lines, signed(wide), signed(backslashes)


@compiled
def sign_lines(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    wanted: Wanted,
    space: Space,
    tables: Folding,
    permutations: tuple[NDArray[np.uint32], NDArray[np.uint32]],
    rows: Columns,
    keys: Keys,
    is_signed: NDArray[np.bool_],
) -> None:
    """Sign all lines that can be signed here.

    Args:
        data: lines, with zeros behind them as `dedup.corpus.json_fields` needs them.
        starts: where each starts, shape (n,).
        ends: where each ends.
        wanted: what is looked for.
        space: what the work needs.
        tables: see `dedup.fingerprint.folding`.
        permutations: see `dedup.fingerprint.minhash`.
        rows: takes the signatures.
        keys: takes the keys.
        is_signed: takes of each line whether it is signed.
    """
    kinds, spans = np.empty(len(wanted.name_ends), np.int64), np.empty((len(wanted.name_ends), 2), np.int64)
    # The lines of which the texts are gathered, where these start, and how many bytes they have.
    gathered = np.empty(len(starts), np.int64)
    text_starts, text_sizes = np.empty(len(starts), np.uint64), np.empty(len(starts), np.uint64)
    count = written = key_end = 0
    for line in range(len(starts)):
        keys.ends[line] = key_end
        start, end = starts[line], ends[line]
        if end - start >= wanted.max_bytes:
            continue
        if not find_fields(data, start, end, wanted.names, wanted.name_ends, kinds, spans):
            continue
        key = _key(kinds, spans)
        if key < 0 or (key == 0 and wanted.needs_key):
            continue
        text = text_of(data, kinds[0], spans[0])
        if len(text) == 0:
            continue
        normalised = space.texts[written:]
        size = fold_text(
            text,
            tables.plain,
            tables.plain_kinds,
            tables.starts,
            tables.ends,
            tables.replaced,
            tables.kinds,
            normalised,
            space.marks,
        )
        if size < 0:
            continue
        hashes, bloom, _ = hash_tokens(normalised, space.marks, size)
        sums = fold_equal(hashes)
        minima, shingles = minima_and_shingles(hashes, permutations[0], permutations[1])
        rows.fingerprint[line] = signs_of(sums, wanted.tie)
        rows.minima[line] = minima.view(np.uint64)
        rows.shingles[line] = shingles
        rows.tokens[line] = len(hashes)
        rows.numbers[line] = bloom
        rows.margins[line] = np.abs(sums)
        rows.text_bytes[line] = len(text)
        is_signed[line] = True
        if key > 0:
            key_end = _put_key(keys.keys, key_end, data[spans[key, 0] : spans[key, 1]], -1)
        else:
            key_end = _put_key(keys.keys, key_end, keys.prefix, keys.after + 1 + line)
        keys.ends[line] = key_end
        gathered[count], text_starts[count], text_sizes[count] = line, written, size
        count += 1
        block_end = written + max(1, -(-size // BLOCK)) * BLOCK
        space.texts[written + size : block_end] = 0
        written = block_end
        if written >= TEXTS_AT_ONCE:
            _put_digests(rows, gathered[:count], space.texts, text_starts[:count], text_sizes[:count])
            count = written = 0
    _put_digests(rows, gathered[:count], space.texts, text_starts[:count], text_sizes[:count])


@compiled
def _put_digests(
    rows: Columns,
    lines: NDArray[np.int64],
    texts: NDArray[np.uint8],
    starts: NDArray[np.uint64],
    sizes: NDArray[np.uint64],
) -> None:
    digests = digests_of(texts, starts, sizes)
    for place in range(len(lines)):
        rows.digest[lines[place]] = digests[place]


@compiled
def text_of(data: NDArray[np.uint8], kind: int, span: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return the text of a line; empty where there is none, or none that is understood here.

    Args:
        data: the line, see `sign_lines`.
        kind: what its field is, see `dedup.corpus.json_fields.find_fields`.
        span: where that stands.
    """
    text = data[span[0] : span[1]]
    if kind == STRING:
        return text
    if kind != ESCAPED:
        return text[:0]
    unescaped = np.empty(len(text), np.uint8)
    return unescaped[: max(0, unescape(data, span[0], span[1], unescaped))]


@compiled
def _key(kinds: NDArray[np.int64], spans: NDArray[np.int64]) -> int:
    """Return the first field of a key that is there and not an empty string; 0: none is, -1: it is not plain."""
    for field in range(1, len(kinds)):
        if kinds[field] != ABSENT and (kinds[field] != STRING or spans[field, 0] < spans[field, 1]):
            return field if kinds[field] in (STRING, INTEGER) else -1
    return 0


@compiled
def _put_key(keys: NDArray[np.uint8], at: int, key: NDArray[np.uint8], number: int) -> int:
    """Write a key, and a number behind it if it is not negative, behind their length; return where they end."""
    start = at + LENGTH_BYTES
    end = start + len(key)
    keys[start:end] = key
    if number >= 0:
        digits = 1
        while number >= 10**digits:
            digits += 1
        for place in range(end + digits - 1, end - 1, -1):
            keys[place] = 0x30 + number % 10
            number //= 10
        end += digits
    for byte in range(LENGTH_BYTES):
        keys[at + byte] = (end - start) >> (8 * byte) & 0xFF
    return end
