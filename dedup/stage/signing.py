"""From what was found in an item to the document that is decided, with its signature."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from threading import Thread
from typing import Any

from itemadapter import ItemAdapter

from dedup.rules.documents import Document
from dedup.signature.extraction import analyse_html
from dedup.signature.schemes import Scheme
from dedup.signature.signature import Signature, digest, make_signature
from dedup.stage.crawl_run import CrawlRun
from dedup.stage.items.fields import value_of
from dedup.stage.items.reading import ItemContent, Reading
from dedup.stage.items.settings import ItemSettings, SameKey
from dedup.warming import prepare_crawl
from dedup.workers.pool import WorkerPool

# Characters: two milliseconds without compiled code.
_AT_ONCE = 10_000
# To load compiled code takes a second of CPU, and saves one for each so many pages of 500 words.
_BEFORE_LOADING = 2_000


class ItemSigner:
    """Makes documents of items: of long texts in a thread, of HTML in worker processes.

    Compiled code is loaded where many texts are signed.
    """

    def __init__(
        self,
        settings: ItemSettings,
        scheme: Scheme,
        workers: WorkerPool,
        run: CrawlRun,
        *,
        spider: str,
        similar_below: int,
    ) -> None:
        self._settings = settings
        self._scheme = scheme
        self._texts = 0
        self._workers = workers
        self._run = run
        self._spider = spider
        self._similar_below = similar_below

    async def document(self, item: Any, reading: Reading) -> Document | None:
        """Return the document of an item; None where there is nothing to compare.

        A document without a signature is one whose bytes are known; if they are not any more when it is decided,
        it has to be `analysed`.

        Raises:
            DatabaseError: the database failed.
            Exception: what a library makes of a broken page.
        """
        settings, adapter = self._settings, ItemAdapter(item)
        canonical = value_of(adapter, settings.canonical_field)
        body_digest = value_of(adapter, settings.body_digest_field)
        document = Document(
            reading.key,
            None,
            body_digest=body_digest if isinstance(body_digest, bytes) else None,
            canonical=canonical if isinstance(canonical, str) and canonical else None,
            redirected=bool(value_of(adapter, settings.redirected_field)),
            spider=self._spider,
            item_class=reading.item_class,
            separate=settings.same_key is SameKey.SEPARATE,
            is_keyless=not reading.key_field,
            may_repeat=reading.is_page or not reading.key_field,
            variant="\n".join(reading.content.variant),
            title=reading.title,
            similar_below=self._similar_below,
        )
        signature = value_of(adapter, settings.signature_field)
        if isinstance(signature, Signature):
            return replace(document, signature=signature, text_bytes=_size(reading.content.text))
        if document.body_digest is not None and await self._run.knows_bytes(document.body_digest, reading.key):
            return document
        return await self.analysed(document, reading.content)

    async def analysed(self, document: Document, content: ItemContent) -> Document | None:
        """Return a document with its signature; None where there is nothing to make one of.

        Raises:
            Exception: what a library makes of a broken page.
        """
        if content.html:
            html = content.html if isinstance(content.html, bytes) else content.html.encode("utf-8", "replace")
            text, signature = await self._workers.run(analyse_html, content.html, self._scheme)
            if len(text) > len(content.text) or not content.text:
                body_digest = document.body_digest or digest(html)
                return replace(document, signature=signature, text_bytes=_size(text), body_digest=body_digest)
        if content.text:
            signature = await self._sign(content.compared)
            return replace(document, signature=signature, text_bytes=_size(content.text))
        if content.checksums:
            # Files are alike only if they are the same to the byte, as pages without text are.
            body_digest = digest("\n".join(content.checksums).encode("utf-8", "replace"))
            return replace(document, signature=await self._sign(""), body_digest=body_digest)
        return None

    async def _sign(self, text: str) -> Signature:
        self._texts += 1
        if self._texts == _BEFORE_LOADING:
            Thread(target=prepare_crawl, daemon=True).start()
        if len(text) <= _AT_ONCE:
            return make_signature(text, self._scheme)
        return await asyncio.to_thread(make_signature, text, self._scheme)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
