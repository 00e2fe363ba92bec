"""A crawl that closes while items of `start()` are under way ends, whatever other pipelines do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

import pytest
import scrapy
from scrapy.exceptions import CloseSpider, DropItem

from dedup.rules.settings import DedupSettings
from dedup.stage.pipelines import NearDuplicatePipeline
from tests.crawling import IS_OLD_SCRAPY, crawl_here
from tests.passing import ADDONS, url
from tests.texts import document

pytestmark = pytest.mark.slow


class Slow:
    """A pipeline that takes its time, and drops every third item."""

    async def process_item(self, item: Any) -> Any:
        await asyncio.sleep(0.3)
        if item["number"] % 3 == 2:
            raise DropItem("a third")
        return item


class Endless(scrapy.Spider):
    """Yields items from `start()` without end."""

    name = "endless"

    async def start(self) -> AsyncIterator[Any]:
        for number in count():
            yield {"url": url(number), "text": document(60, f"text {number}"), "number": number}
            self.go_on(number)

    def go_on(self, number: int) -> None:
        """Say that so many items were yielded."""


class Raising(Endless):
    def go_on(self, number: int) -> None:
        if number == 4:
            raise CloseSpider("enough")


class Interrupted(Endless):
    def go_on(self, number: int) -> None:
        if number == 4:  # what one Ctrl-C does
            self.stopping = asyncio.create_task(self.crawler.stop_async())


class TimedOut(Endless):
    custom_settings = {"CLOSESPIDER_TIMEOUT": 1}  # noqa: RUF012 -- as Scrapy has it


@pytest.mark.skipif(IS_OLD_SCRAPY, reason="Scrapy 2.14 goes on, or ends otherwise, where start() is closed")
@pytest.mark.parametrize("place", [None, 1, 900], ids=["alone", "behind a slow pipeline", "before a slow pipeline"])
@pytest.mark.parametrize(
    ("spider", "reason"), [(Raising, "enough"), (Interrupted, "shutdown"), (TimedOut, "closespider_timeout")]
)
def test_crawl_ends_that_closes_while_items_of_start_are_under_way(
    spider: type[Endless], reason: str, place: int | None, sqlite_url: str
) -> None:
    settings = {"ADDONS": ADDONS, "DEDUP_DATABASE_URL": sqlite_url, "CONCURRENT_ITEMS": 20}
    if place is not None:
        settings |= {"ITEM_PIPELINES": {Slow: place}, "DEDUP_AFTER": 300}
    outcome = crawl_here(spider, settings)
    assert outcome.stats["finish_reason"] == reason
    assert len(outcome.items) >= 3
    assert outcome.failed == 0


class UnderWay:
    """A pipeline that counts the items that are under way."""

    most = 0

    def __init__(self) -> None:
        type(self).most = self.now = 0

    async def process_item(self, item: Any) -> Any:
        self.now += 1
        type(self).most = max(self.most, self.now)
        await asyncio.sleep(0.01)
        self.now -= 1
        return item


class Many(Endless):
    def go_on(self, number: int) -> None:
        if number == 200:
            raise CloseSpider("enough")


@pytest.mark.skipif(IS_OLD_SCRAPY, reason="Scrapy 2.14 closes while items of start() are under way")
def test_of_the_items_of_start_no_more_are_under_way_than_of_a_response(sqlite_url: str) -> None:
    settings = {"ADDONS": ADDONS, "DEDUP_DATABASE_URL": sqlite_url, "CONCURRENT_ITEMS": 20}
    outcome = crawl_here(Many, {**settings, "ITEM_PIPELINES": {UnderWay: 1}, "DEDUP_AFTER": 300})
    assert len(outcome.items) == 201
    assert UnderWay.most <= 20


class Stuck(scrapy.Spider):
    """Is closed while an item is in the stage that never leaves it."""

    name = "stuck"
    start_urls = ("data:text/plain,x",)

    def parse(self, response: Any) -> None:
        stage = self.crawler.get_item_pipeline(NearDuplicatePipeline)
        assert stage is not None
        stage._inside[0] += 1
        raise CloseSpider("enough")


def test_item_that_never_leaves_is_not_waited_for_without_end(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DedupSettings, "lock_timeout", 0.1)
    settings = {"ADDONS": ADDONS, "DEDUP_DATABASE_URL": sqlite_url, "DEDUP_OUTAGE_TIMEOUT": 0}
    outcome = crawl_here(Stuck, settings)
    assert outcome.stats["finish_reason"] == "enough"
    assert "closed without 1 item, still here after 0.1 seconds" in outcome.messages
