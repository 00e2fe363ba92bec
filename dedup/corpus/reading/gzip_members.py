"""The members of a gzip file, each by itself: one that is damaged does not end the file."""

from __future__ import annotations

import io
import zlib
from io import BufferedReader
from typing import Any

_READ = 1 << 16


class Member(io.RawIOBase):
    """One member of a gzip file; at its end the file stands at the beginning of the next.

    Args:
        file: at the beginning of a member.
    """

    def __init__(self, file: BufferedReader[Any]) -> None:
        self._file = file
        self._decompressor = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Decompress as much as fits, however much it becomes.

        Raises:
            EOFError: the file ends before the member does.
            zlib.error: the member is damaged.
        """
        inflater = self._decompressor
        while not inflater.eof:
            # What did not fit the last time waits in the decompressor.
            data = inflater.unconsumed_tail or self._file.read1(_READ)
            if not data:
                raise EOFError("the file ends in the middle of it")
            out = inflater.decompress(data, len(buffer))
            if inflater.eof:
                self._file.seek(-len(inflater.unused_data), 1)
            if out:
                buffer[: len(out)] = out
                return len(out)
        return 0


def find(file: BufferedReader[Any], mark: bytes, start: int) -> int:
    """Return where some bytes stand next at or behind a place of a file; -1 if they do not."""
    file.seek(start)
    held = b""
    while chunk := file.read(1 << 20):
        held += chunk
        at = held.find(mark)
        if at >= 0:
            return start + at
        # They may stand across two chunks.
        start += len(held) - len(mark) + 1
        held = held[len(held) - len(mark) + 1 :]
    return -1
