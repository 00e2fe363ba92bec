"""Feeds of a crawl, `-o`: written from the database when the run ends, whole or not at all."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import closing, suppress
from dataclasses import fields
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, Any, cast

from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.extensions.feedexport import (
    FeedExporter,
    FeedSlot,
    FileFeedStorage,
    FTPFeedStorage,
    StdoutFeedStorage,
    apply_uri_params,
)
from scrapy.extensions.postprocessing import PostProcessingManager
from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.utils.defer import ensure_awaitable

from crawler.feeds.kept_pages import RESTORED, KeptPages
from crawler.feeds.warc import ENDING, FORMATS
from crawler.frontier.known_runs import find_run
from crawler.frontier.store import FrontierSettings
from crawler.page import Page
from crawler.runs import CrawlRun, command_to_export, file_of, name_of_run
from crawler.secrets import without_password
from crawler.spider.site import SiteSpider
from dedup.atomic_files import replace_file
from dedup.errors import DedupError, SettingsError
from dedup.readers.streams import load_pyarrow
from dedup.stage.outages import mark_failed, outages_of
from dedup.stage.pipelines import RUN_GOES_ON
from dedup.stage.project import read_item_settings, read_settings
from dedup.stage.running import refuse_to_start
from dedup.store.database import Database
from dedup.store.processes import worker_name

logger = logging.getLogger(__name__)


class FeedError(DedupError):
    """A feed could not be written."""


_Written = tuple[FeedSlot, int, FeedError | None]


class WholeFileStorage(FileFeedStorage):
    """A file that is written beside its place, and takes that when it is whole.

    Attributes:
        replaces: whether it takes the place of what is there.
    """

    def __init__(self, uri: str, *, feed_options: dict[str, Any] | None = None) -> None:
        super().__init__(uri, feed_options=feed_options)
        self.replaces = self.write_mode == "wb"
        self._path = Path(self.path).resolve()
        # Devices and pipes are written to as they are.
        is_file = self._path.is_file() or not self._path.exists()
        self._part = self._path.with_name(f"{self._path.name}.{os.getpid()}.part") if is_file else None

    def require_writable(self) -> None:
        """Refuse a place that cannot be written to, or that is taken.

        Raises:
            SettingsError: it is.
        """
        path = self._path
        if path.is_dir():
            raise SettingsError(f"feed {path}: is a folder, name a file")
        if path.exists() and not os.access(path, os.W_OK):
            raise _unwritable(path, errno.EACCES)
        if self._is_taken:
            raise SettingsError(f"feed {path}: the file is there already; -O replaces it, or name another file")
        if self._part is not None:
            # What is allowed does not say whether a file can be made there, as in /proc.
            there = next(each for each in path.parents if each.exists())
            try:
                with NamedTemporaryFile(dir=there, prefix=self._part.name):
                    pass
            except OSError as error:
                raise _unwritable(path, error.errno) from None

    def open(self, spider: Spider) -> IO[bytes]:
        """Open the file that is to take the place."""
        if self._part is None:
            return self._path.open("wb")
        self._part.parent.mkdir(parents=True, exist_ok=True)
        return self._part.open("wb")

    def store(self, file: IO[bytes]) -> None:
        """Let the file take its place."""
        if self._part is not None and self._is_taken:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        file.flush()
        if self._part is not None:
            if self._path.exists():
                shutil.copymode(self._path, self._part)
            replace_file(self._part, self._path)
        file.close()

    def discard(self) -> None:
        """Remove what was written of the file."""
        if self._part is not None:
            self._part.unlink(missing_ok=True)

    @property
    def _is_taken(self) -> bool:
        # An empty file is one that was made for the feed.
        return not self.replaces and self._path.is_file() and self._path.stat().st_size > 0


class Feeds(FeedExporter):
    """Extension in the place of Scrapy's `FeedExporter`, which other spiders get; the same settings and options.

    - The feeds of the spider `site` are written when a crawl ends, whole, from the database: every page that its run
      has kept and that is still stored, each once, also of a run that goes on. Of workers that share a run the one
      that ends it, or leaves it last, writes them.
    - A file appears, or is replaced, when it is whole. One that is there is replaced with `-O` only, or by the run
      that has written it and goes on.
    - A feed that cannot be written costs the others nothing: one line says how to write it again, and the status is 1.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        for scheme, storage in self.storages.items():
            if storage is FileFeedStorage:
                self.storages[scheme] = WholeFileStorage
        self._own: set[str] = set()
        self._since = 0.0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> FeedExporter:  # type: ignore[override]
        spider = crawler.spider
        try:
            if not isinstance(spider, SiteSpider):
                if any(options["format"] in FORMATS for options in crawler.settings.getdict("FEEDS").values()):
                    raise SettingsError("WARC files are written by the spider `site` alone")
                return FeedExporter.from_crawler(crawler)
            feeds = cls(crawler)
            feeds.prepare(spider)
        except NotConfigured:
            if isinstance(spider, SiteSpider) and crawler.settings["FEEDS"]:
                refuse_to_start(SettingsError("no feed can be made of FEEDS, the line above says why"))
            raise
        except DedupError as error:
            refuse_to_start(error)
        crawler.signals.connect(feeds.close_spider, signals.spider_closed)
        return feeds

    def prepare(self, spider: SiteSpider) -> None:
        """Look where the feeds of a crawl are to be, before anything is fetched.

        Raises:
            SettingsError: one of them cannot be written there.
            DatabaseError: the database cannot be read.
        """
        settings = FrontierSettings.read(self.crawler)
        begun = _find_begun(settings) if settings.run else None
        if begun is not None and begun.is_over:
            if settings.is_shared:
                return  # the scheduler says so, and ends
            begun = None
        if begun is not None:
            is_of_project = self.crawler.settings.getpriority("FEEDS") != SETTINGS_PRIORITIES["cmdline"]
            self._own = begun.asked.files if begun.asked else set()
            if is_of_project:
                self._own |= {file_of(str(uri)) for uri in self.crawler.settings.getdict("FEEDS")}
        # The name of a shared run is used once, and the clocks of its workers may differ.
        if settings.run and not settings.is_shared:
            self._since = begun.started if begun is not None else time.time()
        self.open_slots(spider)

    def open_slots(self, spider: Spider) -> None:
        """Find a place for each feed.

        Raises:
            SettingsError: there is none.
            InputError: a package is missing that writes it.
        """
        try:
            super().open_spider(spider)
        except OSError as error:  # such as a name that is too long
            raise _unwritable(error.filename, error.errno) from None
        archives: set[str] = getattr(getattr(spider, "archives", None), "paths", set())
        for slot in self.slots:
            if slot.format in FORMATS and not slot.uri.endswith(ENDING):
                raise SettingsError(
                    f"feed {slot.uri}: of what is compressed, web archives alone are written: name it like x{ENDING}"
                )
            if file_of(slot.uri) in archives:
                raise SettingsError(f"feed {slot.uri}: the pages come from it, name another file")
            if slot.format == "parquet":
                load_pyarrow(f"feed {slot.uri}")
            missing = sorted(set(_fields_of(slot)) - RESTORED)
            if missing:
                raise SettingsError(
                    f"feed {slot.uri}: {', '.join(missing)} of pages is not stored: leave it out of FEED_EXPORT_FIELDS"
                )
            if isinstance(slot.storage, WholeFileStorage):
                slot.storage.require_writable()
            elif isinstance(slot.storage, FTPFeedStorage) and not slot.storage.overwrite:
                raise SettingsError(f"feed {slot.uri}: nothing is added to a file that is there; leave out overwrite")

    async def close_spider(self, spider: Spider, reason: str = "") -> None:
        """Write the feeds, unless others go on with the run."""
        if self.crawler.stats.get_value(RUN_GOES_ON):
            return
        run = name_of_run(self.crawler)
        if reason == "database_error":
            for slot in self.slots:
                command = command_to_export(self.crawler, run, slot.uri, slot.feed_options)
                logger.warning(
                    "feed %s is not written; once the database is there: %s", without_password(slot.uri), command
                )
            return
        async for slot, _, error in self.write(run, self._since):
            if error is not None:
                command = command_to_export(self.crawler, run, slot.uri, slot.feed_options)
                logger.error("%s; all pages are stored, write it again: %s", error, command)
                mark_failed(self.crawler, "feed_failed")
        await self.crawler.signals.send_catch_log_async(signals.feed_exporter_closed)

    async def write(self, run: str, since: float) -> AsyncIterator[_Written]:
        """Write the feeds, one after the other, and yield each of them, its pages, and what went wrong.

        Args:
            run: the name of the run.
            since: when it began, in seconds since 1970.
        """
        settings, with_unchanged = read_settings(self.crawler), not read_item_settings(self.crawler).drop_unchanged
        for slot in self.slots:
            with closing(Database(settings.database_url, settings.lock_timeout, read_only=True)) as database:
                with_html = slot.format in FORMATS or not {"html", "head"}.isdisjoint(_fields_of(slot))
                kept = KeptPages(database, settings.enabled, run, since, with_unchanged, with_html)
                yield await self._write(slot, kept)

    async def _write(self, slot: FeedSlot, kept: KeptPages) -> _Written:
        count = 0
        try:
            read = partial(next, kept.read(outages_of(self.crawler)), None)
            while (pages := await asyncio.to_thread(read)) is not None:
                for page in filter(slot.filter.accepts, pages):
                    slot.start_exporting()
                    cast("Any", slot.exporter).export_item(page)
                    slot.itemcount += 1
                    count += 1
                    if slot.itemcount == slot.feed_options["batch_item_count"]:
                        await self._store(slot)
                        slot = self._next_batch(slot)
            await self._store(slot)
        except Exception as error:  # whatever a database, an exporter or a storage raises
            _discard(slot)
            self.crawler.stats.inc_value(f"feedexport/failed_count/{type(slot.storage).__name__}")
            return slot, count, FeedError(f"feed {slot.uri} cannot be written: {_explain(error)}")
        return slot, count, None

    async def _store(self, slot: FeedSlot) -> None:
        if not slot.itemcount and (slot.batch_id > 1 or not slot.store_empty):
            return
        slot.start_exporting()
        slot.finish_exporting()
        file = self._get_file(slot)
        file.flush()
        await ensure_awaitable(slot.storage.store(file))
        logger.info("Stored %s feed (%d items) in: %s", slot.format, slot.itemcount, without_password(slot.uri))
        self.crawler.stats.inc_value(f"feedexport/success_count/{type(slot.storage).__name__}")
        await self.crawler.signals.send_catch_log_async(signals.feed_slot_closed, slot=slot)

    def _next_batch(self, slot: FeedSlot) -> FeedSlot:
        params = self._get_uri_params(slot.spider, slot.feed_options["uri_params"], slot)
        uri = apply_uri_params(slot.uri_template, params)
        return self._start_new_batch(slot.batch_id + 1, uri, slot.feed_options, slot.spider, slot.uri_template)

    def _start_new_batch(
        self, batch_id: int, uri: str, feed_options: dict[str, Any], spider: Spider, uri_template: str
    ) -> FeedSlot:
        slot = super()._start_new_batch(batch_id, uri, feed_options, spider, uri_template)
        if isinstance(slot.storage, WholeFileStorage) and file_of(uri_template) in self._own:
            slot.storage.replaces = True
        return slot


