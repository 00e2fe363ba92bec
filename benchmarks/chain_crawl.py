"""`python benchmarks/chain_crawl.py URL off|on|held DATABASE`: one crawl of a stranger's project, timed.

The project is this file, crawled by `scrapy runspider`. It stands alone because it also runs where Scrapy is installed
and nothing else, not even this library.
"""

from __future__ import annotations

import atexit
import json
import resource
import sys
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any, Self

import psutil
import scrapy
from scrapy import signals
from scrapy.cmdline import execute
from scrapy.crawler import Crawler
from scrapy.http import Response

# All that the process did before this line counts as its start.
_BEGAN = time.monotonic() - (time.time() - psutil.Process().create_time())


class PagesSpider(scrapy.Spider):
    """Yields an item a page and follows every link, as a new project does."""

    name = "pages"
    url = ""

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Measure the crawl, too."""
        spider = super().from_crawler(crawler, *args, **kwargs)
        times: dict[str, float] = {}

        def opened() -> None:
            times.update(opened=time.monotonic(), starting=time.process_time())

        crawler.signals.connect(opened, signals.spider_opened, weak=False)
        crawler.signals.connect(lambda: times.update(fetched=time.monotonic()), signals.response_received, weak=False)
        atexit.register(_tell, crawler, times)
        return spider

    async def start(self) -> AsyncIterator[scrapy.Request]:
        """Ask for the first page."""
        yield scrapy.Request(self.url)

    def parse(self, response: Response) -> Iterator[Any]:
        """Yield the page and its links."""
        if text := response.css("p::text").get():
            yield {"url": response.url, "text": text}
        yield from response.follow_all(response.css("a::attr(href)").getall())


def _tell(crawler: Crawler, times: dict[str, float]) -> None:
    children = sum(sum(child.cpu_times()[:4]) for child in psutil.Process().children(recursive=True))
    figures = {
        "start": times["opened"] - _BEGAN,
        "fetching": times["fetched"] - times["opened"],
        "all": time.monotonic() - _BEGAN,
        "cpu": time.process_time() + children,
        "starting": times["starting"],
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "items": crawler.stats.get_value("item_scraped_count", 0),
    }
    print(json.dumps(figures))


def main() -> None:
    """Crawl, and print the seconds as JSON."""
    url, case, database = sys.argv[1:]
    settings: dict[str, Any] = {
        "LOG_LEVEL": "ERROR",
        "DOWNLOAD_DELAY": 0,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
        "TELNETCONSOLE_ENABLED": False,
        "REMOTE_CONTROL_ENABLED": False,
    }
    if case != "off":
        settings |= {"ADDONS": '{"dedup.DedupAddon": 500}', "DEDUP_DATABASE_URL": database}
        settings["DEDUP_FOLLOW_DUPLICATES"] = case == "on"
    given = [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
    execute(["scrapy", "runspider", __file__, "-a", f"url={url}", *given])


if __name__ == "__main__":
    main()
