"""The documents that a corpus is compared with: some 140 bytes of each in memory, the rest in files.

Only documents of different contents stand here: a further copy of a text is never needed again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.corpus.appending import LENGTH_BYTES, AppendingFile, open_at, require_length, write_all
from dedup.corpus.key_map import Sketches, find_digest, insert_digests
from dedup.rules.documents import StoredDocument
from dedup.signature.sketch import BANDS, Sketch

FILES = ("documents", "keys", "words", "bands")
"""The names of the files, in the folder of the state."""

NOWHERE = -1
"""In the place of a leader, or of words, that there are none of."""

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
        ("passed_on", "<i8"),
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
        body_digest=None,
        text_digest=row["digest"].tobytes(),
        text_bytes=0,
        fingerprint=int(row["fingerprint"]),
        sketch=_sketch(row),
        indexed=bool(row["indexed"]),
        leader_id=None if leader == NOWHERE else leader,
    )


def _sketch(row: Any) -> Sketch:
    return Sketch(row["minima"].tobytes(), 0, int(row["tokens"]), int(row["shingles"]))


class Lengths(NamedTuple):
    """How much of each file is safe, in bytes.

    Attributes:
        documents: of the file of documents.
        keys: of that of their keys.
        words: of that of their words.
        bands: of that of their bands.
        joins: of that of joins, see `dedup.corpus.deciding`.
        earlier: how many of the documents, the first ones, an earlier run has brought.
    """

    documents: int = 0
    keys: int = 0
    words: int = 0
    bands: int = 0
    joins: int = 0
    earlier: int = 0


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


class Buffers(NamedTuple):
    """Where further documents are entered.

    Attributes:
        rows: of the type `ROW`.
        slots: the table of digests, see `dedup.corpus.key_map.find_digest`.
    """

    rows: NDArray[Any]
    slots: NDArray[np.uint32]


class KnownDocuments:
    """Documents by number, from 0, in the order in which they were added.

    Args:
        folder: where the files are.
        lengths: what the last checkpoint returned; nothing: begin anew.

    Raises:
        InputError: the files are not what the checkpoint says.
    """

    def __init__(self, folder: Path, lengths: Lengths | None = None) -> None:
        lengths = lengths or Lengths()
        for name in FILES:
            require_length(folder / name, getattr(lengths, name))
        self._file = open_at(folder / "documents", lengths.documents)
        self._keys = AppendingFile(folder / "keys", lengths.keys)
        self._words = AppendingFile(folder / "words", lengths.words)
        self._bands_path = folder / "bands"
        self._bands = AppendingFile(self._bands_path, lengths.bands)
        self._count = self._saved = lengths.documents // ROW.itemsize
        self._rows = np.zeros(max(FIRST_ROWS, int(self._count * _GROWTH)), ROW)
        if self._count:
            self._file.seek(0)
            view = self._rows[: self._count].view(np.uint8).data
            while view:
                view = view[self._file.readinto(view) :]
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

    def saved_bands(self) -> NDArray[np.uint64]:
        """Return the bands of the documents that were there when it was opened, as they lie in the file: (n, 24)."""
        if not self._saved:
            return np.empty((0, BANDS), np.uint64)
        return np.memmap(self._bands_path, "<u8", "r", shape=(self._saved, BANDS))

    def find(self, content: bytes) -> int | None:
        """Return the number of the document with a content, by its digest of 16 bytes."""
        low, high = np.frombuffer(content, np.uint64)
        number: int = find_digest(self._slots, self._rows["digest"], low, high)
        return None if number < 0 else number

    def add(
        self,
        key: str,
        content: bytes,
        fingerprint: int,
        sketch: Sketch,
        bands: NDArray[np.uint64] | None = None,
        *,
        words: bytes,
        leader: int | None,
        indexed: bool,
        passed_on: bool = False,
    ) -> int:
        """Add a document.

        Args:
            key: what it is called.
            content: the digest of its content, which no document has yet.
            fingerprint: 64 bits, unsigned.
            sketch: the sketch of its text.
            bands: those of its signature, shape (24,); None: it is not looked up here.
            words: what is kept of its words, see `dedup.corpus.batches`; nothing: they are not.
            leader: the number of the leader of its cluster, if it is a duplicate.
            indexed: whether it stands in the index.
            passed_on: whether it is kept, though it is a duplicate.

        Returns:
            Its number.
        """
        number = self._count
        self._make_room(1)
        self._rows[number] = (
            np.frombuffer(content, np.uint64),
            fingerprint,
            np.frombuffer(sketch.minima, np.uint64),
            sketch.shingles,
            sketch.tokens,
            NOWHERE if leader is None else leader,
            self._keys.append(key.encode()),
            self._words.append(words) if words else NOWHERE,
            indexed,
            passed_on,
        )
        self._bands.append_many(bytes(BANDS_BYTES) if bands is None else bands.astype("<u8").tobytes())
        self._count += 1
        insert_digests(self._slots, self._rows["digest"], number, self._count)
        return number

    def buffers(self, count: int) -> Buffers:
        """Make room for further documents that compiled code enters; `entered` counts them."""
        self._make_room(count)
        return Buffers(self._rows, self._slots)

    def entered(
        self,
        keys: bytes,
        key_bytes: NDArray[np.int64],
        words: bytes,
        word_bytes: NDArray[np.int64],
        bands: bytes,
    ) -> None:
        """Count documents that were entered, and add what belongs to them.

        Args:
            keys: the keys of the new ones, each behind its length.
            key_bytes: how many bytes each of them takes with its length, shape (n,).
            words: the words of those that have some, each behind their length.
            word_bytes: how many bytes these take, 0 where there are none, shape (n,).
            bands: their bands.
        """
        rows = self._rows[self._count : self._count + len(key_bytes)]
        rows["key"] = self._keys.end + np.cumsum(key_bytes) - key_bytes
        rows["words"] = np.where(word_bytes, self._words.end + np.cumsum(word_bytes) - word_bytes, NOWHERE)
        self._keys.append_many(keys)
        self._words.append_many(words)
        self._bands.append_many(bands)
        self._count += len(rows)

    def extend(self, block: Block) -> None:
        """Add documents of different contents, none of which is there yet."""
        first, count = self._count, len(block.rows)
        rows, slots = self.buffers(count)
        rows[first : first + count] = block.rows
        insert_digests(slots, rows["digest"], first, first + count)
        words = [each for each in block.words if each]
        key_bytes, word_bytes = (
            np.array([LENGTH_BYTES + len(each) if each else empty for each in some], np.int64)
            for some, empty in ((block.keys, LENGTH_BYTES), (block.words, 0))
        )
        bands = block.bands.astype("<u8").tobytes()
        self.entered(_behind_lengths(block.keys), key_bytes, _behind_lengths(words), word_bytes, bands)

    def blocks(self, at_once: int) -> Iterator[Block]:
        """Yield all documents, as far as the last checkpoint made them safe, some at a time."""
        # Not mapped: what was read of the files themselves would count as memory of this process.
        keys, words = ((data for _, data in file.read_all(file.end)) for file in (self._keys, self._words))
        for start in range(0, self._saved, at_once):
            rows = self._rows[start : min(start + at_once, self._saved)]
            has_words = (rows["words"] != NOWHERE).tolist()
            bands = np.fromfile(self._bands_path, "<u8", len(rows) * BANDS, offset=start * BANDS_BYTES)
            words_of_rows = [next(words) if each else b"" for each in has_words]
            yield Block(rows, list(islice(keys, len(rows))), words_of_rows, bands.reshape(-1, BANDS))

    def stored(self, number: int) -> StoredDocument:
        """Return a document as the rules for verdicts want it, without what they do not look at."""
        return stored_document(number, self._rows[number], self.key(number))

    def sketch(self, number: int) -> Sketch:
        """Return the sketch of a document, without its numbers."""
        return _sketch(self._rows[number])

    def key(self, number: int) -> str:
        """Return what a document is called."""
        return self._keys.read(int(self._rows["key"][number])).decode()

    def keys(self, numbers: NDArray[np.int64]) -> Iterator[str]:
        """Yield what each of some documents is called."""
        return (key.decode() for key in self._keys.read_many(self._rows["key"][numbers].tolist()))

    def leader_of(self, number: int) -> int:
        """Return the number of the leader of a document's cluster, which may be its own."""
        leader = int(self._rows["leader"][number])
        return number if leader == NOWHERE else leader

    def words(self, number: int) -> bytes:
        """Return what was kept of the words of a document; nothing where nothing was."""
        place = int(self._rows["words"][number])
        return b"" if place == NOWHERE else self._words.read(place)

    def checkpoint(self) -> Lengths:
        """Make all of it safe; return how much there is."""
        if self._saved < self._count:
            write_all(self._file, self._rows[self._saved : self._count].view(np.uint8).data)
        os.fsync(self._file.fileno())
        self._saved = self._count
        files = (self._keys, self._words, self._bands)
        return Lengths(self._count * ROW.itemsize, *(file.checkpoint() for file in files))

    def close(self) -> None:
        """Close the files."""
        for file in (self._file, self._keys, self._words, self._bands):
            file.close()

    def _make_room(self, count: int) -> None:
        end = self._count + count
        if end > len(self._rows):
            # In place: a copy would need twice the memory.
            self._rows.resize(int(end * _GROWTH), refcheck=False)
        if end * _SLOTS_A_ROW >= len(self._slots):
            self._slots = np.zeros(1 << int(2 * len(self._rows) * _SLOTS_A_ROW).bit_length() - 1, np.uint32)
            # The first call of compiled code takes a while, in which workers could have something to do already.
            if self._count:
                insert_digests(self._slots, self._rows["digest"], 0, self._count)


def _behind_lengths(strings: Sequence[bytes]) -> bytes:
    """Return byte strings one behind the other, each behind its length, as an `AppendingFile` has them."""
    return b"".join([len(each).to_bytes(LENGTH_BYTES, "little") + each for each in strings])
