"""The documents that a corpus is compared with: some 140 bytes of each in memory, the rest in files.

Only documents of different contents stand here: a further copy of a text is never needed again.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import KEY, native
from dedup.files.appending import AppendingFile
from dedup.files.key_map import NULL, Sketches
from dedup.rules.documents import StoredDocument
from dedup.signature.signature import BANDS, Sketch

FILES = ("keys", "words", "bands")
"""The names of the files, in the folder of a run."""

ROW = np.dtype(
    [
        ("digest", "<u8", 2),
        ("fingerprint", "<u8"),
        ("minima", "<u8", 8),
        ("shingles", "<u4"),
        ("tokens", "<u4"),
        ("leader", "<i8"),
        ("key", "<i8"),
        ("words", "<i8"),
        ("indexed", "<i8"),
    ]
)
FIRST_ROWS = 1 << 12
_GROWTH = 1.25
_SLOTS_A_ROW = 1.5
BANDS_BYTES = 8 * BANDS
"""So many bytes of the file of bands belong to each document: 24 numbers of 64 bits, little-endian."""


def stored_document(number: int, row: Any, key: str) -> StoredDocument:
    """Return a document as the rules for verdicts want it, without what they do not look at.

    Args:
        number: its number.
        row: its row, a scalar of the type `ROW`.
        key: what it is called.
    """
    leader = int(row["leader"])
    return StoredDocument(
        id=number,
        key=key,
        text_digest=row["digest"].tobytes(),
        fingerprint=int(row["fingerprint"]),
        sketch=sketch_of(row),
        indexed=bool(row["indexed"]),
        leader_id=None if leader == NULL else leader,
    )


def sketch_of(row: Any) -> Sketch:
    """Return the sketch of a row of the type `ROW`, or of `SIGNATURE`, without its numbers."""
    return Sketch(row["minima"].tobytes(), 0, int(row["tokens"]), int(row["shingles"]))


class Block(NamedTuple):
    """Documents that follow each other, as a saved index has them.

    Attributes:
        rows: of the type `ROW`; `key` and `words` mean nothing.
        keys: what each is called, in UTF-8.
        words: the words of each, deflated; nothing where they were not kept.
        bands: those of each, shape (n, 24).
    """

    rows: NDArray[Any]
    keys: list[bytes]
    words: list[bytes]
    bands: NDArray[np.uint64]


class DocumentTable:
    """Documents by number, from 0, in the order in which they were added.

    Args:
        folder: where the files are, as long as it is open.
    """

    def __init__(self, folder: Path) -> None:
        self._keys, self._words, self._bands = (AppendingFile(folder / name) for name in FILES)
        self._bands_path = folder / FILES[-1]
        self._count = 0
        self._rows = np.zeros(FIRST_ROWS, ROW)
        self._slots = np.zeros(0, np.uint32)
        self._make_room(1)

    def __len__(self) -> int:
        """How many there are."""
        return self._count

    @property
    def nbytes(self) -> int:
        """How many bytes of memory they take."""
        return self._rows.nbytes + self._slots.nbytes

    @property
    def rows(self) -> NDArray[Any]:
        """All of them, of the type `ROW`."""
        return self._rows[: self._count]

    @property
    def sketches(self) -> Sketches:
        """The sketches of all of them, for compiled code."""
        return Sketches(self._rows["minima"], self._rows["shingles"], self._rows["tokens"])

    def bands(self) -> NDArray[np.uint64]:
        """Return the bands of all documents, as they lie in the file: (n, 24)."""
        if not self._count:
            return np.empty((0, BANDS), np.uint64)
        self._bands.flush()
        return np.memmap(self._bands_path, "<u8", "r", shape=(self._count, BANDS))

    def find(self, content: bytes) -> int | None:
        """Return the number of the document with a content, by its digest of 16 bytes."""
        number = native.find_document(self._rows["digest"], self._slots, KEY, content)
        return None if number < 0 else number

    def extend(self, block: Block) -> None:
        """Add documents of different contents, none of which is there yet."""
        first, end = self._count, self._count + len(block.rows)
        self._make_room(len(block.rows))
        self._rows["digest"][first:end] = block.rows["digest"]
        native.enter_documents(self._rows["digest"], self._slots, KEY, first, end)
        self.commit(block)

    def reserve(
        self, digests: NDArray[np.uint64], has_digest: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Give numbers to documents of contents that are not there yet; `commit` adds these.

        Args:
            digests: those of all documents of a batch, shape (n, 2).
            has_digest: whether the digest says what a document is, shape (n,).

        Returns:
            The number that each got, and the document with the same content that each is a copy of; `NULL` for none.
        """
        self._make_room(len(digests))
        numbers, originals = np.full(len(digests), NULL), np.full(len(digests), NULL)
        new, known = np.ascontiguousarray(digests), self._rows["digest"]
        native.reserve(known, self._slots, KEY, self._count, new, has_digest, numbers, originals)
        return numbers, originals

    def commit(self, block: Block) -> None:
        """Add the documents that got numbers from `reserve`, in the order of these."""
        rows = self._rows[self._count : self._count + len(block.rows)]
        rows[:] = block.rows
        rows["key"] = self._keys.append_all(block.keys)
        has_words = np.array([bool(each) for each in block.words], np.bool_)
        rows["words"] = NULL
        rows["words"][has_words] = self._words.append_all([each for each in block.words if each])
        self._bands.append_raw(block.bands.astype("<u8").tobytes())
        self._count += len(rows)

    def blocks(self, at_once: int) -> Iterator[Block]:
        """Yield all documents, some at a time."""
        self._bands.flush()
        # Not mapped: what was read of the files themselves would count as memory of this process.
        keys, words = ((data for _, data in file.read_all()) for file in (self._keys, self._words))
        for start in range(0, self._count, at_once):
            rows = self._rows[start : min(start + at_once, self._count)]
            has_words = (rows["words"] != NULL).tolist()
            bands = np.fromfile(self._bands_path, "<u8", len(rows) * BANDS, offset=start * BANDS_BYTES)
            words_of_rows = [next(words) if each else b"" for each in has_words]
            yield Block(rows, list(islice(keys, len(rows))), words_of_rows, bands.reshape(-1, BANDS))

    def stored(self, number: int) -> StoredDocument:
        """Return a document as the rules for verdicts want it, without what they do not look at."""
        return stored_document(number, self._rows[number], self.key(number))

    def key(self, number: int) -> str:
        """Return what a document is called."""
        return self._keys.read(int(self._rows["key"][number])).decode()

    def keys(self, numbers: NDArray[np.int64]) -> Iterator[str]:
        """Yield what each of some documents is called."""
        return (key.decode() for key in self._keys.read_many(self._rows["key"][numbers].tolist()))

    def leader_of(self, number: int) -> int:
        """Return the number of the leader of a document's cluster, which may be its own."""
        leader = int(self._rows["leader"][number])
        return number if leader == NULL else leader

    def words(self, number: int) -> bytes:
        """Return what was kept of the words of a document; nothing where nothing was."""
        place = int(self._rows["words"][number])
        return b"" if place == NULL else self._words.read(place)

    def close(self) -> None:
        """Close the files."""
        for file in (self._keys, self._words, self._bands):
            file.close()

    def _make_room(self, count: int) -> None:
        end = self._count + count
        if end > len(self._rows):
            # In place: a copy would need twice the memory.
            self._rows.resize(int(end * _GROWTH), refcheck=False)
        if end * _SLOTS_A_ROW >= len(self._slots):
            self._slots = np.zeros(1 << int(2 * len(self._rows) * _SLOTS_A_ROW).bit_length() - 1, np.uint32)
            native.enter_documents(self._rows["digest"], self._slots, KEY, 0, self._count)
