"""The unavoidable parts of a crawl, each on its own: what a page costs at the very least.

Run as `python -m benchmarks.parts NAME ...` so that every part has a process of its own; prints CPU seconds. It stands
alone because what else it loaded would count as the part.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response


class FetchSpider(Spider):
    """Fetches every page that the index links to, and does nothing with it."""

    name = "fetch"

    def __init__(self, url: str, paths: list[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.urls = [url + path for path in paths]

    async def start(self) -> AsyncIterator[Request]:
        """Yield all requests."""
        for url in self.urls:
            yield Request(url)

    def parse(self, response: Response) -> None:
        """Take note of nothing."""


def fetch(url: str, paths_file: str) -> None:
    """Fetch pages by Scrapy, with the settings of the crawl."""
    from scrapy.crawler import AsyncCrawlerProcess  # noqa: PLC0415 -- not for the other parts

    settings = {
        "LOG_LEVEL": "WARNING",
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "CONCURRENT_ITEMS": 2,
        "TELNETCONSOLE_ENABLED": False,
        "REMOTE_CONTROL_ENABLED": False,
        "ROBOTSTXT_OBEY": True,
    }
    process = AsyncCrawlerProcess(settings)
    process.crawl(FetchSpider, url=url, paths=json.loads(Path(paths_file).read_text(encoding="utf-8")))
    process.start()


def text(folder: str) -> float:
    """Extract the main text of all pages; return CPU seconds."""
    from trafilatura import bare_extraction  # noqa: PLC0415

    return _timed(
        lambda page: bare_extraction(page, fast=True, include_comments=False, with_metadata=False), _bodies(folder)
    )


def metadata(folder: str) -> float:
    """Extract the metadata of all pages; return CPU seconds."""
    from trafilatura import load_html  # noqa: PLC0415
    from trafilatura.metadata import extract_metadata  # noqa: PLC0415

    return _timed(lambda page: extract_metadata(load_html(page), extensive=False), _bodies(folder))


def jieba(folder: str) -> float:
    """Cut all texts into words; return CPU seconds."""
    import jieba as module  # noqa: PLC0415

    module.setLogLevel(logging.WARNING)
    module.initialize()
    return _timed(lambda page: list(module.cut(page.decode(), HMM=False)), _bodies(folder))


def _bodies(folder: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted(Path(folder).iterdir())]


def _timed(work: Callable[[bytes], object], pages: list[bytes]) -> float:
    logging.disable(logging.CRITICAL)
    for page in pages[:5]:
        work(page)
    started = time.process_time()
    for page in pages:
        work(page)
    return time.process_time() - started


if __name__ == "__main__":
    if sys.argv[1] == "fetch":
        fetch(*sys.argv[2:])
    else:
        print({"text": text, "metadata": metadata, "jieba": jieba}[sys.argv[1]](sys.argv[2]))