def _unwritable(path: object, number: int | None) -> SettingsError:
    return SettingsError(f"feed {path}: cannot be written ({os.strerror(number or errno.EIO)}), name another file")


def _find_begun(settings: FrontierSettings) -> CrawlRun | None:
    with closing(Database(settings.database_url, settings.lock_timeout, read_only=True)) as database:
        return find_run(database, worker_name(), settings.run)


def _fields_of(slot: FeedSlot) -> list[str]:
    """Return the fields of a page that a feed holds."""
    chosen = slot.feed_options["fields"]
    return [field.name for field in fields(Page)] if chosen is None else list(chosen)


def _explain(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    message = " ".join(str(error).split())
    return message if isinstance(error, DedupError) else f"{type(error).__name__}: {message}"


def _discard(slot: FeedSlot) -> None:
    """Let go of the file of a feed that has failed."""
    file = slot.file
    if isinstance(file, PostProcessingManager):
        file = file.file
    if file is not None and not file.closed:
        # What is still in a buffer on its way there would fail once more.
        with Path(os.devnull).open("wb") as nothing:
            os.dup2(nothing.fileno(), file.fileno())
        with suppress(Exception):  # as it has before
            slot.finish_exporting()
        if isinstance(slot.file, PostProcessingManager):
            slot.file.close()
        if not isinstance(slot.storage, StdoutFeedStorage):
            file.close()
    if isinstance(slot.storage, WholeFileStorage):
        slot.storage.discard()
