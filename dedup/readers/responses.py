"""What servers answer: bodies as they were sent to the bytes of a page, and whether it is one.

The rules are the same for what comes from the web and what stands in an archive. They take what browsers take: codings
in any order and number, some with several parts, and what was decoded already under the headers of what was sent.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from io import BytesIO
from mimetypes import MimeTypes
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from dedup.errors import InputError
from dedup.readers.documents import BadRecordError
from dedup.readers.streams import DAMAGE, ZstdReader, load_zstd

ONLY_BEGINNING = "only the beginning: it was cut off on its way"
"""The problem of a page of which not all is there."""

_PIECE = 1 << 16
_MOST_CODINGS = 10
_HTML = ("text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml")
_TEXT = ("application/json", "application/javascript", "application/x-javascript", "application/x-json")
_SUCCESS = re.compile("2[0-9]{2}")
_MEDIA_TYPE = re.compile(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+", re.ASCII)
_FILE_NAME = re.compile(r"filename\*?\s*=\s*(?:[\w-]+'[\w-]*')?\"?([^\";]+)", re.IGNORECASE)
_TYPES = MimeTypes()
NOT_HTML = (b"%PDF-", b"PK\x03\x04", b"\x89PNG", b"GIF8", b"\xff\xd8\xff", b"\x1f\x8b", b"\xd0\xcf\x11\xe0", b"Rar!")
"""The first bytes of what servers send as text/html though it is none."""

_SNIFFED = 5_000
_NO_TEXT = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_ROOT = re.compile(rb"<(?:!doctype\s+html|html)\b", re.IGNORECASE)
_FIRST_ROOT = re.compile(rb"\s*(?:<\?xml[^>]*+>\s*+)?(?:<!--.*?-->\s*+)*+" + _ROOT.pattern, re.IGNORECASE | re.DOTALL)
_MARKUP = re.compile(rb"\s*(?:\xef\xbb\xbf)?\s*<[a-z!?]", re.IGNORECASE)
_LONGEST_END = 64


class BadBodyError(BadRecordError):
    """A body cannot be read."""


class TooLargeError(BadBodyError):
    """A body has more bytes than it may have."""


class Body(NamedTuple):
    """The body of an answer.

    Attributes:
        data: what it is without codings.
        is_whole: whether all of it came.
    """

    data: bytes
    is_whole: bool


def decode_body(data: bytes, codings: Iterable[str], limit: int, *, cuts: bool = False) -> Body:
    """Undo how a body was sent.

    Args:
        data: the body.
        codings: values of Content-Encoding, then of Transfer-Encoding: what was done first stands first.
        limit: how many bytes it may have.
        cuts: whether of a larger one that many bytes are taken.

    Raises:
        BadBodyError: it is damaged from its beginning on, too large, or was sent in a way that is not known.
    """
    is_whole = True
    names = [name.strip() for value in codings for name in value.lower().split(",")]
    for name in reversed(names[-_MOST_CODINGS:]):
        # Where nobody has decoded it, no body begins like a page.
        if name in {"", "identity"} or not data or _MARKUP.match(data):
            continue
        if name in _DECODERS:
            decoded, is_all = _collect(_DECODERS[name](data), limit, cuts=cuts)
            if decoded or is_all:
                data, is_whole = decoded, is_whole and is_all
                continue
        if _NO_TEXT.search(data[:_SNIFFED]):
            unknown = f"compressed by {name[:40]!r}, which is not known here"
            raise BadBodyError("its compressed body is damaged" if name in _DECODERS else unknown)
    return Body(data, is_whole or data[-_LONGEST_END:].rstrip().lower().endswith(b"</html>"))


def _collect(pieces: Iterator[bytes], limit: int, *, cuts: bool) -> tuple[bytes, bool]:
    found: list[bytes] = []
    size = 0
    try:
        for piece in pieces:
            size += len(piece)
            if size > limit and cuts:
                return b"".join([*found, piece])[:limit], False
            if size > limit:
                raise TooLargeError(f"a page of more than {limit:,} bytes")
            found.append(piece)
    except DAMAGE:
        return b"".join(found), False
    return b"".join(found), True


def _gunzip(data: bytes) -> Iterator[bytes]:
    return iter(partial(gzip.GzipFile(fileobj=BytesIO(data)).read1, _PIECE), b"")


def _inflate(data: bytes) -> Iterator[bytes]:
    try:
        zlib.decompressobj().decompress(data, 1)
        inflater = zlib.decompressobj()
    except zlib.error:  # some servers send it without its header
        inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    while not inflater.eof:
        piece = inflater.decompress(data, _PIECE)
        data = inflater.unconsumed_tail
        if not piece and not data and not inflater.eof:
            raise EOFError
        yield piece


def _unbrotli(data: bytes) -> Iterator[bytes]:
    try:
        import brotli  # noqa: PLC0415 -- an optional package
    except ModuleNotFoundError:
        raise BadBodyError("compressed by brotli, which needs the package brotli") from None
    decompressor = brotli.Decompressor()
    while not decompressor.is_finished():
        try:
            piece = decompressor.process(data, output_buffer_limit=_PIECE)
        except brotli.error:
            raise EOFError from None
        data = b""
        if not piece and not decompressor.is_finished():
            raise EOFError
        yield piece


def _unzstd(data: bytes) -> Iterator[bytes]:
    try:
        zstd = load_zstd("a page compressed by zstd")
    except InputError as error:
        raise BadBodyError(str(error)) from None
    return iter(partial(ZstdReader(BytesIO(data), zstd).read, _PIECE), b"")


def _unchunk(data: bytes) -> Iterator[bytes]:
    from warcio.bufferedreaders import ChunkedDataReader  # noqa: PLC0415 -- an optional package

    return iter([ChunkedDataReader(BytesIO(data)).read()])


_DECODERS: dict[str, Callable[[bytes], Iterator[bytes]]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _inflate,
    "br": _unbrotli,
    "zstd": _unzstd,
    "chunked": _unchunk,
}


def media_type(values: Iterable[str]) -> str:
    """Return the type that values of Content-Type give, in lower case: the last one that is one; "" if none is."""
    named = [part.partition(";")[0].strip().lower() for value in values for part in value.split(",")]
    return next((name for name in reversed(named) if _MEDIA_TYPE.fullmatch(name)), "")


def may_be_html(types: Iterable[str], url: str, disposition: str = "") -> bool | None:
    """Return whether an answer is a page, by its headers and names; None: its body says.

    Args:
        types: its media types, what says most first; "" for none.
        url: its address.
        disposition: the value of Content-Disposition, with the name of a file.
    """
    file = _FILE_NAME.search(disposition)
    names = [unquote(file[1]) if file else "", urlsplit(url).path]
    for kind in (*types, *(guessed for guessed, packed in map(_guess, names) if guessed and not packed)):
        if kind in _HTML:
            return True
        if kind.endswith(("/xml", "+xml")):
            return None
        if kind.startswith("text/") or kind in _TEXT:
            return False
    return None


def _guess(name: str) -> tuple[str | None, str | None]:
    return _TYPES.guess_type(name.rpartition("/")[2])


def is_html(body: bytes, types: Iterable[str], url: str, disposition: str = "") -> bool:
    """Return whether an answer is a page, see `may_be_html`; `body` is what is decoded."""
    kinds = list(types)
    may_be = may_be_html(kinds, url, disposition)
    if may_be is False or body.startswith(NOT_HTML):
        return False
    if may_be or _FIRST_ROOT.match(body[:_SNIFFED]):
        return True
    is_xml = any(kind.endswith(("/xml", "+xml")) for kind in kinds) or b"<?xml" in body[:_SNIFFED]
    return not is_xml and not _NO_TEXT.search(body[:_SNIFFED]) and _ROOT.search(body[:_SNIFFED]) is not None


def is_success(status: Any) -> bool:
    """Return whether a status, as a number or its digits, is one of those that bring a page."""
    return _SUCCESS.fullmatch(str(status)) is not None
