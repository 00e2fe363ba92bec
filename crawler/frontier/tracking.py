"""Which requests are under way, and which of them are dealt with for good."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import Response

from crawler.frontier.entries import TakenUrl
from crawler.frontier.table import SUSPECT
from crawler.page import ROW, UNSETTLED, NotStored, OverLimit
from dedup.stage.dropping import Undecided

# Their page was neither stored nor dropped: the next crawl of the run has to fetch it again.
_UNSETTLED = (NotStored, OverLimit, Undecided)


class _HeldRequest(NamedTuple):
    request: Request
    is_suspect: bool
    host: str


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

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def has_suspect(self) -> bool:
        """Whether a URL that several processes died with is among them."""
        return any(row.is_suspect for row in self._rows.values())

    @property
    def rows(self) -> set[int]:
        """The rows of these requests, and of those that ended without their page being stored or dropped."""
        return self._rows.keys() | self._unsettled

    @property
    def hosts(self) -> Counter[str]:
        """How many of these requests go to each host."""
        return Counter(row.host for row in self._rows.values())

    def add(self, taken: TakenUrl, request: Request) -> None:
        """Remember a request that is handed to the engine now."""
        self._rows[taken.id] = _HeldRequest(request, taken.attempts >= SUSPECT, taken.host)

    def row_to_retry(self, request: Request) -> int | None:
        """Return the row that a request is another try of, and let it end here; None if it is of none."""
        row: int = request.meta.get(ROW, 0)
        held = self._rows.get(row)
        if held is None or held.request.url != request.url:
            return None
        del self._rows[row]
        return row

    def take_finished(self) -> list[tuple[int, bool]]:
        """Return the rows that are done since the last call, and whether their page was kept."""
        slot = self._crawler.engine._slot if self._crawler.engine else None  # noqa: SLF001 -- there is no public way
        if slot is None:
            return []
        ended = [row for row, held in self._rows.items() if held.request not in slot.inprogress]
        for row in ended:
            if self._rows.pop(row).request.meta.get(UNSETTLED):
                self._unsettled.add(row)
        # The others stay taken until the crawl ends, so that it does not fetch them again itself.
        done = [(row, row in self._kept) for row in ended if row not in self._unsettled]
        self._kept.difference_update(ended)
        return done

    def item_scraped(self, response: Response | None) -> None:
        self._note(self._kept, response)

    def item_dropped(self, response: Response | None, exception: BaseException) -> None:
        if isinstance(exception, _UNSETTLED):
            self._note(self._unsettled, response)

    def _note(self, rows: set[int], response: Response | None) -> None:
        row = response.request.meta.get(ROW) if response is not None and response.request is not None else None
        if row is not None:
            rows.add(row)
