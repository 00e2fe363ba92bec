"""The stats of a crawl for a monitor: a Prometheus text file while it runs, a JSON object once it has ended."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call

from crawler.settings import CrawlerSettings
from dedup.atomic_files import open_output
from dedup.errors import DedupError, SettingsError
from dedup.stage.project import settings_of
from dedup.stage.running import refuse_to_start

logger = logging.getLogger(__name__)

INTERVAL = 15.0
"""Seconds between two writes, the usual time between two looks of Prometheus."""

_NO_NAME = re.compile("[^a-zA-Z0-9_]+")


class Metrics:
    """Extension: writes stats to `CRAWLER_METRICS`, a name in *.prom, and at the end to *.json beside it.

    The text is in the format of the node exporter's textfile collector, which reads no other names; it is replaced as a
    whole. Each number of Scrapy's stats is a metric `scrapy_NAME` with the label `crawl`, the name of the file.
    """

    def __init__(self, crawler: Crawler, path: Path) -> None:
        self._crawler = crawler
        self._path = path

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        name = settings_of(crawler, CrawlerSettings).metrics
        if not name:
            raise NotConfigured
        path = Path(name).absolute()
        if not path.parent.is_dir():
            refuse_to_start(SettingsError(f"CRAWLER_METRICS = {name!r}: its folder is not there; make it first"))
        extension = cls(crawler, path)
        crawler.signals.connect(extension.spider_opened, signals.spider_opened)
        crawler.signals.connect(extension.engine_stopped, signals.engine_stopped)
        return extension

    def spider_opened(self) -> None:
        self._loop = create_looping_call(self._write)
        self._loop.start(INTERVAL)

    def engine_stopped(self) -> None:
        if self._loop.running:
            self._loop.stop()
        self._write()
        stats = json.dumps(self._crawler.stats.get_stats(), default=str, ensure_ascii=False)
        _replace(self._path.with_suffix(".json"), f"{stats}\n")

    def _write(self) -> None:
        _replace(self._path, "".join(sorted(metrics(self._crawler.stats.get_stats(), self._path.stem))))


def _replace(path: Path, content: str) -> None:
    try:
        with open_output(str(path)) as stream:
            stream.write(content)
    except DedupError as error:  # no reason to end a crawl
        logger.error("CRAWLER_METRICS = %s: %s", path, error)  # noqa: TRY400 -- the line is all there is to say


def metrics(stats: Mapping[str, Any], crawl: str) -> Iterator[str]:
    """Yield a line for each stat that is a number or a time, which is in seconds since 1970.

    Args:
        stats: the stats, by their names.
        crawl: the value of the label.
    """
    label = crawl.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    values: dict[str, float] = {}
    for name, value in stats.items():
        if isinstance(value, (int, float, datetime)):
            number = value.timestamp() if isinstance(value, datetime) else +value
            values.setdefault(f"scrapy_{_NO_NAME.sub('_', name)}", number)
    yield from (f'{name}{{crawl="{label}"}} {value}\n' for name, value in values.items())
