"""Crawls of a test's site, one after the other, into one database."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.crawling import Outcome, ask, crawl_site_here
from tests.localsite import LocalSite


class Crawling:
    """Crawls a site in this process, from its front page if nothing else is said; no crawl may log a traceback."""

    def __init__(self, database: Path) -> None:
        self.database = database
        self.site_url = ""

    def __call__(self, site: LocalSite, settings: Mapping[str, Any] | None = None, **arguments: object) -> Outcome:
        self.site_url = site.url
        starts = {} if arguments.keys() & {"url", "sitemap"} else {"url": f"{site.url}/"}
        outcome = crawl_site_here(self.database, settings, **starts, **arguments)
        assert outcome.tracebacks == []
        return outcome

    def ask(self, query: str) -> list[dict[str, Any]]:
        return ask(f"sqlite:///{self.database}", query)

    @property
    def kept(self) -> list[str]:
        """The paths of the stored pages that are not gone, on the site that was crawled last."""
        rows = self.ask("SELECT url FROM pages WHERE gone IS NULL")
        return sorted(row["url"].removeprefix(self.site_url) for row in rows)


def count_rows(database: Path, rows: str) -> int:
    """How many rows there are; 0 where their table is not there yet."""
    try:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            return int(connection.execute(f"SELECT count(*) FROM {rows}").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


@pytest.fixture
def crawling(tmp_path: Path) -> Crawling:
    return Crawling(tmp_path / "crawl.db")
