"""What a crawl does with pages that the database knows from before, and what becomes of those that are gone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from scrapy.crawler import Crawler
from scrapy.http import Response

from crawler.page import is_named_pdf
from crawler.pages.store import PageStore, Reason, Target, Visit
from crawler.reasons import NOTHING_NEW
from crawler.request_meta import NOT_MODIFIED
from crawler.runs import name_of_run
from crawler.settings import Gone
from dedup.errors import DatabaseError
from dedup.signature.normalise import clean
from dedup.stage.batching import MicroBatcher
from dedup.stage.outages import CrawlStopper
from dedup.stage.pipelines import NearDuplicatePipeline
from dedup.stage.project import read_item_settings
from dedup.store.notes import read_skipped_keys
from dedup.store.runs import read_last_verdicts

logger = logging.getLogger(__name__)

_BATCH = 500
_MOST_OVER = 1_000
_ROUNDS = 3


@contextmanager
def stopping(stopper: CrawlStopper) -> Iterator[None]:
    """Let a database error stop the crawl; what comes behind it in the block is not done."""
    try:
        yield
    except DatabaseError as error:
        stopper.stop(error, "database_error")


class Revisits:
    """The pages that the database knows, as a crawl by the spider `site` meets them again.

    What fails ends the crawl in order, see `CrawlStopper`; the page that it was about is not
    settled then.

    - Stats: `crawler/gone`, `crawler/moved`.

    Args:
        crawler: the crawl.
        store: the stored pages and their visits.
        gone: what becomes of a page that is gone.
    """

    def __init__(self, crawler: Crawler, store: PageStore, gone: Gone) -> None:
        self._crawler = crawler
        self._store = store
        self._gone = gone
        self._stopper = CrawlStopper.of(crawler)
        self._finding: MicroBatcher[str, Visit | None] = MicroBatcher(self._find_all, _BATCH)
        spider: Any = crawler.spider
        self._arguments, self._rules = spider.arguments, spider.rules
        self._round = 0
        self._last_undecided = 0

    async def close(self) -> None:
        """Wait for the look-ups that are under way."""
        await self._finding.close()

    async def find(self, url: str) -> Visit | None:
        """Return what is known of a page from its last visit; None for nothing, and if it is gone."""
        with stopping(self._stopper):
            return await self._finding.submit(clean(url))
        return None

    async def read_kept(self, run: str) -> list[str]:
        """Return the addresses of the pages that a run has kept so far."""
        with stopping(self._stopper):
            also_unchanged = not read_item_settings(self._crawler).drop_unchanged
            return await asyncio.to_thread(self._store.read_kept, run, also_unchanged=also_unchanged)
        return []

    async def is_pdf(self, url: str) -> bool:
        """Return whether a page is a PDF; of one that is not stored yet its address has to tell."""
        with stopping(self._stopper):
            extraction = await asyncio.to_thread(self._store.read_extraction, clean(url))
            return is_named_pdf(url) if extraction is None else extraction == "pdf"
        return False

    async def read_html(self, url: str) -> bytes | None:
        """Return the bytes of a stored page as they were seen last."""
        with stopping(self._stopper):
            return await asyncio.to_thread(self._store.read_html, clean(url))
        return None

    async def read_last_verdicts(self, most: int) -> list[tuple[str, str | None, bool, str]]:
        """Return the last pages that were decided, so many, as `dedup.store.runs.read_last_verdicts` does."""
        with stopping(self._stopper):
            return await asyncio.to_thread(read_last_verdicts, self._store.database, most)
        return []

    async def read_over(self) -> list[str]:
        """Return the patterns of addresses that were over in earlier crawls, the last ones."""
        with stopping(self._stopper):
            reason = NOTHING_NEW.replace("_", " ")
            return await asyncio.to_thread(read_skipped_keys, self._store.database, reason, _MOST_OVER)
        return []

    async def find_due(self) -> AsyncIterator[Visit]:
        """Yield the pages that a re-crawl visits: all, those older than `max_age`, or whose interval is over.

        The stored ones come first.

        Only pages in the scope of the crawl, as below.
        """
        max_age = self._arguments.max_age
        if max_age is None and self._arguments.intervals is None:
            max_age = 0
        with stopping(self._stopper):
            for stored in (True, False) if self._arguments.recrawl else ():
                last: int | None = 0
                while last is not None:
                    visits = await asyncio.to_thread(self._store.find_due, last, _BATCH, max_age, stored=stored)
                    for visit in filter(self._is_wanted, visits):
                        yield visit
                    last = visits[-1].id if len(visits) == _BATCH else None

    def find_undecided(self) -> list[Visit]:
        """Return pages that have to be fetched once more before the crawl is over.

        What was a copy of a page that has changed or is gone would be stored nowhere, if it was
        visited before that was known, or is too young for a visit. A page that a cancelled run had
        changed or not found is visited only here, if nothing links it. What another visit does not
        settle is tried twice more. To be called when nothing else is left to do, until it returns none.
        """
        wanted: list[Visit] = []
        with stopping(self._stopper):
            while not wanted and self._dedup is not None and self._round < _ROUNDS:
                # A page that another crawl has left undecided may be of no interest to this one.
                of_this_run = not self._arguments.recrawl
                found = self._dedup.find_undecided(self._last_undecided, _BATCH, of_this_run=of_this_run)
                urls = [url for _, url in found]
                visits = self._store.find_visits(urls)
                if self._arguments.recrawl:
                    visits |= self._store.find_unvisited(urls)
                wanted = [visits[url] for url in urls if url in visits and self._is_wanted(visits[url])]
                self._last_undecided = found[-1][0] if found else 0
                self._round += not found
        return wanted

    def _is_wanted(self, visit: Visit) -> bool:
        most = self._arguments.max_depth
        return self._rules.allow(visit.url) and (most is None or visit.depth <= most)

    async def note_gone(self, urls: Sequence[str]) -> None:
        """Do with pages that are gone what `CRAWLER_GONE` says; those that no crawl has seen are passed over."""
        if self._gone is Gone.KEEP:
            return
        with stopping(self._stopper):
            cleaned = [clean(url) for url in urls]
            pages = list(await asyncio.to_thread(self._store.find_visits, cleaned))
            pages += await asyncio.to_thread(self._store.find_moving, cleaned)
            pages = list(dict.fromkeys(pages))
            if not pages:
                return
            await self._let_go(pages)
            if self._gone is Gone.MARK:
                await asyncio.to_thread(self._store.mark, pages, self._run)
            else:
                await asyncio.to_thread(self._store.take_away, pages, Reason.GONE, self._run)
            self._crawler.stats.inc_value("crawler/gone", len(pages))
            for url in pages:
                logger.info("gone %s: %s", url, "marked" if self._gone is Gone.MARK else "deleted")

    async def note_moving(self, urls: Sequence[str], target: str, seen_since: float) -> None:
        """Note that pages redirect for good; they are taken away once what is at their target is settled.

        Args:
            urls: the pages.
            target: the address that they redirect to.
            seen_since: a page there that was seen later than this is not visited in this run.
        """
        olds = [clean(url) for url in urls]
        with stopping(self._stopper):
            found = await asyncio.to_thread(self._store.note_moving, olds, clean(target), self._run, seen_since)
            if found is Target.THERE:
                await self.finish_moving(olds)
            elif found is Target.GONE:
                await self.note_gone(olds)

    async def prepare_moving(self, response: Response) -> None:
        """Take what has moved to a page out of the index, before that is decided."""
        # Others are looked at once they are settled; only for pages that are decided again this makes a difference.
        is_decided_again = self._arguments.recrawl and NOT_MODIFIED not in response.flags
        if not is_decided_again and "redirect_urls" not in response.meta:
            return
        with stopping(self._stopper):
            moving = await asyncio.to_thread(self._store.find_moving, [clean(response.url)])
            if moving:
                await self._let_go(moving)

    async def note_there(self, target: str) -> None:
        """Take away the pages that have moved to one that is there, and is not visited."""
        with stopping(self._stopper):
            moving = await asyncio.to_thread(self._store.find_moving, [clean(target)])
            if moving:
                await self.finish_moving(moving)

    async def finish_moving(self, urls: Sequence[str]) -> None:
        """Take away pages that have moved to another one, which is settled.

        Raises:
            DatabaseError: it has to be done again, and will be when the page is seen again.
        """
        # In this order: killed in between, the page that they have moved to is not done and comes again.
        await self._let_go(urls)
        await asyncio.to_thread(self._store.take_away, urls, Reason.MOVED, self._run)
        self._crawler.stats.inc_value("crawler/moved", len(urls))

    @property
    def _run(self) -> str:
        return name_of_run(self._crawler)

    @property
    def _dedup(self) -> NearDuplicatePipeline | None:
        return self._crawler.get_item_pipeline(NearDuplicatePipeline)

    async def _let_go(self, urls: Sequence[str]) -> None:
        if self._dedup is not None:
            await self._dedup.forget(list(urls))

    def _find_all(self, urls: list[str]) -> list[Visit | None]:
        found = self._store.find_visits(urls)
        return [found.get(url) for url in urls]
