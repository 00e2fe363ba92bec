"""A page from the web, from the archive of that crawl, and from `dedup files` on the archive is the same page."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import brotli
import pytest

from crawler.request_meta import CUT_OFF
from crawler.spider.compression import CompressionMiddleware
from dedup.readers.documents import CorpusDocument, Skipped
from dedup.readers.portions import read_documents
from dedup.readers.streams import load_zstd
from dedup.signature.pages import text_of
from tests.crawling import crawl_site_here
from tests.localsite import HTML, LocalSite, Reply, article

zstd = load_zstd("test")

Headers = Sequence[tuple[str, str]]


def reply(name: str, *headers: tuple[str, str], status: int = 200, pack: Any = bytes) -> Reply:
    return Reply(pack(article(name).encode()), status, headers or [("Content-Type", HTML)])


def russian(text: str, said: str = "") -> Reply:
    return Reply(article(text, text=text * 20).encode("cp1251"), headers={"Content-Type": f"text/html{said}"})


def packed(name: str, codings: str, pack: Any) -> Reply:
    return reply(name, ("Content-Type", HTML), ("Content-Encoding", codings), pack=pack)


ODD = {
    "/untyped": reply("untyped", ("Server", "x")),
    "/binary": reply("binary", ("Content-Type", "application/octet-stream")),
    "/name.html": reply("name", ("Content-Type", "application/x-unknown")),
    "/attached": reply("attached", ("Content-Type", "a/b"), ("Content-Disposition", 'inline; filename="x.htm"')),
    "/picture": reply("picture", ("Content-Type", "image/gif")),
    "/xhtml": reply("xhtml", ("Content-Type", "text/xml")),
    "/list": reply("list", ("Content-Type", "text/html; charset=utf-8, text/html")),
    "/again": reply("again", ("Content-Type", "application/json"), ("Content-Type", "text/html")),
    "/created": reply("created", status=201),
    "/partial": reply("partial", ("Content-Type", HTML), ("Content-Range", "bytes 0-9/10"), status=206),
    "/gzip-br": packed("gzip-br", "gzip, BR", lambda data: brotli.compress(gzip.compress(data))),
    "/three": packed("three", "deflate,zstd,gzip", lambda data: gzip.compress(zstd.compress(zlib.compress(data)))),
    "/frames": packed("frames", "zstd", lambda data: zstd.compress(data[:300]) + zstd.compress(data[300:])),
    "/members": packed("members", "x-gzip", lambda data: gzip.compress(data[:300]) + gzip.compress(data[300:])),
    "/raw": packed("raw", "deflate", lambda data: zlib.compress(data, wbits=-15)),
    "/lie": packed("lie", "gzip", bytes),
    "/charset": packed("charset", "utf-8", bytes),
    "/russian": russian("Мост через реку снова открыт, сообщил мэр города. ", "; charset=windows-1251"),
    "/unsaid": russian("Паром сегодня не ходит: на море шторм, и ждать его до утра. "),
    "/padded": packed("padded", "gzip", lambda data: gzip.compress(data) + bytes(9)),
}
NONE = {
    "/plain": reply("plain", ("Content-Type", "text/plain")),
    "/data.json": reply("data", ("Content-Type", "application/json")),
    "/film": Reply(b"\x00\x00\x00\x18ftypmp42", headers={"Content-Type": "video/mp4"}),
    "/pdf": Reply(b"%PDF-1.7 <html>", headers={"Content-Type": "text/html"}),
}


def test_odd_pages_are_the_same_three_times(tmp_path: Path) -> None:
    path = tmp_path / "crawl.warc.gz"
    front = article("front", [*ODD, *NONE, "/gone"])
    with LocalSite({"/": front, **ODD, **NONE}) as site:
        feeds = {str(path): {"format": "gz", "overwrite": True}}
        web = crawl_site_here(tmp_path / "a.db", {"FEEDS": feeds}, url=f"{site.url}/")
        wanted = {f"{site.url}{name}" for name in ("/", *ODD)}
    archive = crawl_site_here(tmp_path / "b.db", warc=path)
    found = list(read_documents([path]))
    assert {item.url for item in web.items} == wanted
    assert {item.url: item.html for item in archive.items} == {item.url: item.html for item in web.items}
    texts = {item.url: item.text for item in web.items}
    assert {item.url: item.text for item in archive.items} == texts
    documents = [item for item in found if isinstance(item, CorpusDocument)]
    assert {item.key: text_of(item.html or b"") for item in documents} == texts
    assert "Мост через реку" in texts[f"{site.url}/russian"]
    assert web.count("crawler/skipped/not_html") == len(NONE)
    assert not any(isinstance(item, Skipped) for item in found)


@pytest.mark.parametrize(("is_whole", "flags"), [(True, []), (False, [CUT_OFF])])
def test_a_body_that_was_cut_off_is_said_to_be(is_whole: bool, flags: list[str]) -> None:
    from scrapy import Request
    from scrapy.http import HtmlResponse, Response
    from scrapy.utils.test import get_crawler

    body = gzip.compress(article("cut", words=3_000).encode())
    headers = {"Content-Type": "text/html; charset=latin-1", "Content-Encoding": "gzip"}
    response = Response("http://a/", headers=headers, body=body if is_whole else body[:-90])
    decoded = CompressionMiddleware.from_crawler(get_crawler()).process_response(Request("http://a/"), response)
    assert isinstance(decoded, HtmlResponse)
    assert (decoded.flags, decoded.encoding, decoded.headers.get("Content-Encoding")) == (flags, "cp1252", None)
    assert "cut" in decoded.text
