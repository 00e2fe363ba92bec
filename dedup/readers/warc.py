"""WARC, plain and by gzip: pages that were answered or stored, and texts that were made of pages, as in WET files.

warcio parses the headers. Where records begin and end is found here, as what is damaged must not end
the run, pass for whole, or fill the memory: warcio takes damage for the end of a record.
"""

from __future__ import annotations

import io
import logging
import zlib
from collections.abc import Callable, Iterator
from io import BufferedReader
from typing import Any, NamedTuple

from dedup.readers.documents import (
    BadRecordError,
    CorpusDocument,
    CorpusFile,
    Item,
    Page,
    Position,
    ReadOptions,
    Rejected,
    Skipped,
    storable,
)
from dedup.readers.responses import (
    ONLY_BEGINNING,
    Body,
    decode_body,
    is_html,
    is_success,
    may_be_html,
    media_type,
)
from dedup.readers.streams import DAMAGE, RemoteReadError, load_optional, open_raw, why_damaged
from dedup.signature.charsets import UTF_8, decode_declared
from dedup.signature.pdf import is_pdf

_READ = 1 << 16

_GZIP_MEMBER = b"\x1f\x8b\x08"
_RECORD_LINE = b"WARC/"
# The first line of an ARC file.
_ARC_LINE = b"filedesc:"
_MOST_HEADER_BYTES = 1 << 20
_SKIPPED = 1 << 20
_TEXT = "text/plain"
_OF_PARTS = ("WARC-Truncated", "WARC-Segment-Number")


class Member(io.RawIOBase):
    """One member of a gzip file; at its end the file stands at the beginning of the next.

    Args:
        file: at the beginning of a member.
    """

    def __init__(self, file: BufferedReader[Any]) -> None:
        self._file = file
        self._decompressor = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)

    def readable(self) -> bool:
        """Return True: it can be read."""
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


def check(path: str, name: str) -> None:
    """Load what is needed.

    Raises:
        InputError: it is not installed.
    """
    # It warns of spaces in addresses, with the address as it came from the file.
    logging.getLogger("warcio").setLevel(logging.CRITICAL)
    load_optional("warcio", "warcio.recordloader", name)


def read(file: CorpusFile, number: int, options: ReadOptions) -> Iterator[Item]:
    """Read pages; all records are counted, and a damaged stretch as one. See `portions.read_file` for the rest."""
    try:
        raw = BufferedReader(open_raw(file.path), 1 << 18)
    except OSError as error:
        yield Rejected(file.name, Position(number, 0, file.size), why_damaged(error))
        return
    with raw:
        for ordinal, found in enumerate(find_records(raw, file, options.max_bytes), 1):
            position = Position(number, ordinal, raw.tell())
            if (item := _item(found, file, position, options)) is not None:
                yield item


def _item(found: Found, file: CorpusFile, position: Position, options: ReadOptions) -> Item | None:
    if isinstance(found.record, BadRecordError):
        return Rejected(file.name, position, str(found.record))
    is_page, kind = kind_of(found.record)
    if is_page is False:
        return Skipped(position, kind) if kind else None
    try:
        body = body_of(found, options.max_bytes)
        if not holds_page(found.record, body.data, with_pdf=options.pdf):
            return Skipped(position, ("not html" if is_page else kind) if body.data.strip() else "empty")
        url = storable(target_of(found.record))
    except BadRecordError as error:
        return Rejected(file.name, position, str(error))
    fields = {"url": url, "date": found.record.rec_headers.get_header("WARC-Date")}
    if kind == _TEXT:
        text = storable(body.data.decode("utf-8", "replace"))
        return CorpusDocument(url, text, None, file.name, position, {**fields, "text": text})
    problem = "" if body.is_whole else ONLY_BEGINNING
    return CorpusDocument(url, None, _in_utf_8(body.data, found.record), file.name, position, Page(fields), problem)


def _in_utf_8(html: bytes, record: Any) -> bytes:
    """Return a page as it is, or in UTF-8 where its server has said, and nobody else may know, what its bytes mean."""
    content_type = "".join(_types_of(record)[-1:])
    if "charset" not in content_type.lower() or UTF_8 in content_type.lower() or is_pdf(html):
        return html
    declared = decode_declared(html, content_type)
    return html if declared is None or declared.charset == UTF_8 else declared.text.encode("utf-8", "replace")


