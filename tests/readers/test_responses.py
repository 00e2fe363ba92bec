"""How answers were sent, and which of them are pages."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from random import Random

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.http import HtmlResponse
from scrapy.responsetypes import responsetypes

from dedup.readers.documents import BadRecordError
from dedup.readers.responses import decode_body, is_html, is_success, media_type
from dedup.readers.streams import load_zstd

zstd = load_zstd("test")

PAGE = b"<html><p>A page.</p></html>" + b"<!-- of some length -->" * 40
LIMIT = 100_000


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def chunked(data: bytes) -> bytes:
    parts = [data[i : i + 7] for i in range(0, len(data), 7)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def in_parts(compress: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    return lambda data: compress(data[:100]) + compress(data[100:])


CODINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": in_parts(gzip.compress),
    "GZip": lambda data: gzip.compress(data) + bytes(64),
    "deflate": zlib.compress,
    " deflate ": raw_deflate,
    "br": brotli.compress,
    "zstd": zstd.compress,
    "Zstd": in_parts(zstd.compress),
    "chunked": chunked,
    "identity": bytes,
    "": bytes,
}


@given(st.lists(st.sampled_from(list(CODINGS)), max_size=4), st.booleans())
def test_codings_are_undone_in_any_order_and_number(names: list[str], are_apart: bool) -> None:
    data = PAGE
    for name in names:
        data = CODINGS[name](data)
    assert decode_body(data, names if are_apart else [",".join(names)], LIMIT) == (PAGE, True)


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd", "none", "utf-8", "compress", "gzip, br"])
def test_what_was_not_encoded_stays(coding: str) -> None:
    for data in (PAGE, b"\n" + PAGE, b"\xef\xbb\xbf" + PAGE, b"User-agent: *\nDisallow: /", b""):
        assert decode_body(data, [coding], LIMIT) == (data, True)


@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "deflate", " deflate ", "br", "zstd", "Zstd"])
def test_of_a_body_that_was_cut_off_the_beginning_is_read(coding: str) -> None:
    # What compresses well comes at once or not at all.
    data = b"<html>" + Random(1).randbytes(300_000).hex().encode()
    encoded = CODINGS[coding](data)
    found = decode_body(encoded[: len(encoded) * 2 // 3], [coding], 1_000_000)
    assert data.startswith(found.data)
    assert len(found.data) > 100
    assert not found.is_whole


def test_a_page_that_is_at_its_end_is_whole() -> None:
    cut = gzip.compress(PAGE.replace(b"<!-- of some length -->", b""))[:-6]
    assert decode_body(cut, ["gzip"], LIMIT).is_whole


@pytest.mark.parametrize(
    ("data", "coding", "reason"),
    [
        *(
            (CODINGS[name](b"a" * 9_000_000), name, "more than 100,000 bytes")
            for name in ("gzip", "deflate", "br", "zstd")
        ),
        (b"\x1f\x8b\x08nonsense", "gzip", "damaged"),
        (b"\0\xff\xff\xffnonsense", "br", "damaged"),
        (b"\0nonsense", "compress", "compressed by 'compress', which is not known here"),
    ],
)
def test_a_body_that_cannot_be_decoded_is_named(data: bytes, coding: str, reason: str) -> None:
    with pytest.raises(BadRecordError, match=reason):
        decode_body(data, [coding], LIMIT)


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (["text/html; charset=utf-8"], "text/html"),
        (["TEXT/HTML"], "text/html"),
        (["text/html, text/html; charset=x"], "text/html"),
        (["text/plain", "text/html"], "text/html"),
        (['text/html; a="b, c"', "*/*", "html", ""], "text/html"),
        (["nothing", "*/*"], ""),
        ([], ""),
    ],
)
def test_the_last_type_that_is_one_counts(values: list[str], found: str) -> None:
    assert media_type(values) == found


TEXT, BINARY, FEED = b"Some words.", b"\x01\x02\x03", b"<?xml version='1.0'?><rss><html></rss>"
XHTML = b"<?xml version='1.0'?>\n<!-- a --><!DOCTYPE html><html/>"


@pytest.mark.parametrize(
    ("kind", "url", "disposition", "body", "found"),
    [
        ("text/html", "http://a/", "", TEXT, True),
        ("text/html", "http://a/x.png", "", TEXT, True),
        ("application/vnd.wap.xhtml+xml", "http://a/", "", TEXT, True),
        ("text/html", "http://a/", "", b"%PDF-1.7", False),
        ("text/plain", "http://a/x.html", "", PAGE, False),
        ("application/json", "http://a/", "", PAGE, False),
        ("text/xml", "http://a/", "", XHTML, True),
        ("application/rss+xml", "http://a/x.html", "", FEED, False),
        ("image/png", "http://a/x.png", "", PAGE, True),
        ("image/png", "http://a/x.png", "", BINARY, False),
        ("application/octet-stream", "http://a/x.htm?y", "", TEXT, True),
        ("application/octet-stream", "http://a/", 'attachment; filename="x.html"', TEXT, True),
        ("application/octet-stream", "http://a/", "", b"\n<!DOCTYPE HTML><title>x", True),
        ("", "http://a/", "", b"<HTML lang=en>", True),
        ("", "http://a/x.txt", "", PAGE, False),
        ("", "http://a/", "", TEXT, False),
        ("", "http://a/", "", BINARY + PAGE, False),
        ("", "http://a/", "", FEED, False),
        ("", "http://a/", "", b"", False),
    ],
)
def test_a_page_is_known_by_header_name_and_body(
    kind: str, url: str, disposition: str, body: bytes, found: bool
) -> None:
    assert is_html(body, [kind], url, disposition) == found
    # What Scrapy takes for one is one, but for what only says that it is, and feeds.
    headers = {name.encode(): each.encode() for name, each in (("Content-Type", kind),) if each}
    if responsetypes.from_args(headers, url, body=body) is HtmlResponse:
        assert found or body == FEED or body.startswith(b"%PDF")


def test_a_status_that_brings_a_page_begins_with_two() -> None:
    assert all(map(is_success, (200, "203", "206", "299")))
    assert not any(map(is_success, (301, "404", "", None, "2" * 5_000)))
