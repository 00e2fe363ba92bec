"""Feeds are whole, hold each page of the run once, spoil no file, and what fails is told in a line."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from scrapy import Request, Spider
from scrapy.extensions.feedexport import BlockingFeedStorage
from scrapy.http import Response

from settings import default
from tests.conftest import PostgresqlServer
from tests.crawling import (
    ROOT,
    Crawl,
    ExitedError,
    Outcome,
    crawl,
    crawl_command,
    crawl_here,
    crawl_site_here,
    environment,
    finish,
    scrapy,
    start,
)
from tests.feeds import READERS, read_feed, urls_of
from tests.localsite import LocalSite, Reply, article
from tests.waiting import HANG, wait_until

pytestmark = pytest.mark.slow

PAGES = 40
KINDS = tuple(sorted(READERS))
RUN = "monday"
PLUGIN = "scrapy.extensions.postprocessing.GzipPlugin"


@pytest.fixture
def site() -> Iterator[LocalSite]:
    """A chain of pages in tens; every tenth one is a copy of the one before."""
    pages: dict[str, Any] = {"/": article("front", [f"/{number}" for number in range(0, PAGES, 10)])}
    for number in range(PAGES):
        links = [f"/{number + step}" for step in range(1, 4) if (number + step) % 10]
        pages[f"/{number}"] = Reply(article(number - (number % 10 == 9), links).encode(), stall=0.02)
    with LocalSite(pages) as site:
        yield site


def clusters(site: LocalSite, urls: list[str]) -> list[str]:
    """The URLs, with that of the first copy for each."""
    first = {f"{site.url}/{number}": f"{site.url}/{number - 1}" for number in range(9, PAGES, 10)}
    return sorted(first.get(url, url) for url in urls)


def expected(site: LocalSite) -> list[str]:
    return sorted({f"{site.url}/"} | {f"{site.url}/{number}" for number in range(PAGES) if number % 10 != 9})


def url_of(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'crawl.db'}"


def files(tmp_path: Path) -> list[Path]:
    return [tmp_path / f"pages.{kind}" for kind in KINDS]


def outputs(tmp_path: Path, option: str = "-o") -> list[str]:
    return [part for path in files(tmp_path) for part in (option, str(path))]


def begin(tmp_path: Path, site: LocalSite, *options: str) -> Any:
    settings = {"DEDUP_DATABASE_URL": url_of(tmp_path), "DEDUP_RUN": RUN}
    return start(crawl_command({"url": f"{site.url}/"}, settings, options))


def stop(process: Any, site: LocalSite, asked: int, number: int) -> None:
    """Let a crawl wait for the site from some page on, and send it a signal then."""
    wait_until(lambda: len(site.asked) > asked)
    os.killpg(process.pid, number)
    site.answers = None


def assert_complete(tmp_path: Path, site: LocalSite, result: Crawl) -> None:
    assert clusters(site, sorted(result.pages)) == expected(site)
    order = [row["key"] for row in result.verdicts if row["key"] in result.pages]
    for path in files(tmp_path):
        rows = read_feed(path)
        assert [row["url"] for row in rows] == order, path
        assert {row["verdict"] for row in rows} == {"new"}, path
        assert all(row["text"] == result.pages[row["url"]]["text"] for row in rows), path
    assert list(tmp_path.glob("*.part")) == []


def test_interrupted_run_writes_what_it_has_and_whoever_goes_on_replaces_it(tmp_path: Path, site: LocalSite) -> None:
    site.answers = 20
    process = begin(tmp_path, site, *outputs(tmp_path))
    stop(process, site, 20, signal.SIGINT)
    first = finish(process, database_url=url_of(tmp_path))
    assert 0 < len(first.pages) < len(expected(site))
    for path in files(tmp_path):
        assert urls_of(path) == sorted(first.pages), path
    other = tmp_path / "others.jsonl"
    other.write_text("{}\n")
    assert crawl(tmp_path / "crawl.db", options=["-o", str(other)]).status == 2
    assert other.read_text() == "{}\n"
    result = crawl(tmp_path / "crawl.db")
    assert (result.status, result.errors) == (0, [])
    assert_complete(tmp_path, site, result)


def test_parts_of_a_run_write_one_feed(
    tmp_path: Path, site: LocalSite, postgresql_server: Callable[[], PostgresqlServer]
) -> None:
    url = postgresql_server().create_database()
    settings = {"DEDUP_DATABASE_URL": url, "DEDUP_RUN": RUN}
    parts = [{**settings, "CRAWLER_PART": f"{number}/3"} for number in (1, 2, 3)]
    commands = [crawl_command({"url": f"{site.url}/"}, each, outputs(tmp_path)) for each in parts]
    processes = list(map(start, commands))
    results = [finish(process, database_url=url) for process in processes]
    assert [(result.status, result.errors) for result in results] == [(0, [])] * 3
    assert_complete(tmp_path, site, results[0])
    # Who comes late has nothing to do, and spoils nothing.
    late = finish(start(commands[0]), database_url=url)
    assert late.status == 0
    assert_complete(tmp_path, site, late)


def crawl_some(tmp_path: Path, site: LocalSite, feeds: dict[str, Any], run: str = RUN, **options: Any) -> Outcome:
    settings = {"FEEDS": feeds, "DEDUP_RUN": run, **options.pop("settings", {})}
    return crawl_site_here(tmp_path / "crawl.db", settings, url=f"{site.url}/", **options)


def as_feed(path: Path, **options: Any) -> dict[str, Any]:
    return {str(path): {"format": path.suffix.removeprefix("."), **options}}


def test_unchanged_pages_are_in_the_feed_of_their_run_unless_they_are_dropped(tmp_path: Path, site: LocalSite) -> None:
    crawl_some(tmp_path, site, {}, run="sunday")
    feed = tmp_path / "pages.parquet"
    crawl_some(tmp_path, site, as_feed(feed), max_pages=10)
    crawl_some(tmp_path, site, {}, run="tuesday")
    crawl_some(tmp_path, site, as_feed(feed))
    rows = read_feed(feed)
    assert clusters(site, [row["url"] for row in rows]) == expected(site)
    assert {(row["verdict"], row["run"]) for row in rows} == {("unchanged", "sunday")}
    # A name that is used again is that of a run of its own.
    crawl_some(tmp_path, site, as_feed(feed, overwrite=True), max_pages=3)
    assert len(read_feed(feed)) == 3
    site.pages["/0"] = article("anew", ["/1", "/2", "/3"])
    few = tmp_path / "few.jsonl"
    crawl_some(tmp_path, site, as_feed(few), run="friday", settings={"DEDUP_DROP_UNCHANGED": True})
    assert urls_of(few) == [f"{site.url}/0"]


def test_crawl_without_the_stage_is_completed_too(tmp_path: Path, site: LocalSite) -> None:
    feed, settings = tmp_path / "pages.json", {"DEDUP_ENABLED": False}
    first = crawl_some(tmp_path, site, as_feed(feed), "", settings=settings, max_pages=7)
    assert len(urls_of(feed)) == 7
    crawl_some(tmp_path, site, as_feed(feed), first.stats["dedup/run"], settings=settings)
    assert urls_of(feed) == sorted(f"{site.url}{path}" for path in site.pages)
    copy = tmp_path / "copy.json"
    assert scrapy(tmp_path / "crawl.db", "export", "-o", str(copy), "-s", "DEDUP_ENABLED=False").status == 0
    assert copy.read_bytes() == feed.read_bytes()


def test_pages_that_are_gone_and_those_without_a_verdict_are_as_in_the_database(tmp_path: Path) -> None:
    pages: dict[str, Any] = {
        "/": article("front", ["/print", "/gone", "/large"]),
        "/print": article("story", head='<link rel="canonical" href="/story">'),
        "/story": article("story"),
        "/gone": article("gone", ["/story"]),
        "/large": "<p>" + "<b></b>" * 320_000,  # too many elements to be analysed
    }
    settings = {"CONCURRENT_REQUESTS": 1}
    with LocalSite(pages) as site:
        feed, left = tmp_path / "pages.json", tmp_path / "left.json"
        crawl_some(tmp_path, site, as_feed(feed), settings=settings)
        assert urls_of(feed) == [f"{site.url}{path}" for path in ("/", "/gone", "/large", "/print")]
        [row] = [row for row in read_feed(feed) if row["verdict"] is None]
        assert (row["url"], bool(row["problem"])) == (f"{site.url}/large", True)
        site.pages["/gone"] = Reply(status=404)
        crawl_some(tmp_path, site, {}, run="tuesday", recrawl="true", settings={**settings, "CRAWLER_GONE": "delete"})
        assert scrapy(tmp_path / "crawl.db", "export", RUN, "-o", str(left)).status == 0
        assert urls_of(left) == [f"{site.url}/", f"{site.url}/print"]


def test_batches_names_with_the_time_filters_and_bytes_are_scrapys(tmp_path: Path, site: LocalSite) -> None:
    feeds: dict[str, Any] = {
        f"{tmp_path}/%(batch_id)02d.jsonl": {"format": "jsonl", "batch_item_count": 5},
        f"{tmp_path}/%(name)s-%(batch_time)s.json": {"format": "json"},
        **as_feed(tmp_path / "bytes.pickle", fields=["url", "html", "body_digest"]),
        **as_feed(tmp_path / "none.json", item_classes=["builtins.dict"]),
        f"{tmp_path}/pages.csv.gz": {"format": "csv", "postprocessing": [PLUGIN]},
    }
    for most in (7, PAGES * 2):
        crawl_some(tmp_path, site, feeds, max_pages=most)
    batches = [urls_of(path) for path in sorted(tmp_path.glob("*.jsonl"))]
    assert {len(each) for each in batches[:-1]} == {5}
    all_urls = sorted(url for each in batches for url in each)
    assert clusters(site, all_urls) == expected(site)
    assert sorted(len(urls_of(path)) for path in tmp_path.glob("site-*.json")) == [7, len(all_urls)]
    rows = read_feed(tmp_path / "bytes.pickle")
    assert sorted(row["url"] for row in rows) == urls_of(tmp_path / "pages.csv.gz") == all_urls
    assert all(row["html"].startswith(b"<!DOCTYPE") and len(row["body_digest"]) == 16 for row in rows)
    assert read_feed(tmp_path / "none.json") == []


# The file that is there


def refused(tmp_path: Path, site: LocalSite, feeds: dict[str, Any], **options: Any) -> str:
    """The one line with which a feed is refused, before anything is fetched."""
    asked = len(site.asked)
    with pytest.raises(ExitedError) as ended:
        crawl_some(tmp_path, site, feeds, **options)
    assert (ended.value.status, len(site.asked)) == (2, asked)
    *_, line = errors(ended.value.outcome)
    return line


def errors(outcome: Outcome) -> list[str]:
    return [record.getMessage() for record in outcome.log if record.levelname == "ERROR"]


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_file_that_is_there_is_replaced_only_where_that_is_asked_for(
    kind: str, tmp_path: Path, site: LocalSite
) -> None:
    feed, link = tmp_path / f"pages.{kind}", tmp_path / f"link.{kind}"
    feed.touch(mode=0o640)
    link.symlink_to(feed)
    crawl_some(tmp_path, site, as_feed(link), max_pages=2)
    assert len(urls_of(feed)) == 2
    before = feed.read_bytes()
    for address in (str(feed), feed.as_uri(), str(link)):
        assert f"{feed}: the file is there already; -O replaces it" in refused(
            tmp_path, site, {address: {"format": kind}}, run="tuesday"
        )
    assert feed.read_bytes() == before
    crawl_some(tmp_path, site, as_feed(link, overwrite=True), run="tuesday", max_pages=3)
    assert (len(urls_of(feed)), feed.stat().st_mode & 0o777, link.is_symlink()) == (3, 0o640, True)


def test_what_can_only_fail_is_refused_before_the_crawl(tmp_path: Path, site: LocalSite) -> None:
    taken = tmp_path / "pages.jsonl"
    taken.touch()
    assert "is a folder" in refused(tmp_path, site, {str(tmp_path): {"format": "jsonl"}})
    # The last one says what can be written only when it is tried.
    for name in (f"{taken}/pages.jsonl", str(tmp_path / ("x" * 300)), str(tmp_path / ("x" * 250)), "/proc/pages.jsonl"):
        line = refused(tmp_path, site, {name: {"format": "jsonl"}})
        assert line.startswith(f"feed {name}: cannot be written (")
    assert "redirected of pages is not stored" in refused(tmp_path, site, as_feed(taken, fields=["url", "redirected"]))
    ftp = {"ftp://user@127.0.0.1/pages.csv": {"format": "csv", "overwrite": False}}
    assert "nothing is added" in refused(tmp_path, site, ftp)
    assert "FEEDS" in refused(tmp_path, site, as_feed(tmp_path / "pages.tsv"))


class Quotes(Spider):
    """Another spider of the project, with items of its own."""

    name = "quotes"

    async def start(self) -> AsyncIterator[Request]:
        # A crawl without a request ends after five seconds.
        yield Request("data:text/plain,1")

    def parse(self, response: Response) -> Iterator[dict[str, str]]:
        yield {"url": "http://127.0.0.1/1", "text": "Say what is so."}


def test_feeds_of_other_spiders_are_scrapys(tmp_path: Path) -> None:
    feed = tmp_path / "quotes.jsonl"
    settings = {name: value for name, value in vars(default).items() if name.isupper()}
    settings |= {"DEDUP_DATABASE_URL": url_of(tmp_path), "FEEDS": as_feed(feed)}
    for _ in range(2):
        crawl_here(Quotes, settings)
    assert len(urls_of(feed)) == 2


# What fails


FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="a file that is always full is Linux's")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=16k", "none", folder]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("mounting a file system needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def test_feed_on_a_full_disk_is_written_by_the_command_that_is_named(
    tmp_path: Path, site: LocalSite, small_disk: Path
) -> None:
    kinds = ("jsonl", "parquet", "csv")
    feeds, whole = [small_disk / f"pages.{kind}" for kind in kinds], tmp_path / "pages.jsonl"
    for feed in feeds:
        feed.write_bytes(b"old")
    options = [word for feed in (*feeds, whole) for word in ("-O", str(feed))]
    result = crawl(tmp_path / "crawl.db", {}, options, url=f"{site.url}/")
    assert (result.status, len(result.errors)) == (1, len(kinds))
    assert urls_of(whole) == sorted(result.pages)
    assert {path: path.read_bytes() for path in small_disk.iterdir()} == dict.fromkeys(feeds, b"old")
    commands = []
    for feed, line in zip(feeds, result.errors, strict=True):
        assert f"feed {feed} cannot be written: No space left on device; all pages are stored" in line
        words = shlex.split(line.partition("write it again: ")[2])
        assert words[1] == "export"
        commands.append(words[1:])
    failed = scrapy(tmp_path / "crawl.db", *commands[0])
    assert (failed.status, failed.stderr) == (1, f"error: feed {feeds[0]} cannot be written: No space left on device\n")
    subprocess.run(["mount", "-o", "remount,size=20m", small_disk], check=True)
    for feed, words in zip(feeds, commands, strict=True):
        done = scrapy(tmp_path / "crawl.db", *words)
        assert (done.status, done.stdout) == (0, "")
        assert re.fullmatch(rf"{len(result.pages)} pages of run \S+: {re.escape(str(feed))}\n", done.stderr)
        assert urls_of(feed) == sorted(result.pages)


@pytest.mark.thorough
@needs_full
@pytest.mark.parametrize("kind", ["jsonl", "csv", "xml", "parquet"])
def test_standard_output_and_devices_that_are_full_are_told_in_one_line(
    kind: str, tmp_path: Path, site: LocalSite
) -> None:
    for output, feed in ((FULL, f"-:{kind}"), (Path(os.devnull), f"{FULL}:{kind}")):
        with output.open("wb") as opened:
            assert_told(opened, tmp_path, site, feed, "No space left on device")


def test_reader_of_standard_output_that_goes_away_is_told_in_one_line(tmp_path: Path, site: LocalSite) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as output:
        assert_told(output, tmp_path, site, "-:jsonl", "Broken pipe")


def assert_told(output: IO[bytes], tmp_path: Path, site: LocalSite, feed: str, words: str) -> None:
    """Check that a crawl that writes a feed to an output tells in one line that this is not possible."""
    command = crawl_command({"url": f"{site.url}/"}, {"DEDUP_DATABASE_URL": url_of(tmp_path)}, ["-o", feed])
    pipes = {"stdout": output, "stderr": subprocess.PIPE}
    result = subprocess.run(command, **pipes, text=True, cwd=ROOT, env=environment(), check=False, timeout=HANG)
    assert (result.returncode, result.stderr.count(" ERROR: ")) == (1, 1), result.stderr
    assert words in result.stderr
    assert "Exception ignored" not in result.stderr
    assert "Traceback" not in result.stderr


class OtherPlace(BlockingFeedStorage):
    """What is stored in a thread, elsewhere, as on S3: in a file that the address names, or nowhere."""

    def __init__(self, uri: str, *, feed_options: dict[str, Any] | None = None) -> None:
        self.path = Path(uri.partition("://")[2])

    def _store_in_thread(self, file: IO[bytes]) -> None:
        file.seek(0)
        if not self.path.is_absolute():
            raise RuntimeError("the bucket\nis not there")
        self.path.write_bytes(file.read())


def test_every_other_failure_is_told_in_one_line_too(
    tmp_path: Path, site: LocalSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(self: object) -> None:
        raise ValueError("no row can be written")

    monkeypatch.setattr("crawler.feeds.formats.ParquetItemExporter.finish_exporting", break_down)
    feeds = {
        "broken://bucket/pages.json": {"format": "json"},
        **as_feed(tmp_path / "bytes.jsonl", fields=["url", "html"]),
        **as_feed(tmp_path / "pages.parquet"),
        **as_feed(tmp_path / "pages.json"),
    }
    outcome = crawl_some(tmp_path, site, feeds, settings={"FEED_STORAGES": {"broken": OtherPlace}})
    reasons = [line.partition("; all pages")[0] for line in errors(outcome)]
    assert reasons == [
        "feed broken://bucket/pages.json cannot be written: RuntimeError: the bucket is not there",
        f"feed {tmp_path}/bytes.jsonl cannot be written: TypeError: Object of type bytes is not JSON serializable",
        f"feed {tmp_path}/pages.parquet cannot be written: ValueError: no row can be written",
    ]
    assert (outcome.tracebacks, outcome.count("feedexport/failed_count/OtherPlace")) == ([], 1)
    assert len(urls_of(tmp_path / "pages.json")) == outcome.count("dedup/new")
    assert sorted(path.name for path in tmp_path.glob("*pages*")) == ["pages.json"]


# The command


def test_export_names_what_it_cannot_do(tmp_path: Path, site: LocalSite) -> None:
    assert "there is no database" in scrapy(tmp_path / "crawl.db", "export", "-o", "-:jsonl").stderr
    crawl_some(tmp_path, site, {}, max_pages=2)
    taken = tmp_path / "pages.jsonl"
    taken.write_text("{}\n")
    for words, status, line in (
        (["-o", str(taken)], 2, f"feed {taken}: the file is there already; -O replaces it, or name another file"),
        ([], 2, "name a file: scrapy export -o pages.jsonl"),
        (["tuesday", "-o", "-:csv"], 1, f"database {url_of(tmp_path)} holds no run 'tuesday': the last ones are '"),
    ):
        result = scrapy(tmp_path / "crawl.db", "export", *words)
        assert (result.status, result.stdout) == (status, "")
        assert result.stderr.startswith(f"error: {line}"), result.stderr
        assert result.stderr.count("\n") == 1


def test_export_to_standard_output_has_all_pages_of_the_last_run_and_nothing_else(
    tmp_path: Path, site: LocalSite
) -> None:
    crawl_some(tmp_path, site, {}, run="sunday", max_pages=9)
    crawl_some(tmp_path, site, {}, max_pages=2)
    result = scrapy(tmp_path / "crawl.db", "export", "-o", "-:jsonl")
    assert [json.loads(line)["verdict"] for line in result.stdout.splitlines()] == ["unchanged"] * 2
    assert result.stderr == f"2 pages of run {RUN}, which is not finished: stdout:\n"
    assert (
        scrapy(tmp_path / "crawl.db", "export", "sunday", "-o", "-:csv", "-s", "FEED_EXPORT_FIELDS=url").stdout.count(
            "\n"
        )
        == 10
    )


def test_export_knows_other_places_and_batches(tmp_path: Path, site: LocalSite) -> None:
    crawl_some(tmp_path, site, {}, max_pages=5)
    storages = json.dumps({"other": "tests.crawler.feeds.test_writing.OtherPlace"})
    words = ["-s", f"FEED_STORAGES={storages}", "-s", "FEED_EXPORT_BATCH_ITEM_COUNT=3"]
    result = scrapy(tmp_path / "crawl.db", "export", "-o", f"other://{tmp_path}/%(batch_id)d.csv", *words)
    assert (result.status, result.stderr.partition(" of run")[0]) == (0, "5 pages")
    assert [len(read_feed(tmp_path / f"{number}.csv")) for number in (1, 2)] == [3, 2]
    unknown = scrapy(tmp_path / "crawl.db", "export", "-o", "nowhere://pages.csv")
    assert (unknown.status, "Unknown feed storage scheme: nowhere" in unknown.stderr) == (2, True)
