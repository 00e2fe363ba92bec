"""`scrapy crawl site -a warc=...`: pages of web archives get the verdicts that they got from the web."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import sys
import zipfile
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from crawler.warc import replaying
from settings import site
from tests.commands import run_in_process
from tests.crawler.conftest import Demo
from tests.crawler.warc.archives import of_kind, read_warc
from tests.crawling import (
    NO_NETWORK,
    ROOT,
    Crawl,
    ExitedError,
    crawl,
    crawl_site_here,
    pages_in,
)
from tests.docs.commands import ARCHIVE_TOOLS, commands_in
from tests.docs.pages import all_blocks
from tests.localsite import article

CONTENTS = "url, canonical, title, author, date, language, description, text, html, fetched"
# Where `make test-all` installs readers of archives.
READERS = Path(sys.prefix) / "archives"
needs_readers = pytest.mark.skipif(not READERS.exists(), reason="readers are not installed: `make test-all` does")


def decided(done: Crawl) -> list[tuple[object, ...]]:
    return [(row["key"], row["verdict"], row["original"], row["rule"]) for row in done.verdicts]


def stored(done: Crawl) -> list[dict[str, object]]:
    return [{name: page[name] for name in CONTENTS.split(", ")} for page in pages_in(done.database_url)]


@pytest.mark.slow
def test_verdicts_and_pages_are_those_of_the_web(demo: Demo, tmp_path: Path) -> None:
    again = crawl(tmp_path / "b.db", None, warc=demo.archive)
    assert again.status == 0
    kept = [row for row in decided(demo.first) if row[0] in demo.first.pages]
    assert sorted(decided(again)) == sorted(kept)
    assert stored(again) == stored(demo.first)
    assert again.summary["site"] == str(demo.archive)
    assert again.skipped == {}


def write(path: Path, *pages: tuple[str, bytes, dict[str, str]], compressed: bool = True) -> None:
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=compressed)
        for url, body, headers in pages:
            head = StatusAndHeaders("200 OK", list(headers.items()), protocol="HTTP/1.1")
            about = {"WARC-Date": "2020-02-03T04:05:06Z"}
            record = writer.create_warc_record(
                url, "response", payload=BytesIO(body), length=len(body), http_headers=head, warc_headers_dict=about
            )
            writer.write_record(record)


def add_resource(path: Path, url: str, body: bytes, kind: str) -> None:
    with path.open("ab") as file:
        writer = WARCWriter(file, gzip=False)
        record = writer.create_warc_record(url, "resource", BytesIO(body), len(body), warc_content_type=kind)
        writer.write_record(record)


HTML = {"Content-Type": "text/html; charset=utf-8"}
PACKED = {**HTML, "Content-Encoding": "gzip"}


def page(name: str, **options: Any) -> tuple[str, bytes, dict[str, str]]:
    return f"http://example.com/{name}", article(name, ["/elsewhere"], **options).encode(), HTML


def test_page_that_only_leads_elsewhere_is_none(tmp_path: Path) -> None:
    old = b'<html><head><meta http-equiv="refresh" content="0;url=/new"></head><body>Moved.</body></html>'
    write(tmp_path / "a.warc.gz", ("http://example.com/old", old, HTML), page("new"))
    outcome = crawl_site_here(tmp_path / "a.db", warc=tmp_path / "a.warc.gz")
    assert [item.url for item in outcome.items] == ["http://example.com/new"]
    assert outcome.count("crawler/skipped/moved") == 1


def test_pages_come_from_the_files_in_order_and_damage_costs_no_other_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replaying, "_MANY_OF_A_MEMBER", 2)
    folder = tmp_path / "files"
    folder.mkdir()
    latin = article("é", text="Café déjà vu. " * 60).encode("latin-1")
    other = article("è", text="Déjà là, au café. " * 60).encode("latin-1")
    hidden = page("hidden", head='<meta name="robots" content="noindex">')
    odd = [(url, article(url).encode(), HTML) for url in ("http://[bad/", "http://example.com:99999999/")]
    odd.append(("http://example.com/picture", b"\x89PNG", {"Content-Type": "image/png"}))
    odd.append(("http://example.com/broken", b"\0", {"Content-Type": "image/png", "Content-Encoding": "br"}))
    plain, packed = folder / "a.warc", folder / "b.warc.gz"
    of_latin = {"Content-Type": "text/html; charset=latin-1"}
    pages = (page("undated"), ("http://example.com/latin", latin, of_latin), hidden, *odd, page("refused"))
    write(plain, *pages, compressed=False)
    date, before_all = b"2020-02-03T04:05:06Z", b"0001-01-01T00:00:00+14:00"
    plain.write_bytes(plain.read_bytes().replace(date, before_all, 1))
    add_resource(plain, "http://example.com/resource", other, "text/html; charset=latin-1")
    add_resource(plain, "urn:uuid:1", article("urn").encode(), "text/html")
    write(packed, page("one"), page("two"), page("three"))
    content = bytearray(packed.read_bytes())
    second = content.find(b"\x1f\x8b\x08", 10)
    content[second + 200 : second + 210] = bytes(10)
    packed.write_bytes(content)
    write(folder / "c.warc.gz", ("http://example.com/packed", gzip.compress(article("packed").encode()), PACKED))
    write(tmp_path / "d.warc", page("four"), page("five"), page("six"), compressed=False)
    (folder / "d.warc.gz").write_bytes(gzip.compress((tmp_path / "d.warc").read_bytes()))
    middlewares = {**site.SPIDER_MIDDLEWARES, RefusingMiddleware: 1}
    settings = {"DOWNLOAD_MAXSIZE": 0, "SPIDER_MIDDLEWARES": middlewares}
    outcome = crawl_site_here(tmp_path / "a.db", settings, warc=folder)
    items = {item.url.removeprefix("http://example.com/"): item for item in outcome.items}
    assert list(items) == ["undated", "latin", "resource", "one", "three", "packed", "four", "five", "six"]
    assert ("Café déjà" in items["latin"].text, "Déjà là" in items["resource"].text) == (True, True)
    assert items["one"].fetched == datetime.fromisoformat("2020-02-03T04:05:06+00:00")
    counts = {name: outcome.count(f"crawler/skipped/{name}") for name in ("noindex", "damaged_record")}
    assert counts == {"noindex": 1, "damaged_record": 5}
    assert outcome.count("downloader/request_count") == 0
    assert any("recompress" in each for each in outcome.messages)


def test_hosts_and_patterns_choose(tmp_path: Path) -> None:
    write(
        tmp_path / "a.warc.gz",
        page("news/1"),
        page("shop/1"),
        ("http://example.org/news/2", article("o").encode(), HTML),
    )
    # What else is in a folder is no page.
    (tmp_path / "a.cdxj").touch()
    (tmp_path / "pages.jsonl").write_text("{}")
    outcome = crawl_site_here(tmp_path / "a.db", warc=tmp_path, follow="/news/", allowed_domains="example.com")
    assert [item.url for item in outcome.items] == ["http://example.com/news/1"]
    with pytest.raises(ExitedError) as refused:
        crawl_site_here(tmp_path / "b.db", NO_NETWORK, warc=tmp_path / "pages.jsonl")
    assert refused.value.status == 2


class RefusingMiddleware:
    def process_spider_input(self, response: Response) -> None:
        if response.url.endswith("/refused"):
            raise IgnoreRequest("none of ours")


def test_run_that_goes_on_finds_its_pages_though_a_file_was_added(tmp_path: Path) -> None:
    write(tmp_path / "b.warc.gz", *(page(f"{number}") for number in range(9)))
    database, settings = tmp_path / "a.db", {"DEDUP_RUN": "one"}
    first = crawl_site_here(database, settings, warc=tmp_path, max_pages=2)
    assert len(first.items) == 2
    write(tmp_path / "a.warc.gz", page("added"))
    done = crawl_site_here(database, settings, warc=tmp_path)
    assert done.count("crawler/skipped/damaged_record") == 0
    assert len({item.url for item in first.items + done.items}) == 10
    assert all(f"<title>{item.url.rpartition('/')[2]}<" in item.html.decode() for item in done.items)


def add_revisit(path: Path, url: str, digest: str, status: str, profile: str = "identical-payload-digest") -> None:
    with path.open("ab") as file:
        writer = WARCWriter(file)
        head = StatusAndHeaders(status, list(HTML.items()), protocol="HTTP/1.1")
        record = writer.create_revisit_record(url, digest, url, "2020-01-01T00:00:00Z", head)
        record.rec_headers.replace_header("WARC-Profile", f"http://netpreserve.org/warc/1.0/revisit/{profile}")
        writer.write_record(record)


def test_record_whose_content_is_elsewhere_is_told(tmp_path: Path) -> None:
    path = tmp_path / "b.warc.gz"
    write(path, page("one"))
    content = next(each for each in read_warc(path) if each.kind == "response")
    add_revisit(path, "http://example.com/same", content.headers["WARC-Payload-Digest"], "200 OK")
    add_revisit(path, "http://example.com/one", "sha1:AAAA", "304 Not Modified", "server-not-modified")
    add_revisit(path, "http://example.com/gone", "sha1:AAAA", "404 Not Found")
    alone = crawl_site_here(tmp_path / "a.db", warc=path)
    assert (alone.count("crawler/fetched"), alone.count("crawler/skipped/http_404")) == (3, 1)
    assert not any("without content" in each for each in alone.messages)
    add_revisit(path, "http://example.com/nearly", "sha1:AAAA", "200 OK", "near-duplicate")
    add_revisit(path, "http://example.com/", "sha1:AAAA", "200 OK")
    add_revisit(path, "http://example.com/two", "sha1:AAAA", "304 Not Modified", "server-not-modified")
    outcome = crawl_site_here(tmp_path / "b.db", warc=path)
    [line] = [each for each in outcome.messages if "without content" in each]
    assert line.startswith("2 records without content")
    assert "give the earlier archives, too" in line
    assert outcome.count("crawler/skipped/revisit") == 1


@pytest.mark.parametrize("names", [("first", "second", "third"), ("third", "second", "first")])
def test_records_that_refer_to_one_another_over_archives_are_followed(tmp_path: Path, names: tuple[str, ...]) -> None:
    first, second, third = (tmp_path / f"{name}.warc.gz" for name in ("first", "second", "third"))
    write(first, page("one"))
    digest = read_warc(first)[0].headers["WARC-Payload-Digest"]
    add_revisit(second, "http://example.com/same", digest, "200 OK")
    for path in (second, third):
        add_revisit(path, "http://example.com/same", "sha1:AAAA", "304 Not Modified", "server-not-modified")
    given = ",".join(str(tmp_path / f"{name}.warc.gz") for name in names)
    outcome = crawl_site_here(tmp_path / "a.db", warc=given)
    assert (outcome.count("crawler/fetched"), outcome.count("dedup/exact_duplicate")) == (2, 1)
    assert not any("without content" in each for each in outcome.messages)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"warc": "none.warc.gz"}, "none.warc.gz: cannot be read"),
        ({"warc": "s3://corpus/a.warc.gz"}, "warc s3://corpus/a.warc.gz: lies elsewhere"),
        ({"warc": "README.md"}, "README.md: not a known format by its name"),
        ({"warc": "a.warc.gz", "url": "http://127.0.0.1/"}, "url cannot be combined with warc"),
    ],
)
def test_what_is_no_archive_is_refused(tmp_path: Path, arguments: dict[str, str], told: str) -> None:
    with pytest.raises(ExitedError) as refused:
        crawl_site_here(tmp_path / "x.db", NO_NETWORK, **arguments)
    errors = [each.getMessage() for each in refused.value.outcome.log if each.levelname == "ERROR"]
    assert (refused.value.status, [error[: len(told)] for error in errors]) == (2, [told])


REPLAY = """
import hashlib, io, json, sys
from pywb.indexer.cdxindexer import write_cdx_index
from pywb.warcserver.index.cdxobject import CDXObject
from pywb.warcserver.resource.resolvingloader import ResolvingLoader

