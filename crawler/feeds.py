"""Feeds of a crawl, `-o`: written from the database when the run ends, whole or not at all."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import shutil
import time
import zlib
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import fields
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, Any, NamedTuple, cast

from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.exporters import BaseItemExporter, CsvItemExporter, MarshalItemExporter
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
from sqlalchemy import bindparam, select

from crawler.frontier.known_runs import find_runs
from crawler.frontier.store import FrontierSettings
from crawler.page import DESCRIBED, EXTRACTED, Page
from crawler.pages.store import pages, visits
from crawler.runs import CrawlRun, command_to_export, file_of, name_of_run
from crawler.secrets import without_password
from crawler.spider.site import SiteSpider
from crawler.warc.recording import find_target, is_warc, note_going_on
from dedup.atomic_files import replace_file
from dedup.errors import DedupError, SettingsError
from dedup.readers.streams import load_pyarrow
from dedup.report.render import csv_cell
from dedup.rules.documents import Verdict
from dedup.stage.outages import mark_failed, outages_of
from dedup.stage.pipelines import RUN_GOES_ON
from dedup.stage.project import read_item_settings, read_settings
from dedup.stage.running import refuse_to_start
from dedup.store.database import Database
from dedup.store.outages import Outages
from dedup.store.processes import worker_name
from dedup.store.runs import find_decided, no_run, read_decided
from dedup.store.schema import runs

logger = logging.getLogger(__name__)

# Whole pages: in a feed that has their HTML, each can have megabytes.
_AT_ONCE = 100
_STORED = ("url", "canonical", *DESCRIBED, *EXTRACTED, "problem", "referrer", "run")
_OF_VISITS = ("depth", "etag", "last_modified", "body_digest")
RESTORED = frozenset((*_STORED, *_OF_VISITS, "html", "fetched", "verdict"))
"""The fields of a page that are stored; the others are known only while it is crawled."""

_SEEN = (
    select(visits.c.id, visits.c.url_digest)
    .where(
        visits.c.id > bindparam("after"),
        visits.c.run == bindparam("run"),
        visits.c.seen >= bindparam("since"),
        visits.c.gone.is_(None),
    )
    .order_by(visits.c.id)
    .limit(_AT_ONCE)
)
_PAGES = (
    select(
        pages.c.url_digest, *(pages.c[name] for name in _STORED), *(visits.c[name] for name in (*_OF_VISITS, "seen"))
    )
    .join(visits, visits.c.url_digest == pages.c.url_digest)
    .where(pages.c.url_digest.in_(bindparam("digests", expanding=True)))
)


ROWS_A_GROUP = 1_000


def choose_run(database: Database, name: str) -> str:
    """Return the name of the run whose pages are wanted.

    Args:
        database: where the pages are.
        name: that of the run; "" for the one that was started last.

    Raises:
        DedupError: there is no such run.
    """
    with database.read() as connection:
        is_decided = connection.dialect.has_table(connection, runs.name)
        names = list(connection.scalars(select(runs.c.name).order_by(runs.c.started, runs.c.id))) if is_decided else []
        if not connection.dialect.has_table(connection, visits.name):
            raise DedupError(f"database {database.name} holds no pages: run a crawl first, or name another")
        if name in names or (names and not name):
            return name or names[-1]
        # Without the dedup stage a run is known by its pages alone.
        is_named = visits.c.run == name if name else visits.c.run.is_not(None)
        seen = select(visits.c.run).where(is_named).order_by(visits.c.seen.desc()).limit(1)
        found = connection.scalar(seen)
    if not found:
        raise no_run(database.name, name, names)
    return str(found)


class KeptPages(NamedTuple):
    """The pages that a run has kept and that are still stored, each once, as they are stored now.

    A page is the run's if the run's last verdict on it has let it pass. They come in the order of these verdicts, in
    which they were stored. Behind them come those without a verdict of the run, as they could not be analysed, if
    the run was the last to see them.

    Attributes:
        database: where the pages are.
        is_decided: whether there are verdicts.
        run: the name of the run.
        since: when it began, in seconds since 1970: a run that has finished may have had the same name.
        with_unchanged: whether pages are wanted that are as they were when another run stored them.
        with_html: whether their bytes are wanted, too.
    """

    database: Database
    is_decided: bool
    run: str
    since: float
    with_unchanged: bool
    with_html: bool

    def read(self, outages: Outages) -> Iterator[list[Page]]:
        """Yield the pages, some at a time, however long the database is away.

        Raises:
            DatabaseError: they cannot be read.
        """
        for find in (self._find_decided, self._find_undecided):
            after: int | None = 0
            while after is not None:
                after, wanted = outages.survive(partial(find, after))
                yield outages.survive(partial(self._load, wanted))

    def _find_decided(self, after: int) -> tuple[int | None, dict[bytes, str]]:
        """Return where to go on, and the next verdicts of the run, by the digests of their pages."""
        if not self.is_decided:
            return None, {}
        after, decided = read_decided(self.database, self.run, after, _AT_ONCE)
        kept = {digest: each.verdict for digest, each in decided.items() if each.is_kept and each.time >= self.since}
        wanted = {digest: verdict.value for digest, verdict in kept.items() if self._is_wanted(verdict)}
        return after or None, wanted

    def _find_undecided(self, after: int) -> tuple[int | None, dict[bytes, str]]:
        """Return the same of pages that the run has seen last and not decided; "" where there is no verdict."""
        with self.database.read() as connection:
            seen = connection.execute(_SEEN, {"after": after, "run": self.run, "since": self.since})
            rows = {row.id: bytes(row.url_digest) for row in seen}
        decided = {}
        if self.is_decided and rows:
            decided = find_decided(self.database, self.run, list(rows.values()))
        found = {}
        for digest in rows.values():
            verdict = decided.get(digest)
            if verdict is None:
                found[digest] = ""
            elif verdict.time < self.since and self._is_wanted(Verdict.UNCHANGED):
                # Of an earlier run of this name, whose verdict stands.
                found[digest] = Verdict.UNCHANGED.value
        return max(rows, default=None), found

    def _is_wanted(self, verdict: Verdict) -> bool:
        return self.with_unchanged or verdict is not Verdict.UNCHANGED

    def _load(self, wanted: Mapping[bytes, str]) -> list[Page]:
        query = _PAGES.add_columns(pages.c.html) if self.with_html else _PAGES
        with self.database.read() as connection:
            rows = connection.execute(query, {"digests": list(wanted)}).mappings().all() if wanted else []
        stored = {bytes(row["url_digest"]): row for row in rows}
        return [_page(stored[digest], verdict) for digest, verdict in wanted.items() if digest in stored]


def _page(row: Mapping[Any, Any], verdict: str) -> Page:
    stored = {name: row[name] for name in (*_STORED, *_OF_VISITS)}
    html = zlib.decompress(row["html"]) if "html" in row else b""
    return Page(**stored, html=html, fetched=datetime.fromtimestamp(row["seen"], UTC), verdict=verdict or None)


class ParquetItemExporter(BaseItemExporter):
    """Writes items as rows of a Parquet file, for `scrapy crawl site -o pages.parquet`.

    A column is of whole numbers or of times if the first row that has a value there says so, and
    of text otherwise. Rows are written in groups of 1,000: memory does not grow with the crawl.

    Args:
        file: where to write, in binary mode.
        **options: those of every Scrapy exporter; `fields_to_export` names the columns.

    Raises:
        ModuleNotFoundError: pyarrow is not installed.
    """

    def __init__(self, file: BytesIO, **options: Any) -> None:
        super().__init__(dont_fail=True, **options)
        import pyarrow.parquet  # noqa: PLC0415 -- half a second of start-up that only this format needs

        self._pyarrow = pyarrow
        self._file = file
        self._rows: list[dict[str, Any]] = []
        self._writer: Any = None

    def export_item(self, item: Any) -> None:
        """Take one item; it is written with its group."""
        self._rows.append(dict(self.get_serialized_fields(item, default_value=None, include_empty=True)))
        if len(self._rows) == ROWS_A_GROUP:
            self._write_rows()

    def finish_exporting(self) -> None:
        """Write what is left, and the file's end."""
        if self._rows or self._writer is None:
            self._write_rows()
        self._writer.close()

    def _write_rows(self) -> None:
        arrow = self._pyarrow
        if self._writer is None:
            self._writer = arrow.parquet.ParquetWriter(self._file, self._schema(), compression="zstd")
        schema = self._writer.schema
        texts = {field.name for field in schema if field.type == arrow.string()}
        for row in self._rows:
            row |= {name: str(row[name]) for name in texts & row.keys() if row[name] is not None}
        self._writer.write_table(arrow.Table.from_pylist(self._rows, schema=schema))
        self._rows.clear()

    def _schema(self) -> Any:
        arrow = self._pyarrow
        types = {int: arrow.int64(), datetime: arrow.timestamp("us", tz="UTC")}
        names = dict.fromkeys(name for row in self._rows for name in row)
        if not names and self.fields_to_export is not None:
            names = dict.fromkeys(self.fields_to_export)
        return arrow.schema([(name, types.get(self._kind_of(name), arrow.string())) for name in names])

    def _kind_of(self, name: str) -> type:
        return next((type(row[name]) for row in self._rows if row.get(name) is not None), str)


