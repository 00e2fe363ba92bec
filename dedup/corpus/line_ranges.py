"""Ranges of lines of a JSONL file, which worker processes read themselves.

What goes to a worker is where the lines stand, and what comes back is where each document does: the text
of a corpus is sent to no other process.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from io import FileIO
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.corpus.documents import CorpusDocument, Position, ReadOptions, Rejected
from dedup.corpus.files import CorpusFile
from dedup.corpus.readers import jsonl
from dedup.corpus.readers.streams import why_damaged
from dedup.errors import InputError

_RANGE_BYTES = 1 << 21
# A line may be longer than memory.
_MOST_AT_ONCE = 1 << 23
_LINE_FEED = b"\n"


class ReadMemory:
    """Memory that bytes of files are read to, again and again: fresh memory would cost more than reading does.

    Args:
        size: how many bytes are read at once, at first.
    """

    def __init__(self, size: int = _RANGE_BYTES) -> None:
        self._bytes = bytearray(size)

    def read(self, file: FileIO, start: int, size: int) -> memoryview:
        """Return bytes of a file, fewer where it ends; they stay until the next call.

        Args:
            file: the file.
            start: where they begin.
            size: how many they are.
        """
        if size > len(self._bytes):
            self._bytes = bytearray(size)
        view = memoryview(self._bytes)[:size]
        return view[: os.preadv(file.fileno(), [view], start)]

    def behind_last_line(self, size: int) -> int:
        """Return where the last line feed of so many bytes that were read ends; 0 where there is none."""
        return self._bytes.rfind(_LINE_FEED, 0, size) + 1


class LineDocument(NamedTuple):
    """A document of a line that is known only by where it stands.

    Attributes:
        key: what it is called.
        text: its text, where it will be written.
        ordinal: the number of its line in the file, from 1.
        length: how many bytes the line has, without its end.
        offset: where the next line begins, in bytes.
    """

    key: str
    text: str | None
    ordinal: int
    length: int
    offset: int


@dataclass(frozen=True, slots=True)
class LineRange:
    """Some lines of a file.

    Attributes:
        file: the file, JSONL that is not compressed.
        number: its number in the corpus.
        options: how documents are found in lines.
        with_texts: whether the texts of documents are wanted, and not only their lines.
        with_words: whether their words are, or only where they stand.
        after: how many lines stand before the range.
        start: where its first line begins, in bytes.
        end: where the first line behind it begins.
    """

    file: CorpusFile
    number: int
    options: ReadOptions
    with_texts: bool
    with_words: bool
    after: int
    start: int
    end: int

    @property
    def size(self) -> int:
        """Its bytes."""
        return self.end - self.start

    @property
    def is_packed(self) -> bool:
        """Whether neither texts nor words of its documents are wanted, so that none need be looked at alone.

        A line may be too large for that.
        """
        return not (self.with_texts or self.with_words) and self.size <= _MOST_AT_ONCE

    def read(self) -> Iterator[CorpusDocument | Rejected]:
        """Read the documents."""
        after = Position(self.number, self.after, self.start)
        try:
            yield from jsonl.read(self.file, self.number, self.options, after, self.end)
        except OSError as error:
            # It was there when the range was found.
            yield Rejected(self.file.name, Position(self.number, 0, self.file.size), why_damaged(error))

    def read_into(self, data: NDArray[np.uint8]) -> bool:
        """Read its bytes into an array; return whether they could be read as they were."""
        try:
            with FileIO(self.file.path) as file:
                file.seek(self.start)
                return file.readinto(data.data) == self.size
        except OSError:
            return False

    def place_of(self, document: CorpusDocument) -> LineDocument:
        """Return what `find` has to know of a document that was read."""
        position = document.position
        assert isinstance(document.record, bytes)
        text = document.text if self.with_texts else None
        return LineDocument(document.key, text, position.ordinal, len(document.record), position.offset)

    def find(self, places: list[LineDocument]) -> Iterator[CorpusDocument]:
        """Yield documents of this range as they were read, without their texts where these are not wanted.

        Raises:
            InputError: the file is not what it was when it was read.
        """
        with open_again(self.file) as file:
            for key, text, ordinal, length, offset in places:
                record = read_record(file, self.file.name, offset, length)
                yield CorpusDocument(key, text, None, self.file.name, Position(self.number, ordinal, offset), record)


def open_again(file: CorpusFile) -> FileIO:
    """Open a file of which lines were read.

    Raises:
        InputError: it is not there any more.
    """
    try:
        return FileIO(file.path)
    except OSError:
        raise changed(file.name) from None


def read_record(file: FileIO, name: str, offset: int, length: int) -> bytes:
    """Return a line without its end.

    Args:
        file: the file.
        name: what it is called in messages.
        offset: where the next line begins.
        length: how many bytes the line has, without its end.

    Raises:
        InputError: there are fewer.
    """
    # The last line of a file need not have an end.
    start = max(0, offset - length - 1)
    line = os.pread(file.fileno(), offset - start, start)
    record = line[:-1] if line.endswith(_LINE_FEED) else line[-length:]
    if len(record) != length:
        raise changed(name)
    return record


def changed(name: str) -> InputError:
    """Say that a file is not what it was when it was read."""
    return InputError(f"{name}: changed while it was read; begin anew with --force")


def find_line_ranges(
    file: CorpusFile,
    number: int,
    options: ReadOptions,
    after: Position | None,
    *,
    with_texts: bool,
    with_words: bool,
) -> Iterator[LineRange]:
    """Find ranges of lines of about two megabytes, in their order.

    Args:
        file: JSONL that is not compressed.
        number: its number in the corpus.
        options: how documents are found in lines.
        after: the position behind which to begin; None: at the beginning.
        with_texts: see `LineRange`.
        with_words: likewise.

    Raises:
        OSError: the file cannot be read.
    """
    ordinal, start = (0, 0) if after is None else (after.ordinal, after.offset)
    end = start
    memory, is_end = ReadMemory(), np.empty(_RANGE_BYTES, np.bool_)
    with FileIO(file.path) as source:
        while block := memory.read(source, end, _RANGE_BYTES):
            size = memory.behind_last_line(len(block))
            if not size:
                # All of it is inside of one line.
                end += len(block)
                continue
            end += size
            yield LineRange(file, number, options, with_texts, with_words, ordinal, start, end)
            # Where lines are as short as those of documents, bytes.count takes three times as long.
            np.equal(np.frombuffer(block[:size], np.uint8), ord(_LINE_FEED), out=is_end[:size])
            ordinal, start = ordinal + int(np.count_nonzero(is_end[:size])), end
    if start < end:
        yield LineRange(file, number, options, with_texts, with_words, ordinal, start, end)
