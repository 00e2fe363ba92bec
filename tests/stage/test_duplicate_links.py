"""The links of a duplicate are not followed, those of a kept page are, and nothing ever waits for ever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import pytest
import scrapy
from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.http import Response

from tests.crawling import Outcome, crawl_here, crawl_site_here
from tests.localsite import LocalSite, article

pytestmark = pytest.mark.slow

PAGE_TEXT = "article p::text"


class PagesSpider(scrapy.Spider):
    """Yields one item a page and follows all links, the item first."""

    name = "pages"

    def __init__(self, start: str) -> None:
        super().__init__()
        self._start = start

    async def start(self) -> AsyncIterator[scrapy.Request]:
        yield scrapy.Request(self._start)

    def item_of(self, response: Response) -> dict[str, str]:
        return {"url": response.url, "text": response.css(PAGE_TEXT).get()}

    def parse(self, response: Response) -> Iterator[Any]:
        yield self.item_of(response)
        yield from response.follow_all(css="a")


class LinksFirstSpider(PagesSpider):
    """Yields the links before the item."""

    name = "links first"

    def parse(self, response: Response) -> Iterator[Any]:
        yield from response.follow_all(css="a")
        yield self.item_of(response)


class CoroutineSpider(PagesSpider):
    """Has a callback that is an asynchronous generator."""

    name = "coroutine"

    async def parse(self, response: Response) -> AsyncIterator[Any]:
        for request in response.follow_all(css="a"):
            yield request
        yield self.item_of(response)


@pytest.fixture
def site() -> Iterator[LocalSite]:
    """A front page that leads to a page, then to its copy; both of these lead further."""
    pages = {
        "/": article("front", ["/page"]),
        "/page": article("page", ["/of-page", "/copy", "/of-both-early"]),
        "/copy": article("page", ["/of-copy", "/of-both", "/of-both-early"]),
        "/of-page": article("of page", ["/later"]),
        "/later": article("later", ["/of-both"]),
        "/of-both": article("of both"),
        "/of-both-early": article("of both, early"),
        "/of-copy": article("of copy"),
    }
    with LocalSite(pages) as site:
        yield site


@pytest.fixture
def follow(site: LocalSite, tmp_path: Path) -> Callable[..., Outcome]:
    """Crawl the site breadth-first with the add-on; the links of duplicates are not followed."""

    def follow(spider: type[scrapy.Spider] = PagesSpider, settings: Mapping[str, Any] | None = None) -> Outcome:
        values = {
            "ADDONS": {"dedup.DedupAddon": 500},
            "DEDUP_FOLLOW_DUPLICATES": False,
            "DEDUP_AFTER": 300,
            "DEDUP_DATABASE_URL": f"sqlite:///{tmp_path / 'dedup.db'}",
            "DEPTH_PRIORITY": 1,
            "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
            "DOWNLOAD_DELAY": 0,
            **(settings or {}),
        }
        return crawl_here(spider, values, start=f"{site.url}/")

    return follow


@pytest.mark.parametrize("spider", [PagesSpider, LinksFirstSpider, CoroutineSpider])
@pytest.mark.parametrize("items_at_once", [1, 2, 100])
def test_links_of_a_duplicate_are_not_followed_and_those_of_a_kept_page_are(
    items_at_once: int, spider: type[scrapy.Spider], follow: Callable[..., Outcome], site: LocalSite
) -> None:
    outcome = follow(spider, {"CONCURRENT_ITEMS": items_at_once, "CONCURRENT_REQUESTS": 2})
    assert outcome.stats["finish_reason"] == "finished"
    assert len(outcome.items) == 6
    assert (outcome.count("dedup/exact_duplicate"), outcome.count("dedup/links_not_followed")) == (1, 3)
    # Both a kept page and the duplicate have links to the last two.
    followed = ("/of-page", "/later", "/of-both", "/of-both-early")
    assert [site.hits[path] for path in followed] == [1] * len(followed)
    assert site.hits["/of-copy"] == 0


def test_links_of_a_duplicate_on_another_host_than_its_original_are_followed(
    follow: Callable[..., Outcome], site: LocalSite
) -> None:
    site.pages["/page"] = article("page", ["/of-page", f"{site.other_url}/copy"])
    outcome = follow()
    assert outcome.count("dedup/exact_duplicate") >= 1
    assert site.hits["/of-copy"] == 1


@pytest.mark.parametrize(
    ("settings", "duplicates"),
    [
        ({"DEDUP_FOLLOW_DUPLICATES": None}, 1),
        ({"DEDUP_FOLLOW_DUPLICATES": True}, 1),
        ({"DEDUP_ENABLED": False}, 0),
        ({"ITEM_PIPELINES": {"dedup.NearDuplicatePipeline": None}}, 0),
        ({"SPIDER_MIDDLEWARES": {"dedup.DuplicateLinksMiddleware": None}}, 1),
    ],
    ids=["by default", "asked for", "no stage", "no pipeline", "no middleware"],
)
def test_links_of_duplicates_are_followed_unless_all_is_switched_on(
    settings: dict[str, Any], duplicates: int, follow: Callable[..., Outcome], site: LocalSite
) -> None:
    outcome = follow(settings=settings)
    assert site.hits["/of-copy"] == 1
    assert outcome.count("dedup/exact_duplicate") == duplicates
    assert outcome.count("dedup/links_not_followed") == 0


def test_links_of_the_start_page_are_followed_though_it_is_a_duplicate(
    follow: Callable[..., Outcome], site: LocalSite
) -> None:
    site.pages["/"] = article("elsewhere")
    follow()
    site.pages["/"] = article("front", ["/page"])
    site.pages["/twin"] = article("front", ["/of-twin"])
    site.pages["/of-twin"] = article("of twin")

    class TwoStartsSpider(PagesSpider):
        async def start(self) -> AsyncIterator[scrapy.Request]:
            for path in ("/", "/twin"):
                yield scrapy.Request(f"{site.url}{path}")

    outcome = follow(TwoStartsSpider, {"CONCURRENT_REQUESTS": 1})
    assert outcome.count("dedup/exact_duplicate") >= 1
    assert site.hits["/of-twin"] == 1


def test_links_of_a_page_that_was_updated_into_a_copy_are_not_followed(
    follow: Callable[..., Outcome], site: LocalSite
) -> None:
    site.pages["/copy"] = article("of its own")
    follow()
    site.pages["/copy"] = article("page", ["/of-copy"])
    follow()
    assert site.hits["/of-copy"] == 0


def test_links_of_an_unchanged_page_are_followed_though_its_item_may_be_dropped(
    follow: Callable[..., Outcome], site: LocalSite
) -> None:
    follow()
    follow()
    outcome = follow(settings={"DEDUP_DROP_UNCHANGED": True})
    assert outcome.items == []
    assert (site.hits["/later"], site.hits["/of-copy"]) == (3, 0)


def test_endless_trap_of_copies_ends_after_a_few_pages(follow: Callable[..., Outcome], site: LocalSite) -> None:
    site.pages |= {f"/trap/{n}": article("trap", [f"/trap/{n + 1}"]) for n in range(200)}
    site.pages["/"] = article("front", ["/trap/0"])
    follow()
    assert sum(count for path, count in site.hits.items() if path.startswith("/trap")) <= 3


def test_one_of_two_copies_that_arrive_together_is_followed(follow: Callable[..., Outcome], site: LocalSite) -> None:
    site.pages |= {
        "/": article("front", ["/one", "/two"]),
        "/one": article("twins", ["/child"]),
        "/two": article("twins", ["/child"]),
        "/child": article("child"),
    }
    outcome = follow()
    assert site.hits["/child"] == 1
    assert outcome.count("dedup/links_not_followed") == 1


# Pages with several items or none


def several(*items: Callable[[Response], Any]) -> type[scrapy.Spider]:
    """A spider that yields these items for every page but the front page, and all links."""

    class SeveralSpider(PagesSpider):
        def parse(self, response: Response) -> Iterator[Any]:
            for make in () if response.url.endswith("/") else items:
                yield make(response)
            yield from response.follow_all(css="a")

    return SeveralSpider


def own(response: Response) -> dict[str, str]:
    """The page itself as an item."""
    return {"url": response.url, "text": response.css(PAGE_TEXT).get()}


def same_everywhere(response: Response) -> dict[str, str]:
    """A part of the page that is the same on each, such as a box in its margin, with an address of its own."""
    return {"url": f"{response.url}#box", "text": "the same on every page " * 30}


def another_box(response: Response) -> dict[str, str]:
    return {"url": f"{response.url}#box-2", "text": "this too is the same on every page " * 30}


def different_everywhere(response: Response) -> dict[str, str]:
    return {"url": f"{response.url}#comment", "text": f"a comment on {response.url}"}


def without_address(response: Response) -> dict[str, str]:
    return {"text": own(response)["text"]}


def nothing(response: Response) -> None:
    return None


@pytest.mark.parametrize(
    ("items", "duplicates"),
    [
        ([], 0),
        ([nothing], 0),
        ([without_address], 1),
        # Another item of the page is kept.
        ([own, different_everywhere], 1),
        # A list whose items are all dropped.
        ([same_everywhere], 5),
    ],
    ids=lambda items: " and ".join(each.__name__ for each in items) or "no item" if isinstance(items, list) else "",
)
def test_page_that_no_item_shows_to_be_a_copy_is_followed(
    items: list[Callable[[Response], Any]], duplicates: int, follow: Callable[..., Outcome], site: LocalSite
) -> None:
    outcome = follow(several(*items))
    assert outcome.count("dedup/exact_duplicate") >= duplicates
    assert site.hits["/of-copy"] == site.hits["/later"] == 1


@pytest.mark.parametrize("items_at_once", [1, 100])
def test_copy_of_which_every_item_is_dropped_is_not_followed(
    items_at_once: int, follow: Callable[..., Outcome], site: LocalSite
) -> None:
    site.pages["/page"] = article("page", ["/copy"])
    follow(several(own, same_everywhere, another_box), {"CONCURRENT_ITEMS": items_at_once})
    assert site.hits["/of-copy"] == 0


# Accidents in other people's code


class Failing:
    """An item pipeline that fails on one page."""

    def process_item(self, item: dict[str, str]) -> dict[str, str]:
        if item["url"].endswith("/of-page"):
            raise ValueError("a bug of the project")
        return item


class Dropping:
    """An item pipeline that drops one page's item for a reason of its own."""

    def process_item(self, item: dict[str, str]) -> dict[str, str]:
        if item["url"].endswith("/of-page"):
            raise scrapy.exceptions.DropItem("not wanted")
        return item


