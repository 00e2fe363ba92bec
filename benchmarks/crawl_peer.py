"""The peer of a crawl: Scrapy with its link extractor and trafilatura, as people put them together; no copy is found.

`scrapy runspider crawl_peer.py -a url=URL -a follow=PATTERN -s JOBDIR=FOLDER -O FILE.jsonl`. It stands alone because it
runs outside of the project and without its settings.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import trafilatura
from scrapy.http import TextResponse
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class PlainSpider(CrawlSpider):
    """Yields address and main text of each page; of all of them links are followed that match."""

    name = "plain"

    def __init__(self, url: str, follow: str, **arguments: Any) -> None:
        self.rules = (Rule(LinkExtractor(allow=follow), callback="parse_page", follow=True),)
        super().__init__(**arguments)
        self.start_urls = [url]

    def parse_page(self, response: TextResponse) -> Iterator[dict[str, Any]]:
        """Yield a page, even if it has no text."""
        text = trafilatura.extract(response.text, url=response.url, fast=True, include_comments=False)
        yield {"url": response.url, "text": text}
