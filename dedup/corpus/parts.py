"""What stands between the steps of a job: a row of fixed size for each document, and parts with what has any length.

A part is a file: how many documents it has; where the byte strings of each column end, one column behind the other; the
byte strings. Rows are mapped by the kernel, of parts only what is looked at is read.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Sequence
from enum import IntEnum
from functools import cached_property, lru_cache
from itertools import chain
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.readers.documents import Position
from dedup.rules.documents import Content, StoredDocument
from dedup.signature.signature import SIGNATURE, Sketch

NULL = -1
"""In the place of the number of a document: there is none."""

DOCUMENT = np.dtype(
    [
        *SIGNATURE.descr,
        ("leader", "<i8"),
        ("ordinal", "<i8"),
        ("size", "<i8"),
        ("file", "<i4"),
        ("part", "<i4"),
        ("row", "<i4"),
        ("indexed", "?"),
        ("deflated", "?"),
        ("known", "?"),
        ("unanalysed", "?"),
        ("titled", "?"),
    ]
)
"""A document: its signature, whose digest says what two documents of a corpus are the same by, zeros for nothing; of
one of a saved index the number of its leader, `NULL` where it leads itself; file and ordinal of its `Position`; the
size of its text in UTF-8; where in which part the rest stands; whether it is found by its keys; whether its words are
deflated; whether it is one of a saved index; whether its analysis failed;
whether it is a page with a title."""

DOCUMENTS = "documents"
"""The file of the rows, in the folder of a job."""

# Half of what a process may have open; the kernel maps some 65,000 at most.
_LIMIT = os.sysconf("SC_OPEN_MAX")
_OPEN = min(_LIMIT // 2, 1 << 14) if _LIMIT > 0 else 1 << 14
_WAITING = 1 << 20


class Column(IntEnum):
    """The columns of a part.

    A record is a line of JSON with its end, and empty where it is not written; there is a text where kept documents get
    columns that all have; words are those of a signature, and empty of what is not compared; a title is that of a page.
    """

    KEY = 0
    WORDS = 1
    RECORD = 2
    TEXT = 3
    TITLE = 4


class Columns(NamedTuple):
    """What a part is made of: byte strings, of each column one a document or none."""

    keys: Sequence[bytes]
    words: Sequence[bytes]
    records: Sequence[bytes] = ()
    texts: Sequence[bytes] = ()
    titles: Sequence[bytes] = ()


def rows_of_signatures(signed: NDArray[Any]) -> NDArray[Any]:
    """Return signatures, of the type `SIGNATURE`, as rows of the type `DOCUMENT`, each of which leads itself."""
    rows = np.zeros(len(signed), DOCUMENT)
    for name in SIGNATURE.names or ():
        rows[name] = signed[name]
    rows["leader"] = NULL
    return rows


def write_part(folder: Path, number: int, rows: NDArray[Any], columns: Columns) -> None:
    """Write the part of a number, and note in the rows of its documents that they stand there.

    Raises:
        OSError: the disk does not take it.
    """
    rows["part"], rows["row"] = number, np.arange(len(rows))
    count = len(columns.keys)
    given = [each or [b""] * count for each in columns]
    lengths = np.fromiter(map(len, chain.from_iterable(given)), np.int64, count * len(given))
    with _part_path(folder, number).open("wb") as file:
        file.write(count.to_bytes(8, "little"))
        np.cumsum(lengths, dtype="<i8").tofile(file)
        for each in given:
            file.write(b"".join(each))


class Part:
    """A part that is open.

    Args:
        path: where it is.
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._map = mmap(file.fileno(), 0, access=ACCESS_READ)
        self._count = int.from_bytes(self._map[:8], "little")
        self._start = 8 + 8 * len(Column) * self._count

    def span(self, column: Column, first: int, end: int) -> bytes:
        """Return the byte strings of documents that follow each other, as one."""
        place = column * self._count
        start, stop = self._end_of(place + first - 1), self._end_of(place + end - 1)
        return self._map[self._start + start : self._start + stop]

    def _end_of(self, place: int) -> int:
        """Return where the byte string at a place ends; of that before the first 0."""
        return int.from_bytes(self._map[8 + 8 * place : 16 + 8 * place], "little") if place >= 0 else 0


