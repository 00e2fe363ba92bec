"""`scrapy crawl site -o crawl.warc.gz`: what was fetched stands in the file, once, as it came over the wire."""

from __future__ import annotations

import gzip
import os
import resource
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest
from scrapy import Request
from scrapy.http import Response

from crawler.page import Exchange
from crawler.warc import file as warc_file
from crawler.warc.file import (
    IDENTICAL_PAYLOAD,
    NEAR_DUPLICATE,
    NOT_MODIFIED,
    ArchiveError,
    WarcFile,
    read_exchange,
)
from dedup.errors import SettingsError
from tests.commands import run_dedup
from tests.crawler.warc.archives import Record, of_kind, read_warc
from tests.crawling import ROOT, Crawl, crawl
from tests.localsite import Asked, LocalSite, Reply, article, gzipped, redirect
from tests.texts import document

STORY = article("story", words=300)
NEARLY = STORY.replace("<article>", "<article><p>By our own correspondent.</p>")
SHUFFLED = article("gzip", words=300)
OTHER = article("other", words=300)


def exchange(url: str = "https://example.com/", body: bytes = b"<html>", status: int = 200) -> Exchange:
    sent = [("Host", "example.com"), ("Accept", "*/*")]
    received = [("Content-Type", "text/html"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")]
    return Exchange(url, "GET", sent, status, received, body, "192.0.2.1", datetime(2026, 11, 24, 1, 2, 3, 4, UTC))


def opened(tmp_path: Path, *, overwrite: bool = False) -> closing[WarcFile]:
    return closing(WarcFile(tmp_path / "a.warc.gz", overwrite=overwrite, made_by=[("software", "x")]))


class Recorded(NamedTuple):
    crawl: Crawl
    records: list[Record]
    site: LocalSite
    path: Path


def serve() -> LocalSite:
    links = ["/story", "/print", "/same", "/packed", "/moved", "/gone", "/hidden", "/chunked", "/story?session=1"]
    return LocalSite(
        {
            "/": article("front", links, words=200),
            "/robots.txt": Reply(b"User-agent: *\nDisallow: /never", headers={"Content-Type": "text/plain"}),
            "/story": STORY,
            "/story?session=1": STORY,
            "/print": NEARLY,
            "/same": OTHER,
            "/packed": gzipped(SHUFFLED.encode()),
            "/chunked": Reply(OTHER.encode(), chunked=True, headers={"Content-Type": "text/html", "ETag": '"1"'}),
            "/moved": redirect("/story", 301),
            "/hidden": article("hidden", head='<meta name="robots" content="noindex">'),
        }
    )


def record(tmp_path: Path, **settings: object) -> Recorded:
    path = tmp_path / "crawl.warc.gz"
    with serve() as site:
        done = crawl(tmp_path / "crawl.db", settings, ("-o", str(path)), url=f"{site.url}/")
    assert done.status == 0
    return Recorded(done, read_warc(path), site, path)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return record(tmp_path_factory.mktemp("warc"))


def test_each_page_is_written_once_as_it_came(recorded: Recorded) -> None:
    url, found = recorded.site.url, of_kind(recorded.records, "response", "revisit")
    assert {each.removeprefix(url) for each in found} == {*recorded.site.pages, "/gone"} - {"/hidden"}
    packed = found[f"{url}/packed"]
    assert ("Content-Encoding", "gzip") in packed.http
    assert gzip.decompress(packed.content) == SHUFFLED.encode()
    assert [found[url + path].status for path in ("/moved", "/gone")] == ["301", "404"]
    # No chunks are there any more, and no header says so.
    assert all(name != "Transfer-Encoding" for each in found.values() for name, _ in each.http)
    revisits = [each for each in found.values() if each.kind == "revisit"]
    assert len(revisits) == 2, "the same bytes are written once"
    for each in revisits:
        assert (each.profile, each.content) == (IDENTICAL_PAYLOAD, b"")
        original = found[each.headers["WARC-Refers-To-Target-URI"]]
        assert each.headers["WARC-Payload-Digest"] == original.headers["WARC-Payload-Digest"]
        assert each.headers["WARC-Refers-To-Date"] == original.headers["WARC-Date"]


def test_requests_and_what_is_known_of_a_page_stand_beside_it(recorded: Recorded) -> None:
    url = recorded.site.url
    notes = {each: record.content.decode() for each, record in of_kind(recorded.records, "metadata").items()}
    assert f"via: {url}/\r\n" in notes[f"{url}/print"]
    for row in recorded.crawl.verdicts:
        assert f"dedup-verdict: {row['verdict']}\r\n" in notes[row["key"]]
        assert not row["original"] or f"dedup-original: {row['original']}\r\n" in notes[row["key"]]
    assert {row["verdict"] for row in recorded.crawl.verdicts} == {"new", "exact duplicate", "near duplicate"}
    answers, requests = of_kind(recorded.records, "response", "revisit"), of_kind(recorded.records, "request")
    assert requests.keys() == answers.keys()
    for each, request in requests.items():
        assert request.headers["WARC-Concurrent-To"] == answers[each].headers["WARC-Record-ID"]
        assert ("Host", f"127.0.0.1:{recorded.site.port}") in request.http
    assert answers[f"{url}/"].headers["WARC-IP-Address"] == "127.0.0.1"


def test_files_are_deduplicated_as_the_crawl_was(recorded: Recorded, tmp_path: Path) -> None:
    done = run_dedup("files", recorded.path, "-o", tmp_path / "out", folder=ROOT)
    assert done.returncode == 0, done.stderr
    kept = (tmp_path / "out" / "kept.jsonl").read_text(encoding="utf-8")
    assert kept.count("\n") == len(recorded.crawl.pages)


@pytest.mark.slow
def test_copies_may_be_headers_or_nothing(tmp_path: Path) -> None:
    for choice in ("revisit", "omit"):
        folder = tmp_path / choice
        folder.mkdir()
        written = record(folder, CRAWLER_WARC_DUPLICATES=choice)
        found = of_kind(written.records, "response", "revisit")
        near = [row["key"] for row in written.crawl.verdicts if row["verdict"] == "near duplicate"]
        assert near
        for url in near:
            if choice == "omit":
                assert url not in found
            else:
                assert found[url].profile == NEAR_DUPLICATE
                assert found[found[url].headers["WARC-Refers-To-Target-URI"]].kind == "response"
    options = ("-o", str(tmp_path / "x.warc.gz"))
    wrong = crawl(tmp_path / "x.db", {"CRAWLER_WARC_DUPLICATES": "some"}, options, url="http://127.0.0.1:9/")
    told = "CRAWLER_WARC_DUPLICATES = 'some': expected one of keep, revisit, omit"
    assert (wrong.status, wrong.errors) == (2, [told])


@pytest.mark.slow
def test_feed_as_a_start_is_recorded_and_truncated_bodies_are_marked(tmp_path: Path) -> None:
    path = tmp_path / "crawl.warc.gz"
    film = Reply(bytes(200_000), 404, headers={"Content-Type": "video/mp4"})
    with LocalSite({"/": article("front", ["/film", "/gone"]), "/film": film}) as site:
        feed = f"<rss><channel><item><link>{site.url}/</link></item></channel></rss>"
        site.pages["/feed"] = Reply(feed.encode(), headers={"Content-Type": "application/rss+xml"})
        assert crawl(tmp_path / "crawl.db", None, ("-o", str(path)), url=f"{site.url}/feed").status == 0
    found = of_kind(read_warc(path), "response", "revisit")
    assert found.keys() >= {f"{site.url}/", f"{site.url}/feed"}
    assert found[f"{site.url}/film"].headers["WARC-Truncated"] == "unspecified"
    assert "WARC-Truncated" not in found[f"{site.url}/gone"].headers


@pytest.mark.slow
def test_what_has_not_changed_refers_to_the_last_visit(tmp_path: Path) -> None:
    tag = {"Content-Type": "text/html", "ETag": '"7"'}
    links = ["/story", "/print"]

    def front(asked: Asked) -> Reply:
        is_known = asked.headers.get("If-None-Match") == '"7"'
        return Reply(b"", 304, tag) if is_known else Reply(article("front", links, words=200).encode(), headers=tag)

    written = []
    with LocalSite({"/": front, "/story": STORY, "/print": NEARLY}) as site:
        for recrawl in (False, True):
            path = tmp_path / f"{recrawl}.warc.gz"
            crawl(tmp_path / "crawl.db", {}, ("-o", str(path)), url=f"{site.url}/", recrawl=recrawl)
            written.append(of_kind(read_warc(path), "response", "revisit"))
    first, second = (each[f"{site.url}/"] for each in written)
    assert (first.kind, second.kind, second.status) == ("response", "revisit", "304")
    assert second.profile == NOT_MODIFIED
    assert second.headers["WARC-Refers-To-Date"] == first.headers["WARC-Date"]


@pytest.mark.slow
def test_disk_that_is_full_ends_the_crawl_in_order_and_nothing_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "crawl.warc.gz"
    noise = {f"/{number}": article(number, foot=f"<!-- {os.urandom(20_000).hex()} -->") for number in range(12)}
    # More than the database will have.
    with closing(WarcFile(path, overwrite=False, made_by=[])) as large:
        large.write(exchange(body=os.urandom(8_000_000)), None)
    size = path.stat().st_size + 100_000

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    with LocalSite({"/": article("front", noise), **noise}) as site:
        full = crawl(tmp_path / "crawl.db", None, ("-o", str(path)), url=f"{site.url}/", before=bound)
        assert full.status == 1
        assert full.errors == [
            f"{path}: cannot be written (File too large); the crawl stops, what is stored so far is kept"
        ]
        written = {each.url for each in read_warc(path)}
        assert full.pages.keys() <= written
        assert len(full.pages) < len(noise)
        done = crawl(full.database_url)
    assert done.status == 0
    assert len(done.pages) == len(noise) + 1
    assert done.pages.keys() <= {each.url for each in read_warc(path)}


def test_what_is_secret_is_not_written() -> None:
    request = Request(
        "https://user:pass@example.com/",
        headers={"Authorization": "Bearer x", "Cookie": "a=1", "Proxy-Authorization": "y", "Accept": "*/*"},
    )
    sent = read_exchange(request, Response(request.url, headers={"Set-Cookie": ["a=1", "b=2"]}))
    assert sent.sent == [("Host", "example.com"), ("Accept", "*/*")]
    assert sent.received == [("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")]


@pytest.mark.parametrize(
    "value", ["/caf\u00e9", "inline; filename=\u00e9.html", "/caf\u00e9".encode().decode("latin-1")]
)
def test_headers_are_written_as_they_came(tmp_path: Path, value: str) -> None:
    odd = [("Content-Type", "text/html"), ("X-Odd", value)]
    with opened(tmp_path) as file:
        file.write(replace(exchange(), received=odd, sent=odd), None)
    content = gzip.decompress(file.path.read_bytes())
    assert content.count(b"X-Odd: " + value.encode("latin-1") + b"\r\n") == 2
    assert [each.kind for each in read_warc(file.path)] == ["warcinfo", "response", "request"]


def test_file_knows_what_it_holds_when_it_is_opened_again(tmp_path: Path) -> None:
    for _ in range(2):
        with opened(tmp_path) as file:
            file.write(exchange(), file.find_same(exchange()))
    kinds = [each.kind for each in read_warc(file.path)]
    assert kinds == ["warcinfo", "response", "request", "warcinfo", "revisit", "request"]


def test_contents_that_are_remembered_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warc_file, "MOST_PAYLOADS", 2)
    with opened(tmp_path) as file:
        for number in range(3):
            file.write(exchange(body=b"%d" % number), None)
        known = [file.find_same(exchange(body=b"%d" % number)) is not None for number in range(3)]
    assert known == [False, True, True]


@pytest.mark.parametrize("cut", [1, 100, 250])
def test_torn_end_is_cut_off(tmp_path: Path, cut: int) -> None:
    sizes = []
    for name in "ab":
        with opened(tmp_path) as file:
            file.write(exchange(body=document(500, name).encode()), None)
        sizes.append(file.path.stat().st_size)
    os.truncate(file.path, sizes[0] + cut)
    with opened(tmp_path):
        pass
    kinds = [each.kind for each in read_warc(file.path)]
    assert (kinds[:3], kinds[-1]) == (["warcinfo", "response", "request"], "warcinfo")


def test_what_cannot_be_written_leaves_whole_records(tmp_path: Path) -> None:
    with opened(tmp_path) as file:
        file.write(exchange(), None)
        before = file.path.read_bytes()
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 500, limits[1]))
        try:
            with pytest.raises(ArchiveError, match="cannot be written"):
                file.write(exchange(body=os.urandom(5000)), None)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert file.path.read_bytes() == before
        file.write(exchange("https://example.com/2", b"2"), None)
    assert len(read_warc(file.path)) == 5


