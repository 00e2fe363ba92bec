"""Which of the pages that the database knows a crawl visits."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

from scrapy.crawler import Crawler
from scrapy.http import Response

from crawler.page import AGAIN
from crawler.pages.extraction import LinkRules
from crawler.pages.pipeline import StoragePipeline
from crawler.pages.revisits import Revisits
from crawler.pages.visits import Visit
from crawler.spider.arguments import SiteArguments
from crawler.spider.conditional import NOT_MODIFIED


class RevisitPlan:
    """The pages that the database knows and that are in the scope of a crawl.

    Args:
        crawler: the crawl.
        arguments: what it was asked for.
        rules: which addresses it may fetch.
    """

    def __init__(self, crawler: Crawler, arguments: SiteArguments, rules: LinkRules) -> None:
        self._crawler = crawler
        self._arguments = arguments
        self._rules = rules
        self._round = 0
        self._last_undecided = 0

    @property
    def revisits(self) -> Revisits | None:
        """What the database knows; None in a crawl that stores no pages."""
        return StoragePipeline.revisits_of(self._crawler)

    async def find_due(self) -> AsyncIterator[Visit]:
        """Yield the pages that a re-crawl visits again: all, or those older than `max_age`."""
        if self.revisits is None or not self._arguments.recrawl:
            return
        async for visit in self.revisits.find_known(time.time() - (self._arguments.max_age or 0)):
            if self._is_wanted(visit):
                yield visit

    def find_undecided(self) -> tuple[str, list[Visit]]:
        """Return pages that have to be fetched once more before the crawl is over.

        What was a copy of a page that has changed or is gone would be stored nowhere, if it was
        visited before that was known, or is too young for a visit. What another visit does not
        settle is tried twice more. To be called when nothing else is left to do.

        Returns:
            The kind of request to make, and some of the pages; none when there are no more.
        """
        wanted: list[Visit] = []
        kind = ""
        while not wanted and self.revisits is not None and self._round < len(AGAIN):
            kind = AGAIN[self._round]
            # A page that another crawl has left undecided may be of no interest to this one.
            of_this_run = not self._arguments.recrawl
            self._last_undecided, visits = self.revisits.find_undecided(self._last_undecided, of_this_run=of_this_run)
            if not self._last_undecided:
                self._round += 1
            wanted = [visit for visit in visits if self._is_wanted(visit)]
        return kind, wanted

    async def note_gone(self, urls: list[str]) -> None:
        """Do with pages that are gone what `CRAWLER_GONE` says."""
        if self.revisits is not None:
            await self.revisits.note_gone(urls)

    async def prepare_moving(self, response: Response) -> None:
        """Let the index forget what has moved to a page, before that is decided."""
        # Others are looked at once they are settled; only for pages that are decided again this makes a difference.
        is_decided_again = self._arguments.recrawl and NOT_MODIFIED not in response.flags
        if self.revisits is not None and (is_decided_again or "redirect_urls" in response.meta):
            await self.revisits.prepare_moving(response.url)

    def _is_wanted(self, visit: Visit) -> bool:
        most = self._arguments.max_depth
        return self._rules.allow(visit.url) and (most is None or visit.depth <= most)
