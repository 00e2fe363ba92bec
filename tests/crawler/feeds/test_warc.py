"""`-o crawl.warc.gz`: each page that was kept stands in the archive, and the archive gives the same pages back."""

from __future__ import annotations

import gzip
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from scrapy.http import HtmlResponse

from crawler.feeds.warc import WarcItemExporter
from crawler.page import Page
from crawler.pages.reading import head_of
from dedup.readers.responses import ONLY_BEGINNING
from tests.commands import run_dedup, run_in_process
from tests.crawler.feeds.test_feeds import NOW
from tests.crawler.warc.archives import Record, of_kind, read_warc
from tests.crawling import NO_NETWORK, ROOT, Crawl, ExitedError, crawl, crawl_site_here, pages_in, scrapy
from tests.localsite import Asked, LocalSite, Reply, article, gzipped, redirect

pytestmark = pytest.mark.slow

STORY = article("story", words=300)
NEARLY = STORY.replace("<article>", "<article><p>By our own correspondent.</p>")
# Of copies the first is kept: these are found later.
PACKED = article("packed", ["/print", "/story?session=1"], words=300)
KEPT = ("/", "/story", "/packed", "/chunked")


class Written(NamedTuple):
    crawl: Crawl
    site: LocalSite
    path: Path


def serve() -> LocalSite:
    links = ["/story", "/packed", "/moved", "/gone", "/hidden", "/chunked"]
    html = {"Content-Type": "text/html", "ETag": '"1"', "X-Odd": "caf\u00e9"}
    return LocalSite(
        {
            "/": article("front", links, words=200),
            "/story": STORY,
            "/story?session=1": STORY,
            "/print": NEARLY,
            "/packed": gzipped(PACKED.encode()),
            "/chunked": Reply(article("other", words=300).encode(), chunked=True, headers=html),
            "/moved": redirect("/story", 301),
            "/hidden": article("hidden", head='<meta name="robots" content="noindex">'),
        }
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    folder = tmp_path_factory.mktemp("warc")
    path = folder / "crawl.warc.gz"
    with serve() as site:
        done = crawl(folder / "crawl.db", None, ("-o", str(path)), url=f"{site.url}/")
    assert (done.status, done.errors) == (0, [])
    return Written(done, site, path)


def test_what_is_kept_stands_there_with_its_headers_and_nothing_else_does(written: Written) -> None:
    url, records = written.site.url, read_warc(written.path)
    found = of_kind(records, "response")
    assert found.keys() == written.crawl.pages.keys() == {url + path for path in KEPT}
    assert {each.kind for each in records} == {"warcinfo", "response", "metadata"}
    packed, chunked = found[f"{url}/packed"], found[f"{url}/chunked"]
    assert packed.content == PACKED.encode()
    assert ("Content-Length", str(len(packed.content))) in packed.http
    assert {name for name, _ in packed.http} >= {"X-Crawler-Content-Length", "Content-Type"}
    assert ("X-Odd", "caf\u00e9") in [(name.title(), value) for name, value in chunked.http]
    assert not {name for name, _ in chunked.http} & {"Transfer-Encoding", "Content-Encoding"}
    notes = {each: record.content.decode() for each, record in of_kind(records, "metadata").items()}
    assert notes[f"{url}/story"] == f"via: {url}/\r\nhopsFromSeed: 1\r\ndedup-verdict: new\r\n"
    checked = run_in_process("-m", "warcio.cli", "check", "-v", written.path)
    assert (checked.returncode, "digest pass" in checked.stdout) == (0, True), checked.stdout


def test_the_archive_gives_the_same_pages_back(written: Written, tmp_path: Path) -> None:
    archive = crawl_site_here(tmp_path / "b.db", warc=written.path)
    assert {item.url: item.text for item in archive.items} == {
        url: page["text"] for url, page in written.crawl.pages.items()
    }
    done = run_dedup("files", written.path, "-o", tmp_path / "out", folder=ROOT)
    assert done.returncode == 0, done.stderr
    kept = (tmp_path / "out" / "kept.jsonl").read_text(encoding="utf-8")
    assert kept.count("\n") == len(written.crawl.pages)


def test_archives_are_written_of_archives_and_by_export_as_well(written: Written, tmp_path: Path) -> None:
    path, later = tmp_path / "again.warc.gz", tmp_path / "later.warc.gz"
    feeds = {"FEEDS": {str(path): {"format": "gz"}}}
    crawl_site_here(tmp_path / "b.db", feeds, warc=written.path)
    before, again = (of_kind(read_warc(each), "response") for each in (written.path, path))
    for url, record in before.items():
        assert (again[url].content, again[url].headers["WARC-Date"]) == (record.content, record.headers["WARC-Date"])
    assert scrapy(tmp_path / "b.db", "export", "-o", str(later)).status == 0
    assert [each.content for each in read_warc(later)] == [each.content for each in read_warc(path)]


def test_what_has_not_changed_refers_to_the_archive_that_has_it(tmp_path: Path) -> None:
    tag, version = {"Content-Type": "text/html", "ETag": '"7"'}, ["one"]

    def front(asked: Asked) -> Reply:
        is_known = asked.headers.get("If-None-Match") == '"7"'
        links = ["/story", "/counted", "/edited"]
        return Reply(b"", 304, tag) if is_known else Reply(article("front", links, words=200).encode(), headers=tag)

    def counted(asked: Asked) -> str:
        return article("counted", foot=f"<!-- {version[0]} -->")

    def edited(asked: Asked) -> str:
        return article(version[0], words=300)

    paths = [tmp_path / f"{name}.warc.gz" for name in ("first", "second", "first-again")]
    with LocalSite({"/": front, "/story": STORY, "/counted": counted, "/edited": edited}) as site:
        for path, name in zip(paths, ("one", "two"), strict=False):
            version[0] = name
            options = ("-o", str(path))
            crawl(tmp_path / "crawl.db", {"DEDUP_RUN": name}, options, url=f"{site.url}/", recrawl="true")
    assert scrapy(tmp_path / "crawl.db", "export", "one", "-o", str(paths[2])).status == 0
    first, second, again = (of_kind(read_warc(path), "response", "revisit") for path in paths)

    def kinds(records: dict[str, Record]) -> dict[str, str]:
        return {url.removeprefix(site.url): record.kind for url, record in records.items()}

    assert set(kinds(first).values()) == {"response"}
    assert kinds(second) == {"/": "revisit", "/story": "revisit", "/counted": "response", "/edited": "response"}
    for path in ("/", "/story"):
        new, old = second[site.url + path], first[site.url + path]
        assert new.headers["WARC-Refers-To-Date"] == old.headers["WARC-Date"] < new.headers["WARC-Date"]
        assert new.headers["WARC-Payload-Digest"] == old.headers["WARC-Payload-Digest"]
    assert kinds(again) == dict.fromkeys(kinds(first), "response")
    both = crawl_site_here(tmp_path / "b.db", warc=f"{paths[1]},{paths[0]}")
    stored = {page["url"]: page["text"] for page in pages_in(f"sqlite:///{tmp_path / 'crawl.db'}")}
    assert {item.url: item.text for item in both.items} == stored


def page(**fields: Any) -> Page:
    values = {"url": "http://127.0.0.1/1", "html": b"<p>", "fetched": NOW, "head": b"HTTP/1.1 200 OK\r\nA: 1", **fields}
    return Page(**values)


def export(tmp_path: Path, *pages: Page) -> list[Record]:
    stream = BytesIO()
    exporter = WarcItemExporter(stream, {"software": "x"})
    exporter.start_exporting()
    for each in pages:
        exporter.export_item(each)
    exporter.finish_exporting()
    (tmp_path / "a.warc.gz").write_bytes(stream.getvalue())
    return [each for each in read_warc(tmp_path / "a.warc.gz") if each.kind == "response"]


@pytest.mark.parametrize(
    "value", ["/caf\u00e9", "inline; filename=\u00e9.html", "/caf\u00e9".encode().decode("latin-1"), "two\r\nlines: 1"]
)
def test_headers_are_written_as_they_came(tmp_path: Path, value: str) -> None:
    headers = {"Content-Type": "text/html", "X-Odd": value.encode("latin-1"), "Set-Cookie": ["a=1", "b=2"]}
    response = HtmlResponse("http://127.0.0.1/1", 203, headers, b"<p>")
    [record] = export(tmp_path, page(head=head_of(response)))
    assert record.status == "203"
    written = gzip.decompress((tmp_path / "a.warc.gz").read_bytes())
    assert b"X-Odd: " + " ".join(value.splitlines()).encode("latin-1") + b"\r\n" in written
    assert [value for name, value in record.http if name == "Set-Cookie"] == ["a=1", "b=2"]


def test_content_that_was_cut_off_is_marked(tmp_path: Path) -> None:
    cut, whole = export(tmp_path, page(problem=f"{ONLY_BEGINNING}; and more"), page(head=None))
    assert cut.headers["WARC-Truncated"] == "unspecified"
    assert "WARC-Truncated" not in whole.headers


@pytest.mark.parametrize(
    ("feed", "told"),
    [
        ("a.warc", "feed a.warc: of what is compressed, web archives alone are written: name it like x.warc.gz"),
        ("pages.jsonl.gz", "feed pages.jsonl.gz: of what is compressed, web archives alone are written: name it like"),
        ("/dev/null/a.warc.gz", "feed /dev/null/a.warc.gz: cannot be written (Not a directory), name another file"),
    ],
)
def test_feed_that_is_none_is_refused(tmp_path: Path, feed: str, told: str) -> None:
    feeds = {"FEEDS": {feed: {"format": feed.rpartition(".")[2]}}}
    with pytest.raises(ExitedError) as refused:
        crawl_site_here(tmp_path / "x.db", feeds, url="http://127.0.0.1:9/")
    errors = [each.getMessage() for each in refused.value.outcome.log if each.levelname == "ERROR"]
    assert (refused.value.status, [error[: len(told)] for error in errors]) == (2, [told])


def test_file_that_is_read_is_not_written(written: Written, tmp_path: Path) -> None:
    before = written.path.read_bytes()
    feeds = {"FEEDS": {str(written.path): {"format": "gz", "overwrite": True}}}
    with pytest.raises(ExitedError) as refused:
        crawl_site_here(tmp_path / "a.db", {**NO_NETWORK, **feeds}, warc=written.path)
    told = f"feed {written.path}: the pages come from it, name another file"
    assert (refused.value.status, told in refused.value.outcome.messages) == (2, True)
    assert written.path.read_bytes() == before
