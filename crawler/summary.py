"""The screen at the end of a crawl."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from scrapy.crawler import Crawler
from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.statscollectors import StatsCollector
from sqlalchemy.engine import make_url

from crawler.skipping import PREFIX as SKIPPED
from dedup.database import open_existing_database
from dedup.display import readable
from dedup.engines import shown_url
from dedup.errors import DatabaseError
from dedup.pipelines import STAT_OF_KEPT
from dedup.report import Cluster, read_kept, read_largest_clusters, read_totals

_CLUSTERS_NAMED = 3
_SITES_NAMED = 3
KEPT = ("new", "updated", "unchanged", "not_examined", *STAT_OF_KEPT.values())
DROPPED = ("exact_duplicate", "near_duplicate")
_LABEL_WIDTH = 12
_OF_KNOWN = ("not_modified", "passed_over", "moved", "gone")
_OWN_SETTINGS = ("DEDUP_", "CRAWLER_")


def summarise(crawler: Crawler, reason: str, seconds: float) -> str:
    """Say what a crawl did, in some ten lines.

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
    exact, near = (count_verdicts(stats, verdict) for verdict in DROPPED)
    skipped = {name: count for name, count in sorted(stats.get_stats().items()) if name.startswith(SKIPPED)}
    forbidden = skipped.pop(f"{SKIPPED}robots_txt", 0)
    fetched = stats.get_value("crawler/fetched", 0)
    lines = [
        ("site", _site(arguments.urls + arguments.sitemaps) if arguments else ""),
        ("fetched", f"{fetched:,} pages in {duration(seconds)}, {fetched / seconds:.0f} a second"),
        ("kept", _counted(count_verdicts(stats, *KEPT), "page", kept)),
        ("dropped", _counted(exact + near, "page", [f"{exact:,} exact", f"{near:,} near"])),
        *_known(stats),
        ("skipped", _counted(sum(skipped.values()), "page", [_skip_line(name, n) for name, n in skipped.items()])),
        ("not followed", _not_followed(stats.get_value("dedup/links_not_followed", 0), forbidden)),
        ("saved", _saved(stats)),
        *_workers(stats),
        ("database", _database(crawler.settings.get("DEDUP_DATABASE_URL", ""))),
        ("report", f"{_report_command(crawler)}   every dropped page, its original and why"),
    ]
    if reason != "finished":
        lines.insert(1, ("stopped", reason.replace("_", " ")))
        if stats.get_value("frontier/left", 0) and crawler.spider is not None:
            lines.append(("continue", _command_to_continue(crawler)))
    screen = [f"{label:{_LABEL_WIDTH}}  {text}" for label, text in lines]
    clusters = _largest_clusters(crawler) if exact + near else []
    if clusters:
        screen += [
            "",
            "largest clusters",
            *(f"{cluster.duplicates + 1:4}  {readable(cluster.leader)}" for cluster in clusters),
        ]
    return "\n".join(screen)


def take_verdicts_of_run(crawler: Crawler) -> None:
    """Let the stats of verdicts be those of the whole run, as they stand in the database.

    The stats of workers that were killed tell of some pages that others fetched again.
    """
    try:
        with closing(open_existing_database(crawler.settings["DEDUP_DATABASE_URL"])) as database:
            run = crawler.stats.get_value("dedup/run")
            totals, kept = read_totals(database, run), read_kept(database, run)
    except DatabaseError:  # as below
        return
    for verdict, total in totals.items():
        crawler.stats.set_value(f"dedup/{verdict.value.replace(' ', '_')}", total.documents - total.kept)
    for why, count in kept.items():
        crawler.stats.set_value(f"dedup/{STAT_OF_KEPT[why]}", count)
    dropped = sum(total.text_bytes - total.kept_bytes for verdict, total in totals.items() if verdict.is_duplicate)
    crawler.stats.set_value("dedup/text_bytes", sum(total.text_bytes for total in totals.values()))
    crawler.stats.set_value("dedup/text_bytes_dropped", dropped)


def _known(stats: StatsCollector) -> list[tuple[str, str]]:
    counted = [(stats.get_value(f"crawler/{name}", 0), name.replace("_", " ")) for name in _OF_KNOWN]
    told = ", ".join(f"{count:,} {name}" for count, name in counted if count)
    return [("known before", told)] if told else []


