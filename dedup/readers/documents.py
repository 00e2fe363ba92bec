"""Documents and rejected records, which readers yield; documents from the fields of an object or a row."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache, reduce
from itertools import chain
from pathlib import PurePath
from typing import Any, NamedTuple

from dedup.fields import (
    HTML_FIELDS,
    KEY_FIELDS,
    SUMMARY_FIELDS,
    TEXT_FIELDS,
    TITLE_FIELDS,
    actual_name,
    as_key,
    is_placeholder,
    joined,
    text_or_page,
    value_at,
    with_title,
)
from dedup.signature.normalise import clean

NO_VALUE = (ValueError, OverflowError, LookupError)
"""What pyarrow raises for what Python has no value for: nanoseconds, the year 10000, a time zone that is not known."""

MEGABYTE = 1 << 20

DATE_FIELD = "date"
"""The field that says when a document was made, if no other is named."""

_SHOWN = 200

_OWN_TEXT_FIELDS = tuple(name for name in TEXT_FIELDS if name not in SUMMARY_FIELDS)


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


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The fields that documents are read from, and a limit of size.

    A field may be named with dots, as `article.body`, inside of another one, and by several names with commas between
    them, of which the first that has anything counts.

    Attributes:
        text_fields: the fields or columns whose texts together are the text; none: the first under a common name that
            has any, below the title.
        html_field: the one with HTML, used where there is no text; None: the first under a common name.
        key_field: the one with the key; None: the first under a common name that has any, and where none has, the
            file's name and the line.
        max_bytes: a line, row, record or file with more bytes is rejected, and never held whole.
        pdf: whether PDFs in archives are pages, too.
    """

    text_fields: tuple[str, ...] = ()
    html_field: str | None = None
    key_field: str | None = None
    max_bytes: int = 64 * MEGABYTE
    pdf: bool = False

    def __post_init__(self) -> None:
        # No file takes a larger number.
        object.__setattr__(self, "max_bytes", min(self.max_bytes, sys.maxsize - 1))

    @property
    def text_name(self) -> str:
        """What the text is looked for under first."""
        return " and ".join(self.text_fields) or TEXT_FIELDS[0]

    def empty_fields(self, parts: int) -> tuple[str, ...]:
        """Return those fields named for the text that no document has; `parts` are those that any has."""
        return tuple(name for number, name in enumerate(self.text_fields) if not parts >> number & 1)

    @property
    def html_name(self) -> str:
        """What HTML is looked for under first."""
        return self.html_field or HTML_FIELDS[0]


@dataclass(frozen=True, slots=True)
class CorpusFile:
    """A file that documents are read from.

    Attributes:
        path: where it is.
        name: what it is called in messages: the path as it was given, without what is not Unicode.
        key_start: where in `name` begins what documents are called that have no key of their own.
        format: the name of the module of this package that reads it.
        compression: `gzip`, `zstd`, or "" for none.
        size: its bytes.
        changed: what tells whether it is the one that it was; see `FileStatus`.
    """

    path: str
    name: str
    key_start: int
    format: str
    compression: str
    size: int
    changed: int | str

    @property
    def key(self) -> str:
        """What a document is called that is all of this file."""
        return self.name[self.key_start :]


MOST_PREFERRED = 15
"""So many names may be preferred, see `Order`."""


class Keep(StrEnum):
    """Which document of a group of copies is kept."""

    FIRST = "first"
    LONGEST = "longest"
    NEWEST = "newest"
    HIGHEST = "highest"


@dataclass(frozen=True)
class Order:
    """By what documents are sorted before they are decided, as the first of a group of copies is kept.

    Attributes:
        keep: which of them comes first.
        field: the field with its date, for `Keep.NEWEST`, or its number, for `Keep.HIGHEST`.
        prefer: folders and files, by their names or paths, whose documents come before all others, those of the first
            one at first.
    """

    keep: Keep = Keep.FIRST
    field: str = DATE_FIELD
    prefer: tuple[str, ...] = ()

    @property
    def is_as_read(self) -> bool:
        """Whether that is the order in which they are read."""
        return self.keep is Keep.FIRST and not self.prefer

    def place(self, file: str) -> int:
        """Return which of the preferred names a file has, or lies in, counted from 0; how many there are: none."""
        path = PurePath(file)
        names = path.as_posix(), (path.parent / path.name.partition(".")[0]).as_posix()
        wanted = (f"/{name.strip('/')}/" for name in self.prefer)
        found = (place for place, name in enumerate(wanted) if any(name in f"/{each}/" for each in names))
        return next(found, len(self.prefer))


