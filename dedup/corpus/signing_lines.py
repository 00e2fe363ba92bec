"""Signing a range of lines: in one go by compiled code what it understands, the other lines one by one."""

# Compiled functions take nothing by name, and would make a set anew for each look into it.
# ruff: noqa: PLR0917

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import compiled
from dedup.corpus import json_fields
from dedup.corpus.appending import LENGTH_BYTES
from dedup.corpus.documents import CorpusDocument, Position, Rejected
from dedup.corpus.fields import KEY_FIELDS
from dedup.corpus.json_fields import ABSENT, ESCAPED, INTEGER, STRING, find_fields, unescape
from dedup.corpus.line_ranges import LineDocument, LineRange
from dedup.corpus.readers import jsonl
from dedup.corpus.signed_lines import SIGNED_LINE, PackedLines
from dedup.fingerprint.folded_text import fold_text, hash_tokens, room_for
from dedup.fingerprint.folding import ASCII, LONGEST, Folding, folding
from dedup.fingerprint.minhash import PERMUTATIONS, minima_and_shingles
from dedup.fingerprint.schemes import Scheme
from dedup.fingerprint.signature import DIGEST_BYTES
from dedup.fingerprint.simhash import fold_equal
from dedup.fingerprint.spaced import signs_of

_LINE_FEED = 0x0A


class _Columns(NamedTuple):
    """Columns of `SIGNED_LINE`."""

    fingerprint: NDArray[np.uint64]
    minima: NDArray[np.uint64]
    shingles: NDArray[np.uint32]
    tokens: NDArray[np.uint32]
    numbers: NDArray[np.uint64]
    margins: NDArray[np.int64]
    text_bytes: NDArray[np.int64]


class _Found(NamedTuple):
    """What compiled code says of each line.

    Attributes:
        is_signed: whether it signed it.
        key_starts: where its key starts in the lines; -1: it has none.
        key_ends: where it ends.
        text_ends: where its normalised text ends, that of the next one begins.
    """

    is_signed: NDArray[np.bool_]
    key_starts: NDArray[np.int64]
    key_ends: NDArray[np.int64]
    text_ends: NDArray[np.int64]


def sign_plain_lines(
    lines: LineRange, data: bytes, scheme: Scheme, sign_alone: Callable[[CorpusDocument, LineDocument], Any]
) -> list[PackedLines | tuple[LineDocument | Rejected, Any]]:
    """Make the signatures of the documents of a range of lines.

    Args:
        lines: the range.
        data: its bytes.
        scheme: how signatures are made.
        sign_alone: makes the signature, `dedup.corpus.signing.Signed`, of a document that is not made here;
            None if it fails.

    Returns:
        Signed lines with texts, packed, and between them what else there is, in their order.
    """
    ends = _line_ends(data)
    starts = np.append(0, ends[:-1] + 1)[: len(ends)]
    rows = np.zeros(len(ends), SIGNED_LINE)
    found, texts = _sign(data, starts, ends, rows, lines, scheme)
    rows["ordinal"] = lines.after + 1 + np.arange(len(ends))
    rows["length"] = ends - starts
    rows["offset"] = lines.start + np.minimum(ends + 1, len(data))
    packer = _Packer(rows)
    view = texts.data
    text_start = 0
    for place, (is_signed, key_start, key_end, text_end) in enumerate(
        zip(*(each.tolist() for each in found), strict=True)
    ):
        if is_signed:
            key = data[key_start:key_end] if key_start >= 0 else f"{lines.file.key}:{lines.after + 1 + place}".encode()
            packer.add(place, key, blake2b(view[text_start:text_end], digest_size=DIGEST_BYTES).digest())
            text_start = text_end
            continue
        start, end = int(starts[place]), int(rows["offset"][place]) - lines.start
        position = Position(lines.number, lines.after + 1 + place, lines.start + end)
        item = jsonl.item_of(data[start:end], lines.file, position, lines.options)
        if item is None:
            continue
        if isinstance(item, Rejected):
            packer.add_alone((item, None))
            continue
        where = lines.place_of(item)
        signed = sign_alone(item, where)
        if signed is None or item.html is not None:
            packer.add_alone((where, signed))
            continue
        rows[place] = row_of(signed, where)
        packer.add(place, where.key.encode(), signed.text_digest)
    return packer.parts()


def row_of(signed: Any, where: LineDocument) -> tuple[Any, ...]:
    """Return the row of a line that was signed alone; see `SIGNED_LINE`."""
    sketch = signed.sketch
    return (
        np.frombuffer(signed.text_digest, np.uint64),
        signed.fingerprint,
        np.frombuffer(sketch.minima, np.uint64),
        sketch.shingles,
        sketch.tokens,
        sketch.numbers,
        signed.margins,
        signed.text_bytes,
        where.ordinal,
        where.length,
        where.offset,
        0,
    )


