"""A JSON array of objects, as Scrapy's `-O items.json` writes it; the document's record is the object."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator

from dedup.readers.documents import BadRecordError, CorpusFile, Item, Position, ReadOptions, Rejected, item_of
from dedup.readers.streams import BYTE_ORDER_MARK, DAMAGE, Stream, why_damaged

_PIECE = 1 << 18
_SPACE = re.compile(r"[ \t\r\n]*")
_decode = json.JSONDecoder().raw_decode


def begins_array(head: bytes) -> bool:
    """Return whether a file that begins so holds an array, and not an object a line."""
    return head.removeprefix(BYTE_ORDER_MARK).lstrip().startswith(b"[")


def read(file: CorpusFile, number: int, options: ReadOptions) -> Iterator[Item]:
    """Read documents, of which each is an element. See `portions.read_file` for arguments and what is yielded.

    Where an element is no JSON nobody knows where the next one begins: the rest is rejected with it.
    """
    with Stream(file) as stream:
        yield from read_stream(stream, file, number, options)


def read_stream(stream: Stream, file: CorpusFile, number: int, options: ReadOptions) -> Iterator[Item]:
    """Read documents as `read`, from the beginning of a stream."""
    elements = _Elements(stream, options.max_bytes)
    try:
        for ordinal, value in enumerate(elements.read(), 1):
            yield _item(value, file, Position(number, ordinal, stream.tell()), options)
    except (BadRecordError, *DAMAGE) as error:
        reason = str(error) if isinstance(error, BadRecordError) else why_damaged(error)
        yield Rejected(file.name, Position(number, elements.count + 1, file.size), reason)


def _item(value: object, file: CorpusFile, position: Position, options: ReadOptions) -> Item:
    if not isinstance(value, dict):
        return Rejected(file.name, position, "not a JSON object")
    return item_of(value, value, file, position, options)


class _Elements:
    """The elements of an array, of which no more is held than one that is read, and some behind it."""

    def __init__(self, stream: Stream, limit: int) -> None:
        self._stream = stream
        self._limit = limit
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._text = ""
        self._at = 0
        self._is_end = False
        self.count = 0

    def read(self) -> Iterator[object]:
        """Yield the elements.

        Raises:
            BadRecordError: it is no array from here on.
            OSError, EOFError, zlib.error: the file is damaged.
        """
        self._take("[")
        while self._next_sign() != "]":
            if self.count:
                self._take(",")
                self._next_sign()
            value = self._element()
            yield value
            self.count += 1
        self._take("]")
        if self._next_sign():
            raise BadRecordError("something stands behind the array")

    def _element(self) -> object:
        size = _PIECE
        while True:
            try:
                value, end = _decode(self._text, self._at)
            except RecursionError:
                raise BadRecordError("not usable JSON: nested too deeply; the rest is not read") from None
            except ValueError as error:
                reason = f"not JSON: {str(error).partition(':')[0]}; the rest is not read"
            else:
                if end < len(self._text) or self._is_end:
                    self._at = end
                    return value
                reason = ""
            if len(self._text) - self._at > self._limit:
                raise BadRecordError(f"an element of more than {self._limit:,} letters; the rest is not read")
            if self._is_end:
                raise BadRecordError(reason)
            self._read_more(size)
            size *= 2

    def _take(self, sign: str) -> None:
        if self._next_sign() != sign:
            raise BadRecordError(f"not JSON: {sign!r} is missing; the rest is not read")
        self._at += 1

    def _next_sign(self) -> str:
        """Go to what stands behind white space; return its first letter, "" at the end."""
        while True:
            space = _SPACE.match(self._text, self._at)
            self._at = space.end() if space else self._at
            if self._at < len(self._text) or self._is_end:
                return self._text[self._at : self._at + 1]
            self._read_more(_PIECE)

    def _read_more(self, size: int) -> None:
        data = self._stream.read_some(size)
        self._is_end = not data
        try:
            more = self._decoder.decode(data, final=self._is_end)
        except UnicodeDecodeError:
            raise BadRecordError("not UTF-8; the rest is not read") from None
        self._text = self._text[self._at :] + more
        self._at = 0
