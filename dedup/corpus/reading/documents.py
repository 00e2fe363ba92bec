"""What readers yield: documents, and what could not be read as one."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, NamedTuple

NO_VALUE = (ValueError, OverflowError, LookupError)
"""What pyarrow raises for what Python has no value for: nanoseconds, the year 10000, a time zone that is not known."""


class ParquetRow:
    """A row of a batch of rows: no column is converted that nobody asks for.

    A row keeps its batch alive, some 16 MB for all rows of the batch together.

    Args:
        batch: a `pyarrow.RecordBatch`.
        index: the number of the row in it.
    """

    __slots__ = ("batch", "index")

    def __init__(self, batch: Any, index: int) -> None:
        self.batch = batch
        self.index = index

    def to_dict(self) -> dict[str, Any]:
        """Return the row's values by column, as Python has them."""
        names = self.batch.schema.names
        return {name: _value(self.batch.column(i), self.index) for i, name in enumerate(names)}

    def __reduce__(self) -> tuple[type[ParquetRow], tuple[Any, int]]:
        # The row alone: pickling a slice would take the whole batch along.
        return ParquetRow, (self.batch.take([self.index]), 0)


def _value(column: Any, index: int) -> Any:
    try:
        return column[index].as_py()
    except UnicodeDecodeError:
        if hasattr(column[index], "as_buffer"):
            return column[index].as_buffer().to_pybytes().decode("utf-8", "replace")
    except NO_VALUE:
        pass
    # As the library would print it.
    return column.slice(index, 1).to_string(skip_new_lines=True)[1:-1]


MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How documents are found in what files hold.

    Attributes:
        text_field: the field or column with the text; with dots, as `article.body`, inside of another one.
        html_field: the one with HTML, used where there is no text.
        key_field: the one with the key; None: the first of `url`, `id` and `key` that is there, and
            where none is, the file's name and the line.
        max_bytes: a line, row, record or file with more bytes is rejected, and never held whole.
    """

    text_field: str = "text"
    html_field: str = "html"
    key_field: str | None = None
    max_bytes: int = 64 * MEGABYTE

    def __post_init__(self) -> None:
        # No file takes a larger number.
        object.__setattr__(self, "max_bytes", min(self.max_bytes, sys.maxsize - 1))


class Position(NamedTuple):
    """A place in a corpus, behind which reading can go on.

    Attributes:
        file: the number of the file among all that are read, from 0.
        ordinal: the number of the line, row or record in it, from 1; 0: what was wrong with the file
            as a whole.
        offset: how many bytes of the file are read. Exact in JSONL that is not compressed, where
            reading goes on from there; elsewhere about, for progress.
    """

    file: int
    ordinal: int
    offset: int


class Page(NamedTuple):
    """The record of a page whose bytes are the document's `html`: what else is known of it."""

    fields: dict[str, Any]


# The line of a JSONL file without its end; the fields of a row of CSV or of a text file; a row of
# Parquet; what is known of a page.
Record = bytes | dict[str, Any] | ParquetRow | Page


@dataclass(frozen=True, slots=True)
class CorpusDocument:
    """A document as it stands in a file.

    Attributes:
        key: what it is called.
        text: its text, None where there is HTML.
        html: the bytes of its page, None where there is a text.
        file: the name of its file, for messages.
        position: where it stands; reading can go on behind it.
        record: what it was made from, to be written as it came.
    """

    key: str
    text: str | None
    html: bytes | None
    file: str
    position: Position
    record: Record

    @property
    def source(self) -> str:
        """File and line, for messages and reports."""
        return source_of(self.file, self.position)


@dataclass(frozen=True, slots=True)
class Rejected:
    """What could not be read as a document: a line, a row, a record, or the rest of a file.

    Attributes:
        file: the name of the file, for messages.
        position: where it stands; reading can go on behind it.
        reason: what is wrong, in a few words.
    """

    file: str
    position: Position
    reason: str

    @property
    def source(self) -> str:
        """File and line, for messages and reports."""
        return source_of(self.file, self.position)


Item = CorpusDocument | Rejected
"""What readers yield."""


def source_of(file: str, position: Position) -> str:
    """Name a place as `FILE:LINE`; a file as a whole by its name alone."""
    return f"{file}:{position.ordinal}" if position.ordinal else file
