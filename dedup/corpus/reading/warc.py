"""WARC, plain and by gzip: HTML pages that were answered with status 200; the text is not taken out here.

warcio parses the headers. Where records begin and end is found here, as what is damaged must not end
the run, pass for whole, or fill the memory: warcio takes damage for the end of a record.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from io import BufferedReader
from typing import Any, NamedTuple

from dedup.corpus.reading.documents import (
    BadRecordError,
    CorpusDocument,
    CorpusFile,
    Item,
    Page,
    Position,
    ReadOptions,
    Rejected,
    storable,
)
from dedup.corpus.reading.streams import DAMAGE, RemoteReadError, load_warcio, open_raw, why_damaged

_READ = 1 << 16


_GZIP, _ZLIB, _DEFLATE = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS
_WINDOWS = {"gzip": (_GZIP,), "x-gzip": (_GZIP,), "deflate": (_ZLIB, _DEFLATE)}

_GZIP_MEMBER = b"\x1f\x8b\x08"
_RECORD_LINE = b"WARC/"
_HTML = ("text/html", "application/xhtml+xml")
_MOST_HEADER_BYTES = 1 << 20
_SKIPPED = 1 << 20


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


def decode_payload(block: bytes, headers: Any, limit: int) -> bytes:
    """Undo chunks and compression.

    Args:
        block: the body as it was sent.
        headers: the answer's headers as warcio has them; None: there are none, and nothing is to undo.
        limit: how many bytes the page may have.

    Returns:
        The bytes of the page.

    Raises:
        BadRecordError: it is damaged, too large, or compressed in a way that is not known.
    """
    if headers is None or _is_markup(block):
        # Archives often hold the decoded page under headers that speak of how it was sent.
        return block
    if (headers.get_header("Transfer-Encoding") or "").strip().lower() == "chunked":
        from warcio.bufferedreaders import ChunkedDataReader  # noqa: PLC0415 -- an optional package

        block = ChunkedDataReader(io.BytesIO(block)).read()
    encoding = (headers.get_header("Content-Encoding") or "identity").strip().lower()
    if encoding == "identity" or not block or _is_markup(block):
        return block
    if encoding in _WINDOWS:
        page = _inflate(block, _WINDOWS[encoding], limit)
    elif encoding == "br":
        page = _unbrotli(block, limit)
    else:
        raise BadRecordError(f"compressed by {encoding[:40]!r}, which is not known here")
    if len(page) > limit:
        raise BadRecordError(f"a page of more than {limit:,} bytes")
    return page


def _is_markup(data: bytes) -> bool:
    return data[:100].lstrip().startswith((b"<", b"\xef\xbb\xbf<"))


def _inflate(data: bytes, windows: tuple[int, ...], limit: int) -> bytes:
    for window in windows:
        try:
            return zlib.decompressobj(wbits=window).decompress(data, limit + 1)
        except zlib.error:
            continue
    raise BadRecordError("its compressed body is damaged")


def _unbrotli(data: bytes, limit: int) -> bytes:
    try:
        import brotli  # noqa: PLC0415 -- an optional package
    except ModuleNotFoundError:
        raise BadRecordError("compressed by brotli, which needs the package brotli") from None
    decompressor = brotli.Decompressor()
    try:
        page: bytes = decompressor.process(data, output_buffer_limit=limit + 1)
    except brotli.error:
        raise BadRecordError("its compressed body is damaged") from None
    return page


def check(path: str, name: str) -> None:
    """Load what is needed.

    Raises:
        InputError: it is not installed.
    """
    load_warcio(name)


def read(file: CorpusFile, number: int, options: ReadOptions, after: Position | None) -> Iterator[Item]:
    """Read pages; all records are counted, and a damaged stretch as one. See `portions.read_file` for the rest."""
    done = 0 if after is None else after.ordinal
    try:
        raw = BufferedReader(open_raw(file.path), 1 << 18)
    except OSError as error:
        if after is None:
            yield Rejected(file.name, Position(number, 0, file.size), why_damaged(error))
        return
    with raw:
        for ordinal, found in enumerate(find_records(raw, file, options.max_bytes), 1):
            position = Position(number, ordinal, raw.tell())
            if ordinal <= done:
                continue
            if isinstance(found.record, BadRecordError):
                yield Rejected(file.name, position, str(found.record))
            elif is_page(found.record):
                yield _page(found, file, position, options)


def _page(found: Found, file: CorpusFile, position: Position, options: ReadOptions) -> CorpusDocument | Rejected:
    try:
        url = storable(target_of(found.record))
        html = decode_page_of(found, options.max_bytes)
    except BadRecordError as error:
        return Rejected(file.name, position, str(error))
    fields = {"url": url, "date": found.record.rec_headers.get_header("WARC-Date")}
    return CorpusDocument(url, None, html, file.name, position, Page(fields))


def target_of(record: Any) -> str:
    """Return the address that a record is of.

    Raises:
        BadRecordError: it names none.
    """
    url: str | None = record.rec_headers.get_header("WARC-Target-URI")
    if not url:
        raise BadRecordError("has no WARC-Target-URI")
    return url


def decode_page_of(found: Found, limit: int) -> bytes:
    """Return the bytes of the page in a record.

    Raises:
        BadRecordError: it is longer than so many bytes, damaged, or compressed in a way that is not known.
    """
    if found.block is None:
        raise BadRecordError(f"a record of {found.record.length:,} bytes, more than {limit:,}")
    return decode_payload(found.block, found.record.http_headers, limit)


def is_page(record: Any) -> bool:
    """Say whether a record is a page: an answer with status 200 or a stored resource, of HTML."""
    if record.rec_type == "response":
        headers = record.http_headers
        if headers is None or headers.get_statuscode() != "200":
            return False
        kind = headers.get_header("Content-Type") or record.rec_headers.get_header("WARC-Identified-Payload-Type")
    elif record.rec_type == "resource":
        kind = record.content_type
    else:
        return False
    return (kind or "").split(";")[0].strip().lower() in _HTML


class Found(NamedTuple):
    """A record of a file, or a damaged stretch.

    Attributes:
        start: the byte where it begins, or the member of gzip that holds it.
        number: how many records stand before it in that member.
        record: as warcio has it; an error for a damaged stretch.
        block: what the record holds; None where it is no page, or too long.
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


def find_records(raw: BufferedReader[Any], file: CorpusFile, limit: int, start: int = 0) -> Iterator[Found]:
    """Yield each record, and each damaged stretch.

    After damage the next place is looked for where a record may begin. It may be none: what is tried in
    vain until a record is found belongs to the same damage.

    Args:
        raw: the file.
        file: what is known of it.
        limit: how many bytes the block of a page may have to be held.
        start: where to begin.
    """
    is_lost = False
    mark = _GZIP_MEMBER if file.compression else _RECORD_LINE
    while start < file.size:
        raw.seek(start)
        reader = _RecordReader(raw, file, limit)
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

    Attributes:
        start: where in the file begins what is being read: the member, or the record.
    """

    def __init__(self, raw: BufferedReader[Any], file: CorpusFile, limit: int) -> None:
        from warcio.recordloader import ArcWarcRecordLoader  # noqa: PLC0415 -- an optional package

        self._loader = ArcWarcRecordLoader(verify_http=False, arc2warc=False)
        self._is_compressed = bool(file.compression)
        self._stream: BufferedReader[Any] = BufferedReader(Member(raw), 1 << 16) if file.compression else raw
        self._size = file.size
        self._limit = limit
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
            block = self._read_block(left, is_held=record.length <= self._limit and is_page(record))
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
