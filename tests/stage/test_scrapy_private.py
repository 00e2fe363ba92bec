"""Private parts of Scrapy's engine are what they were: whoever runs this with another Scrapy sees which are not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any, ClassVar

import pytest
import scrapy
from scrapy.http import Response

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
            in_progress=request in private.requests_in_progress(crawler),
            another=scrapy.Request("http://a.example/") in private.requests_in_progress(crawler),
            has_slot=private.requests_in_progress(crawler) is not None,
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


def test_stage_needs_no_private_parts_of_the_downloader() -> None:
    # They are others in Scrapy 2.14 than in 2.19, so that the stage could not even be loaded.
    names = "AddressMiddleware, DuplicateLinksMiddleware, NearDuplicatePipeline"
    code = f"import sys; from dedup import {names}; print('scrapy.core.downloader.handlers.http11' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
