"""CSV with a header line, and TSV: the document's record is the row as a dict."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Self

from dedup.corpus.reading.documents import (
    BadRecordError,
    CorpusDocument,
    CorpusFile,
    Position,
    ReadOptions,
    Rejected,
    document_of,
    require_columns,
)
from dedup.corpus.reading.streams import DAMAGE, Stream, TooLongError, why_damaged


def read(
    file: CorpusFile, number: int, options: ReadOptions, after: Position | None
) -> Iterator[CorpusDocument | Rejected]:
    """Read documents; a row's number is that of its first line. See `portions.read_file` for the rest."""
    done = -1 if after is None else after.ordinal
    with Stream(file) as stream:
        rows = _Rows(stream, options.max_bytes, "\t" if ".tsv" in file.name.lower()[-8:] else ",")
        header: list[str] | None = None
        while True:
            fields: dict[str, str] | None = None
            reason = ""
            try:
                row = rows.read()
                if row is None:
                    return
                if header is None:
                    header = _check_header(row, options)
                    continue
                fields = _fields(header, row)
            except BadRecordError as error:
                reason = str(error)
            except DAMAGE as error:
                if rows.first_line > done:
                    yield Rejected(file.name, Position(number, rows.first_line, file.size), why_damaged(error))
                return
            if header is None:
                # Without a header no row has a meaning.
                if done < 0:
                    yield Rejected(file.name, Position(number, 0, file.size), reason)
                return
            if rows.first_line <= done:
                continue
            position = Position(number, rows.first_line, stream.tell())
            yield _outcome(fields, reason, file, position, options)


def _outcome(
    fields: dict[str, str] | None, reason: str, file: CorpusFile, position: Position, options: ReadOptions
) -> CorpusDocument | Rejected:
    if fields is None:
        return Rejected(file.name, position, reason)
    try:
        return document_of(fields, fields, file, position, options)
    except BadRecordError as error:
        return Rejected(file.name, position, str(error))


def _check_header(names: list[str], options: ReadOptions) -> list[str]:
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise BadRecordError(f"the header has the column {twice[0][:100]!r} twice")
    require_columns(names, options)
    return names


def _fields(header: list[str], row: list[str]) -> dict[str, str]:
    if len(row) != len(header):
        raise BadRecordError(f"{len(row)} columns where the header has {len(header)}")
    return dict(zip(header, row, strict=True))


class _Rows:
    """The rows of a table, each of at most so many bytes.

    Args:
        stream: the table's bytes.
        limit: how many bytes a row may have.
        delimiter: what stands between columns.
    """

    def __init__(self, stream: Stream, limit: int, delimiter: str) -> None:
        # The limit is one of the whole process; ours stands before it.
        csv.field_size_limit(max(csv.field_size_limit(), limit))
        self._lines = _Lines(stream, limit)
        self._reader = csv.reader(self._lines, delimiter=delimiter)
        self.first_line = 0

    def read(self) -> list[str] | None:
        """Return the next row that is not blank; None at the end.

        Raises:
            BadRecordError: the row is not usable; the next one may be.
            OSError, EOFError, zlib.error: the file is damaged.
        """
        while True:
            self.first_line = self._lines.begin_row()
            try:
                row = next(self._reader, None)
            except TooLongError as error:
                raise BadRecordError(f"a row of {error.size:,} bytes or more; a quote that is not closed?") from None
            except csv.Error as error:
                raise BadRecordError(f"not CSV: {error}") from None
            if row is None:
                return None
            if self._lines.fault:
                raise BadRecordError(self._lines.fault)
            if row:
                return row


class _Lines:
    """The lines that csv reads. Not a generator: one that has raised an error is at its end."""

    def __init__(self, stream: Stream, limit: int) -> None:
        self._stream = stream
        self._limit = limit
        self._left = limit
        self._number = 0
        self.fault = ""

    def begin_row(self) -> int:
        """Begin a row, with all of the limit to use and no fault; return the number of its first line."""
        self._left = self._limit
        self.fault = ""
        return self._number + 1

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        if self._left <= 0:
            raise TooLongError(self._limit)
        self._number += 1
        line = self._stream.read_line(self._left)
        if not line:
            raise StopIteration
        self._left -= len(line)
        try:
            text = line.decode()
        except UnicodeDecodeError:
            # The row goes on to its end, so that the next one begins where it should.
            self.fault = "not UTF-8"
            text = line.decode("utf-8", "replace")
        return text.removeprefix("\ufeff") if self._number == 1 else text
