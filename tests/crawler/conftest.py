"""Crawls of a test's site, one after the other, into one database."""

from __future__ import annotations

import fcntl
import pickle
import shutil
import sqlite3
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.crawling import Crawl, Outcome, ask, crawl, crawl_site_here, pages_in
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
        return ask(self.database_url, query)

    @property
    def database_url(self) -> str:
        return f"sqlite:///{self.database}"

    @property
    def kept(self) -> list[str]:
        """The paths of the stored pages that are not gone, on the site that was crawled last."""
        pages = pages_in(self.database_url)
        return sorted(page["url"].removeprefix(self.site_url) for page in pages if page["gone"] is None)


def count_pages(database: Path) -> int:
    """How many pages are stored; 0 where there is no table for them yet."""
    try:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            return int(connection.execute("SELECT count(*) FROM pages").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


@pytest.fixture
def crawling(tmp_path: Path) -> Crawling:
    return Crawling(tmp_path / "crawl.db")


@dataclass(frozen=True)
class Demo:
    """The demo site as it was crawled, once for all tests.

    Attributes:
        url: where it was.
        first: its crawl.
        second: another one, into a copy of that database.
        hits: how often each path was asked for by the first one.
        archive: the web archive that the first one wrote.
    """

    url: str
    first: Crawl
    second: Crawl
    hits: Counter[str]
    archive: Path


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Demo:
    folder = tmp_path_factory.getbasetemp()
    # That of a worker lies in that of the session.
    folder = (folder if worker_id == "master" else folder.parent) / "demo"
    folder.mkdir(exist_ok=True)
    told = folder / "demo.pickle"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not told.exists():
            told.write_bytes(pickle.dumps(crawl_demo(folder)))
        return pickle.loads(told.read_bytes())  # type: ignore[no-any-return]


def crawl_demo(folder: Path) -> Demo:
    from crawler.demo import DemoServer

    archive = folder / "demo.warc.gz"
    with DemoServer() as server:
        url = f"{server.url}/"
        first = crawl(folder / "first.db", None, ("-o", str(archive)), url=url)
        hits = Counter(server.hits)
        shutil.copy(folder / "first.db", folder / "second.db")
        second = crawl(folder / "second.db", url=url)
    return Demo(server.url, first, second, hits, archive)
