"""Items know the response that they come from as long as they are under way, and nothing is kept any longer."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import pytest
import scrapy
from scrapy.crawler import Crawler
from scrapy.http import Response, TextResponse

from dedup.stage.pending import Origins
from tests.crawling import Outcome, crawl_here
from tests.localsite import LocalSite, article


def response(path: str = "x") -> TextResponse:
    return TextResponse(f"https://example.com/{path}")


def test_nothing_is_kept_of_an_item_that_never_comes_to_an_end() -> None:
    class Item:
        alive = 0

        def __init__(self) -> None:
            Item.alive += 1

        def __del__(self) -> None:
            Item.alive -= 1

    origins, page = Origins(), response()
    origins.note(Item(), page)
    assert Item.alive == 1
    del page
    gc.collect()
    assert Item.alive == 0
    assert len(origins._page_of) == len(origins._pages) == 0


def test_object_with_the_id_of_one_that_is_gone_is_not_taken_for_it() -> None:
    origins, page = Origins(), response()
    first = {"n": 1}
    origins.note(first, page)
    number = id(first)
    origins.end({"another": "object"}, page, is_stored=True)  # in its place, from a pipeline
    del first
    for _ in range(1000):
        other = {"n": 2}
        if id(other) == number:
            break
    assert origins.page_of_item(other) is None


class Noting:
    """An item pipeline that asks for the response of every item."""

    seen: list[tuple[str, str | None]] = []  # noqa: RUF012 -- emptied by each test

    origins: Origins | None = None

    def __init__(self, crawler: Crawler) -> None:
        self._origins = Noting.origins = Origins.of(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_item(self, item: Any) -> Any:
        await asyncio.sleep(0)
        page = self._origins.page_of_item(item)
        origin = page and page.response
        self.seen.append((item["url"], origin and origin.url))
        return item


@pytest.fixture
def crawl(tmp_path: Path) -> Callable[..., Outcome]:
    """Crawl a site of three pages with the add-on, which asks for responses before it decides."""

    def crawl(spider: type[scrapy.Spider], settings: Mapping[str, Any] | None = None, **arguments: Any) -> Outcome:
        values = {
            "ADDONS": {"dedup.DedupAddon": 500},
            "DEDUP_DATABASE_URL": f"sqlite:///{tmp_path / 'dedup.db'}",
            "DEDUP_AFTER": 300,
            "ITEM_PIPELINES": {Noting: 100},
            **(settings or {}),
        }
        Noting.seen.clear()
        return crawl_here(spider, values, **arguments)

    return crawl


@pytest.fixture
def site() -> Iterator[LocalSite]:
    with LocalSite({"/": article("front", ["/1"]), "/1": article("1", ["/2"]), "/2": article("2")}) as site:
        yield site


class Spider(scrapy.Spider):
    name = "pages"

    def __init__(self, site: str) -> None:
        super().__init__()
        self.site = site

    async def start(self) -> AsyncIterator[Any]:
        yield {"url": "of start", "text": "nothing"}
        yield scrapy.Request(f"{self.site}/")

    def parse(self, response: Response) -> Iterator[Any]:
        for number in range(3):
            yield {"url": f"{response.url}#{number}", "text": f"{response.url} {number}"}
        yield from response.follow_all(css="a")


@pytest.mark.parametrize("follow", [False, True])
@pytest.mark.slow
def test_pipelines_find_the_response_at_every_depth_and_nothing_is_left_behind(
    follow: bool, crawl: Callable[..., Outcome], site: LocalSite
) -> None:
    outcome = crawl(Spider, {"DEDUP_FOLLOW_DUPLICATES": follow}, site=site.url)
    assert len(outcome.items) == 10
    pages = [f"{site.url}{path}" for path in ("/", "/1", "/2")]
    found = [(f"{page}#{number}", page) for page in pages for number in range(3)]
    assert sorted(Noting.seen) == sorted([("of start", None), *found])
    gc.collect()
    assert Noting.origins is not None
    assert (dict(Noting.origins._pages), dict(Noting.origins._page_of)) == ({}, {})


@pytest.mark.slow
def test_origins_are_there_where_the_pipeline_is_switched_on_without_the_addon(
    crawl: Callable[..., Outcome], site: LocalSite
) -> None:
    outcome = crawl(
        Spider, {"ADDONS": {}, "ITEM_PIPELINES": {"dedup.NearDuplicatePipeline": 50, Noting: 40}},
        site=site.url,
    )  # fmt: skip
    assert len(outcome.items) == 10
    assert {origin for _, origin in Noting.seen} == {None}