def duration(seconds: float) -> str:
    """Write a time as hours, minutes and seconds, 0:01:05."""
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def program(name: str) -> str:
    """Return how to call another program of the environment that this one runs in."""
    path = Path(sys.executable).with_name(name)
    if not path.exists():
        return name
    return os.path.relpath(path) if Path.cwd() in path.parents else str(path)


def _workers(stats: StatsCollector) -> list[tuple[str, str]]:
    workers = stats.get_value("frontier/workers")
    return [("workers", f"{workers:,}")] if workers else []


def _not_followed(on_duplicates: int, forbidden: int) -> str:
    told = f"{on_duplicates:,} links on duplicates"
    return f"{told}, {forbidden:,} forbidden by robots.txt" if forbidden else told


def _site(urls: Sequence[str]) -> str:
    named = ", ".join(readable(url) for url in urls[:_SITES_NAMED])
    return named if len(urls) <= _SITES_NAMED else f"{named} and {len(urls) - _SITES_NAMED:,} more"


def _report_command(crawler: Crawler) -> str:
    command = f"{program('scrapy')} duplicates"
    is_named = crawler.settings.getpriority("DEDUP_DATABASE_URL") == SETTINGS_PRIORITIES["cmdline"]
    if is_named or crawler.stats.get_value("frontier/workers"):
        command += f" --database {shown_url(make_url(crawler.settings['DEDUP_DATABASE_URL']))}"
    return command


def _command_to_continue(crawler: Crawler) -> str:
    words = [program("scrapy"), "crawl", getattr(crawler.spider, "name", "")]
    if crawler.stats.get_value("frontier/is_shared"):
        database = shown_url(make_url(crawler.settings["DEDUP_DATABASE_URL"]))
        told = {"SCRAPY_PROJECT": "cluster", "DEDUP_DATABASE_URL": database, "DEDUP_RUN": crawler.settings["DEDUP_RUN"]}
        words = ["env", *(f"{name}={value}" for name, value in told.items()), *words]
    for name, value in getattr(crawler.spider, "given", {}).items():
        words += ["-a", f"{name}={value}"]
    settings = crawler.settings
    for name in sorted(settings):
        if name.startswith(_OWN_SETTINGS) and settings.getpriority(name) == SETTINGS_PRIORITIES["cmdline"]:
            value = settings[name]
            words += ["-s", f"{name}={shown_url(make_url(value)) if name.endswith('_URL') else value}"]
    if "DEDUP_RUN" not in settings or not settings["DEDUP_RUN"]:
        words += ["-s", f"DEDUP_RUN={crawler.stats.get_value('dedup/run')}"]
    return shlex.join(words)


def _largest_clusters(crawler: Crawler) -> list[Cluster]:
    try:
        with closing(open_existing_database(crawler.settings["DEDUP_DATABASE_URL"])) as database:
            return read_largest_clusters(database, crawler.stats.get_value("dedup/run"), _CLUSTERS_NAMED)
    except DatabaseError:  # it has failed during the crawl, which has been said
        return []


def count_verdicts(stats: StatsCollector, *verdicts: str) -> int:
    """Return how many pages got one of these verdicts, named as in the stats."""
    return sum(stats.get_value(f"dedup/{verdict}", 0) for verdict in verdicts)


def _counted(number: int, thing: str, parts: list[str]) -> str:
    plural = thing if number == 1 else f"{thing}s"
    return f"{number:,} {plural}" + (f"   {', '.join(parts)}" if number and parts else "")


def _skip_line(name: str, count: int) -> str:
    return f"{count:,} {name.removeprefix(SKIPPED).replace('_', ' ')}"


def _saved(stats: StatsCollector) -> str:
    total, dropped = stats.get_value("dedup/text_bytes", 0), stats.get_value("dedup/text_bytes_dropped", 0)
    return f"{_kilobytes(dropped)} of {_kilobytes(total)} of text"


def _kilobytes(size: int) -> str:
    return f"{size / 1000:,.0f} kB" if size < 10_000_000 else f"{size / 1_000_000:,.0f} MB"


def _database(url: str) -> str:
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite" or not parsed.database:
        return shown_url(parsed)
    path = Path(parsed.database)
    return f"{path}, {_kilobytes(path.stat().st_size)}" if path.exists() else str(path)
