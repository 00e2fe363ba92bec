"""A feed that cannot be written: one line, status 1, the crawl ends in order and nothing else is lost."""

from __future__ import annotations

import os
import resource
import sqlite3
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest
from scrapy import Spider
from scrapy.extensions.feedexport import BlockingFeedStorage

from tests.crawling import ROOT, Crawl, crawl, crawl_command, crawl_site_here, environment
from tests.feeds import read_feed, urls_of
from tests.localsite import LocalSite, Reply, article
from tests.waiting import HANG

pytestmark = pytest.mark.slow

FULL = Path("/dev/full")
PAGES = 25
RUN = "monday"

needs_full = pytest.mark.skipif(not FULL.exists(), reason="a file that is always full is Linux's")


@pytest.fixture
def site() -> Iterator[LocalSite]:
    pages: dict[str, Any] = {"/": article("front", [f"/{number}" for number in range(PAGES)])}
    for number in range(PAGES):
        pages[f"/{number}"] = Reply(article(number, words=600).encode(), stall=0.05)
    with LocalSite(pages) as site:
        yield site


@dataclass(frozen=True)
class SmallDisk:
    folder: Path

    def resize(self, size: str) -> None:
        subprocess.run(["mount", "-o", f"remount,size={size}", self.folder], check=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", folder]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("mounting a file system needs root")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", folder], check=True)


