"""A dry run of the stage over a file of items: a crawl of nothing but these items."""

from __future__ import annotations

import csv
import json
import logging
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TextIO

from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response
from scrapy.settings import BaseSettings, Settings
from scrapy.utils.misc import load_object

from dedup.console import program, write_lines
from dedup.errors import InputError, SettingsError
from dedup.report.contents import Selection
from dedup.report.explanation import explain_dropped
from dedup.report.explanation_shown import lines
from dedup.report.queries import open_report
from dedup.report.render import Format, write_report
from dedup.rules.settings import RuleSettings
from dedup.stage.pending import Origins
from dedup.stage.pipelines import NearDuplicatePipeline
from dedup.stage.project import read_project_settings
from dedup.store.database import open_existing_database
from dedup.store.urls import url_of

_MONITORED = "dedup.stage.monitoring"


def check_items(
    path: str, settings: BaseSettings, stream: TextIO, *, item_class: str = "", spider: str = "", explained: str = ""
) -> None:
    """Send the items of a feed through the stage with the settings of a project, and write the report.

    Args:
        path: the feed: `.jsonl` (also `.jl` and `.jsonlines`), `.json` or `.csv`.
        settings: those of the project; its database plays no part.
        stream: where what was found, and the report, are written.
        item_class: import path of the class of the items; empty: they are dicts.
        spider: the name of the spider that they are of.
        explained: the key of an item; why it would be dropped is printed in place of the report.

    Raises:
        InputError: the file is not there, is of another kind or is damaged, or none of its items was examined.
        SettingsError: there is no such class.
    """
    items = _make_items(path, item_class)
    with TemporaryDirectory() as folder, _logged_to(stream):
        database_url = url_of(str(Path(folder) / "check.db"))
        crawled = Settings(dict(settings), priority="project")
        # None of the project's own parts is to be run, nor to store anything.
        crawled.update(
            {
                "ADDONS": {},
                "ITEM_PIPELINES": {NearDuplicatePipeline: 1},
                "FEEDS": {},
                "EXTENSIONS": {},
                "SPIDER_MIDDLEWARES": {},
                "DOWNLOADER_MIDDLEWARES": {},
                "SCHEDULER": "scrapy.core.scheduler.Scheduler",
                "JOBDIR": None,
                "DEDUP_ENABLED": True,
                "DEDUP_DATABASE_URL": database_url,
                "DEDUP_RUN": path,
                # One after the other: which of two copies is the first shall not depend on who is done first.
                "CONCURRENT_ITEMS": 1,
                "LOG_ENABLED": False,
                "TELNETCONSOLE_ENABLED": False,
                "REMOTE_CONTROL_ENABLED": False,
            },
            priority="cmdline",
        )
        process = CrawlerProcess(crawled)
        crawler = process.create_crawler(_ItemSpider)
        process.crawl(crawler, name=spider or "check", items=items, path=path)
        process.start()
        if crawler.stats.get_value("dedup/not_examined") == len(items):
            raise InputError(f"none of the {len(items):,} items of {path} was examined")
        if explained:
            try:
                _explain(explained, database_url, read_project_settings(crawled))
            except InputError as error:
                # Its database has a name that nobody knows.
                raise InputError(str(error).replace(database_url, path)) from None
            return
        with closing(open_existing_database(database_url)) as database, open_report(database, Selection()) as report:
            stream.write("\n")
            # Its database is gone in a moment. Scrapy has taken the name of the command out of its arguments.
            again = [program("scrapy"), "dedup-check", *sys.argv[1:], "--explain"]
            write_report(replace(report, explaining=again), Format.TABLE, stream)


def _explain(key: str, database_url: str, settings: RuleSettings) -> None:
    with closing(open_existing_database(database_url)) as database:
        write_lines(lines(explain_dropped(database, key, settings)), sys.stdout)


class _ItemSpider(Spider):
    """Yields the items of a feed, each as if it were found on its line."""

    name = "check"

    def __init__(self, name: str, items: list[Any], path: str) -> None:
        super().__init__(name)
        self.items = items
        self.found_in = [Response(f"{path}:{number}") for number in range(1, len(items) + 1)]

    async def start(self) -> AsyncIterator[Request]:
        # Of items alone the engine would see only after some seconds that there are no more.
        yield Request("data:,", self.parse)

    def parse(self, response: Response) -> Iterator[Any]:
        origins = Origins.of(self.crawler)
        for item, found_in in zip(self.items, self.found_in, strict=True):
            origins.note(item, found_in)
            yield item


def _make_items(path: str, item_class: str) -> list[Any]:
    readers: dict[str, Callable[[str], Iterator[Any]]] = {".json": _read_json, ".csv": _read_csv}
    readers |= dict.fromkeys((".jsonl", ".jl", ".jsonlines"), _read_lines)
    reader = readers.get(Path(path).suffix.lower())
    if reader is None:
        raise InputError(f"{path}: expected a feed with a name that ends in {', '.join(readers)}")
    try:
        kind = load_object(item_class) if item_class else dict
    except (ImportError, NameError, ValueError) as error:
        raise SettingsError(f"--item-class {item_class!r} cannot be imported: {error}") from None
    try:
        items = [kind(**fields) for fields in reader(path)]
    except (OSError, UnicodeDecodeError, ValueError, TypeError, KeyError, csv.Error) as error:
        why = (isinstance(error, OSError) and error.strerror) or error
        raise InputError(f"{path} cannot be read as items: {why}") from None
    if not items:
        raise InputError(f"{path} holds no items")
    return items


def _read_lines(path: str) -> Iterator[Any]:
    with Path(path).open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    yield json.loads(line)
                except json.JSONDecodeError as error:
                    raise InputError(f"{path} cannot be read as items: line {number}: {error.msg}") from None


def _read_json(path: str) -> Iterator[Any]:
    yield from json.loads(Path(path).read_text(encoding="utf-8-sig"))


def _read_csv(path: str) -> Iterator[Any]:
    # A field may hold a whole page; the limit is one of the whole process, and never lowered.
    csv.field_size_limit(max(csv.field_size_limit(), Path(path).stat().st_size))
    with Path(path).open(encoding="utf-8-sig", newline="") as lines:
        yield from csv.DictReader(lines)


@contextmanager
def _logged_to(stream: TextIO) -> Iterator[None]:
    """Write what the log says of the items to a stream."""
    handler = logging.StreamHandler(stream)
    handler.addFilter(lambda record: record.levelno >= logging.WARNING or record.name == _MONITORED)
    stage = logging.getLogger("dedup")
    level = stage.level
    stage.setLevel(logging.INFO)
    stage.addHandler(handler)
    try:
        yield
    finally:
        stage.removeHandler(handler)
        stage.setLevel(level)
