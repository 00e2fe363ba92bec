"""The body of an HTTP answer as it was sent, decoded to the bytes of the page."""

from __future__ import annotations

import io
import zlib
from typing import Any

from dedup.corpus.reading.fields import BadRecordError

_GZIP, _ZLIB, _DEFLATE = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS
_WINDOWS = {"gzip": (_GZIP,), "x-gzip": (_GZIP,), "deflate": (_ZLIB, _DEFLATE)}


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