AS_READ = Order()
"""The first document that is read is kept."""


class Position(NamedTuple):
    """A place in a corpus.

    Attributes:
        file: the number of the file among all that are read, from 0.
        ordinal: the number of the line, row or record in it, from 1; 0: what was wrong with the file
            as a whole.
        offset: how many bytes of the file are read: exact in JSONL that is not compressed, elsewhere about.
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
        problem: why it is kept without being compared with others; "" for nearly all.
        parts: in which of the fields that were named for its text it has any, a bit each, the lowest for the first.
    """

    key: str
    text: str | None
    html: bytes | None
    file: str
    position: Position
    record: Record
    problem: str = ""
    parts: int = 0

    @property
    def source(self) -> str:
        """File and line, for messages and reports."""
        return source_of(self.file, self.position)


@dataclass(frozen=True, slots=True)
class Rejected:
    """A line, a row, a record, or the rest of a file that could not be read as a document.

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


@dataclass(frozen=True, slots=True)
class Skipped:
    """What a file holds besides documents, with which nothing is wrong.

    Attributes:
        position: where it stands; reading can go on behind it.
        reason: what it is, in a few words, by which it is counted.
        count: how many of them there are.
    """

    position: Position
    reason: str
    count: int = 1


INNER_LINES = "lines inside of rows"
"""What a table has more lines than rows, which are counted at its end: a row may hold others."""

Item = CorpusDocument | Rejected | Skipped
"""What readers yield."""


def source_of(file: str, position: Position) -> str:
    """Name a place as `FILE:LINE`; a file as a whole by its name alone."""
    return f"{file}:{position.ordinal}" if position.ordinal else file


class BadRecordError(ValueError):
    """A line, row or record cannot be a document; the message is the reason that the user is told."""


def document_of(
    fields: Mapping[str, Any], record: Any, file: CorpusFile, position: Position, options: ReadOptions
) -> CorpusDocument:
    """Return the document of an object or a row.

    Args:
        fields: values by name.
        record: what is written of it where it is kept.
        file: where it was read.
        position: where it stands there; what has no key is called by that.
        options: the names of the fields.

    Raises:
        BadRecordError: it is none.
    """
    try:
        there = names_there(tuple(fields), options)
        text, html, parts = _content_of(fields, there, options)
        key = storable(_key_of(fields, there, options) or f"{file.key}:{position.ordinal}")
        text = None if text is None else storable(text)
        return CorpusDocument(key, text, html, file.name, position, record, parts=parts)
    except RecursionError:
        raise BadRecordError("nested too deeply") from None


def item_of(
    fields: Mapping[str, Any], record: Any, file: CorpusFile, position: Position, options: ReadOptions
) -> CorpusDocument | Rejected:
    """Return the document of an object or a row, or why there is none; see `document_of`."""
    try:
        return document_of(fields, record, file, position, options)
    except BadRecordError as error:
        return Rejected(file.name, position, str(error))


class _Names(NamedTuple):
    """The fields of an object or a row that are looked at, by the names that they have there.

    Attributes:
        texts: those of the parts of the text; where there is none of these and of HTML, those of what many documents
            share.
        html: those of HTML.
        title: those of a title that is a part of the text.
        key: those of the key.
    """

    texts: tuple[tuple[str, ...], ...]
    html: tuple[str, ...]
    title: tuple[str, ...]
    key: tuple[str, ...]

    @property
    def contents(self) -> tuple[str, ...]:
        """Those of text and HTML."""
        return *chain.from_iterable(self.texts), *self.html


def names_there(names: tuple[str, ...], options: ReadOptions) -> _Names:
    """Return which of some fields are looked at; those that are named, wherever they are."""
    return _names_there(names, options.text_fields, options.html_field, options.key_field)


@lru_cache(maxsize=256)
def _names_there(names: tuple[str, ...], parts: tuple[str, ...], html: str | None, key: str | None) -> _Names:
    there = dict.fromkeys(names)

    def found(usual: tuple[str, ...], named: str | None) -> tuple[str, ...]:
        if named is not None:
            return (named,) if actual_name(there, named) is not None else tuple(named.split(","))
        return tuple(dict.fromkeys(actual for name in usual if (actual := actual_name(there, name)) is not None))

    pages, keys = found(HTML_FIELDS, html), found(KEY_FIELDS, key)
    if parts:
        return _Names(tuple(found((), part) for part in parts), pages, (), keys)
    texts = found(_OWN_TEXT_FIELDS, None)
    texts = texts if texts or pages else found(SUMMARY_FIELDS, None)
    return _Names((texts,), pages, found(TITLE_FIELDS, None), keys)


def require_columns(names: Sequence[str], options: ReadOptions) -> None:
    """Refuse a table in which the columns are not that are needed.

    Raises:
        BadRecordError: there is none of content, or not the one of the key that was named.
    """
    there, columns = names_there(tuple(names), options), dict.fromkeys(names)
    if all(actual_name(columns, name) is None for name in there.contents):
        raise BadRecordError(f"no column {options.text_name!r} or {options.html_name!r}; {others_there(names)}")
    if options.key_field is not None and all(actual_name(columns, name) is None for name in there.key):
        raise BadRecordError(f"no column {options.key_field!r}")


def _content_of(fields: Mapping[str, Any], there: _Names, options: ReadOptions) -> tuple[str | None, bytes | None, int]:
    """Return the text of an object or a row, below its title where no field was named, or else its HTML; and its parts.

    Raises:
        BadRecordError: there is neither, or it is of another type.
    """
    blank: str | None = None
    page: bytes | str = ""
    wrong: list[str] = []
    found: list[str] = []
    parts = 0
    for number, names in enumerate(there.texts):
        for name in names:
            value = joined(_value_of(fields, name))
            text, own_page = text_or_page(value)
            if text:
                found.append(text)
                parts |= 1 << number
                break
            page = page or own_page
            if isinstance(value, str):
                # Of two documents that have none each is one.
                blank = "" if is_placeholder(value) else blank or value
            elif value and not own_page:
                wrong.append(name)
    if found:
        titles = (text_or_page(fields[each])[0] for each in there.title) if there.title else ()
        title = next(filter(None, titles), "")
        return reduce(with_title, [title, *found] if title else found), None, parts
    for name in there.html:
        value = joined(_value_of(fields, name))
        if value and isinstance(value, str | bytes):
            return None, as_bytes(value), 0
        wrong += [name] if value else []
    if page:
        return None, as_bytes(page), 0
    if blank is None or wrong:
        raise BadRecordError(_why_none(fields, there, wrong, options))
    return blank, None, 0


def _why_none(fields: Mapping[str, Any], there: _Names, wrong: list[str], options: ReadOptions) -> str:
    if wrong:
        is_object = isinstance(_value_of(fields, wrong[0]), Mapping)
        return f"{wrong[0]!r} is not a string" + (f"; {others_there(_paths(fields))}" if is_object else "")
    reason = f"has neither {options.text_name!r} nor {options.html_name!r}"
    lists = (name for name, value in fields.items() if isinstance(value, list) and value and isinstance(value[0], dict))
    if name := next(lists, ""):
        return f"{reason}; if {name[:_SHOWN]!r} are the documents, write them alone, as jq '.[{json.dumps(name)}]' does"
    is_there = any(name in fields for name in there.contents)
    return reason if is_there else f"{reason}; {others_there(_paths(fields))}"


def _value_of(fields: Mapping[str, Any], name: str) -> Any:
    value = fields.get(name)
    return value_at(fields, name) if value is None else value


def _paths(fields: Mapping[str, Any]) -> Iterator[str]:
    for name, value in fields.items():
        if isinstance(value, Mapping) and value:
            yield from (f"{name}.{each}" for each in _paths(value))
        else:
            yield name


def others_there(names: Iterable[str]) -> str:
    """Return what fields or columns there are where those of the text are not, and how they are named."""
    known = ", ".join(map(repr, names))
    return f"there are {known[:_SHOWN]}; name that of the text by --text-field" if known else "there are no others"


def _key_of(fields: Mapping[str, Any], there: _Names, options: ReadOptions) -> str | None:
    """Return the key of an object or a row, or None where the document is to be called by file and line.

    Raises:
        BadRecordError: the field that was named is missing, or holds what cannot be a key.
    """
    value = None
    for name in there.key:
        value = _value_of(fields, name)
        if key := as_key(value):
            return key
    if options.key_field is not None:
        missing = value is None or value == ""
        raise BadRecordError(f"has no {options.key_field!r}" if missing else f"{options.key_field!r} is not a string")
    return None


def storable(text: str) -> str:
    """Return a text that a database and a file can hold: cleaned as in a crawl if they cannot hold it as it is."""
    if "\0" in text:
        return clean(text)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:  # a lone surrogate
            return clean(text)
    return text


def as_bytes(html: str | bytes) -> bytes:
    """Return HTML as bytes, in UTF-8."""
    return html if isinstance(html, bytes) else storable(html).encode()