def kind_of(record: Any) -> tuple[bool | None, str]:
    """Return of a record whether it is a page, or the text of one, by its headers.

    Returns:
        None where its body says whether it is; and what it is called where it is none, such as `http 404` or
        `image/png`, "" for what only goes with another record.
    """
    if record.rec_type == "response" and record.http_headers is not None:
        status = record.http_headers.get_statuscode()
        if not is_success(status):
            return False, f"http {status}"
    elif record.rec_type == "conversion":
        kind = media_type([record.content_type or ""])
        return kind == _TEXT, kind if kind == _TEXT else f"conversion to {kind or 'nothing known'}"
    elif record.rec_type not in ("response", "resource"):
        return False, record.rec_type if record.rec_type in ("revisit", "continuation") else ""
    types, *names = _names_of(record)
    return may_be_html(types, *names), next(filter(None, types), "no content type")


def holds_page(record: Any, body: bytes, *, with_pdf: bool = False) -> bool:
    """Return whether what `kind_of` does not exclude is a page, by what is decoded of it; or a PDF, if it may be."""
    if not body.strip():
        return False
    return record.rec_type == "conversion" or is_html(body, *_names_of(record)) or (with_pdf and is_pdf(body))


def _names_of(record: Any) -> tuple[list[str], str, str]:
    """Return the types of an answer, its address, and the value of Content-Disposition."""
    identified = record.rec_headers.get_header("WARC-Identified-Payload-Type") or ""
    types = [media_type(_types_of(record)), media_type([identified])]
    url = record.rec_headers.get_header("WARC-Target-URI") or ""
    return types, url, "".join(_values(record, "Content-Disposition"))


def _types_of(record: Any) -> list[str]:
    return _values(record, "Content-Type") if record.http_headers is not None else [record.content_type or ""]


def _values(record: Any, name: str) -> list[str]:
    headers = [] if record.http_headers is None else record.http_headers.headers
    return [value for each, value in headers if each.lower() == name.lower()]


def target_of(record: Any) -> str:
    """Return the address that a record is of.

    Raises:
        BadRecordError: it names none.
    """
    url: str | None = record.rec_headers.get_header("WARC-Target-URI")
    if not url:
        raise BadRecordError("has no WARC-Target-URI")
    return url


def body_of(found: Found, limit: int) -> Body:
    """Return what a record holds.

    Raises:
        BadRecordError: it is longer than so many bytes, damaged, or compressed in a way that is not known.
    """
    if found.block is None:
        raise BadRecordError(f"a record of {found.record.length:,} bytes, more than {limit:,}")
    codings = [*_values(found.record, "Content-Encoding"), *_values(found.record, "Transfer-Encoding")]
    body = decode_body(found.block, codings, limit)
    is_cut = any(found.record.rec_headers.get_header(name) for name in _OF_PARTS)
    return body._replace(is_whole=False) if is_cut else body


class Found(NamedTuple):
    """A record of a file, or a damaged stretch.

    Attributes:
        start: the byte where it begins, or the member of gzip that holds it.
        number: how many records stand before it in that member.
        record: as warcio has it; an error for a damaged stretch.
        block: what the record holds; None where it is not wanted, or too long.
    """

    start: int
    number: int
    record: Any
    block: bytes | None


def read_record(raw: BufferedReader[Any], file: CorpusFile, start: int, number: int, limit: int) -> Found:
    """Return the record that `find_records` has found at a place; see there.

    Raises:
        BadRecordError: there is none.
    """
    for found in find_records(raw, file, limit, start):
        if isinstance(found.record, BadRecordError):
            raise found.record
        if (found.start, found.number) == (start, number):
            return found
        if found.start != start:
            break
    raise BadRecordError("the record is not there any more")


def may_be_page(record: Any) -> bool:
    """Return whether a record is a page, or may be one by its body."""
    return kind_of(record)[0] is not False


def find_records(
    raw: BufferedReader[Any],
    file: CorpusFile,
    limit: int,
    start: int = 0,
    is_wanted: Callable[[Any], bool] = may_be_page,
) -> Iterator[Found]:
    """Yield each record, and each damaged stretch.

    After damage the next place is looked for where a record may begin. It may be none: what is tried in
    vain until a record is found belongs to the same damage.

    Args:
        raw: the file.
        file: what is known of it.
        limit: how many bytes a block may have to be held.
        start: where to begin.
        is_wanted: says of which records the blocks are held.
    """
    is_lost = False
    mark = _GZIP_MEMBER if file.compression else _RECORD_LINE
    while start < file.size:
        raw.seek(start)
        reader = _RecordReader(raw, file, limit, is_wanted)
        try:
            for number, (record, block) in enumerate(reader.read_all()):
                is_lost = False
                yield Found(reader.start, number if file.compression else 0, record, block)
            start = raw.tell() if file.compression else file.size
        except RemoteReadError:
            raise
        except Exception as error:  # noqa: BLE001, RUF100 -- warcio raises what it happens to stumble over
            if not is_lost:
                yield Found(reader.start, 0, BadRecordError(_why(error)), None)
            is_lost = True
            start = reader.start
            found = find(raw, mark, start + 1)
            start = file.size if found < 0 else found


