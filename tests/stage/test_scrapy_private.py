"""Private parts of Scrapy are what they were: whoever runs this with another Scrapy sees which are not.

That headers without an end are bounded is tested with those of the crawler's runtime.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, ClassVar

import pytest
import scrapy
from scrapy.downloadermiddlewares import cookies
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.http import Response
from scrapy.http.cookies import CookieJar as ScrapyCookieJar
from scrapy.robotstxt import ProtegoRobotParser
from scrapy.utils.test import get_crawler

from dedup.stage import scrapy_private as private
from tests.crawling import crawl_here
from tests.localsite import LocalSite, article

pytestmark = pytest.mark.slow


class LookingSpider(scrapy.Spider):
    """Looks at the engine from a callback, an item pipeline, and when all is over."""

    name = "looking"
    seen: ClassVar[dict[str, Any]] = {}

    def __init__(self, start: str) -> None:
        super().__init__()
        self._start = start

    async def start(self) -> AsyncIterator[scrapy.Request]:
        yield scrapy.Request(self._start)

    def parse(self, response: Response) -> Any:
        crawler, request = self.crawler, response.request
        self.seen.update(
            in_progress=private.is_in_progress(crawler, request),
            another=private.is_in_progress(crawler, scrapy.Request("http://a.example/")),
            has_slot=private.has_slot(crawler),
            closing=private.is_closing(crawler),
        )
        private.wake_engine(crawler)
        yield {"title": "item"}

    def closed(self, reason: str) -> None:
        self.seen["closing in the end"] = private.is_closing(self.crawler)


class LookingPipeline:
    def __init__(self, crawler: Any) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Any) -> LookingPipeline:
        return cls(crawler)

    def process_item(self, item: Any) -> Any:
        LookingSpider.seen["items"] = private.items_under_way(self._crawler)
        private.let_scraper_close(self._crawler)
        return item


def test_engine_says_what_is_under_way() -> None:
    with LocalSite({"/": article("front")}) as site:
        crawl_here(LookingSpider, {"ITEM_PIPELINES": {LookingPipeline: 1}}, start=f"{site.url}/")
    assert LookingSpider.seen == {
        "in_progress": True,
        "another": False,
        "has_slot": True,
        "closing": False,
        "items": 1,
        "closing in the end": True,
    }


def test_cookies_go_by_the_given_suffixes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cookies, "_split_domain", cookies._split_domain)
    asked = []
    private.use_public_suffixes(asked.append)
    assert "_split_domain" in cookies._is_public_domain.__code__.co_names
    assert cookies._split_domain == asked.append


def test_cookies_of_a_jar_are_those_that_it_has() -> None:
    jar = ScrapyCookieJar()
    response = Response("http://a.example/", headers={"Set-Cookie": "name=value; Path=/"})
    jar.extract_cookies(response, scrapy.Request("http://a.example/"))
    [paths] = private.cookies_of(jar).values()
    assert paths["/"]["name"].value == "value"


def test_parser_of_robots_is_that_of_the_settings() -> None:
    assert (
        private.robots_parser_of(RobotsTxtMiddleware(get_crawler(LookingSpider, {"ROBOTSTXT_OBEY": True})))
        is ProtegoRobotParser
    )