class Parts:
    """The documents of a job by number, in the order that says which of two copies is kept.

    Args:
        folder: where they stand.

    Attributes:
        folder: the same.
        rows: of the type `DOCUMENT`, mapped.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        path = folder / DOCUMENTS
        # A view: to look at a row of what NumPy has mapped takes twice as long.
        mapped = np.memmap(path, DOCUMENT, "r") if path.stat().st_size else np.empty(0, DOCUMENT)
        self.rows: NDArray[Any] = mapped.view(np.ndarray)
        self._part = lru_cache(_OPEN)(lambda number: Part(_part_path(folder, number)))

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def firsts(self) -> NDArray[np.int64]:
        """Of each document the first with its text; itself where it has no words."""
        return first_of_text(self.rows)

    @cached_property
    def known(self) -> int:
        """How many documents come first that a saved index knows."""
        return int(np.count_nonzero(self.rows["known"]))

    def contents(self) -> NDArray[np.int64]:
        """Return the numbers of the first document of each content, by which others can be the same."""
        is_first = self.firsts == np.arange(len(self))
        return np.flatnonzero(is_first & self.rows["digest"].any(axis=1))

    def compared(self) -> NDArray[np.int64]:
        """Return the numbers of the documents that can be near-duplicates, one of each text."""
        return np.flatnonzero((self.firsts == np.arange(len(self))) & self.rows["indexed"])

    def value(self, number: int, column: Column) -> bytes:
        """Return one byte string of a document."""
        row = self.rows[number]
        place = int(row["row"])
        return self._part(int(row["part"])).span(column, place, place + 1)

    def key(self, number: int) -> str:
        """Return what a document is called."""
        return self.value(number, Column.KEY).decode()

    def title(self, number: int) -> str:
        """Return the title of a page; empty of all else."""
        return self.value(number, Column.TITLE).decode()

    def words(self, number: int) -> bytes:
        """Return the words of a document; nothing where they are not stored."""
        words = self.value(number, Column.WORDS)
        return zlib.decompress(words) if words and self.rows["deflated"][number] else words

    def position(self, number: int) -> Position:
        """Return where a document stands in the corpus."""
        row = self.rows[number]
        return Position(int(row["file"]), int(row["ordinal"]), 0)

    def stored(self, number: int, leader: int) -> StoredDocument:
        """Return a document as the rules for verdicts want it; leader: its number, `NULL` where it leads itself."""
        return stored_document(number, self.rows[number], self.key(number), leader, self.title(number))

    def content(self, number: int) -> Content:
        """Return what a document under decision holds."""
        row = self.rows[number]
        return Content(
            row["digest"].tobytes(),
            int(row["fingerprint"]),
            sketch_of(row),
            lambda: self.words(number),
            self.key(number),
            self.title(number),
            text_bytes=int(row["size"]),
        )

    def spans(self, numbers: NDArray[np.int64], column: Column) -> Iterator[bytes]:
        """Yield the byte strings of some documents, those that lie beside each other as one."""
        if not len(numbers):
            return
        parts, rows = self.rows["part"][numbers], self.rows["row"][numbers]
        is_first = np.append(True, (parts[1:] != parts[:-1]) | (rows[1:] != rows[:-1] + 1))
        starts = np.flatnonzero(is_first)
        ends = np.append(starts[1:], len(numbers)) - 1
        for part, first, last in zip(parts[starts].tolist(), rows[starts].tolist(), rows[ends].tolist(), strict=True):
            yield self._part(part).span(column, first, last + 1)


def _part_path(folder: Path, number: int) -> Path:
    return folder / f"{number:08}.part"


def stored_document(number: int, row: Any, key: str, leader: int, title: str = "") -> StoredDocument:
    """Return a document as the rules for verdicts want it, without what they do not look at.

    Args:
        number: its number.
        row: its row, a scalar of the type `DOCUMENT`.
        key: what it is called.
        leader: the number of its leader, `NULL` where it leads itself.
        title: its title; empty: nobody knows.
    """
    return StoredDocument(
        id=number,
        key=key,
        text_digest=row["digest"].tobytes(),
        fingerprint=int(row["fingerprint"]),
        sketch=sketch_of(row),
        indexed=bool(row["indexed"]),
        leader_id=None if leader == NULL else int(leader),
        title=title,
    )


def sketch_of(row: Any) -> Sketch:
    """Return the sketch of a row of the type `DOCUMENT`, without its numbers."""
    return Sketch(row["minima"].tobytes(), 0, int(row["tokens"]), int(row["shingles"]))


class RowsFile:
    """The file of the rows, while they are read.

    Args:
        folder: where it is made.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / DOCUMENTS
        self._file: BinaryIO = self._path.open("wb", _WAITING)

    def add(self, rows: NDArray[Any]) -> None:
        """Add rows of the type `DOCUMENT`."""
        self._file.write(rows.tobytes())

    def close(self) -> None:
        """Write what waits to be written, and close the file."""
        self._file.close()


def reorder(folder: Path, order: NDArray[np.int64]) -> None:
    """Bring all documents into another order: the numbers that they had, first the one that comes first now."""
    rows, new = Parts(folder).rows, folder / f"{DOCUMENTS}.new"
    with new.open("wb") as file:
        for start in range(0, len(order), 1 << 12):
            file.write(rows[order[start : start + (1 << 12)]].tobytes())
    new.replace(folder / DOCUMENTS)


def first_of_text(rows: NDArray[Any]) -> NDArray[np.int64]:
    """Return of each document the first with its text; itself where it has no words.

    Args:
        rows: of the type `DOCUMENT`.
    """
    low, high = (np.ascontiguousarray(rows["digest"][:, half]) for half in (0, 1))
    firsts = np.arange(len(rows))
    order = np.lexsort((high, low))
    starts = starts_of_runs(low[order], high[order])
    sizes = np.diff(np.append(starts, len(rows)))
    # The sort is stable: the first of equal ones stands first.
    firsts[order] = np.repeat(order[starts], sizes)
    nothing = (low | high) == 0
    firsts[nothing] = np.flatnonzero(nothing)
    return firsts


def starts_of_runs(*columns: NDArray[Any]) -> NDArray[np.int64]:
    """Return where runs of equal neighbours begin, in columns of the same length that are equal together."""
    is_other = [each[1:] != each[:-1] for each in columns]
    return np.flatnonzero(np.append(len(columns[0]) > 0, np.logical_or.reduce(is_other)))


def places_in_runs(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return of each element of runs of some sizes how many of its run come before it."""
    return np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
