"""The screen at the end of a crawl."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from scrapy.crawler import Crawler
from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.statscollectors import StatsCollector
from sqlalchemy.engine import make_url

from crawler.output.skipping import PREFIX as SKIPPED
from crawler.output.skipping import named_pages
from crawler.page import NOT_STORED
from crawler.politeness.hosts import Hosts
from crawler.reasons import ROBOTS_TXT
from crawler.runs.continuing import line_to_continue
from crawler.runs.naming import name_of_run
from crawler.runs.options import without_password
from dedup.display import columns_of, counted, lost_text, plain, program, readable
from dedup.errors import DatabaseError
from dedup.progress import duration
from dedup.report.queries import read_kept, read_largest_clusters, read_totals
from dedup.sql.database import open_existing_database
from dedup.sql.engines import shown_url
from dedup.stage.pipelines import STAT_OF_KEPT
from dedup.terminal import HEADING, Styled, link_to, padded, styled

_CLUSTERS_NAMED = 3
_SITES_NAMED = 3
KEPT = ("new", "similar", "updated", "unchanged", "not_examined", *STAT_OF_KEPT.values())
DROPPED = ("exact_duplicate", "near_duplicate")
_REPLACED = "crawler/replaced"
_LABEL_WIDTH = 12
_OF_KNOWN = ("not_modified", "passed_over", "moved", "gone")


def summarise(crawler: Crawler, reason: str, seconds: float) -> list[str]:
    """Say what a crawl did, in some ten lines, styled for a terminal.

    Args:
        crawler: the crawl, after its end.
        reason: why it ended, as Scrapy names it.
        seconds: how long it took.
    """
    stats = crawler.stats
    arguments = getattr(crawler.spider, "arguments", None)
    kept = [
        f"{count_verdicts(stats, verdict):,} {verdict.replace('_', ' ')}"
        for verdict in KEPT
        if count_verdicts(stats, verdict)
    ]
    if replaced := stats.get_value(_REPLACED, 0):
        kept.append(f"less {replaced:,} replaced by better copies")
    if lost := stats.get_value(NOT_STORED, 0):
        kept.append(f"less {lost:,} not stored")
    dropped = {verdict.split("_")[0]: count_verdicts(stats, verdict) for verdict in DROPPED}
    skipped = {name: count for name, count in sorted(stats.get_stats().items()) if name.startswith(SKIPPED)}
    forbidden = skipped.pop(SKIPPED + ROBOTS_TXT, 0)
    fetched = stats.get_value("crawler/fetched", 0)
    lines = [
        ("site", _site(arguments.urls + arguments.sitemaps + arguments.warc) if arguments else ""),
        ("stopped", "" if reason == "finished" else reason.replace("_", " ")),
        ("fetched", f"{counted(fetched, 'page')} in {duration(seconds)}, {fetched / seconds:.0f} a second"),
        ("kept", _pages(count_kept(stats), kept)),
        ("dropped", _pages(sum(dropped.values()), [f"{count:,} {kind}" for kind, count in dropped.items() if count])),
        ("known before", _known(stats)),
        ("skipped", _pages(sum(skipped.values()), list(map(_skip_line, skipped.items()))) if skipped else ""),
        ("parked", _parked(crawler)),
        ("not followed", _not_followed(stats.get_value("dedup/links_not_followed", 0), forbidden)),
        ("saved", _saved(stats)),
        ("lost", _lost(stats)),
        ("workers", f"{workers:,}" if (workers := stats.get_value("frontier/workers")) else ""),
        ("database", _database(crawler.settings.get("DEDUP_DATABASE_URL", ""))),
        ("report", written if (written := crawler.settings.get("DEDUP_REPORT")) and Path(written).exists() else ""),
        _next(crawler, reason),
    ]
    # What is read first when a command has ended is what stands last.
    screen = _skipped_pages(crawler, sum(skipped.values()))
    screen += _largest_clusters(crawler) if any(dropped.values()) else []
    return screen + [
        Styled.of(styled(f"{label:{_LABEL_WIDTH}}", HEADING), f"  {text}") for label, text in lines if text
    ]


def take_verdicts_of_run(crawler: Crawler) -> None:
    """Let the stats of verdicts be those of the whole run, as they stand in the database.

    The stats of processes that were killed tell of some pages that others fetched again.
    """
    try:
        with closing(open_existing_database(crawler.settings["DEDUP_DATABASE_URL"])) as database:
            run = name_of_run(crawler)
            totals, kept = read_totals(database, run), read_kept(database, run)
    except DatabaseError:  # as below
        return
    for verdict, total in totals.items():
        crawler.stats.set_value(f"dedup/{verdict.value.replace(' ', '_')}", total.documents - total.kept)
    for why, count in kept.items():
        crawler.stats.set_value(f"dedup/{STAT_OF_KEPT[why]}", count)
    crawler.stats.set_value("dedup/lost_bytes", sum(total.lost_bytes for total in totals.values()))
    dropped = sum(total.text_bytes - total.kept_bytes for verdict, total in totals.items() if verdict.is_duplicate)
    crawler.stats.set_value("dedup/text_bytes", sum(total.text_bytes for total in totals.values()))
    crawler.stats.set_value("dedup/text_bytes_dropped", dropped)


def _known(stats: StatsCollector) -> str:
    counts = [(stats.get_value(f"crawler/{name}", 0), name.replace("_", " ")) for name in _OF_KNOWN]
    return ", ".join(f"{count:,} {name}" for count, name in counts if count)


def _lost(stats: StatsCollector) -> str:
    lost = stats.get_value("dedup/lost_bytes", 0)
    return lost_text(lost) if lost else ""


def _parked(crawler: Crawler) -> str:
    """Name the hosts that have failed for too long, those with most pages left first."""
    parked = crawler.stats.get_value("frontier/parked", {})
    why = Hosts.of(crawler).parked
    most = sorted(parked, key=lambda host: (-parked[host], host))
    # Another worker may have been the one that asked it.
    named = [f"{parked[host]:,} of {plain(host)}" + (f" ({why[host]})" if host in why else "") for host in most]
    if len(named) > _SITES_NAMED:
        named[_SITES_NAMED:] = [f"{len(named) - _SITES_NAMED:,} more hosts"]
    return _pages(sum(parked.values()), named) if parked else ""


def _not_followed(on_duplicates: int, forbidden: int) -> str:
    told = [f"{counted(on_duplicates, 'link')} on duplicates"] if on_duplicates else []
    return ", ".join([*told, f"{forbidden:,} forbidden by robots.txt"] if forbidden else told)


def _site(urls: Sequence[str]) -> str:
    named = ", ".join(readable(without_password(url)) for url in urls[:_SITES_NAMED])
    return named if len(urls) <= _SITES_NAMED else f"{named} and {len(urls) - _SITES_NAMED:,} more"


def _next(crawler: Crawler, reason: str) -> tuple[str, str]:
    """Return the command to give next: the one that goes on where something is left, else the report."""
    if crawler.stats.get_value("frontier/left", 0) and crawler.spider is not None:
        return "continue", line_to_continue(crawler, reason)
    command = f"{program('scrapy')} duplicates"
    is_named = crawler.settings.getpriority("DEDUP_DATABASE_URL") == SETTINGS_PRIORITIES["cmdline"]
    if is_named or crawler.stats.get_value("frontier/workers"):
        command += f" --database {shlex.quote(shown_url(make_url(crawler.settings['DEDUP_DATABASE_URL'])))}"
    return "next", command


def _largest_clusters(crawler: Crawler) -> list[str]:
    """Name the largest clusters of three pages or more."""
    try:
        with closing(open_existing_database(crawler.settings["DEDUP_DATABASE_URL"])) as database:
            largest = read_largest_clusters(database, name_of_run(crawler), _CLUSTERS_NAMED)
    except DatabaseError:  # it has failed during the crawl, which has been said
        return []
    lines = [Styled.of(f"{each.duplicates + 1:4}  ", _address(each.leader)) for each in largest if each.duplicates > 1]
    return [styled("largest clusters", HEADING), *lines, ""] if lines else []


def count_verdicts(stats: StatsCollector, *verdicts: str) -> int:
    """Return how many pages got one of these verdicts, named as in the stats."""
    return sum(stats.get_value(f"dedup/{verdict}", 0) for verdict in verdicts)


def count_kept(stats: StatsCollector) -> int:
    """Return how many pages a crawl has kept so far: passed on, not replaced by a better copy, and stored."""
    # Without the stage nothing has a verdict.
    passed = count_verdicts(stats, *KEPT) or int(stats.get_value("crawler/stored", 0))
    return passed - sum(int(stats.get_value(name, 0)) for name in (_REPLACED, NOT_STORED))


def _pages(number: int, parts: list[str]) -> str:
    return counted(number, "page") + (f"   {', '.join(parts)}" if number and parts else "")


def _skip_line(skipped: tuple[str, int]) -> str:
    name, count = skipped
    return f"{count:,} {name.removeprefix(SKIPPED).replace('_', ' ')}"


def _skipped_pages(crawler: Crawler, count: int) -> list[str]:
    """Name the first pages that were skipped, and where a link to each of them stands."""
    rows = [(page, _address(page.url)) for page in named_pages(crawler)]
    width = max((columns_of(url) for _, url in rows), default=0)
    lines = []
    for page, url in rows:
        origin = ["   linked from ", _address(page.referrer)] if page.referrer else []
        lines.append(Styled.of(f"{page.reason.replace('_', ' '):{_LABEL_WIDTH}}  ", padded(url, width), *origin))
    if count > len(lines) and lines:
        lines.append(styled(f"{'':{_LABEL_WIDTH}}  and {count - len(lines):,} more"))
    return [styled("skipped pages", HEADING), *lines, ""] if lines else []


def _address(url: str) -> Styled:
    shown = without_password(url)
    return styled(readable(shown), link=link_to(shown))


def _saved(stats: StatsCollector) -> str:
    total, dropped = stats.get_value("dedup/text_bytes", 0), stats.get_value("dedup/text_bytes_dropped", 0)
    return f"{_kilobytes(dropped)} of {_kilobytes(total)} of text" if dropped else ""


def _kilobytes(size: int) -> str:
    return f"{size / 1000:,.0f} kB" if size < 10_000_000 else f"{size / 1_000_000:,.0f} MB"


def _database(url: str) -> str:
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite" or not parsed.database:
        return shown_url(parsed)
    path = Path(parsed.database)
    return f"{path}, {_kilobytes(path.stat().st_size)}" if path.exists() else str(path)