@pytest.mark.parametrize("pipeline", [Failing, Dropping])
@pytest.mark.parametrize("order", [100, 500])
def test_links_of_a_page_that_another_pipeline_refuses_are_followed(
    order: int, pipeline: type, follow: Callable[..., Outcome], site: LocalSite
) -> None:
    outcome = follow(settings={"ITEM_PIPELINES": {pipeline: order}})
    assert outcome.stats["finish_reason"] == "finished"
    assert site.hits["/later"] == 1
    assert site.hits["/of-copy"] == 0


class BreakingSpider(PagesSpider):
    """Fails in the middle of a page."""

    def parse(self, response: Response) -> Iterator[Any]:
        yield self.item_of(response)
        for number, request in enumerate(response.follow_all(css="a")):
            if number == 2 and response.url.endswith("/page"):
                raise ValueError("a bug of the project")
            yield request


def test_links_that_a_callback_yields_before_it_fails_are_followed(
    follow: Callable[..., Outcome], site: LocalSite
) -> None:
    outcome = follow(BreakingSpider)
    assert outcome.count("spider_exceptions/ValueError") == 1
    assert site.hits["/of-page"] == 1


class AnswerEaten:
    """A spider middleware of the project, farther from the engine, that eats items."""

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for output in result:
            if not isinstance(output, dict):
                yield output


