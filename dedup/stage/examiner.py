"""From an item to the decision on it: its fields are read, its text is signed, and the run decides."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from scrapy.crawler import Crawler

from dedup.errors import DatabaseError
from dedup.rules.documents import Document
from dedup.rules.settings import DedupSettings
from dedup.signature.pages import analyse_page
from dedup.signature.schemes import find_scheme
from dedup.signature.signature import Signature, digest
from dedup.signature.signing import make_signature
from dedup.stage.crawl_run import CrawlRun
from dedup.stage.item_reader import FILES, ItemReader
from dedup.stage.item_settings import ItemSettings, SameKey, ShortTexts
from dedup.stage.monitoring import NO_ITEM, NO_TEXT, NOT_ANALYSED, SHORT, UNCLEAR, ItemMonitor, is_short
from dedup.stage.pending import PendingItem
from dedup.store.notes import EXEMPT
from dedup.workers.pool import WorkerPool

# Characters: a millisecond, where it is compiled.
_AT_ONCE = 100_000


class Examiner:
    """Reads items, signs them and has them decided.

    Long texts are signed in a thread, HTML in worker processes.

    Args:
        crawler: the crawl.
        settings: how documents are decided.
        items: which fields are looked at.
        run: decides the documents.
        workers: the worker processes.
        monitor: hears of what is decided, and of what cannot be examined.
    """

    def __init__(
        self,
        crawler: Crawler,
        settings: DedupSettings,
        items: ItemSettings,
        run: CrawlRun,
        *,
        workers: WorkerPool,
        monitor: ItemMonitor,
    ) -> None:
        self._spider = str(getattr(crawler.spider, "name", ""))
        self._run = run
        self._settings = items
        self._reader = ItemReader(items, self._spider, crawler.settings.get("FILES_RESULT_FIELD", FILES))
        self._monitor = monitor
        self._pass_below = settings.min_tokens if items.short_texts is ShortTexts.PASS else 0
        self._similar_below = settings.min_tokens if items.short_texts is ShortTexts.SIMILAR else 0
        self._scheme = find_scheme(settings.scheme)
        self._workers = workers

    async def examine(self, pending: PendingItem) -> None:
        """Have an item decided in its order; without a decision it passes, and is counted as not examined.

        Raises:
            DatabaseError: the database failed.
        """
        why_not = self._read(pending) or await self._decide(pending)
        if why_not:
            pending.let_pass()
            # First: what is noted twice, as its process died, is better than what nobody has noted.
            await self._run.note_unexamined(self._monitor.note_unexamined(pending, why_not))
        else:
            self._monitor.note(pending)

    async def _decide(self, pending: PendingItem) -> str:
        """Have an item decided whose fields were read; return why it is not, "" where it is."""
        if not await self._try(pending, self._make_document):
            return NOT_ANALYSED
        if pending.document is None:
            return NOT_ANALYSED if pending.reading.source else self._why_no_text(pending)
        if is_short(pending.document, self._pass_below):
            return SHORT
        await self._run.decide(pending)
        if pending.decision is None:
            # Its bytes were stored when the page was looked at, and are not any more.
            if not await self._try(pending, self._sign) or pending.document is None:
                return NOT_ANALYSED
            await self._run.decide(pending)
        return "" if pending.decision is not None else NOT_ANALYSED

    def _read(self, pending: PendingItem) -> str:
        """Read the fields of an item; return why it is not examined, "" where it is to be."""
        if not pending.is_item:
            return NO_ITEM
        if self._reader.is_exempt(pending):
            return getattr(pending.item, "not_compared", EXEMPT)
        try:
            pending.reading = self._reader.read(pending, pending.response)
        except Exception as error:  # of a function of the project, or of an item of its own; it is not lost
            return self._monitor.note_unread(error)
        return ""

    def _why_no_text(self, pending: PendingItem) -> str:
        if pending.reading.unclear:
            return f"{UNCLEAR}: {', '.join(pending.reading.unclear)}"
        empty = ", ".join(self._reader.empty_fields(pending))
        return NO_TEXT + f" in {empty}" if empty else NO_TEXT

    async def _try(self, pending: PendingItem, make: Callable[[PendingItem], Awaitable[None]]) -> bool:
        """Make or sign the document of an item; say whether that went well."""
        try:
            await make(pending)
        except DatabaseError:
            raise
        except Exception as error:  # whatever a library makes of a broken page, the item is not lost
            pending.document = None
            self._monitor.note_not_analysed(pending, error)
            return False
        return True

    async def _make_document(self, pending: PendingItem) -> None:
        """Make the document of an item; there is none where there is nothing to compare.

        A document without a signature is one whose bytes are stored; if they are not any more when it is decided,
        it has to be signed.

        Raises:
            DatabaseError: the database failed.
            Exception: what a library makes of a broken page.
        """
        settings, reading = self._settings, pending.reading
        body_digest = settings.body_digest_field.value(pending)
        signature = settings.signature_field.value(pending)
        is_signed = isinstance(signature, Signature)
        pending.document = document = Document(
            reading.key,
            signature if is_signed else None,
            text_bytes=_size(reading.text) if is_signed else 0,
            body_digest=body_digest if isinstance(body_digest, bytes) else None,
            spider=self._spider,
            item_class=reading.item_class,
            separate=settings.same_key is SameKey.SEPARATE,
            is_keyless=not reading.key_field,
            may_repeat=reading.is_page or not reading.key_field,
            fields=reading.fields.packed(),
            title=reading.title,
            similar_below=self._similar_below,
        )
        if is_signed:
            return
        if document.body_digest is None or not await self._run.has_seen_bytes(document.body_digest, reading.key):
            await self._sign(pending)

    async def _sign(self, pending: PendingItem) -> None:
        """Sign the document of an item; there is none where there is nothing to sign.

        Raises:
            Exception: what a library makes of a broken page.
        """
        document, reading, text = pending.document, pending.reading, pending.reading.text
        assert document is not None
        body_digest, signature = document.body_digest, None
        if reading.html:
            html = reading.html if isinstance(reading.html, bytes) else reading.html.encode("utf-8", "replace")
            found, of_page = await self._workers.run(analyse_page, reading.html, self._scheme)
            if len(found) > len(text) or not text:
                text, signature, body_digest = found, of_page, body_digest or digest(html)
        if signature is None and (text or reading.checksums):
            signature = await self._sign_text(text)
            if not text:
                # Files are alike only if they are the same to the byte, as pages without text are.
                body_digest = digest("\n".join(reading.checksums).encode("utf-8", "replace"))
        if signature is None:
            pending.document = None
        else:
            pending.document = replace(document, signature=signature, text_bytes=_size(text), body_digest=body_digest)

    async def _sign_text(self, text: str) -> Signature:
        if len(text) <= _AT_ONCE:
            return make_signature(text, self._scheme)
        return await asyncio.to_thread(make_signature, text, self._scheme)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
