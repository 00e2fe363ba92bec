"""What a crawl shows: a line while it runs, a summary when it ends, and the pages that it skipped."""

from __future__ import annotations

import logging
import os
import shlex
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Self, TextIO

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.statscollectors import StatsCollector
from scrapy.utils.asyncio import create_looping_call

from crawler.limits import PageLimitPipeline
from crawler.page import NOT_STORED
from crawler.politeness.hosts import Hosts
from crawler.reasons import UNANSWERED
from crawler.runs import command_to_continue, name_of_run, option_of_database
from crawler.secrets import without_password
from crawler.settings import CrawlerSettings
from crawler.skipping import count_skipped, named_of, take_skipped
from dedup.console import (
    Line,
    counted,
    duration,
    labelled,
    linked,
    linked_beside,
    parted,
    plain,
    program,
    readable,
    table,
    write_lines,
)
from dedup.errors import DatabaseError
from dedup.report.queries import read_noted, read_totals
from dedup.stage.outages import mark_failed
from dedup.stage.pipelines import RUN_GOES_ON
from dedup.stage.project import settings_of
from dedup.stage.summary import (
    DROPPED,
    KEPT,
    MARKED,
    count_verdicts,
    database_line,
    dropped_line,
    kept_by_verdict,
    text_lines,
)
from dedup.store.database import open_existing_database

logger = logging.getLogger(__name__)

LINKS_NOT_HTML = "crawler/links_not_html"

_TLS = logging.getLogger("scrapy.core.downloader.tls")
_MOST_TOLD = 10_000
_SITES_NAMED = 3
_OF_KNOWN = ("not_modified", "passed_over", "moved", "gone")

TERMINAL_INTERVAL = 0.5
LOG_INTERVAL = 10.0
_ERASE_LINE = "\r\x1b[K"


def summarise(crawler: Crawler, reason: str, seconds: float) -> list[Line]:
    """Return what a crawl did, in some ten lines, styled for a terminal.

    Args:
        crawler: the crawl, after its end.
        reason: why it ended, as Scrapy names it.
        seconds: how long it took.
    """
    stats = crawler.stats
    arguments = getattr(crawler.spider, "arguments", None)
    kept = kept_by_verdict(stats)
    if not_stored := stats.get_value(NOT_STORED, 0):
        kept["not stored"] = -not_stored
    skipped = count_skipped(stats, fetched=True)
    fetched = count_fetched(stats)
    lines = [
        ("site", _site(arguments.urls + arguments.sitemaps + arguments.warc) if arguments else ""),
        ("stopped", _stopped(stats, reason)),
        ("fetched", f"{counted(fetched, 'page')} in {duration(seconds)}, {fetched / seconds:.0f} a second"),
        ("kept", parted(kept, "page") if any(kept.values()) else counted(count_kept(stats), "page")),
        ("dropped", dropped_line(stats, "page")),
        ("known before", _known(stats)),
        ("skipped", parted(skipped, "page") if skipped else ""),
        ("given up", _given_up(crawler)),
        ("not fetched", _not_fetched(crawler)),
        ("held back", _held_back(crawler)),
        ("not followed", _not_followed(stats)),
        *text_lines(stats, "page"),
        ("parts", f"{parts:,}" if (parts := stats.get_value("frontier/parts")) else ""),
        ("database", database_line(crawler.settings.get("DEDUP_DATABASE_URL", ""))),
        ("report", _report(crawler)),
        _next(crawler, reason),
    ]
    # What is read first when a command has ended is what stands last.
    return [
        *_skipped_pages(crawler, sum(skipped.values())),
        labelled((label, text) for label, text in lines if text),
    ]


def take_figures_of_run(crawler: Crawler) -> None:
    """Let the stats of what became of pages be those of the whole run, as they stand in the database.

    The stats of processes that were killed tell of some pages that others fetched again.
    """
    try:
        with closing(open_existing_database(crawler.settings["DEDUP_DATABASE_URL"])) as database:
            run = name_of_run(crawler)
            totals, noted = read_totals(database, run), read_noted(database, run)
    except DatabaseError:  # as below
        return
    take_skipped(crawler, noted.skipped)
    crawler.stats.set_value("dedup/not_examined", noted.unexamined)
    for verdict, total in totals.items():
        crawler.stats.set_value(f"dedup/{verdict.value.replace(' ', '_')}", total.documents - total.kept)
    crawler.stats.set_value(MARKED, sum(total.kept for total in totals.values()))
    crawler.stats.set_value("dedup/lost_bytes", sum(total.lost_bytes for total in totals.values()))
    dropped = sum(total.text_bytes - total.kept_bytes for verdict, total in totals.items() if verdict.is_duplicate)
    crawler.stats.set_value("dedup/text_bytes", sum(total.text_bytes for total in totals.values()))
    crawler.stats.set_value("dedup/text_bytes_dropped", dropped)