class WaitingForTheEnd:
    """An item pipeline that keeps an item until the last page of the site was fetched."""

    site: LocalSite

    async def process_item(self, item: dict[str, str]) -> dict[str, str]:
        while not self.site.hits["/of-both"]:
            await asyncio.sleep(0.01)
        return item


def test_links_go_on_with_the_verdict_and_not_after_all_later_pipelines(
    follow: Callable[..., Outcome], site: LocalSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WaitingForTheEnd, "site", site, raising=False)
    outcome = follow(settings={"ITEM_PIPELINES": {WaitingForTheEnd: 900}})
    assert len(outcome.items) == 6
    assert site.hits["/of-copy"] == 0


class LeavingItemsOut:
    """A spider middleware that is closer to the engine, and leaves out every item of the site but those of copies."""

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for output in result:
            if not isinstance(output, dict) or output["url"].endswith("copy"):
                yield output


class SortingItems(LeavingItemsOut):
    """One that hands on items when all the rest is done."""

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        items = []
        async for output in result:
            if isinstance(output, dict):
                items.append(output)
            else:
                yield output
        for item in items:
            yield item


class ReplacingItems(LeavingItemsOut):
    """One that puts other objects in the place of items."""

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for output in result:
            yield {**output, "more": 1} if isinstance(output, dict) else output


