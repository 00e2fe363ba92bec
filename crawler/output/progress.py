"""What a person sees of a crawl: a line while it runs, a summary when it ends."""

from __future__ import annotations

import logging
import os
import sys
import time
from typing import Self, TextIO

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.statscollectors import StatsCollector
from scrapy.utils.asyncio import create_looping_call

from crawler.output.skipping import PREFIX as SKIPPED
from crawler.output.summary import DROPPED, count_kept, count_verdicts, summarise, take_verdicts_of_run
from crawler.politeness.hosts import Hosts
from dedup.progress import duration
from dedup.stage.failures import mark_failed
from dedup.stage.pipelines import RUN_GOES_ON
from dedup.terminal import write_lines

logger = logging.getLogger(__name__)

TERMINAL_INTERVAL = 0.5
LOG_INTERVAL = 10.0
_ERASE_LINE = "\r\x1b[K"


class Progress:
    """Extension: a live line on a terminal, otherwise a log line every ten seconds; then a summary.

    The live line goes to standard error, the summary to standard output, unless a feed is written there. A crawl
    that fetched nothing at all ends with status 1. Of a run that workers share the last one tells, of all; who goes
    on with a run tells of the whole run.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._terminal = _Terminal(sys.stderr) if sys.stderr.isatty() else None
        self._started = time.monotonic()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler)
        crawler.signals.connect(extension.spider_opened, signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signals.spider_closed)
        crawler.signals.connect(extension.engine_stopped, signals.engine_stopped)
        return extension

    def spider_opened(self) -> None:
        self._started = time.monotonic()
        if self._crawler.settings.get("LOG_FILE"):
            _show_warnings_on_screen()
        if self._terminal is not None:
            self._terminal.share_with_log()
        _make_no_records_in_vain()
        self._loop = create_looping_call(self._show)
        self._loop.start(TERMINAL_INTERVAL if self._terminal else LOG_INTERVAL, now=False)

    def spider_closed(self, reason: str) -> None:
        if self._loop.running:
            self._loop.stop()
        if self._terminal is not None:
            self._terminal.erase()
        self._reason = reason
        stats = self._crawler.stats
        is_continued = stats.get_value("frontier/done_before", 0) > 0
        # Where others go on with the run, they may have fetched everything.
        was_anything = any(map(stats.get_value, ("crawler/fetched", "crawler/passed_over", RUN_GOES_ON)))
        if reason == "finished" and not was_anything and not is_continued:
            logger.error("nothing was fetched: %s", _why_nothing(self._crawler))
            mark_failed(self._crawler, "nothing_fetched")

    def engine_stopped(self) -> None:
        stats = self._crawler.stats
        seconds = time.monotonic() - self._started
        if stats.get_value(RUN_GOES_ON):
            line = progress_line(stats, seconds)
            logger.info("this worker ends, the summary is that of the whole run by the last one: %s", line)
            return
        if stats.get_value("frontier/seconds"):
            take_verdicts_of_run(self._crawler)
            seconds = stats.get_value("frontier/seconds")
        # A feed may be written there.
        is_taken = any(str(uri).startswith("stdout:") for uri in self._crawler.settings.getdict("FEEDS"))
        stream = sys.stderr if is_taken else sys.stdout
        write_lines(summarise(self._crawler, self._reason, seconds), stream)
        stream.flush()

    def _show(self) -> None:
        line = progress_line(self._crawler.stats, time.monotonic() - self._started)
        if self._terminal is not None:
            self._terminal.show(line)
        else:
            logger.info("%s", line)


def progress_line(stats: StatsCollector, seconds: float) -> str:
    """Say in one line how far a crawl is.

    Args:
        stats: the crawl's stats.
        seconds: since its start.
    """
    fetched = stats.get_value("crawler/fetched", 0)
    kept, dropped = count_kept(stats), count_verdicts(stats, *DROPPED)
    queued = stats.get_value("scheduler/enqueued", 0) - stats.get_value("scheduler/dequeued", 0)
    # What other workers have queued or taken is not known here.
    is_shared = stats.get_value("frontier/is_shared")
    return (
        f"crawling    {fetched:,} fetched   {kept:,} kept   {dropped:,} dropped   "
        f"{'' if is_shared else f'{queued:,} queued   '}"
        f"{fetched / seconds if seconds else 0:.0f} pages/s   {duration(seconds)}"
    )


class _Terminal:
    """The last line of a terminal that log lines are written to as well."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_shown = False

    def show(self, line: str) -> None:
        columns = os.get_terminal_size(self._stream.fileno()).columns
        self._stream.write(_ERASE_LINE + line[: columns - 1])
        self._stream.flush()
        self._is_shown = True

    def erase(self) -> None:
        if self._is_shown:
            self._stream.write(_ERASE_LINE)
            self._stream.flush()
            self._is_shown = False

    def share_with_log(self) -> None:
        for handler in logging.root.handlers:
            if isinstance(handler, logging.StreamHandler) and handler.stream is self._stream:
                handler.addFilter(self._make_room)

    def _make_room(self, record: logging.LogRecord) -> bool:
        self.erase()
        return True


def _make_no_records_in_vain() -> None:
    # Scrapy lets every handler see every record, and makes several for each page at DEBUG.
    levels = [handler.level for handler in logging.root.handlers]
    if levels and logging.root.level == logging.NOTSET:
        logging.root.setLevel(min(levels))


def _show_warnings_on_screen() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setLevel(logging.WARNING)
    handler.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
    logging.root.addHandler(handler)


def _why_nothing(crawler: Crawler) -> str:
    skipped = [name.removeprefix(SKIPPED) for name in crawler.stats.get_stats() if name.startswith(SKIPPED)]
    reasons = {name.replace("_", " ") for name in skipped} | set(Hosts.of(crawler).parked.values())
    return ", ".join(sorted(reasons)) or "no page of the site could be reached"
