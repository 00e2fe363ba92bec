"""Scrapy's commands and other spiders in this project: they work, and know nothing of the site spider's run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from scrapy import Request

from crawler.page import Page
from crawler.spider.site import SiteSpider
from tests.crawler.conftest import count_pages
from tests.crawler.frontier.driving import unfinished
from tests.crawling import ROOT, crawl_site_here, scrapy
from tests.localsite import LocalSite, article

pytestmark = pytest.mark.slow

SPIDER = """
import scrapy


class OtherSpider(scrapy.Spider):
    name = "other"
    allowed_domains = ["127.0.0.1"]

    async def start(self):
        yield scrapy.Request(self.url)

    def parse(self, response):
        yield {"url": response.url, "text": response.css("article").get(), "price": 3}
        yield from response.follow_all(css="nav a")
"""


@pytest.fixture
def site() -> Iterator[LocalSite]:
    pages = {
        "/": article("front", ["/1", "/copy", "/2"]),
        "/1": article("one"),
        "/copy": article("one"),
        "/2": article("two"),
    }
    with LocalSite(pages) as site:
        yield site


SETTINGS = {"DEDUP_WORKERS": 0, "AUTOTHROTTLE_ENABLED": False}
FAST = [word for name, value in SETTINGS.items() for word in ("-s", f"{name}={value}")]


def assert_no_crawl_of_a_site(database: Path) -> None:
    assert (count_pages(database), unfinished(f"sqlite:///{database}")) == (0, {})


def test_fetch_prints_the_page_and_shell_has_the_response(site: LocalSite, tmp_path: Path) -> None:
    result = scrapy(tmp_path / "crawl.db", "fetch", "--nolog", f"{site.url}/1", *FAST)
    assert (result.status, result.stderr) == (0, "")
    assert result.stdout.strip() == article("one").strip()
    code = "(response.status, response.css('title::text').get())"
    result = scrapy(tmp_path / "crawl.db", "shell", "--nolog", f"{site.url}/1", "-c", code, *FAST)
    assert (result.status, result.stdout.strip()) == (0, "(200, 'one')")
    assert_no_crawl_of_a_site(tmp_path / "crawl.db")


def test_no_address_is_taken_for_one_of_the_site_spider() -> None:
    assert not SiteSpider.handles_request(Request("https://example.site/"))


def test_parse_shows_what_the_site_spider_makes_of_a_page(site: LocalSite, tmp_path: Path) -> None:
    words = ("parse", "--nolog", "--nocolour", "--spider=site", "-a", f"url={site.url}/", f"{site.url}/")
    result = scrapy(tmp_path / "crawl.db", *words, *FAST)
    items, _, requests = result.stdout.partition("# Requests")
    assert result.status == 0
    assert f"'url': '{site.url}/'" in items
    assert f"<GET {site.url}/copy>" in requests
    assert unfinished(f"sqlite:///{tmp_path / 'crawl.db'}") == {}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the project, to add a spider to."""
    folder = tmp_path / "project"
    folder.mkdir()
    for name in ("crawler", "settings"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "scrapy.cfg", folder)
    return folder


@pytest.mark.parametrize("way", [pytest.param("runspider", marks=pytest.mark.thorough), "genspider"])
def test_second_spider_is_deduplicated_and_keeps_its_own_fields(way: str, project: Path, site: LocalSite) -> None:
    database, feed = project / "crawl.db", project / "items.jsonl"
    path, words = project / "other.py", ["runspider", "other.py"]
    if way == "genspider":
        assert scrapy(database, "genspider", "other", "127.0.0.1", folder=project).status == 0
        path, words = project / "crawler" / "spider" / "other.py", ["crawl", "other"]
        assert "class OtherSpider" in path.read_text(encoding="utf-8")
    path.write_text(SPIDER, encoding="utf-8")
    result = scrapy(database, *words, "-a", f"url={site.url}/", "-o", str(feed), *FAST, folder=project)
    assert (result.status, result.errors) == (0, [])
    items = [json.loads(line) for line in feed.read_text(encoding="utf-8").splitlines()]
    assert {tuple(item) for item in items} == {("url", "text", "price")}
    paths = sorted(item["url"].removeprefix(site.url) for item in items)
    assert paths in (["/", "/1", "/2"], ["/", "/2", "/copy"])
    assert result.stats["dedup/exact_duplicate"] == 1
    assert "fetched" not in result.stdout
    assert_no_crawl_of_a_site(database)


def test_site_spider_takes_what_the_project_says_before_its_own(site: LocalSite, tmp_path: Path) -> None:
    feeds = {str(tmp_path / "pages.csv"): {"format": "csv"}}
    settings = {
        "FEED_EXPORT_FIELDS": ["url"],
        "FEEDS": feeds,
        "ITEM_PIPELINES": {f"{__name__}.Seen": 900},
    }
    crawl_site_here(tmp_path / "crawl.db", settings, url=f"{site.url}/")
    rows = (tmp_path / "pages.csv").read_text(encoding="utf-8").split()
    assert len(rows) == 4
    assert rows[0] == "url"
    assert len(Seen.urls) == 3
    assert count_pages(tmp_path / "crawl.db") == 3


class Seen:
    """A pipeline of a project beside those of the site spider."""

    urls: ClassVar[set[str]] = set()

    async def process_item(self, item: Page) -> Page:
        assert item.run, "it comes behind storage, which names the run"
        self.urls.add(item.url)
        return item
