"""Files that only grow: what a long run remembers of its documents, without holding it in memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from io import FileIO
from mmap import ACCESS_READ, mmap
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

LENGTH_BYTES = 4
"""A byte string stands behind its length, in so many bytes, little-endian."""

WAITING = 1 << 20
MOST_AT_ONCE = 256


class AppendingFile:
    """A file of byte strings that are read back by where they begin.

    Args:
        path: where it is; what is there is replaced.
    """

    def __init__(self, path: Path) -> None:
        self._file = FileIO(path, "w+")
        self._written = 0
        self._waiting = bytearray()

    @property
    def end(self) -> int:
        """Where the next byte string will begin."""
        return self._written + len(self._waiting)

    def append(self, data: bytes) -> int:
        """Add a byte string; return where it begins."""
        place = self.end
        self.append_raw(len(data).to_bytes(LENGTH_BYTES, "little") + data)
        return place

    def append_all(self, strings: Sequence[bytes]) -> NDArray[np.int64]:
        """Add byte strings; return where each begins, shape (n,)."""
        ends = self.end + np.cumsum([LENGTH_BYTES + len(each) for each in strings], dtype=np.int64)
        places = np.append(self.end, ends)[:-1]
        self.append_raw(b"".join([len(each).to_bytes(LENGTH_BYTES, "little") + each for each in strings]))
        return places

    def append_raw(self, data: bytes) -> None:
        """Add bytes without their length, which are no byte strings or have it already."""
        self._waiting += data
        if len(self._waiting) >= WAITING:
            self.flush()

    def read(self, place: int) -> bytes:
        """Return the byte string that begins at a place."""
        start = place + LENGTH_BYTES
        # Most are short, and one call reads them.
        data = self._read(place, MOST_AT_ONCE)
        length = int.from_bytes(data[:LENGTH_BYTES], "little")
        end = LENGTH_BYTES + length
        return data[LENGTH_BYTES:end] if end <= len(data) else self._read(start, length)

    def read_many(self, places: Iterable[int]) -> Iterator[bytes]:
        """Yield the byte strings that begin at some places; a tenth of the time of one by one where there are many."""
        self.flush()
        if not self._written:  # there is nothing to map, and no place
            return
        with mmap(self._file.fileno(), 0, access=ACCESS_READ) as view:
            for place in places:
                start = place + LENGTH_BYTES
                yield view[start : start + int.from_bytes(view[place:start], "little")]

    def read_all(self) -> Iterator[tuple[int, bytes]]:
        """Yield all that was added so far, each with where it begins."""
        end = self.end
        place = start = 0
        data = b""
        while place < end:
            at = place - start
            if len(data) < at + LENGTH_BYTES:
                start, at, data = place, 0, self._read(place, WAITING)
            behind = at + LENGTH_BYTES + int.from_bytes(data[at : at + LENGTH_BYTES], "little")
            yield place, data[at + LENGTH_BYTES : behind] if behind <= len(data) else self.read(place)
            place = start + behind

    def flush(self) -> None:
        """Write what waits, so that the file may be read otherwise."""
        write_all(self._file, self._waiting)
        self._written += len(self._waiting)
        self._waiting = bytearray()

    def close(self) -> None:
        """Close the file; what waits to be written is lost."""
        self._file.close()

    def _read(self, place: int, length: int) -> bytes:
        if place >= self._written:
            start = place - self._written
            return bytes(self._waiting[start : start + length])
        return os.pread(self._file.fileno(), length, place)


def write_all(file: FileIO, data: bytes | bytearray | memoryview) -> None:
    """Write bytes to a file without a buffer, which may take a part of them at a time.

    Raises:
        OSError: they cannot be written; it names the file.
    """
    view = memoryview(data)
    try:
        while view:
            view = view[file.write(view) :]
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(file.name)) from None
