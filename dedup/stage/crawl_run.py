"""The run of a crawl: its database, opened with the spider, and its verdicts, from the first item on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

from scrapy.crawler import Crawler

from dedup.atomic_files import open_output, replace_file
from dedup.console import counted, logged
from dedup.errors import DatabaseError, DedupError
from dedup.rules.decisions import Decision
from dedup.rules.scope import FOR_EVER
from dedup.rules.settings import DedupSettings
from dedup.signature.normalise import clean
from dedup.stage.batching import BATCH_PATIENCE, MicroBatcher, Place
from dedup.stage.outages import outages_of
from dedup.stage.pending import PendingItem, UnstoredItems
from dedup.stage.project import make_database_folder
from dedup.stage.scrapy_private import items_under_way
from dedup.store.database import Database, open_existing_database
from dedup.store.deduplicator import Deduplicator
from dedup.store.notes import Skipped, Unexamined, forget_decided, note_skipped, note_unexamined, summarise
from dedup.store.runs import name_by_time

logger = logging.getLogger(__name__)

T = TypeVar("T")
N = TypeVar("N")

PATIENCE = 10.0
"""Seconds that a copy waits at most until its original is through all pipelines: one may wait for items itself."""

_NOTED_AFTER = 1.0
"""Seconds after which it is written by itself that items are stored, where no batch is."""

_DROPPED_NAMED = 5
_NAME_IN_JOB = "dedup.run"


class CrawlRun:
    """Decides the documents of a crawl, in batches, in threads, and whatever its database goes through.

    The run begins with the first item, so that a crawl without any leaves none behind.

    Attributes:
        unstored: what was kept, until it is known what became of it.
    """

    def __init__(self, crawler: Crawler, settings: DedupSettings) -> None:
        self._crawler = crawler
        self._settings = settings
        self._outages = outages_of(crawler)
        self._is_open = asyncio.Event()
        self._failure: DedupError | None = None
        self._beginning: asyncio.Task[int] | None = None
        self._run_id: int | None = None
        self._deciding = MicroBatcher(self._decide, settings.batch_size, BATCH_PATIENCE, self._is_all)
        self._refusing = MicroBatcher(self._refuse, settings.batch_size)
        self.unstored = UnstoredItems(self._refusing.submit, self._note_stored, crawler.stats)
        self._noting: asyncio.Task[None] | None = None
        self._skipping = MicroBatcher(partial(self._note, note_skipped), settings.batch_size, BATCH_PATIENCE)
        self._passing = MicroBatcher(partial(self._note, note_unexamined), settings.batch_size, BATCH_PATIENCE)

    async def open(self) -> None:
        """Open the database; where that fails it may be tried again."""
        self._failure = None
        try:
            await self._open()
        except DedupError as error:
            self._failure = error
            raise
        finally:
            self._is_open.set()

    async def _open(self) -> None:
        try:
            make_database_folder(self._crawler.settings)
        except OSError as error:
            raise DatabaseError(
                f"the folder of the database cannot be made: {error}; set DEDUP_DATABASE_URL"
            ) from error
        self._deduplicator = await asyncio.to_thread(Deduplicator, self._settings)
        self._recognising = MicroBatcher(self._recognise, self._settings.batch_size)
        try:
            logger.info("%s", await self._in_thread(self._summary))
        except DatabaseError:
            await self.close()
            raise

    async def begin(self) -> int:
        """Begin the run, once the database is open, if it has not begun; return its id."""
        if self._run_id is not None:
            return self._run_id
        # Scrapy opens all pipelines at the same time.
        await self._is_open.wait()
        if self._failure is not None:
            raise self._failure
        if self._beginning is None:
            # Where it fails, it fails for all who wait: each of them would wait for the same lock again.
            self._beginning = asyncio.create_task(self._begin())
        try:
            return await asyncio.shield(self._beginning)
        finally:
            if self._beginning is not None and self._beginning.done():
                self._beginning = None

    async def _begin(self) -> int:
        name = self._settings.run or _name_in_job(self._crawler)
        self._run_id = await self._in_thread(self._deduplicator.open_run, name)
        self._crawler.stats.set_value("dedup/run", name)
        return self._run_id

    def reserve(self) -> Place[PendingItem, Decision | None]:
        """Return the place of an item that reaches the stage: they are decided in order, whatever is signed first."""
        return self._deciding.reserve()

    async def decide(self, pending: PendingItem) -> None:
        """Decide the document of an item, and wait for its order; at once without a decision if it has no signature.

        Then its bytes are not stored any more. What is to be dropped waits for its original, if that is unstored, and
        lets others pass.

        Raises:
            DatabaseError: the database failed.
        """
        if self._run_id is None:
            await self.begin()
        deadline = asyncio.get_running_loop().time() + PATIENCE
        pending.decision = decision = await self._deciding.submit(pending, pending.take_place())
        if decision is not None:
            await pending.wait_in_order()
        drops, loses = self._settings.drops, self.unstored.loses_original
        while decision is not None and drops(decision.verdict) and await loses(decision, deadline):
            pending.decision = decision = await self._deciding.submit(pending)

    async def has_seen_bytes(self, body_digest: bytes, key: str) -> bool:
        """Whether a page with these bytes was analysed before, in this run or an earlier one."""
        run_id = await self.begin() if self._run_id is None else self._run_id
        spider = str(getattr(self._crawler.spider, "name", ""))
        return await self._recognising.submit(self._deduplicator.scoped_bytes(key, body_digest, run_id, spider))

    async def was_dropped(self, key: str) -> bool:
        """Whether the last document that came under a key was dropped as a copy."""
        return await self._in_thread(self._deduplicator.was_dropped, clean(key))

    async def forget(self, keys: Sequence[str]) -> None:
        """Forget documents that are gone; their duplicates are undecided then."""
        await self._in_thread(self._deduplicator.forget, [clean(key) for key in keys])

    def find_undecided(self, after: int, most: int, *, of_this_run: bool) -> list[tuple[int, str]]:
        """Return ids and keys of documents whose content has to be seen again; see `Deduplicator.find_undecided`."""
        run_id = self._run_id if of_this_run else None
        return self._outages.survive(partial(self._deduplicator.find_undecided, after, most, run_id))

    async def note_skipped(self, skipped: Skipped) -> None:
        """Note a page without an item; return once that is written."""
        await self.begin()
        await self._skipping.submit(skipped)

    async def note_unexamined(self, unexamined: Unexamined) -> None:
        """Note items that were not examined; return once that is written."""
        await self.begin()
        await self._passing.submit(unexamined)

    async def stop_deciding(self) -> None:
        """Wait for what is being decided."""
        await self._passing.close()
        await self._recognising.close()
        await self._deciding.close()
        await self._refusing.close()
        if self._noting is not None:
            self._noting.cancel()

    async def _note_what_became(self, run_id: int) -> None:
        """Note that all items are through, and name what was dropped as copies of what was refused since."""
        if not items_under_way(self._crawler):
            for document_id in self.unstored.unreported:
                self._deduplicator.note_stored(document_id)
        await self._in_thread(self._deduplicator.write_stored)
        let_go = self.unstored.let_go
        dropped = await self._in_thread(self._deduplicator.find_dropped, run_id, let_go) if let_go else []
        refused = [Skipped(key, "original refused", original) for key, original in dropped]
        await self._in_thread(note_skipped, self._deduplicator.database, run_id, refused)
        if dropped:
            self._crawler.stats.set_value("dedup/dropped_with_refused", len(dropped))
            left = len(dropped) - _DROPPED_NAMED
            logger.warning(
                "dropped as copies of what a later pipeline has refused, and decided anew by the next crawl: %s: %s%s",
                counted(len(dropped), "item"),
                ", ".join(logged(key) for key, _ in dropped[:_DROPPED_NAMED]),
                f" and {left:,} more" if left > 0 else "",
            )

    def _note_stored(self, document_id: int) -> None:
        """Note that a document is stored; it is written with the next batch, or in a while."""
        self._deduplicator.note_stored(document_id)
        if self._noting is None or self._noting.done():
            self._noting = asyncio.create_task(self._write_stored())

    async def _write_stored(self) -> None:
        await asyncio.sleep(_NOTED_AFTER)
        try:
            await self._in_thread(self._deduplicator.write_stored)
        except DatabaseError as error:
            # The next batch tries it again.
            logger.debug("not written that items are stored: %s", error)

    async def end(self, outcome: str, *, goes_on: bool) -> None:
        """Write what is left to be written, and end the run, if it has begun.

        It stays open where other processes go on with it.
        """
        await self._skipping.close()
        if self._run_id is None:
            return
        await self._in_thread(forget_decided, self._deduplicator.database, self._run_id)
        await self._note_what_became(self._run_id)
        if not goes_on:
            await self._in_thread(self._deduplicator.close_run, self._run_id, outcome)

    async def close(self) -> None:
        """Close the database."""
        await asyncio.to_thread(self._deduplicator.close)

    def _is_all(self, waiting: int) -> bool:
        """Whether everything that is under way waits for a decision, as where links are held back."""
        engine = self._crawler.engine
        slot = engine.scraper.slot if engine is not None else None
        return slot is not None and not engine.downloader.active and len(slot.active) + len(slot.queue) <= waiting

    def _note(self, note: Callable[[Database, int, list[N]], None], noted: list[N]) -> list[None]:
        """Write notes, and return something for each of them."""
        assert self._run_id is not None
        self._outages.survive(partial(note, self._deduplicator.database, self._run_id, noted))
        return [None] * len(noted)

    def _refuse(self, document_ids: list[int]) -> list[frozenset[int]]:
        """Forget documents; return for each of them all that are undecided since."""
        let_go = frozenset(self._outages.survive(partial(self._deduplicator.refuse, document_ids)))
        return [let_go] * len(document_ids)

    def _decide(self, batch: list[PendingItem]) -> list[Decision | None]:
        assert self._run_id is not None
        documents = [each.document for each in batch if each.document is not None]
        decided_again = {each.decision.details.document_id for each in batch if each.decision is not None}
        # What was decided though the connection broke is found unchanged, and its verdict is kept.
        decide = partial(
            self._deduplicator.decide,
            documents,
            self._run_id,
            decided_again=decided_again,
            # Of these nobody says what becomes of them.
            is_stored=is_tried_out(self._crawler),
        )
        return self._outages.survive(decide)

    def _recognise(self, body_digests: list[bytes]) -> list[bool]:
        stored = self._outages.survive(partial(self._deduplicator.stored_bodies, body_digests))
        return [body_digest in stored for body_digest in body_digests]

    def _summary(self) -> str:
        name = self._deduplicator.database.name
        documents, runs, ended, since = summarise(self._deduplicator.database)
        if not documents:
            return f"database {name} knows no documents yet"
        when = "" if since is None else f" since {datetime.fromtimestamp(since, UTC):%Y-%m-%d}"
        when += f", {runs - ended:,} of them not ended (dedup runs)" if runs > ended else ""
        memory = self._settings.memory
        compared = "this run alone" if memory.of_run else f"the last {memory} alone"
        limit = "" if memory == FOR_EVER else f"; compared with those of {compared}"
        return f"database {name} knows {counted(documents, 'document')} of {counted(runs, 'run')}{when}{limit}"

    async def _in_thread(self, function: Callable[..., T], *arguments: object) -> T:
        return await asyncio.to_thread(self._outages.survive, partial(function, *arguments))


def is_tried_out(crawler: Crawler) -> bool:
    """Whether `scrapy shell`, `fetch` or `parse` runs a spider, whose items hardly ever reach the pipelines."""
    start = getattr(type(crawler.spider), "start", None)
    return not crawler.crawling or getattr(start, "__module__", "").startswith("scrapy.commands.")


def _name_in_job(crawler: Crawler) -> str:
    """Return the name of a new run; a job that is continued (Scrapy's JOBDIR) goes on with its own."""
    name = name_by_time()
    folder = crawler.settings.get("JOBDIR")
    if not folder:
        return name
    path = Path(folder) / _NAME_IN_JOB
    try:
        written = path.read_text(encoding="utf-8", errors="replace").strip() if path.exists() else ""
        if written.isprintable() and written and "\ufffd" not in written:
            return written
        path.parent.mkdir(parents=True, exist_ok=True)
        # Killed at any point, the next process finds a whole name or none.
        new = path.with_suffix(".new")
        new.write_text(name, encoding="utf-8")
        replace_file(new, path)
    except OSError as error:
        raise DatabaseError(f"the name of the run in {path} cannot be read or written: {error}") from error
    return name


def write_report_of_run(settings: DedupSettings, run: str) -> None:
    """Write the report on a run that has ended.

    Raises:
        DedupError: it cannot be written.
    """
    # Most crawls write none, and it takes a while to load.
    from dedup.report.html.page import write_in_any_format  # noqa: PLC0415
    from dedup.report.queries import open_report  # noqa: PLC0415
    from dedup.report.render import encoding_for, format_of, selection_for  # noqa: PLC0415

    output_format = format_of(settings.report)
    with (
        closing(open_existing_database(settings.database_url)) as database,
        open_report(database, replace(selection_for(output_format), run=run)) as report,
        open_output(settings.report, encoding_for(output_format)) as stream,
    ):
        write_in_any_format(report, database, output_format, stream)
    logger.info("report written: %s", settings.report)
