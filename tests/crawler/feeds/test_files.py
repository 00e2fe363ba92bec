"""A feed and the file that is there already: it is valid afterwards, or refused before anything is fetched."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.http import Response

from settings import default
from tests.crawling import Crawl, ExitedError, Outcome, ask, crawl, crawl_site_here
from tests.crawling import crawl_here as crawl_here_by
from tests.feeds import ADDED_TO, READERS, read_feed, urls_of
from tests.localsite import LocalSite, article

pytestmark = pytest.mark.slow

PLUGINS = {
    "gz": "scrapy.extensions.postprocessing.GzipPlugin",
    "bz2": "scrapy.extensions.postprocessing.Bz2Plugin",
    "xz": "scrapy.extensions.postprocessing.LZMAPlugin",
}


@pytest.fixture
def site() -> Iterator[LocalSite]:
    with LocalSite({"/": article("front", ["/a"]), "/a": article("a")}) as site:
        yield site


def kept(site: LocalSite) -> list[str]:
    return [f"{site.url}/", f"{site.url}/a"]


def crawl_here(
    tmp_path: Path, site: LocalSite, feed: Path | str, *, settings: dict[str, Any] | None = None, **options: Any
) -> Outcome:
    options.setdefault("format", str(feed).rpartition(".")[2])
    given = {"FEEDS": {str(feed): options}, **(settings or {})}
    return crawl_site_here(tmp_path / "crawl.db", given, url=f"{site.url}/")


def refused(tmp_path: Path, site: LocalSite, feed: Path | str, **options: Any) -> str:
    """The one line with which a feed is refused, before anything is fetched."""
    before, asked = Path(feed).read_bytes(), len(site.asked)
    with pytest.raises(ExitedError) as ended:
        crawl_here(tmp_path, site, feed, **options)
    assert ended.value.status == 2
    assert len(site.asked) == asked
    assert Path(feed).read_bytes() == before
    [line] = [record.getMessage() for record in ended.value.outcome.log if record.levelname == "ERROR"]
    assert str(feed) in line
    return line


def test_second_crawl_into_a_parquet_file_is_refused_in_one_line_with_status_2(tmp_path: Path, site: LocalSite) -> None:
    feed = tmp_path / "pages.parquet"
    options = ["-o", str(feed)]
    assert crawl(tmp_path / "crawl.db", options=options, url=f"{site.url}/").status == 0
    asked = len(site.asked)
    second: Crawl = crawl(tmp_path / "crawl.db", options=options, url=f"{site.url}/")
    assert second.status == 2
    assert len(site.asked) == asked
    [line] = second.errors
    assert str(feed) in line
    assert "-O" in line
    assert urls_of(feed) == kept(site)
    assert [row["name"] for row in second.rows("SELECT name FROM dedup_runs")] == [
        row["name"] for row in second.rows("SELECT DISTINCT run AS name FROM pages")
    ]


@pytest.mark.parametrize("kind", sorted(READERS))
def test_second_crawl_adds_to_the_file_or_is_refused(kind: str, tmp_path: Path, site: LocalSite) -> None:
    feed = tmp_path / f"pages.{kind}"
    crawl_here(tmp_path, site, feed)
    if kind in ADDED_TO:
        crawl_here(tmp_path, site, feed)
        assert urls_of(feed) == sorted(kept(site) * 2)
    else:
        assert "-O" in refused(tmp_path, site, feed)


@pytest.mark.parametrize("kind", sorted(READERS))
def test_overwriting_makes_the_file_anew(kind: str, tmp_path: Path, site: LocalSite) -> None:
    feed = tmp_path / f"pages.{kind}"
    for _ in range(2):
        crawl_here(tmp_path, site, feed, overwrite=True)
    assert urls_of(feed) == kept(site)


@pytest.mark.parametrize("packed", sorted(PLUGINS))
@pytest.mark.parametrize("kind", ["jsonl", "csv", "json", "parquet"])
def test_compressed_feeds_are_added_to_or_refused(kind: str, packed: str, tmp_path: Path, site: LocalSite) -> None:
    feed = tmp_path / f"pages.{kind}.{packed}"
    options = {"format": kind, "postprocessing": [PLUGINS[packed]], "lzma_format": 1}
    crawl_here(tmp_path, site, feed, **options)
    assert urls_of(feed) == kept(site)
    if kind == "jsonl":
        crawl_here(tmp_path, site, feed, **options)
        assert urls_of(feed) == sorted(kept(site) * 2)
    else:
        refused(tmp_path, site, feed, **options)


def test_compression_of_which_nothing_is_known_is_not_added_to(tmp_path: Path, site: LocalSite) -> None:
    feed = tmp_path / "pages.jsonl"
    feed.write_text("{}\n")
    refused(tmp_path, site, feed, postprocessing=["tests.crawler.feeds.test_files.Reversed"])


class Reversed:
    """A plugin."""


@pytest.mark.parametrize("kind", sorted(READERS))
def test_empty_file_is_no_obstacle(kind: str, tmp_path: Path, site: LocalSite) -> None:
    feed = tmp_path / f"pages.{kind}"
    feed.touch()
    crawl_here(tmp_path, site, feed)
    assert urls_of(feed) == kept(site)


def test_csv_with_other_columns_is_not_added_to(tmp_path: Path, site: LocalSite) -> None:
    feed = tmp_path / "pages.csv"
    crawl_here(tmp_path, site, feed, fields=["url", "title"])
    assert "columns" in refused(tmp_path, site, feed, fields=["title", "url"])
    assert "columns" in refused(tmp_path, site, feed, fields={"url": "address"})
    assert "columns" in refused(tmp_path, site, feed, fields=None)
    crawl_here(tmp_path, site, feed, fields=["url", "title"])
    assert len(read_feed(feed)) == 4


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_file_that_ends_in_the_middle_of_a_line_is_not_added_to(kind: str, tmp_path: Path, site: LocalSite) -> None:
    feed = tmp_path / f"pages.{kind}"
    crawl_here(tmp_path, site, feed)
    feed.write_bytes(feed.read_bytes()[:-5])
    assert "line" in refused(tmp_path, site, feed)


def test_names_with_the_time_are_new_files(tmp_path: Path, site: LocalSite) -> None:
    for _ in range(2):
        crawl_here(tmp_path, site, f"{tmp_path}/%(name)s-%(batch_time)s.json")
    feeds = list(tmp_path.glob("site-*.json"))
    assert [urls_of(feed) for feed in feeds] == [kept(site)] * 2


def test_names_are_filled_in_before_the_file_is_looked_at(tmp_path: Path, site: LocalSite) -> None:
    crawl_here(tmp_path, site, f"{tmp_path}/%(name)s.json")
    with pytest.raises(ExitedError) as ended:
        crawl_here(tmp_path, site, f"{tmp_path}/%(name)s.json")
    assert ended.value.status == 2


def test_batches_are_whole_files(tmp_path: Path, site: LocalSite) -> None:
    feed = f"{tmp_path}/pages-%(batch_id)d.jsonl"
    crawl_here(tmp_path, site, feed, batch_item_count=1)
    first, second = (tmp_path / f"pages-{number}.jsonl" for number in (1, 2))
    assert sorted(urls_of(first) + urls_of(second)) == kept(site)
    with pytest.raises(ExitedError):
        crawl_here(tmp_path, site, feed, batch_item_count=1)
    first.unlink()
    before = second.read_bytes()
    outcome = crawl_here(tmp_path, site, feed, batch_item_count=1)
    assert outcome.stats["finish_reason"] == "feed_failed"
    assert outcome.tracebacks == []
    assert second.read_bytes() == before


def test_file_uris_are_files_too(tmp_path: Path, site: LocalSite) -> None:
    feed = tmp_path / "my pages.json"
    crawl_here(tmp_path, site, feed.as_uri(), format="json")
    with pytest.raises(ExitedError):
        crawl_here(tmp_path, site, feed.as_uri(), format="json")
    assert urls_of(feed) == kept(site)


@pytest.mark.parametrize("where", ["", "pages.jsonl/pages.jsonl"])
def test_place_that_cannot_be_written_is_refused_before_the_crawl(where: str, tmp_path: Path, site: LocalSite) -> None:
    (tmp_path / "pages.jsonl").touch()
    with pytest.raises(ExitedError) as ended:
        crawl_here(tmp_path, site, tmp_path / where, format="jsonl")
    assert ended.value.status == 2
    assert site.asked == []


def test_what_cannot_be_looked_at_is_not_added_to(tmp_path: Path, site: LocalSite) -> None:
    for kind in ("json", "csv", "parquet"):
        with pytest.raises(ExitedError) as ended:
            crawl_here(tmp_path, site, f"ftp://user@127.0.0.1/pages.{kind}", overwrite=False)
        assert ended.value.status == 2
    assert site.asked == []


def test_feeds_that_scrapy_cannot_make_end_the_crawl_before_it_begins(tmp_path: Path, site: LocalSite) -> None:
    with pytest.raises(ExitedError) as ended:
        crawl_here(tmp_path, site, tmp_path / "pages.tsv")
    assert ended.value.status == 2
    assert site.asked == []


def test_nothing_is_remembered_of_runs_that_have_finished(tmp_path: Path, site: LocalSite) -> None:
    crawl_here(tmp_path, site, tmp_path / "pages.jsonl")
    assert ask(f"sqlite:///{tmp_path / 'crawl.db'}", "SELECT * FROM feed_parts") == []


def test_feed_on_standard_output_is_alone_there(tmp_path: Path, site: LocalSite) -> None:
    result = crawl(tmp_path / "crawl.db", options=["-o", "-:jsonl"], url=f"{site.url}/")
    assert sorted(row["url"] for row in READERS["jsonl"](result.stdout.encode())) == kept(site)
    assert "largest clusters" in result.stderr or "fetched" in result.stderr


class Quotes(Spider):
    """Another spider of the project, with items of its own."""

    name = "quotes"

    async def start(self) -> AsyncIterator[Request]:
        # A crawl without a request ends after five seconds.
        yield Request("data:text/plain,1")

    def parse(self, response: Response) -> Iterator[dict[str, str]]:
        yield {"url": "http://127.0.0.1/1", "text": "Say what is so."}


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_feeds_of_other_spiders_are_not_spoilt_either(kind: str, tmp_path: Path) -> None:
    feed = tmp_path / f"quotes.{kind}"
    settings = {name: value for name, value in vars(default).items() if name.isupper()}
    settings |= {"DEDUP_DATABASE_URL": f"sqlite:///{tmp_path / 'crawl.db'}", "FEEDS": {str(feed): {"format": kind}}}
    crawl_here_by(Quotes, settings)
    if kind == "jsonl":
        crawl_here_by(Quotes, settings)
    else:
        with pytest.raises(ExitedError) as ended:
            crawl_here_by(Quotes, settings)
        assert ended.value.status == 2
    assert len(urls_of(feed)) == (2 if kind == "jsonl" else 1)