name = sys.argv[1]
index = io.BytesIO()
with open(name, "rb") as file:
    write_cdx_index(index, file, name, sort=True, cdxj=True)
captures = [CDXObject(line) for line in index.getvalue().splitlines()]

def of_url(query):
    # Of a revisit pywb asks for what its record refers to.
    found = [each for each in captures if each["url"] == query["url"] and each["mime"] != "warc/revisit"]
    return iter(found)

def load(cdx):
    _, payload = ResolvingLoader([lambda path, cdx: path]).load_headers_and_payload(cdx, [], of_url)
    return hashlib.sha256(payload.raw_stream.read()).hexdigest()

print(json.dumps({each["url"]: load(each) for each in captures}))
"""


@pytest.mark.slow
@pytest.mark.thorough
@needs_readers
@pytest.mark.skipif(sys.version_info >= (3, 13), reason="pywb needs cgi, which Python 3.13 has not")
def test_pywb_replays_every_capture_byte_for_byte(demo: Demo) -> None:
    path = demo.archive
    environment = {**os.environ, "PYTHONPATH": str(READERS)}
    done = run_in_process("-c", REPLAY, path, env=environment, cwd=ROOT.parent)
    assert done.returncode == 0, done.stderr
    replayed = json.loads(done.stdout)
    captures = of_kind(read_warc(path), "response")
    assert replayed == {url: hashlib.sha256(each.content).hexdigest() for url, each in captures.items()}


@pytest.mark.slow
@pytest.mark.thorough
@needs_readers
def test_index_and_wacz_are_made_as_the_documentation_says(demo: Demo, tmp_path: Path) -> None:
    path = demo.archive
    shutil.copy(path, tmp_path / "crawl.warc.gz")
    environment = {**os.environ, "PYTHONPATH": str(READERS)}
    shown = (words for block in all_blocks("sh") for words in commands_in(block.text) if words[0] in ARCHIVE_TOOLS)
    for program, *arguments in (*shown, ["wacz", "validate", "-f", "crawl.wacz"]):
        done = run_in_process(READERS / "bin" / program, *arguments, env=environment, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    lines = (tmp_path / "crawl.cdxj").read_text(encoding="utf-8").splitlines()
    indexed = {json.loads(line.split(" ", 2)[2])["url"] for line in lines}
    assert demo.first.pages.keys() == indexed == of_kind(read_warc(path), "response").keys()
    with zipfile.ZipFile(tmp_path / "crawl.wacz") as archive:
        assert archive.read("archive/crawl.warc.gz") == path.read_bytes()
