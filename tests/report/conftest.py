"""A database with the runs of a small crawl."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dedup.store.database import Database, open_existing_database
from tests.crawls import Crawls, crawl_twice


@pytest.fixture
def crawls(database_url: str) -> Iterator[Crawls]:
    crawls = Crawls(database_url)
    yield crawls
    crawls.deduplicator.database.close()


@pytest.fixture
def database(crawls: Crawls, database_url: str) -> Iterator[Database]:
    crawl_twice(crawls)
    database = open_existing_database(database_url)
    yield database
    database.close()
