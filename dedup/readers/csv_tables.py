"""CSV with a header line, and TSV: the document's record is the row as a dict.

In CSV a quote that nobody has closed takes the rows up to the next quote for its own. A row of several lines is
therefore looked at: where it cannot be one row it is refused with its first line, and reading goes on at the second. In
TSV quotes mean nothing, and neither tabs nor line ends stand in a field.
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from itertools import chain, count

from dedup.readers.documents import (
    INNER_LINES,
    BadRecordError,
    CorpusFile,
    Item,
    Position,
    ReadOptions,
    Rejected,
    Skipped,
    item_of,
    names_there,
    require_columns,
)
from dedup.readers.streams import BYTE_ORDER_MARK, DAMAGE, MANY_BLANK, Stream, TooLongError, why_damaged


def read(file: CorpusFile, number: int, options: ReadOptions) -> Iterator[Item]:
    """Read documents; a row's number is that of its first line. See `portions.read_file` for the rest."""
    with Stream(file) as stream:
        rows = _Rows(stream, options.max_bytes, is_quoted=".tsv" not in file.name.lower()[-8:])
        header: list[str] | None = None
        while True:
            try:
                row = rows.read(header)
                if row is None:
                    break
                if header is None:
                    header = _check_header(row, options)
                    continue
                fields = dict(zip(header, row, strict=True))
            except BadRecordError as error:
                # Without a header no row has a meaning.
                at = (0, file.size) if header is None else (rows.first_line, stream.tell())
                yield Rejected(file.name, Position(number, *at), str(error))
                if header is None:
                    return
                continue
            except DAMAGE as error:
                yield Rejected(file.name, Position(number, rows.first_line, file.size), why_damaged(error))
                return
            yield item_of(fields, fields, file, Position(number, rows.first_line, stream.tell()), options)
        if rows.lines > rows.rows:
            yield Skipped(Position(number, rows.first_line, file.size), INNER_LINES, rows.lines - rows.rows)


def _check_header(names: list[str], options: ReadOptions) -> list[str]:
    require_columns(names, options)
    there = names_there(tuple(names), options)
    read = {names[0] for names in (*there.texts, there.html, there.title, there.key) if names}
    if twice := [name for name, times in Counter(names).items() if times > 1 and name in read]:
        raise BadRecordError(f"the header has the column {min(twice)[:100]!r} twice")
    # Nobody reads the others, but all of them are written.
    before = defaultdict[str, Iterator[int]](count)
    return [f"{name}.{number}" if (number := next(before[name])) else name for name in names]


class _Rows:
    """The rows of a table, each of at most so many bytes.

    Args:
        stream: the table's bytes.
        limit: how many bytes a row may have.
        is_quoted: whether it is CSV, and not TSV.

    Attributes:
        first_line: the number of the first line of the row that was read last.
        rows: how many rows were read, good or bad.
        lines: how many lines that are not blank they have.
    """

    def __init__(self, stream: Stream, limit: int, *, is_quoted: bool) -> None:
        # The limit is one of the whole process; ours stands before it.
        csv.field_size_limit(max(csv.field_size_limit(), limit))
        self._stream = stream
        self._limit = limit
        self._is_quoted = is_quoted
        self._ahead: deque[bytes | TooLongError] = deque()
        self._taken: list[bytes] = []
        self.first_line = self.rows = self.lines = 0

    def read(self, header: Sequence[str] | None) -> list[str] | None:
        """Return the next row that is not blank; None at the end.

        Args:
            header: as many fields it must have; None: it is the header.

        Raises:
            BadRecordError: the row is not usable; the next one may be.
            OSError, EOFError, zlib.error: the file is damaged.
        """
        row: list[str] | None = []
        blank = -1
        while row == []:
            blank += 1
            self.first_line += len(self._taken) or 1
            self._taken = []
            # Lines that are put back stand before those of the stream.
            if blank and blank % MANY_BLANK == 0 and not self._ahead:
                self.first_line += self._stream.skip_blank(b"\r\n")
            try:
                row = self._parse()
                reason = self._fault(header, row) if row else ""
            except BadRecordError as error:
                reason = str(error)
            if reason:
                # What belongs to other rows is not lost with this one.
                self._ahead.extendleft(reversed(self._taken[1:]))
                del self._taken[1:]
            self.rows += bool(reason or row)
            self.lines += len(self._taken) if row else bool(reason)
            if reason:
                raise BadRecordError(reason)
        return row

    def _parse(self) -> list[str] | None:
        try:
            text = next(lines := self._texts(), None)
            if text is None:
                return None
            bare = text.rstrip("\r\n")
            if not self._is_quoted:
                return bare.split("\t") if bare else []
            if '"' not in text and "\r" not in bare:
                return bare.split(",") if bare else []
            return next(csv.reader(chain([text], lines), strict=True))
        except TooLongError as error:
            raise BadRecordError(f"a row of {error.size:,} bytes or more; a quote that is not closed?") from None
        except csv.Error:
            if len(self._taken) > 1:
                raise BadRecordError("a quote that is not closed, or closed within a field") from None
        try:
            # Most programs take what stands behind a quote that is closed in its line for a part of the field.
            return next(csv.reader([bare]))
        except csv.Error as error:
            raise BadRecordError(f"not CSV: {error}") from None

    def _texts(self) -> Iterator[str]:
        """Yield the lines of a row as they are asked for."""
        left = self._limit
        while line := self._next_line():
            if self.first_line == 1 and not self._taken:
                line = line.removeprefix(BYTE_ORDER_MARK)
            self._taken.append(line)
            left -= len(line)
            if left < 0:
                raise TooLongError(self._limit)
            # That it is not UTF-8 is said of the whole row, so that the next one begins where it should.
            yield line.decode("utf-8", "surrogateescape")

    def _next_line(self) -> bytes:
        try:
            line = self._ahead.popleft() if self._ahead else self._stream.read_line(self._limit)
        except TooLongError as error:
            if self._taken:
                self._ahead.append(error)
            raise
        if isinstance(line, TooLongError):
            raise line
        return line

    def _fault(self, header: Sequence[str] | None, row: list[str]) -> str:
        """Return what is wrong with a row, if anything is."""
        try:
            "".join(row).encode()
        except UnicodeEncodeError:
            return "not UTF-8"
        if header is not None and len(row) != len(header):
            return f"{len(row)} columns where the header has {len(header)}"
        if len(self._taken) > 1 and _holds_rows(row, [line.decode() for line in self._taken[1:]]):
            return "a field with lines that are rows: a quote that is not closed?"
        return ""


def _holds_rows(row: list[str], lines: list[str]) -> bool:
    """Return whether the lines behind the first one of a row are rows themselves.

    Each of them has as many fields, and what stands beside the field that has line ends is of the same kind: an
    address, a number. Behind that field the last line has what the row itself has there.
    """
    place = next(place for place, field in enumerate(row) if "\n" in field)
    found = [next(csv.reader([line]), []) for line in lines]
    if any(len(fields) != len(row) for fields in found):
        return False
    before, *others = ([_kind(field) for field in fields] for fields in (found[-1][:place], row, *found[:-1]))
    for kinds in others:
        del kinds[place]
    own = others[0]
    is_alike = before == own[:place] and all(kinds == own for kinds in others)
    return is_alike and any(own if len(lines) > 1 else before)


def _kind(field: str) -> str:
    """Return what tells the field of a column from words of a text; "" if nothing does."""
    if "://" in field:
        return "address"
    return "number" if any(map(str.isdigit, field)) and " " not in field.strip() else ""
