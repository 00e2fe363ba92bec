"""Failures of the database that end a crawl in order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dedup.errors import DatabaseError
from dedup.stage.failures import CrawlStopper


@contextmanager
def stopping(stopper: CrawlStopper) -> Iterator[None]:
    """Let a database error stop the crawl; what comes behind it in the block is not done."""
    try:
        yield
    except DatabaseError as error:
        stopper.stop(error, "database_error")
