"""What a crawl does with pages that the database knows from before, and what becomes of those that are gone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from enum import StrEnum

from scrapy.crawler import Crawler

from crawler.page import stopping
from crawler.pages.store import PageStore
from crawler.pages.visits import Reason, Target, Visit
from crawler.runs import name_of_run
from dedup.errors import SettingsError
from dedup.signature.normalise import clean
from dedup.stage.failures import CrawlStopper, refuse_to_start
from dedup.stage.passed import MicroBatcher
from dedup.stage.pipelines import NearDuplicatePipeline

logger = logging.getLogger(__name__)

_BATCH = 500


class Gone(StrEnum):
    """What becomes of a stored page whose address answers 404 or 410.

    KEEP changes nothing. MARK notes in the page's row since when it is gone, DELETE takes the row
    away; with both the page leaves the index, and its duplicates are decided again.
    """

    KEEP = "keep"
    MARK = "mark"
    DELETE = "delete"

    @classmethod
    def read(cls, crawler: Crawler) -> Gone:
        """Return what `CRAWLER_GONE` says; what is none of these ends the crawl before it begins."""
        policy = crawler.settings.get("CRAWLER_GONE", Gone.MARK)
        if policy not in set(cls):
            refuse_to_start(SettingsError(f"CRAWLER_GONE = {policy!r}: expected one of {', '.join(cls)}"))
        return cls(policy)


class Revisits:
    """The pages that the database knows, as a crawl meets them again.

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

    async def close(self) -> None:
        """Wait for the look-ups that are under way."""
        await self._finding.close()

    async def find(self, url: str) -> Visit | None:
        """Return what is known of a page from its last visit; None for nothing, and if it is gone."""
        with stopping(self._stopper):
            return await self._finding.submit(clean(url))
        return None

    async def read_html(self, url: str) -> bytes | None:
        """Return the bytes of a stored page as they were seen last."""
        with stopping(self._stopper):
            return await asyncio.to_thread(self._store.read_html, clean(url))
        return None

    async def find_known(self, seen_before: float) -> AsyncIterator[Visit]:
        """Yield the pages that are not gone: those that are stored, then the duplicates.

        Args:
            seen_before: only those that were seen last at this time or earlier, in seconds since 1970.
        """
        with stopping(self._stopper):
            for stored in (True, False):
                last: int | None = 0
                while last is not None:
                    visits = await asyncio.to_thread(self._store.find_known, last, _BATCH, seen_before, stored=stored)
                    for visit in visits:
                        yield visit
                    last = visits[-1].id if len(visits) == _BATCH else None

    def find_undecided(self, after: int, *, of_this_run: bool) -> tuple[int, list[Visit]]:
        """Return pages whose content has to be seen again: what they were copies of has changed or is gone.

        Args:
            after: what the last call has returned; 0 for the first ones.
            of_this_run: only those that were seen in this run.

        Returns:
            Where to go on, 0 where there are no more, and the pages.
        """
        dedup = self._dedup
        if dedup is None:
            return 0, []
        with stopping(self._stopper):
            found = dedup.find_undecided(after, _BATCH, of_this_run=of_this_run)
            visits = self._store.find_visits([url for _, url in found])
            return found[-1][0] if found else 0, [visits[url] for _, url in found if url in visits]
        return 0, []

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

    async def prepare_moving(self, target: str) -> None:
        """Take the pages that have moved to another one out of the index, before that is decided."""
        with stopping(self._stopper):
            moving = await asyncio.to_thread(self._store.find_moving, [clean(target)])
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
