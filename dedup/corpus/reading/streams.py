"""A file as a stream of bytes, decompressed where it is compressed."""

from __future__ import annotations

import gzip
import io
import zlib
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

from dedup.corpus.reading.files import CorpusFile
from dedup.corpus.reading.libraries import load_pyarrow
from dedup.corpus.reading.remote import RemoteFile, is_url

_BUFFER = 1 << 20
_SMALL_BUFFER = 1 << 16
_DISCARDED = 1 << 20

# What a decompressor or a disk has to say of damage; pyarrow's errors are OSError.
DAMAGE = (OSError, EOFError, zlib.error)


class TooLongError(Exception):
    """A line has more bytes than the limit; the stream stands behind it."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


class Stream:
    """The bytes of a file, decompressed; knows how many bytes of the file itself were taken for them.

    Args:
        file: what to open.
        offset: where to begin, in a file that is not compressed.

    Raises:
        OSError: the file cannot be opened any more.
    """

    def __init__(self, file: CorpusFile, offset: int = 0) -> None:
        self._stack = ExitStack()
        self._file = RemoteFile(file.path) if is_url(file.path) else _CountedFile(file.path)
        raw = self._buffered(self._file)
        self._is_compressed = bool(file.compression)
        # Asking the file itself where it is takes longer than reading a line.
        self._offset = offset
        self.bytes: io.BufferedReader[Any] = raw
        if file.compression == "gzip":
            self.bytes = self._buffered(_Gzip(raw))
        elif file.compression == "zstd":
            arrow = load_pyarrow(file.name)
            # What a read has decompressed before it comes upon damage is lost: so reads are small.
            unpacked = arrow.CompressedInputStream(arrow.PythonFile(raw, mode="r"), "zstd")
            self.bytes = self._buffered(unpacked, _SMALL_BUFFER)
        elif offset:
            raw.seek(offset)

    def tell(self) -> int:
        """Return how many bytes of the file were taken for the lines that were read; about, if it is compressed."""
        return self._file.taken if self._is_compressed else self._offset

    def read_line(self, limit: int) -> bytes:
        """Read a line, with its end; b"" at the end of the file.

        Args:
            limit: how many bytes at most a line may have, with its end.

        Raises:
            TooLongError: it has more; they are read but not kept.
            OSError, EOFError, zlib.error: the file is damaged; see `DAMAGE`.
        """
        line = self.bytes.readline(limit + 1)
        self._offset += len(line)
        if len(line) > limit:
            raise TooLongError(len(line) + self._discard_line(line))
        return line

    def _discard_line(self, line: bytes) -> int:
        size = 0
        while line and not line.endswith(b"\n"):
            line = self.bytes.readline(_DISCARDED)
            size += len(line)
        self._offset += size
        return size

    def _buffered(self, stream: Any, size: int = _BUFFER) -> io.BufferedReader[Any]:
        return self._stack.enter_context(io.BufferedReader(stream, size))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()


class _CountedFile(io.FileIO):
    """A file that knows how many bytes were read from it."""

    taken = 0

    def readinto(self, buffer: bytearray | memoryview) -> int | None:  # type: ignore[override]
        size = super().readinto(buffer)
        self.taken += size or 0
        return size


class _Gzip(io.RawIOBase):
    """A gzip file without its own buffer, whose readline is slow and whose read loses what came before damage."""

    def __init__(self, raw: io.BufferedReader[Any]) -> None:
        self._file = gzip.GzipFile(fileobj=raw, mode="rb")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        data = self._file.read1(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def why_damaged(error: BaseException) -> str:
    """Say in a few words why the rest of a file cannot be read."""
    said = str(error).splitlines()
    return f"the rest of the file cannot be read: {said[0][:200] if said else type(error).__name__}"
