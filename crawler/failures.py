"""Failures that end a crawl in order, and the exit status of the commands that crawl."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from scrapy.crawler import Crawler

from dedup.errors import DatabaseError
from dedup.stage.failures import FAILED, CrawlStopper


@contextmanager
def stopping(stopper: CrawlStopper) -> Iterator[None]:
    """Let a database error stop the crawl; what comes behind it in the block is not done."""
    try:
        yield
    except DatabaseError as error:
        stopper.stop(error, "database_error")


def has_failed(crawler: Crawler) -> bool:
    """Say whether a crawl that is over has not succeeded."""
    return crawler.stats is not None and crawler.stats.get_value(FAILED) is not None