def test_file_of_others_is_left_alone(tmp_path: Path) -> None:
    with opened(tmp_path) as file, pytest.raises(SettingsError, match="another process writes it"):
        opened(tmp_path, overwrite=True)
    for content in (b"text", gzip.compress(b"text"), b"WARC/1.0\r\n\r\n"):
        file.path.write_bytes(content)
        with pytest.raises(SettingsError, match="gzip"):
            opened(tmp_path)
        assert file.path.read_bytes() == content
    with opened(tmp_path, overwrite=True):
        assert [each.kind for each in read_warc(file.path)] == ["warcinfo"]


@pytest.mark.parametrize(
    ("feeds", "told"),
    [
        (["a.warc"], "feed a.warc: of what is compressed, web archives alone are written: name it like x.warc.gz"),
        (
            ["pages.jsonl.gz"],
            "feed pages.jsonl.gz: of what is compressed, web archives alone are written: name it like",
        ),
        (["s3://bucket/a.warc.gz"], "feed s3://bucket/a.warc.gz: a WARC file is written on this machine; name a path"),
        (["a.warc.gz", "b.warc.gz"], "feeds a.warc.gz, b.warc.gz: name one WARC file"),
        (["/dev/null/a.warc.gz"], "/dev/null/a.warc.gz: cannot be written (Not a directory); name another file"),
    ],
)
@pytest.mark.slow
def test_feed_that_is_none_is_refused(tmp_path: Path, feeds: list[str], told: str) -> None:
    options = [word for feed in feeds for word in ("-o", feed)]
    done = crawl(tmp_path / "x.db", None, options, url="http://127.0.0.1:9/")
    assert done.status == 2
    assert [error[: len(told)] for error in done.errors] == [told]
