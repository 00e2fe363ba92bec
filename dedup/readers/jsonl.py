"""JSON Lines: a JSON object a line, the document's record is the line itself."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from io import FileIO
from typing import Any

import msgspec
import numpy as np

from dedup.readers import documents
from dedup.readers.documents import (
    BadRecordError,
    CorpusDocument,
    CorpusFile,
    Item,
    Page,
    ParquetRow,
    Position,
    ReadOptions,
    Record,
    Rejected,
)
from dedup.readers.json_arrays import begins_array, read_stream
from dedup.readers.streams import BYTE_ORDER_MARK, DAMAGE, MANY_BLANK, Stream, TooLongError, why_damaged

_DECODER = msgspec.json.Decoder()

RANGE_BYTES = 1 << 21
_LINE_FEED = b"\n"
_SPACE = b" \t\r\n"
_PEEKED = 64


def read(
    file: CorpusFile, number: int, options: ReadOptions, *, start: int = 0, lines: int = 0, end: int | None = None
) -> Iterator[Item]:
    """Read documents; blank lines are none. See `portions.read_file` for the other arguments and what is yielded.

    Of a file that is not compressed reading begins at the byte `start`, where so many lines stand before, and stops at
    a line that begins at the byte `end` or behind it.
    """
    line_number, offset, blank = lines, start, 0
    with Stream(file, offset) as stream:
        if not offset and begins_array(_head(stream)):
            yield from read_stream(stream, file, number, options)
            return
        while end is None or offset < end:
            line_number += 1
            try:
                if blank == MANY_BLANK:
                    blank, line_number = 0, line_number + stream.skip_blank(_SPACE)
                line = stream.read_line(options.max_bytes)
            except TooLongError as error:
                reason = f"a line of {error.size:,} bytes, more than {options.max_bytes:,}"
                offset = stream.tell()
                yield Rejected(file.name, Position(number, line_number, offset), reason)
                continue
            except DAMAGE as error:
                yield Rejected(file.name, Position(number, line_number, file.size), why_damaged(error))
                return
            if not line:
                return
            offset = stream.tell()
            item = item_of(line, file, Position(number, line_number, offset), options)
            blank = blank + 1 if item is None else 0
            if item is not None:
                yield item


def _head(stream: Stream) -> bytes:
    try:
        return stream.bytes.peek(_PEEKED)
    except DAMAGE:
        # It will be damaged again.
        return b""


def item_of(
    line: bytes, file: CorpusFile, position: Position, options: ReadOptions
) -> CorpusDocument | Rejected | None:
    """Return the document of a line that is there with its end, or why there is none; None of a blank line."""
    if len(line) > options.max_bytes:
        return Rejected(file.name, position, f"a line of {len(line):,} bytes, more than {options.max_bytes:,}")
    if line.isspace():
        return None
    if position.ordinal == 1:
        line = line.removeprefix(BYTE_ORDER_MARK)
    try:
        return document_of(line, file, position, options)
    except BadRecordError as error:
        return Rejected(file.name, position, str(error))


def document_of(line: bytes, file: CorpusFile, position: Position, options: ReadOptions) -> CorpusDocument:
    """Return the document that a line holds.

    Raises:
        BadRecordError: it holds none.
    """
    return documents.document_of(fields_of(line), line.removesuffix(b"\n"), file, position, options)


def fields_of(line: bytes) -> dict[str, object]:
    """Return the object that a line holds.

    Raises:
        BadRecordError: it holds none.
    """
    try:
        value = _DECODER.decode(line)
    except (ValueError, RecursionError):
        # What else Python takes for JSON, or why it does not.
        value = _python_object(line)
    if not isinstance(value, dict):
        raise BadRecordError("not a JSON object; one object a line is expected")
    return value


def record_fields(record: Record) -> dict[str, Any]:
    """Return the values of a record by name."""
    if isinstance(record, bytes):
        return fields_of(record)
    if isinstance(record, ParquetRow):
        return record.to_dict()
    return record.fields if isinstance(record, Page) else record


def _python_object(line: bytes) -> object:
    try:
        # Decoded here: json would let surrogates in UTF-8 pass.
        return json.loads(line.decode())
    except UnicodeDecodeError:
        raise BadRecordError("not UTF-8") from None
    except ValueError as error:
        raise BadRecordError(f"not JSON: {error}; one object a line is expected") from None
    except RecursionError:
        raise BadRecordError("not usable JSON: nested too deeply") from None


@dataclass(frozen=True, slots=True)
class LineRange:
    """Some lines of a file.

    Attributes:
        file: the file, JSONL that is not compressed.
        number: its number in the corpus.
        options: how documents are found in lines.
        after: how many lines stand before the range.
        start: where its first line begins, in bytes.
        end: where the first line behind it begins.
    """

    file: CorpusFile
    number: int
    options: ReadOptions
    after: int
    start: int
    end: int

    def read(self) -> Iterator[Item]:
        """Read the documents."""
        try:
            yield from read(self.file, self.number, self.options, start=self.start, lines=self.after, end=self.end)
        except OSError as error:
            # It was there when the range was found.
            yield Rejected(self.file.name, Position(self.number, 0, self.file.size), why_damaged(error))


def find_line_ranges(file: CorpusFile, number: int, options: ReadOptions) -> Iterator[LineRange]:
    """Find ranges of lines of about two megabytes, in their order.

    Args:
        file: JSONL that is not compressed.
        number: its number in the corpus.
        options: how documents are found in lines.

    Raises:
        OSError: the file cannot be read.
    """
    ordinal = start = end = 0
    is_end = np.empty(RANGE_BYTES, np.bool_)
    with FileIO(file.path) as source:
        while block := os.pread(source.fileno(), RANGE_BYTES, end):
            size = block.rfind(_LINE_FEED) + 1
            if not size:
                # All of it is inside of one line.
                end += len(block)
                continue
            end += size
            yield LineRange(file, number, options, ordinal, start, end)
            # Where lines are as short as those of documents, bytes.count takes three times as long.
            np.equal(np.frombuffer(block, np.uint8, size), ord(_LINE_FEED), out=is_end[:size])
            ordinal, start = ordinal + int(np.count_nonzero(is_end[:size])), end
    if start < end:
        yield LineRange(file, number, options, ordinal, start, end)
