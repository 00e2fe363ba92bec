"""The run of a crawl as its feeds know it: what it has written before, and what it has kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TypeVar

from scrapy.crawler import Crawler

from crawler.feeds.kept import PagesOfRun, read_kept_pages
from crawler.feeds.records import Part, find_parts, find_standing, forget, note_begun, note_ended
from crawler.frontier.settings import FrontierSettings
from crawler.page import Page
from crawler.runs.naming import name_of_run
from dedup.errors import DatabaseError
from dedup.sql.database import Database, require_file
from dedup.stage.failures import outages_of, read_item_settings, read_settings
from dedup.stage.pipelines import RUN_GOES_ON

T = TypeVar("T")


class FeedRun:
    """The run of a crawl by the site spider.

    Args:
        crawler: the crawl, before its start.

    Attributes:
        continued: the name of the run, if it is one that goes on.
        is_late: whether its pages are written when it ends, from the database: where it goes on, or is shared.
        is_over: whether other workers have finished it already.

    Raises:
        SystemExit, DedupError: a setting cannot be used.
        DatabaseError: the database cannot be read.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._settings = FrontierSettings.read(crawler)
        with self._opened() as database:
            has_name = self._settings.run and _is_there(database)
            standing = find_standing(database, self._settings.run) if has_name else None
        self.is_over = standing is not None and standing.is_over and self._settings.is_shared
        self.continued = self._settings.run if standing is not None and not standing.is_over else None
        self.is_late = self._settings.is_shared or self.continued is not None
        # The name of a shared run is used once, and the clocks of its workers may differ.
        self._since = standing.started if standing is not None and not self._settings.is_shared else 0.0

    def find_parts(self, path: Path) -> list[Part]:
        """Return what is known of the parts of a file.

        Raises:
            DatabaseError: the database cannot be read.
        """
        with self._opened() as database:
            return find_parts(database, str(path)) if _is_there(database) else []

    @property
    def goes_on(self) -> bool:
        """Whether other workers go on with it, once this one has left."""
        return bool(self._crawler.stats.get_value(RUN_GOES_ON))

    async def begin(self, starts: Mapping[Path, int]) -> None:
        """Note which parts of files are the run's from now on.

        Args:
            starts: the first byte of each.

        Raises:
            DatabaseError: the database cannot be written.
        """
        named = {str(path): start for path, start in starts.items()}
        await self._ask(partial(note_begun, run=self._name, starts=named))

    async def read_pages(self, *, with_html: bool) -> AsyncIterator[list[Page]]:
        """Yield the pages that the run has kept, some at a time, each once; see `read_kept_pages`.

        Args:
            with_html: whether their bytes are wanted, too.

        Raises:
            DatabaseError: one of them cannot be read.
        """
        settings = read_settings(self._crawler)
        wanted = PagesOfRun(self._name, self._since, not read_item_settings(self._crawler).drop_unchanged, with_html)

        def read(database: Database, after: int) -> tuple[int, list[Page]]:
            if not settings.enabled:
                return read_kept_pages(database, None, wanted, after)
            with closing(Database(settings.database_url, settings.lock_timeout, read_only=True)) as verdicts:
                return read_kept_pages(database, verdicts, wanted, after)

        last, kept = await self._ask(partial(read, after=0))
        while last:
            yield kept
            last, kept = await self._ask(partial(read, after=last))

    async def end(self, sizes: Mapping[Path, int], reason: str) -> None:
        """Note how long files are now, or forget them if the run is forgotten.

        Args:
            sizes: the size of each file that is whole, in bytes.
            reason: why the crawl has ended.

        Raises:
            DatabaseError: the database cannot be written.
        """
        is_all = self._crawler.stats.get_value("frontier/left") == 0
        if reason == "finished" and is_all and not self._settings.is_shared:
            await self._ask(partial(forget, run=self._name))
        else:
            ends = {str(path): size for path, size in sizes.items()}
            await self._ask(partial(note_ended, run=self._name, ends=ends))

    @property
    def _name(self) -> str:
        return name_of_run(self._crawler)

    def _opened(self, *, read_only: bool = True) -> closing[Database]:
        return closing(Database(self._settings.database_url, self._settings.lock_timeout, read_only=read_only))

    async def _ask(self, function: Callable[[Database], T]) -> T:
        """Return what a function makes of the database, in a thread, however long its server is away."""

        def work() -> T:
            with self._opened(read_only=False) as database:
                return function(database)

        return await asyncio.to_thread(outages_of(self._crawler).survive, work)


def _is_there(database: Database) -> bool:
    try:
        require_file(database)
    except DatabaseError:
        return False
    return True