class MarshalTextExporter(MarshalItemExporter):
    """Writes items as Scrapy's exporter does, and times, of which Marshal knows nothing, as text."""

    def serialize_field(self, field: Any, name: str, value: Any) -> Any:
        """Return what is written of a field."""
        value = super().serialize_field(field, name, value)
        return value.isoformat() if isinstance(value, datetime) else value


class SafeCsvItemExporter(CsvItemExporter):
    """Writes items as Scrapy's exporter does, and no text that a spreadsheet would take for a formula."""

    def serialize_field(self, field: Any, name: str, value: Any) -> Any:
        """Return what is written of a field."""
        return csv_cell(super().serialize_field(field, name, value))


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
        # Web archives are written as pages are fetched, see crawler.warc.
        self.feeds = {uri: options for uri, options in self.feeds.items() if not is_warc(options)}
        for scheme, storage in self.storages.items():
            if storage is FileFeedStorage:
                self.storages[scheme] = WholeFileStorage
        self._own: set[str] = set()
        self._since = 0.0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> FeedExporter:  # type: ignore[override]
        spider = crawler.spider
        try:
            target = find_target(crawler)
            if not isinstance(spider, SiteSpider):
                if target is not None:
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

    def prepare(self, spider: Spider) -> None:
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
            note_going_on(self.crawler)
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
        for slot in self.slots:
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
                with_html = "html" in _fields_of(slot)
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
        return next((run for run in find_runs(database, worker_name()) if run.name == settings.run), None)


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