def _known(stats: StatsCollector) -> str:
    counts = [(stats.get_value(f"crawler/{name}", 0), name.replace("_", " ")) for name in _OF_KNOWN]
    return ", ".join(f"{count:,} {name}" for count, name in counts if count)


def _stopped(stats: StatsCollector, reason: str) -> str:
    """Return why a crawl has not come to its end; nothing where it has."""
    if reason != "shutdown":
        return "" if reason == "finished" else reason.replace("_", " ")
    left = stats.get_value("frontier/left", 0)
    return "interrupted" + (f", {counted(left, 'page')} left" if left else "")


def _given_up(crawler: Crawler) -> str:
    """Name the hosts that have failed for too long, those with most pages left first."""
    parked = crawler.stats.get_value("frontier/parked", {})
    why = Hosts.of(crawler).parked
    most = sorted(parked, key=lambda host: (-parked[host], host))
    # Another process may have been the one that asked it.
    named = [
        f"{plain(host)}: {f'{why[host]}, ' if host in why else ''}{counted(parked[host], 'page')} left" for host in most
    ]
    if len(named) > _SITES_NAMED:
        named[_SITES_NAMED:] = [f"{len(named) - _SITES_NAMED:,} more hosts"]
    return "; ".join(named)


def _not_fetched(crawler: Crawler) -> str:
    """Return how many addresses were passed over, and why, or by how many rules."""
    passed, counts = crawler.stats.get_value("frontier/passed_over", 0), count_skipped(crawler.stats, fetched=False)
    rules = len(list(crawler.spider.address_rules.acting())) if passed else 0  # type: ignore[union-attr]
    found = {f"of copies, by {counted(rules, 'rule')}": passed, **counts}
    return parted(found, "address") if any(found.values()) else ""


def _held_back(crawler: Crawler) -> str:
    """Name what had taken its share of `max_pages`, where addresses of it are left."""
    limits = crawler.get_item_pipeline(PageLimitPipeline)
    found = {} if limits is None or not crawler.stats.get_value("frontier/left") else limits.held_back
    named = [f"{plain(kind)} after {counted(count, 'page')}" for kind, count in found.items()]
    if len(named) > _SITES_NAMED:
        named[_SITES_NAMED:] = [f"{len(named) - _SITES_NAMED:,} more"]
    return "; ".join(named)


def _not_followed(stats: StatsCollector) -> str:
    on_duplicates, to_files = (stats.get_value(name, 0) for name in ("dedup/links_not_followed", LINKS_NOT_HTML))
    message = [f"{counted(on_duplicates, 'link')} on duplicates"] if on_duplicates else []
    message += [f"{counted(to_files, 'link')} to PDF, pictures and other files"] if to_files else []
    return ", ".join(message)


def _site(urls: Sequence[str]) -> str:
    named = ", ".join(readable(without_password(url)) for url in urls[:_SITES_NAMED])
    return named if len(urls) <= _SITES_NAMED else f"{named} and {len(urls) - _SITES_NAMED:,} more"


def _report(crawler: Crawler) -> str:
    """Return the file of the report, if one was written."""
    path: str = crawler.settings.get("DEDUP_REPORT") or ""
    return path if path and Path(path).exists() else ""


def _next(crawler: Crawler, reason: str) -> tuple[str, str]:
    """Return the command to give next: the one that goes on where something is left, else one that shows the report."""
    if crawler.stats.get_value("frontier/left", 0) and crawler.spider is not None:
        return "continue", command_to_continue(crawler, has_all=reason == "max_pages")
    if (report := _report(crawler)).endswith(".html"):
        return "next", shlex.join([program("python"), "-m", "webbrowser", report])
    return "next", shlex.join([program("dedup"), "duplicates", *option_of_database(crawler)])


def count_kept(stats: StatsCollector) -> int:
    """Return how many pages a crawl has kept so far: passed on, and stored."""
    # Without the stage nothing has a verdict.
    passed = count_verdicts(stats, *KEPT) or int(stats.get_value("crawler/stored", 0))
    return passed - int(stats.get_value(NOT_STORED, 0))


def count_fetched(stats: StatsCollector) -> int:
    """Return how many pages a crawl has dealt with so far: each was kept, dropped or skipped."""
    skipped = sum(count_skipped(stats, fetched=True).values())
    return count_kept(stats) + count_verdicts(stats, *DROPPED) + skipped


def _skipped_pages(crawler: Crawler, count: int) -> list[Line]:
    """Name the first pages that were skipped, and where a link to each of them stands."""
    named = named_of(crawler)
    if not named:
        return []
    rows = []
    for page in named:
        url, referrer = without_password(page.url), without_password(page.referrer or "")
        rows.append((page.reason.replace("_", " "), linked(url), linked_beside(referrer, url)))
    more = [f"and {count - len(named):,} more"] if count > len(named) else []
    return [table(("skipped", "page", "linked from"), rows), *more, ""]