class ReplacingPipeline:
    """An item pipeline that does so."""

    def process_item(self, item: dict[str, str]) -> dict[str, str]:
        return {**item, "more": 1}


@pytest.mark.parametrize(
    ("settings", "duplicates"),
    [
        ({"SPIDER_MIDDLEWARES": {AnswerEaten: 543}}, 0),
        ({"SPIDER_MIDDLEWARES": {LeavingItemsOut: 1}}, 0),
        ({"SPIDER_MIDDLEWARES": {SortingItems: 1}}, 1),
        ({"SPIDER_MIDDLEWARES": {ReplacingItems: 1}}, 1),
        ({"ITEM_PIPELINES": {ReplacingPipeline: 100}}, 1),
    ],
)
def test_items_that_are_eaten_kept_back_or_replaced_do_not_hold_up_the_crawl(
    settings: dict[str, Any],
    duplicates: int,
    follow: Callable[..., Outcome],
    site: LocalSite,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dedup.stage.spidermiddlewares.LONGEST_SECONDS", 3600)
    outcome = follow(settings=settings)
    assert outcome.stats["finish_reason"] == "finished"
    assert outcome.count("dedup/exact_duplicate") == duplicates
    assert site.hits["/later"] == 1


class Stuck:
    """An item pipeline that comes to no end with the item of a page before a link of that page goes on."""

    def __init__(self) -> None:
        self._scheduled: set[str] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        pipeline = cls()
        crawler.signals.connect(pipeline.request_scheduled, signals.request_scheduled)
        return pipeline

    def request_scheduled(self, request: scrapy.Request) -> None:
        self._scheduled.add(request.url.rpartition("/")[2])

    async def process_item(self, item: dict[str, str]) -> dict[str, str]:
        while item["url"].endswith("/of-page") and "later" not in self._scheduled:
            await asyncio.sleep(0.01)
        return item


def test_links_wait_no_longer_than_so_many_seconds_and_that_is_said_once(
    follow: Callable[..., Outcome], site: LocalSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dedup.stage.spidermiddlewares.LONGEST_SECONDS", 0.3)
    outcome = follow(settings={"ITEM_PIPELINES": {Stuck: 100}})
    assert site.hits["/later"] == 1
    assert outcome.stats["finish_reason"] == "finished"
    [line] = [message for message in outcome.messages if "no verdict" in message]
    assert f"{site.url}/of-page" in line


@pytest.mark.parametrize("reason", ["enough", "shutdown"])
def test_links_do_not_hold_up_the_end_of_a_crawl_that_is_being_closed(
    reason: str, follow: Callable[..., Outcome], site: LocalSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    class ClosingSpider(PagesSpider):
        async def parse(self, response: Response) -> AsyncIterator[Any]:
            if response.url.endswith("/of-both-early"):
                while not site.hits["/of-page"]:
                    await asyncio.sleep(0.01)
                if reason == "enough":
                    raise scrapy.exceptions.CloseSpider(reason)
                asyncio.get_running_loop().create_task(self.crawler.stop_async())
            for output in super().parse(response):
                yield output

    monkeypatch.setattr("dedup.stage.spidermiddlewares.LONGEST_SECONDS", 3600)
    outcome = follow(ClosingSpider, {"ITEM_PIPELINES": {Stuck: 100}})
    assert outcome.stats["finish_reason"] == reason


# The site spider


def test_site_spider_follows_the_links_of_duplicates_on_request(site: LocalSite, tmp_path: Path) -> None:
    crawl_site_here(tmp_path / "crawl.db", {"DEDUP_FOLLOW_DUPLICATES": True}, url=f"{site.url}/")
    assert site.hits["/of-copy"] == 1