def limited_to(kilobytes: int) -> Callable[[], None]:
    """What lets no file of a process grow further, as a full disk does."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes * 1000, kilobytes * 1000))

    return limit


def crawl_to(
    tmp_path: Path, site: LocalSite, outputs: Sequence[str], settings: dict[str, Any] | None = None, **options: Any
) -> Crawl:
    given = [part for output in outputs for part in ("-o", output)]
    return crawl(tmp_path / "crawl.db", {"DEDUP_RUN": RUN, **(settings or {})}, given, url=f"{site.url}/", **options)


def fails(result: Crawl, *words: str) -> None:
    """One line says it, the status is 1, and the database is whole."""
    assert result.status == 1
    [line] = result.errors
    assert all(word in line for word in words), line
    assert_whole(result)


def assert_whole(result: Crawl) -> None:
    with closing(sqlite3.connect(result.database_url.removeprefix("sqlite:///"))) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@needs_full
@pytest.mark.parametrize("kind", ["jsonl", "csv", "xml", "parquet"])
def test_full_disk_is_told_in_one_line(kind: str, tmp_path: Path, site: LocalSite) -> None:
    result = crawl_to(tmp_path, site, [f"{FULL}:{kind}"])
    fails(result, str(FULL), "No space left on device")
    assert not result.says("Stored", str(FULL))


@needs_full
def test_feed_that_is_full_stops_the_crawl_and_costs_no_other_feed_a_page(tmp_path: Path, site: LocalSite) -> None:
    whole = [tmp_path / "pages.parquet", tmp_path / "pages.json"]
    result = crawl_to(tmp_path, site, [str(whole[0]), f"{FULL}:jsonl", str(whole[1])], {"CONCURRENT_REQUESTS": 1})
    fails(result, str(FULL))
    assert result.summary["stopped"] == "feed failed"
    assert 1 < len(result.pages) < PAGES
    for feed in whole:
        assert urls_of(feed) == sorted(result.pages)


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_feed_on_a_full_disk_is_completed_once_there_is_room(
    kind: str, tmp_path: Path, site: LocalSite, small_disk: SmallDisk
) -> None:
    feed = small_disk.folder / f"pages.{kind}"
    small_disk.resize("32k")
    # Parquet's rows are on the disk only when the crawl ends, after its run has finished.
    settings = {"CLOSESPIDER_PAGECOUNT": PAGES - 5, "CONCURRENT_REQUESTS": 2}
    fails(crawl_to(tmp_path, site, [str(feed)], settings), str(feed), "No space left on device")
    small_disk.resize("20m")
    done = crawl_to(tmp_path, site, [str(feed)])
    assert (done.status, done.errors) == (0, [])
    assert urls_of(feed) == sorted(done.pages)
    assert len(done.pages) == PAGES + 1


def test_database_and_feed_on_a_full_disk_are_told_in_one_line(site: LocalSite, small_disk: SmallDisk) -> None:
    small_disk.resize("600k")
    feed = small_disk.folder / "pages.jsonl"
    fails(crawl_to(small_disk.folder, site, [str(feed)]), str(small_disk.folder), "full")
    small_disk.resize("20m")
    done = crawl_to(small_disk.folder, site, [str(feed)])
    assert (done.status, done.errors) == (0, [])
    assert urls_of(feed) == sorted(done.pages)
    assert len(done.pages) == PAGES + 1


def test_files_that_may_not_grow_are_told_in_one_line(tmp_path: Path, site: LocalSite) -> None:
    feed = tmp_path / "pages.jsonl"
    fails(crawl_to(tmp_path, site, [str(feed)], before=limited_to(150)))
    done = crawl_to(tmp_path, site, [str(feed)])
    assert (done.status, done.errors) == (0, [])
    assert urls_of(feed) == sorted(done.pages)


@needs_full
def test_standard_output_that_is_full_is_told_in_one_line(tmp_path: Path, site: LocalSite) -> None:
    with FULL.open("wb") as full:
        result = crawl_on(full, tmp_path, site)
    assert result.returncode == 1
    assert told_as_errors(result) == 1
    assert "No space left on device" in result.stderr
    assert "Exception ignored" not in result.stderr


def test_reader_of_standard_output_that_goes_away_is_told_in_one_line(tmp_path: Path, site: LocalSite) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as output:
        result = crawl_on(output, tmp_path, site)
    assert result.returncode == 1
    assert told_as_errors(result) == 1
    assert "Broken pipe" in result.stderr
    assert "Exception ignored" not in result.stderr
    assert "Traceback" not in result.stderr


def crawl_on(output: IO[bytes], tmp_path: Path, site: LocalSite) -> subprocess.CompletedProcess[str]:
    settings = {"DEDUP_DATABASE_URL": f"sqlite:///{tmp_path / 'crawl.db'}"}
    command = crawl_command({"url": f"{site.url}/"}, settings, ["-o", "-:jsonl"])
    return subprocess.run(
        command,
        stdout=output,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=environment(),
        check=False,
        timeout=HANG,
    )


def told_as_errors(result: subprocess.CompletedProcess[str]) -> int:
    return result.stderr.count(" ERROR: ")


# Whatever else goes wrong on the way to a feed


class BrokenStorage(BlockingFeedStorage):
    """What is stored in a thread, elsewhere, as on S3, and fails there."""

    def __init__(self, uri: str, *, feed_options: dict[str, Any] | None = None) -> None:
        self.uri = uri

    def _store_in_thread(self, file: IO[bytes]) -> None:
        file.seek(0)
        assert file.read(1)
        raise RuntimeError("the bucket\nis not there")


class ClosedStorage(BrokenStorage):
    """What cannot even be opened."""

    def open(self, spider: Spider) -> IO[bytes]:
        raise PermissionError(13, "Permission denied")


@pytest.mark.parametrize(
    ("scheme", "reason"), [("broken", "RuntimeError: the bucket is not there"), ("closed", "Permission denied")]
)
def test_storage_elsewhere_that_fails_is_told_in_one_line(
    scheme: str, reason: str, tmp_path: Path, site: LocalSite
) -> None:
    storages = {"broken": BrokenStorage, "closed": ClosedStorage}
    feeds = {f"{scheme}://bucket/pages.json": {"format": "json"}, str(tmp_path / "pages.json"): {"format": "json"}}
    outcome = crawl_here(tmp_path, site, {"FEEDS": feeds, "FEED_STORAGES": storages})
    assert errors(outcome) == [
        f"feed {scheme}://bucket/pages.json cannot be written: {reason}; the crawl stops, what is stored so far is kept"
    ]
    assert outcome.tracebacks == []
    assert outcome.count(f"feedexport/failed_count/{storages[scheme].__name__}") == 1
    assert outcome.count("feedexport/success_count/FileFeedStorage") == 1
    assert len(urls_of(tmp_path / "pages.json")) == outcome.count("dedup/new")


def crawl_here(tmp_path: Path, site: LocalSite, settings: dict[str, Any]) -> Any:
    return crawl_site_here(tmp_path / "crawl.db", settings, url=f"{site.url}/")


def errors(outcome: Any) -> list[str]:
    return [record.getMessage() for record in outcome.log if record.levelname == "ERROR"]


def test_field_that_a_format_cannot_hold_is_told_in_one_line(tmp_path: Path, site: LocalSite) -> None:
    feeds = {
        str(tmp_path / "bytes.jsonl"): {"format": "jsonl", "fields": ["url", "html"]},
        str(tmp_path / "pages.jsonl"): {"format": "jsonl"},
    }
    outcome = crawl_here(tmp_path, site, {"FEEDS": feeds})
    [line] = errors(outcome)
    assert "bytes.jsonl" in line
    assert "TypeError" in line
    assert outcome.tracebacks == []
    assert outcome.stats["finish_reason"] == "feed_failed"
    assert len(read_feed(tmp_path / "pages.jsonl")) == outcome.count("dedup/new")


def test_failure_while_the_last_rows_are_written_is_told_in_one_line(
    tmp_path: Path, site: LocalSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(self: object) -> None:
        raise ValueError("no row\ncan be written")

    monkeypatch.setattr("crawler.feeds.exporters.ParquetItemExporter.finish_exporting", break_down)
    feeds = {str(tmp_path / "pages.parquet"): {"format": "parquet"}}
    outcome = crawl_here(tmp_path, site, {"FEEDS": feeds})
    [line] = errors(outcome)
    assert "ValueError: no row can be written" in line
    assert outcome.tracebacks == []