class _Packer:
    """Gathers signed lines, and what stands between them.

    Args:
        rows: those of all lines.
    """

    def __init__(self, rows: NDArray[Any]) -> None:
        self._rows = rows
        self._parts: list[Any] = []
        self._places: list[int] = []
        self._keys: list[bytes] = []
        self._digests: list[bytes] = []

    def add(self, place: int, key: bytes, digest: bytes) -> None:
        """Add a signed line."""
        self._places.append(place)
        self._keys.append(len(key).to_bytes(LENGTH_BYTES, "little") + key)
        self._digests.append(digest)

    def add_alone(self, part: tuple[LineDocument | Rejected, Any]) -> None:
        """Add what is not packed."""
        self._pack()
        self._parts.append(part)

    def parts(self) -> list[Any]:
        """Return everything that was added."""
        self._pack()
        return self._parts

    def _pack(self) -> None:
        if not self._places:
            return
        rows = self._rows if len(self._places) == len(self._rows) else self._rows[self._places]
        rows["digest"] = np.frombuffer(b"".join(self._digests), np.uint64).reshape(-1, 2)
        rows["key"][1:] = np.cumsum([len(key) for key in self._keys[:-1]])
        self._parts.append(PackedLines(rows, b"".join(self._keys)))
        self._places, self._keys, self._digests = [], [], []


def _line_ends(data: bytes) -> NDArray[np.int64]:
    """Return where each line ends: at its line feed, the last one maybe with the bytes."""
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == _LINE_FEED)
    return ends if data.endswith(b"\n") or not data else np.append(ends, len(data))


def _sign(
    data: bytes,
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    rows: NDArray[Any],
    lines: LineRange,
    scheme: Scheme,
) -> tuple[_Found, NDArray[np.uint8]]:
    """Sign what compiled code can; return what it found, and the normalised texts, one behind the other."""
    count = len(starts)
    found = _Found(np.zeros(count, np.bool_), *(np.zeros(count, np.int64) for _ in range(3)))
    array = np.zeros(len(data) + json_fields.SLACK, np.uint8)
    array[: len(data)] = np.frombuffer(data, np.uint8)
    wide = 0 if data.isascii() else int((array >= ASCII).sum())
    # Six bytes stand for up to three; one byte is looked for in a tenth of the time of two.
    escaped = data.count(b"\\u") * (3 * LONGEST - 6) if b"\\" in data else 0
    texts = np.empty(len(array) + (LONGEST - 1) * wide + escaped + room_for(array[:0]), np.uint8)
    options = lines.options
    # Each field is found once: not as text and as key.
    if not scheme.is_compiled or options.text_field in KEY_FIELDS or (wide and not _is_utf8(data)):
        return found, texts
    names = [
        name.encode() for name in (options.text_field, *((options.key_field,) if options.key_field else KEY_FIELDS))
    ]
    _sign_lines(
        array,
        starts,
        ends,
        np.frombuffer(b"".join(names), np.uint8),
        np.cumsum([len(name) for name in names]),
        options.key_field is not None,
        options.max_bytes,
        scheme.tie,
        _Columns(**{name: rows[name] for name in _Columns._fields}),
        found,
        texts,
        folding(),
        PERMUTATIONS,
    )
    return found, texts


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@compiled
def _sign_lines(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    names: NDArray[np.uint8],
    name_ends: NDArray[np.int64],
    needs_key: bool,
    max_bytes: int,
    tie: int,
    rows: _Columns,
    found: _Found,
    texts: NDArray[np.uint8],
    tables: Folding,
    permutations: tuple[NDArray[np.uint32], NDArray[np.uint32]],
) -> None:
    kinds, spans = np.empty(len(name_ends), np.int64), np.empty((len(name_ends), 2), np.int64)
    written = 0
    for line in range(len(starts)):
        found.text_ends[line] = written
        start, end = starts[line], ends[line]
        if end - start >= max_bytes or not find_fields(data, start, end, names, name_ends, kinds, spans):
            continue
        if (kinds[0] != STRING and kinds[0] != ESCAPED) or spans[0, 0] == spans[0, 1]:
            continue
        key = _key(kinds, spans)
        if key == 0 and needs_key:
            continue
        if key > 0 and kinds[key] != STRING and kinds[key] != INTEGER:
            continue
        text = data[spans[0, 0] : spans[0, 1]]
        if kinds[0] == ESCAPED:
            unescaped = np.empty(len(text), np.uint8)
            size = unescape(data, spans[0, 0], spans[0, 1], unescaped)
            if size < 0:
                continue
            text = unescaped[:size]
        room = room_for(text)
        normalised, marks = texts[written : written + room], np.empty(room, np.uint8)
        size = fold_text(
            text,
            tables.plain,
            tables.plain_kinds,
            tables.starts,
            tables.ends,
            tables.replaced,
            tables.kinds,
            normalised,
            marks,
        )
        if size < 0:
            continue
        hashes, bloom, _ = hash_tokens(normalised, marks, size)
        sums = fold_equal(hashes)
        minima, shingles = minima_and_shingles(hashes, permutations[0], permutations[1])
        rows.fingerprint[line] = signs_of(sums, tie)
        rows.minima[line] = minima.view(np.uint64)
        rows.shingles[line] = shingles
        rows.tokens[line] = len(hashes)
        rows.numbers[line] = bloom
        rows.margins[line] = np.abs(sums)
        rows.text_bytes[line] = len(text)
        found.key_starts[line] = spans[key, 0] if key > 0 else -1
        found.key_ends[line] = spans[key, 1]
        written += size
        found.text_ends[line] = written
        found.is_signed[line] = True


@compiled
def _key(kinds: NDArray[np.int64], spans: NDArray[np.int64]) -> int:
    """Return the first field of a key that is there and not an empty string; 0 where none is."""
    for field in range(1, len(kinds)):
        if kinds[field] != ABSENT and (kinds[field] != STRING or spans[field, 0] < spans[field, 1]):
            return field
    return 0
