"""The requests that were handed to the engine, and what becomes of their rows when they end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import Response

from crawler.frontier.schema import SUSPECT, Changes, TakenUrl
from crawler.page import NotStored, OverLimit
from crawler.politeness.hosts import host_of
from crawler.request_meta import BY_RULE, ROW
from dedup.stage.outages import mark_failed
from dedup.stage.pending import Undecided
from dedup.stage.scrapy_private import requests_in_progress

# Their page was neither stored nor dropped: the next crawl of the run has to fetch it again.
_UNSETTLED = (NotStored, OverLimit, Undecided)


class _HeldRequest(NamedTuple):
    request: Request
    is_suspect: bool


class InFlight:
    """The requests that were handed to the engine and have not ended.

    The engine holds a request until nothing of it is left to do: it was redirected, or it failed
    and its errback is through, or the callback has ended, all its requests are in the scheduler and
    all its items have left the pipelines. That says more than any signal.

    Args:
        crawler: the crawl.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._rows: dict[int, _HeldRequest] = {}
        self._kept: set[int] = set()
        self._unsettled: set[int] = set()
        crawler.signals.connect(self.item_scraped, signals.item_scraped)
        crawler.signals.connect(self.item_dropped, signals.item_dropped)
        crawler.signals.connect(self.page_failed, signals.item_error)
        crawler.signals.connect(self.page_failed, signals.spider_error)

    def __len__(self) -> int:
        return len(self._rows)

    def hosts(self) -> Iterator[str]:
        """Yield the host of each."""
        return (host_of(held.request) for held in self._rows.values())

    @property
    def has_suspect(self) -> bool:
        """Whether a URL that several processes died with is among them."""
        return any(row.is_suspect for row in self._rows.values())

    @property
    def rows(self) -> set[int]:
        """The rows of these requests, and of those that ended without their page being stored or dropped."""
        return self._rows.keys() | self._unsettled

    def add(self, taken: TakenUrl, request: Request) -> None:
        """Remember a request that is handed to the engine now."""
        self._rows[taken.id] = _HeldRequest(request, taken.attempts >= SUSPECT)

    def row_to_retry(self, request: Request) -> int | None:
        """Return the row that a request is another try of, and let it end here; None if it is of none."""
        row: int = request.meta.get(ROW, 0)
        held = self._rows.get(row)
        if held is None or held.request.url != request.url:
            return None
        del self._rows[row]
        return row

    def take_finished(self, changes: Changes) -> bool:
        """Note the rows that are done since the last call, or passed over; say whether there are any."""
        in_progress = requests_in_progress(self._crawler)
        if in_progress is None:
            return False
        ended = [row for row, held in self._rows.items() if held.request not in in_progress]
        for row in ended:
            meta = self._rows.pop(row).request.meta
            if meta.get(BY_RULE):
                changes.passed.append(row)
            elif row in self._unsettled:
                # Taken until the crawl ends, so that it does not fetch them again itself.
                self._unsettled.add(row)
            else:
                changes.done.append((row, row in self._kept))
        self._kept.difference_update(ended)
        return bool(ended)

    def item_scraped(self, response: Response | None) -> None:
        self._note(self._kept, response)

    def item_dropped(self, response: Response | None, exception: BaseException) -> None:
        if isinstance(exception, _UNSETTLED):
            self._note(self._unsettled, response)

    def page_failed(self, response: Response | None) -> None:
        """Handle the signals: a callback or a pipeline has failed on a page; the next crawl tries it again."""
        self._note(self._unsettled, response)
        mark_failed(self._crawler, "page_error")

    def _note(self, rows: set[int], response: Response | None) -> None:
        row = response.request.meta.get(ROW) if response is not None and response.request is not None else None
        if row is not None:
            rows.add(row)
