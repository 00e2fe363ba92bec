"""A saved index, read where it lies: nothing is loaded that is not asked for."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dedup.corpus.appending import LENGTH_BYTES
from dedup.corpus.deciding.known import BANDS_BYTES, FILES, NOWHERE, ROW, stored_document
from dedup.corpus.saved.folder import CHECKSUMS, damaged, read_sums, settings_of
from dedup.corpus.state.checkpoint import Checkpoint
from dedup.errors import IndexFileError, InputError, SettingsError
from dedup.rules.documents import StoredDocument
from dedup.signature.sketch import BANDS

_ROWS_AT_ONCE = 1 << 16


class SavedIndex:
    """The documents of a saved index, by their numbers from 0.

    Args:
        folder: where it is.

    Attributes:
        folder: where it is.
        lengths: how long its files are.
        named_settings: the settings that it was made with, as `about_settings` of
            `dedup.corpus.state.checkpoint` writes them.
        settings: the same.
        rows: a row of the type `dedup.corpus.deciding.known.ROW` for each document, as they lie in the file.
        bands: those of each document, shape (n, 24), as they lie in theirs.

    Raises:
        InputError: there is no index, or one of another version.
        IndexFileError: something of it is missing or cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if (folder / CHECKSUMS).is_file():
            read_sums(folder)
        try:
            saved = Checkpoint.load(folder)
        except InputError as error:
            raise IndexFileError(f"{folder}: damaged index, {error}") from None
        except NotADirectoryError:
            saved = None
        if saved is None or not saved.is_read:
            raise InputError(f"{folder}: no index; give a folder that `dedup index build` or --save-index made")
        for name in (*FILES, CHECKSUMS):
            if not (folder / name).is_file():
                raise self._damaged(f"{name} is not there")
        for name in FILES:
            size, length = (folder / name).stat().st_size, getattr(saved.lengths, name)
            if size != length:
                raise self._damaged(f"{name} has {size:,} bytes instead of {length:,}")
        self.lengths = saved.lengths
        count = saved.lengths.documents // ROW.itemsize
        if (count * ROW.itemsize, count * BANDS_BYTES) != (saved.lengths.documents, saved.lengths.bands):
            raise self._damaged("documents and bands are not those of as many documents")
        try:
            self.named_settings: dict[str, str] = saved.about["settings"]
            self.settings = settings_of(self.named_settings)
        except (KeyError, TypeError, AttributeError, SettingsError) as error:
            raise self._damaged(f"its settings cannot be read ({error})") from None
        self.rows = _mapped(folder / "documents", ROW, (count,))
        self.bands: NDArray[np.uint64] = _mapped(folder / "bands", np.dtype("<u8"), (count, BANDS))
        with ExitStack() as stack:
            self._keys = stack.enter_context((folder / "keys").open("rb"))
            self._words = stack.enter_context((folder / "words").open("rb"))
            self._open = stack.pop_all()

    def __len__(self) -> int:
        """How many documents there are."""
        return len(self.rows)

    def close(self) -> None:
        """Close the files."""
        self._open.close()

    def key(self, number: int) -> str:
        """Return what a document is called."""
        return self._key_at(int(self.rows["key"][number]))

    def words(self, number: int) -> bytes:
        """Return the words of a document; nothing where they were not kept."""
        return self.inflate(number, self._deflated_at(int(self.rows["words"][number])))

    def inflate(self, number: int, deflated: bytes) -> bytes:
        """Return the words of a document of which the deflated ones are at hand.

        Raises:
            IndexFileError: they are damaged.
        """
        try:
            words = zlib.decompress(deflated) if deflated else b""
            # Whoever compares words takes them as they are.
            words.decode()
        except (zlib.error, UnicodeDecodeError) as error:
            raise self._damaged(f"the words of document {number:,} cannot be read ({error})") from None
        return words

    def stored(self, number: int) -> StoredDocument:
        """Return a document as the rules for verdicts want it.

        Raises:
            IndexFileError: it is damaged.
        """
        document = stored_document(number, self.rows[number], self.key(number))
        if document.leader_id is not None and not 0 <= document.leader_id < number:
            raise self._damaged(f"document {number:,} is led by one that is not before it")
        return document

    def documents(self, first: int = 0) -> Iterator[tuple[StoredDocument, bytes, NDArray[np.uint64]]]:
        """Yield all documents from a number on, each with its deflated words and its bands.

        The words are nothing where they were not kept.
        """
        for start in range(first, len(self), _ROWS_AT_ONCE):
            # A copy of some: what was read of the file itself would count as memory of this process.
            some = slice(start, start + _ROWS_AT_ONCE)
            for number, (row, bands) in enumerate(
                zip(self.rows[some].copy(), self.bands[some].copy(), strict=True), start
            ):
                key, words = self._key_at(int(row["key"])), self._deflated_at(int(row["words"]))
                yield stored_document(number, row, key), words, bands

    def _key_at(self, place: int) -> str:
        try:
            return self._read(self._keys.fileno(), "keys", place).decode()
        except UnicodeDecodeError:
            raise self._damaged("a key cannot be read") from None

    def _deflated_at(self, place: int) -> bytes:
        return b"" if place == NOWHERE else self._read(self._words.fileno(), "words", place)

    def _read(self, file: int, name: str, place: int) -> bytes:
        if place >= 0:
            length = int.from_bytes(os.pread(file, LENGTH_BYTES, place), "little")
            data = os.pread(file, length, place + LENGTH_BYTES) if length <= os.fstat(file).st_size else b""
            # Only a key can be empty.
            if len(data) == length and (data or name == "keys"):
                return data
        raise self._damaged(f"{name} has nothing at {place:,}")

    def _damaged(self, reason: str) -> IndexFileError:
        return damaged(self.folder, reason)


def _mapped(path: Path, kind: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return a file as an array; nothing can be mapped of an empty one."""
    # Not as np.memmap: arrays of this class are slower to take parts of.
    return np.memmap(path, kind, "r", shape=shape).view(np.ndarray) if shape[0] else np.empty(shape, kind)