def _why(error: Exception) -> str:
    if isinstance(error, BadRecordError):
        return str(error)
    if isinstance(error, DAMAGE):
        return f"a damaged record: {str(error)[:200] or type(error).__name__}"
    return "a damaged record: its headers cannot be read"


class _RecordReader:
    """Reads the records of one gzip member, or of the rest of a file that is not compressed.

    Args:
        raw: the file, at the beginning of a member or record.
        file: what is known of it.
        limit: how many bytes a block may have to be held.
        is_wanted: says of which records they are.

    Attributes:
        start: where in the file begins what is being read: the member, or the record.
    """

    def __init__(
        self, raw: BufferedReader[Any], file: CorpusFile, limit: int, is_wanted: Callable[[Any], bool]
    ) -> None:
        from warcio.recordloader import ArcWarcRecordLoader  # noqa: PLC0415 -- an optional package

        self._loader = ArcWarcRecordLoader(verify_http=False, arc2warc=False)
        self._is_compressed = bool(file.compression)
        self._stream: BufferedReader[Any] = BufferedReader(Member(raw), 1 << 16) if file.compression else raw
        self._size = file.size
        self._limit = limit
        self._is_wanted = is_wanted
        self.start = raw.tell()

    def read_all(self) -> Iterator[tuple[Any, bytes | None]]:
        """Yield each record with its block.

        Raises:
            BadRecordError, OSError, EOFError, zlib.error and what warcio raises: a record is damaged.
        """
        while self._go_to_record():
            record = self._loader.parse_record_stream(_Headers(self._stream), None, "warc")
            _check_headers(record)
            left = record.raw_stream.limit
            if not self._is_compressed and self._stream.tell() + left > self._size:
                raise BadRecordError("a damaged record: it ends behind the end of the file")
            block = self._read_block(left, is_held=record.length <= self._limit and self._is_wanted(record))
            self._read_end()
            yield record, block

    def _go_to_record(self) -> bool:
        """Go over blank lines to the next record; False at the end.

        Raises:
            BadRecordError: something else is there.
        """
        self._skip_blank_lines()
        if not self._is_compressed:
            self.start = self._stream.tell()
        head = self._stream.peek(5)[:5]
        if head and _ARC_LINE.startswith(head):
            raise BadRecordError("records of ARC: warcio recompress IN.arc.gz OUT.warc.gz writes them as WARC")
        if not _RECORD_LINE.startswith(head):
            raise BadRecordError("a damaged stretch: no record begins where one should")
        return bool(head)

    def _read_block(self, left: int, *, is_held: bool) -> bytes | None:
        if is_held:
            block = self._stream.read(left)
            if len(block) < left:
                raise BadRecordError("a damaged record: shorter than its headers say")
            return block
        if not self._is_compressed:
            self._stream.seek(left, 1)
            return None
        while left > 0:
            skipped = len(self._stream.read(min(left, _SKIPPED)))
            if not skipped:
                raise BadRecordError("a damaged record: shorter than its headers say")
            left -= skipped
        return None

    def _read_end(self) -> None:
        """Read the two line ends behind a block; some writers are sparing with them.

        Raises:
            BadRecordError: something else is there, so the block's length was wrong.
        """
        if self._skip_blank_lines() < len(b"\r\n\r\n") and not _RECORD_LINE.startswith(self._stream.peek(5)[:5]):
            raise BadRecordError("a damaged record: it does not end where its headers say")

    def _skip_blank_lines(self) -> int:
        skipped = 0
        while self._stream.peek(1)[:1] in (b"\r", b"\n"):
            self._stream.read(1)
            skipped += 1
        return skipped


def _check_headers(record: Any) -> None:
    """Refuse headers without which a record has no end, and those of two records that damage joined.

    Raises:
        BadRecordError: a header is missing, or there twice.
    """
    names = [name.lower() for name, _ in record.rec_headers.headers]
    if names.count("content-length") != 1 or names.count("warc-type") != 1:
        raise BadRecordError("a damaged record: not one type and one length in its headers")
    if record.rec_headers.get_header("Content-Length") != str(record.length):
        raise BadRecordError("a damaged record: its length is no number")


class _Headers:
    """The stream that warcio reads headers from, whose lines cannot fill the memory."""

    def __init__(self, stream: BufferedReader[Any]) -> None:
        self._stream = stream
        self._left = _MOST_HEADER_BYTES

    def readline(self, size: int | None = None) -> bytes:
        line = self._stream.readline(self._left if size is None else min(self._left, size))
        self._left -= len(line)
        if self._left <= 0:
            raise BadRecordError("a damaged record: headers without an end")
        return line

    def read(self, size: int | None = None) -> bytes:
        return self._stream.read(size)

    def tell(self) -> int:
        return self._stream.tell()
