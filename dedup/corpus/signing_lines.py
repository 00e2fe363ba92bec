"""Signing a range of lines: in one go by compiled code what it understands, the other lines one by one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dedup.corpus import json_fields
from dedup.corpus.appending import LENGTH_BYTES
from dedup.corpus.documents import CorpusDocument, Position, Rejected
from dedup.corpus.fields import KEY_FIELDS
from dedup.corpus.line_ranges import LineDocument, LineRange
from dedup.corpus.plain_lines import (
    LONGEST_NUMBER,
    TEXTS_AT_ONCE,
    Columns,
    Keys,
    Space,
    Wanted,
    find_ends,
    sign_lines,
)
from dedup.corpus.readers import jsonl
from dedup.corpus.signed_lines import SIGNED_LINE, PackedLines
from dedup.fingerprint.blake2b import BLOCK
from dedup.fingerprint.folded_text import SLACK
from dedup.fingerprint.folding import LONGEST, folding
from dedup.fingerprint.minhash import PERMUTATIONS
from dedup.fingerprint.schemes import Scheme


class _Buffer(threading.local):
    """Memory that is used for one range after the other: each page of it that is new costs a fault."""

    def __init__(self) -> None:
        self._array = np.empty(0, np.uint8)

    def of(self, size: int) -> NDArray[np.uint8]:
        """Return so many bytes, whatever is in them."""
        if len(self._array) < size:
            self._array = np.empty(size, np.uint8)
        return self._array[:size]


_LINES, _TEXTS, _KEYS = _Buffer(), _Buffer(), _Buffer()


def sign_plain_lines(
    lines: LineRange, scheme: Scheme, sign_alone: Callable[[CorpusDocument, LineDocument], Any]
) -> list[PackedLines | tuple[LineDocument | Rejected, Any]] | None:
    """Make the signatures of the documents of a range of lines.

    Args:
        lines: the range.
        scheme: how signatures are made.
        sign_alone: makes the signature, `dedup.corpus.signing.Signed`, of a document that is not made here;
            None if it fails.

    Returns:
        Signed lines with texts, packed, and between them what else there is, in their order; None if the
        range cannot be read as it was.
    """
    data = _LINES.of(lines.size + json_fields.SLACK)
    if not lines.read_into(data[: lines.size]):
        return None
    data[lines.size :] = 0
    # As many as there may be: what is not written to takes no memory.
    ends = np.empty(lines.size, np.int64)
    count, wide, backslashes = find_ends(data, lines.size, ends)
    ends = ends[:count].copy()
    starts = np.append(0, ends[:-1] + 1)[: len(ends)]
    lengths = ends - starts
    # Memory for as many as there may be, of which only what is signed is written to: lines may be nothing but ends.
    rows = np.zeros(len(ends), SIGNED_LINE)
    prefix = f"{lines.file.key}:".encode()
    most_keys = lines.size + len(ends) * (LENGTH_BYTES + len(prefix) + LONGEST_NUMBER)
    keys = Keys(_KEYS.of(most_keys), np.zeros(len(ends), np.int64), np.frombuffer(prefix, np.uint8), lines.after)
    is_signed = np.zeros(len(ends), np.bool_)
    options = lines.options
    # Each field is found once: not as text and as key.
    if scheme.is_compiled and options.text_field not in KEY_FIELDS and not (wide and not _is_utf8(data[: lines.size])):
        longest = int(lengths.max(initial=0))
        # Six bytes stand for up to three.
        room = longest + (LONGEST - 1) * wide + (3 * LONGEST - 6) * backslashes + SLACK
        texts = _TEXTS.of(TEXTS_AT_ONCE + BLOCK + 2 * room)
        sign_lines(
            data,
            starts,
            ends,
            _wanted(lines, scheme),
            Space(texts[room:], texts[:room]),
            folding(),
            PERMUTATIONS,
            Columns(**{name: rows[name] for name in Columns._fields}),
            keys,
            is_signed,
        )
    places = np.flatnonzero(is_signed)
    rows["ordinal"][places] = lines.after + 1 + places
    rows["length"][places] = lengths[places]
    rows["offset"][places] = lines.start + np.minimum(ends[places] + 1, lines.size)
    packer = _Packer(rows, is_signed, keys)
    for place in np.flatnonzero(~is_signed & (lengths > 0)).tolist():
        start, end = int(starts[place]), min(int(ends[place]) + 1, lines.size)
        position = Position(lines.number, lines.after + 1 + place, lines.start + end)
        item = jsonl.item_of(data[start:end].tobytes(), lines.file, position, lines.options)
        if item is None:
            continue
        if isinstance(item, Rejected):
            packer.add_alone(place, (item, None))
            continue
        where = lines.place_of(item)
        signed = sign_alone(item, where)
        if signed is None or item.html is not None:
            packer.add_alone(place, (where, signed))
            continue
        packer.add(place, row_of(signed, where), where.key.encode())
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
    """Packs signed lines, and puts what is not packed between them.

    Args:
        rows: those of all lines.
        is_signed: which of them compiled code signed.
        keys: the keys of these.
    """

    def __init__(self, rows: NDArray[Any], is_signed: NDArray[np.bool_], keys: Keys) -> None:
        self._rows = rows
        self._is_signed = is_signed.copy()
        self._keys = keys
        self._key_bytes = np.diff(keys.ends, prepend=0)
        self._parts: list[Any] = []
        # What is packed up to here: lines, and keys of those that compiled code signed.
        self._line = self._key_end = 0
        self._pieces: list[bytes] = []

    def add(self, place: int, row: tuple[Any, ...], key: bytes) -> None:
        """Add a line that was signed alone; those before it are done."""
        self._rows[place] = row
        self._is_signed[place] = True
        self._key_bytes[place] = LENGTH_BYTES + len(key)
        self._take_keys(place)
        self._pieces.append(len(key).to_bytes(LENGTH_BYTES, "little") + key)

    def add_alone(self, place: int, part: tuple[LineDocument | Rejected, Any]) -> None:
        """Add what a line is that is not packed; those before it are done."""
        self._pack(place)
        self._parts.append(part)

    def parts(self) -> list[Any]:
        """Return everything."""
        self._pack(len(self._rows))
        return self._parts

    def _take_keys(self, before: int) -> None:
        end = int(self._keys.ends[before - 1]) if before else 0
        self._pieces.append(self._keys.keys[self._key_end : end].tobytes())
        self._key_end = end

    def _pack(self, before: int) -> None:
        places = self._line + np.flatnonzero(self._is_signed[self._line : before])
        self._line = before
        self._take_keys(before)
        if len(places):
            rows = self._rows if len(places) == len(self._rows) else self._rows[places]
            rows["key"][1:] = np.cumsum(self._key_bytes[places[:-1]])
            self._parts.append(PackedLines(rows, b"".join(self._pieces)))
        self._pieces = []


def _wanted(lines: LineRange, scheme: Scheme) -> Wanted:
    options = lines.options
    key_fields = KEY_FIELDS if options.key_field is None else (options.key_field,)
    # No line that is UTF-8 has the name of a field that is not.
    names = [name.encode("utf-8", "surrogatepass") for name in (options.text_field, *key_fields)]
    return Wanted(
        np.frombuffer(b"".join(names), np.uint8),
        np.cumsum([len(name) for name in names]),
        options.key_field is not None,
        # It may have more than 64 bits.
        min(options.max_bytes, lines.size + 1),
        scheme.tie,
    )


def _is_utf8(data: NDArray[np.uint8]) -> bool:
    try:
        str(data.data, "utf-8")
    except UnicodeDecodeError:
        return False
    return True