class Progress:
    """Extension: a live line on a terminal, otherwise a log line every ten seconds; then a summary.

    The live line goes to standard error, the summary to standard output, unless a feed is written there. A crawl
    that fetched nothing at all, or stored nothing of what it fetched, ends with status 1. Of a run in parts the last
    one tells, of all; who goes on with a run tells of the whole run.
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
        self._certificates = _Once()
        _TLS.addFilter(self._certificates)
        self._loop = create_looping_call(self._show)
        self._loop.start(TERMINAL_INTERVAL if self._terminal else LOG_INTERVAL, now=False)

    def spider_closed(self, reason: str) -> None:
        if self._loop.running:
            self._loop.stop()
        _TLS.removeFilter(self._certificates)
        self._count()
        if self._terminal is not None:
            self._terminal.erase()
        self._reason = reason
        stats = self._crawler.stats
        is_continued = stats.get_value("frontier/done_before", 0) > 0
        # Where others go on with the run, they may have fetched everything.
        is_known = any(map(stats.get_value, ("crawler/passed_over", RUN_GOES_ON)))
        unanswered = sum(count for why, count in count_skipped(stats, fetched=True).items() if why in UNANSWERED)
        if reason == "finished" and count_fetched(stats) == unanswered and not is_known and not is_continued:
            logger.error("nothing was fetched: %s", _why_nothing(self._crawler))
            mark_failed(self._crawler, "nothing_fetched")

    def engine_stopped(self) -> None:
        stats = self._crawler.stats
        seconds = time.monotonic() - self._started
        if stats.get_value(RUN_GOES_ON):
            line = progress_line(stats, seconds)
            part = settings_of(self._crawler, CrawlerSettings).part
            logger.info("part %s is done; the last one prints the summary of the run: %s", part, line)
            return
        if stats.get_value("frontier/seconds"):
            take_figures_of_run(self._crawler)
            seconds = stats.get_value("frontier/seconds")
        self._check_that_anything_was_stored()
        # A feed may be written there.
        is_taken = any(str(uri).startswith("stdout:") for uri in self._crawler.settings.getdict("FEEDS"))
        stream = sys.stderr if is_taken else sys.stdout
        write_lines(summarise(self._crawler, self._reason, seconds), stream)
        stream.flush()

    def _check_that_anything_was_stored(self) -> None:
        """Say so where all that was fetched was skipped: a site is not lost without a word."""
        stats = self._crawler.stats
        skipped = count_skipped(stats, fetched=True)
        was_anything = count_fetched(stats) > sum(skipped.values())
        was_anything |= any(stats.get_value(f"crawler/{name}", 0) for name in _OF_KNOWN)
        answered = sum(count for reason, count in skipped.items() if reason not in UNANSWERED)
        if self._reason == "finished" and answered and not was_anything:
            pages = counted(answered, "page")
            logger.error("nothing is stored of %s that were fetched: %s", pages, _why_nothing(self._crawler))
            mark_failed(self._crawler, "nothing_stored")

    def _count(self) -> None:
        """Let the stat be what the other figures add up to."""
        self._crawler.stats.set_value("crawler/fetched", count_fetched(self._crawler.stats))

    def _show(self) -> None:
        self._count()
        line = progress_line(self._crawler.stats, time.monotonic() - self._started)
        if self._terminal is not None:
            self._terminal.show(line)
        else:
            logger.info("%s", line)


def progress_line(stats: StatsCollector, seconds: float) -> str:
    """Return in one line how far a crawl is.

    Args:
        stats: the crawl's stats.
        seconds: since its start.
    """
    fetched = count_fetched(stats)
    kept, dropped = count_kept(stats), count_verdicts(stats, *DROPPED)
    queued = stats.get_value("scheduler/enqueued", 0) - stats.get_value("scheduler/dequeued", 0)
    # What other parts have queued or taken is not known here.
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


class _Once(logging.Filter):
    """Lets each message pass once: of a certificate that does not hold Scrapy tells with every connection."""

    def __init__(self) -> None:
        super().__init__()
        self._told: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        is_new = message not in self._told
        if len(self._told) < _MOST_TOLD:
            self._told.add(message)
        return is_new


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
    skipped = [reason for fetched in (True, False) for reason in count_skipped(crawler.stats, fetched=fetched)]
    reasons = {reason.replace("_", " ") for reason in skipped} | set(Hosts.of(crawler).parked.values())
    archives = getattr(crawler.spider, "archives", None)
    nothing = "no page of the site could be reached" if archives is None else "no page stands in the archive"
    return ", ".join(sorted(reasons)) or nothing
