"""Signed lines of a file, all that is known of them in one array: little to send, and nothing to unpack.

A document of a corpus that is a line with a text, as nearly all are, needs no object of its own: the
worker fills rows, and the main process has compiled code go through them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.corpus.appending import LENGTH_BYTES
from dedup.corpus.documents import Position, source_of
from dedup.corpus.line_ranges import LineRange, ReadMemory, changed, open_again
from dedup.corpus.words import REFERENCE, refer
from dedup.fingerprint.signature import BITS
from dedup.fingerprint.sketch import Sketch

if TYPE_CHECKING:
    from dedup.corpus.signing import Signed

SIGNED_LINE = np.dtype(
    [
        ("digest", "<u8", 2),
        ("fingerprint", "<u8"),
        ("minima", "<u8", 8),
        ("shingles", "<u4"),
        ("tokens", "<u4"),
        ("numbers", "<u8"),
        ("margins", "<i8", BITS),
        ("text_bytes", "<i8"),
        ("ordinal", "<i8"),
        ("length", "<i8"),
        ("offset", "<i8"),
        ("key", "<i8"),
    ]
)
"""A signed line: its signature, where it stands (see `LineDocument`), and where its key does in the keys."""

_LINE_FEED = 0x0A


class PackedLines(NamedTuple):
    """Signed lines that follow each other, as a worker sends them back.

    Attributes:
        rows: of the type `SIGNED_LINE`, shape (n,).
        keys: the keys, each behind its length, as a `dedup.corpus.appending.AppendingFile` has them.
    """

    rows: NDArray[Any]
    keys: bytes


class SignedLines:
    """Signed lines of a range, in their order.

    Args:
        lines: the range.
        packed: what a worker made of some of its lines.

    Attributes:
        range: the range.
        rows: of the type `SIGNED_LINE`, shape (n,).
        keys: the keys, each behind its length.
        key_bytes: how many bytes each key has with its length, shape (n,).
        has_digest: of which lines the digest says what they are: texts without words are copies of nothing.
    """

    def __init__(self, lines: LineRange, packed: PackedLines) -> None:
        self.range = lines
        self.rows, self.keys = packed
        self._key_ends = np.append(self.rows["key"][1:], len(self.keys))
        self.key_bytes = self._key_ends - self.rows["key"]
        self.has_digest = self.rows["tokens"] > 0

    def __len__(self) -> int:
        return len(self.rows)

    def key(self, place: int) -> str:
        """Return what the document of a line is called."""
        return self.keys[int(self.rows["key"][place]) + LENGTH_BYTES : int(self._key_ends[place])].decode()

    def position(self, place: int) -> Position:
        """Return where a line stands."""
        return Position(self.range.number, int(self.rows["ordinal"][place]), int(self.rows["offset"][place]))

    def source(self, place: int) -> str:
        """Return file and line, for reports."""
        return source_of(self.range.file.name, self.position(place))

    def keys_of(self, places: NDArray[np.int64]) -> bytes:
        """Return the keys of some lines, each behind its length."""
        if not len(places):
            return b""
        starts, ends = self.rows["key"][places], self._key_ends[places]
        return b"".join(self.keys[piece] for piece in _joined(starts, ends))

    def references_of(self, places: NDArray[np.int64]) -> bytes:
        """Return what is kept instead of the words of some lines, each behind its length."""
        references = np.empty(len(places), REFERENCE)
        references["bytes"] = REFERENCE.itemsize - LENGTH_BYTES
        references["mark"] = 0
        references["number"] = self.range.number
        references["offset"] = self.rows["offset"][places]
        references["length"] = self.rows["length"][places]
        return references.tobytes()

    def signed(self, place: int) -> Signed:
        """Return the signature of a line alone."""
        from dedup.corpus.signing import Signed  # noqa: PLC0415 -- it imports this module

        row = self.rows[place]
        return Signed(
            row["digest"].tobytes(),
            None,
            int(row["fingerprint"]),
            row["margins"].tobytes(),
            Sketch(row["minima"].tobytes(), int(row["numbers"]), int(row["tokens"]), int(row["shingles"])),
            refer(self.range.number, int(row["offset"]), int(row["length"])),
            int(row["text_bytes"]),
            None,
        )

    def pieces(self, wanted: Sequence[bool] | NDArray[np.bool_], memory: ReadMemory) -> list[memoryview]:
        """Return lines as they stand in the file, with their ends; those that follow each other are one piece.

        Args:
            wanted: of each line whether it is wanted.
            memory: where they are read to; they stay until something else is.

        Raises:
            InputError: the file is not what it was when it was read.
        """
        offsets, lengths = self.rows["offset"], self.rows["length"]
        places = np.flatnonzero(wanted)
        if not len(places):
            return []
        first = max(0, int(offsets[places[0]] - lengths[places[0]]) - 1)
        last = int(offsets[places[-1]])
        with open_again(self.range.file) as file:
            data = memory.read(file, first, last - first)
        if len(data) < last - first:
            raise changed(self.range.file.name)
        # Only the last line of a file need not have an end.
        has_end = data[-1] == _LINE_FEED
        ends = offsets[places] - first
        starts = ends - lengths[places] - 1
        starts[-1] += not has_end
        if starts[0] < 0:
            raise changed(self.range.file.name)
        pieces = [data[piece] for piece in _joined(starts, ends)]
        return pieces if has_end else [*pieces, memoryview(b"\n")]


def _joined(starts: NDArray[np.int64], ends: NDArray[np.int64]) -> list[slice]:
    """Return where spans stand, at least one, those as one piece of which each begins where the one before ends."""
    breaks = np.flatnonzero(starts[1:] != ends[:-1])
    piece_starts, piece_ends = starts[np.append(0, breaks + 1)].tolist(), ends[np.append(breaks, -1)].tolist()
    return [slice(start, end) for start, end in zip(piece_starts, piece_ends, strict=True)]
