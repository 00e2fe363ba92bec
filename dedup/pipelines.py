"""The item pipeline that drops near-duplicates."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Self

from itemadapter import ItemAdapter
from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from dedup.batching import MicroBatcher
from dedup.decision import Kept
from dedup.deduplicator import Decision, Deduplicator, Document
from dedup.dropping import Undecided, raise_if_dropped
from dedup.errors import DatabaseError, DedupError
from dedup.extraction import analyse_html
from dedup.failures import CrawlStopper, close_when_forced, outages_of, read_settings, refuse_to_start
from dedup.fingerprint.normalise import clean
from dedup.fingerprint.schemes import find_scheme
from dedup.fingerprint.signature import Signature, digest, make_signature
from dedup.keepers import KeeperRuleError
from dedup.settings import Brake, DedupSettings
from dedup.workers import WorkerPool

logger = logging.getLogger(__name__)

# Four or five pages of a crawl at full speed share a transaction; nobody notices the delay.
BATCH_PATIENCE = 0.1

STAT_OF_KEPT = {
    Kept.KEEPER: "kept_as_keeper",
    Kept.BRAKE: "kept_by_brake",
    Kept.JOINED: "kept_before_joining",
}
"""The names by which duplicates are counted that are passed on all the same, behind `dedup/`."""

RUN_GOES_ON = "dedup/run_goes_on"
"""The stat by which an application says that other processes go on with the run, so that it stays open."""


class NearDuplicatePipeline:
    """Item pipeline: gives every item with a text a verdict and drops the duplicates.

    - Items of every kind that itemadapter knows; `DEDUP_TEXT_FIELD`, `DEDUP_HTML_FIELD` and
      `DEDUP_URL_FIELD` name the fields. An item without a URL, or with neither text nor HTML,
      passes as it is.
    - Where there is only HTML, the main text is extracted in a worker process; it is not added to
      the item.
    - Verdicts and index entries are written before the item goes on, so that of any number of
      copies under way at the same time exactly one is kept.
    - Stats: `dedup/new`, `dedup/exact_duplicate` and so on, `dedup/text_bytes`,
      `dedup/text_bytes_dropped`, `dedup/not_examined`. A duplicate that is passed on all the same counts
      as `dedup/kept_as_keeper`, `dedup/kept_by_brake` or `dedup/kept_before_joining`, what a better copy
      has replaced as `dedup/replaced`. `dedup/keeper_changed`, `dedup/clusters_joined`;
      `dedup/clusters_over_limit`, `dedup/hosts_over_limit`.
    """

    def __init__(self, crawler: Crawler, settings: DedupSettings) -> None:
        self.settings = settings
        self._crawler = crawler
        self._stopper = CrawlStopper.of(crawler)
        self._outages = outages_of(crawler)
        self._scheme = find_scheme(settings.scheme)
        self._workers = WorkerPool(settings.workers)
        close_when_forced(self._workers)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = read_settings(crawler)
        if not settings.enabled:
            raise NotConfigured("DEDUP_ENABLED is off")
        pipeline = cls(crawler, settings)
        crawler.signals.connect(pipeline.spider_closed, signals.spider_closed)
        return pipeline

    async def open_spider(self) -> None:
        run = self.settings.run or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        try:
            self._deduplicator = await asyncio.to_thread(Deduplicator, self.settings)
            self._run_id = await asyncio.to_thread(self._deduplicator.open_run, run)
        except DedupError as error:
            refuse_to_start(error)
        self._deciding = MicroBatcher(self._decide, self.settings.batch_size, BATCH_PATIENCE)
        self._recognising = MicroBatcher(self._recognise, self.settings.batch_size)
        self._crawler.stats.set_value("dedup/run", run)

    async def close_spider(self) -> None:
        self._workers.close()
        await self._recognising.close()
        await self._deciding.close()

    async def spider_closed(self, reason: str) -> None:
        try:
            if not self._crawler.stats.get_value(RUN_GOES_ON):
                close = partial(self._deduplicator.close_run, self._run_id, reason)
                await asyncio.to_thread(self._outages.survive, close)
        except DatabaseError as error:
            self._stopper.stop(error, "database_error")
        finally:
            await asyncio.to_thread(self._deduplicator.close)

    async def process_item(self, item: Any) -> Any:
        adapter = ItemAdapter(item)
        key = clean(str(adapter.get(self.settings.url_field) or ""))
        document = await self._document(adapter, key) if key else None
        if document is None:
            self._crawler.stats.inc_value("dedup/not_examined")
            return item
        try:
            decision = await self._deciding.submit(document)
            if decision is None:
                # Its bytes were known when the page was looked at, and are not any more.
                document = await self._analysed(adapter, document)
                decision = None if document is None else await self._deciding.submit(document)
        except DatabaseError as error:
            self._stopper.stop(error, "database_error")
            raise Undecided("not decided: the database failed", key) from error
        except KeeperRuleError as error:
            self._stopper.stop(error, "keeper_rule_failed")
            raise Undecided("not decided: a rule for keepers failed", key) from error
        self._tell_alarms()
        if decision is None:
            self._crawler.stats.inc_value("dedup/not_examined")
            return item
        self._count(decision)
        self._annotate(adapter, decision)
        raise_if_dropped(key, decision, drop_unchanged=self.settings.drop_unchanged)
        return item

    async def knows_bytes(self, body_digest: bytes, key: str) -> bool:
        """Say whether a page of these bytes was analysed before, in this run or an earlier one.

        A spider that asks this first can pass an item with neither text nor signature, only with
        the digest in the field that DEDUP_BODY_DIGEST_FIELD names, and save the extraction.

        Args:
            body_digest: `dedup.fingerprint.signature.digest` of the page's bytes.
            key: its URL.
        """
        try:
            return await self._recognising.submit(self._deduplicator.scopes.mixed(key, body_digest))
        except DatabaseError as error:
            self._stopper.stop(error, "database_error")
            return False

    async def let_go(self, keys: list[str]) -> None:
        """Take pages that are there no more out of the index; their duplicates are decided anew.

        Args:
            keys: their URLs.

        Raises:
            DatabaseError: nothing of it was written.
        """
        let_go = partial(self._deduplicator.let_go, [clean(key) for key in keys])
        await asyncio.to_thread(self._outages.survive, let_go)

    def find_undecided(self, after: int, most: int, *, of_this_run: bool) -> list[tuple[int, str]]:
        """Return ids and URLs of pages whose content has to be seen again: what they were copies of is gone.

        Args:
            after: only those with a larger id.
            most: how many at most.
            of_this_run: only those that were seen in this run.

        Raises:
            DatabaseError: the database cannot be read.
        """
        run_id = self._run_id if of_this_run else None
        return self._outages.survive(partial(self._deduplicator.find_undecided, after, most, run_id))

    async def _document(self, adapter: ItemAdapter, key: str) -> Document | None:
        settings = self.settings
        body_digest = adapter.get(settings.body_digest_field)
        signature = adapter.get(settings.signature_field)
        text = _as_text(adapter.get(settings.text_field))
        document = Document(
            key,
            None,
            body_digest=body_digest,
            canonical=_as_text(adapter.get(settings.canonical_field)) or None,
            redirected=bool(adapter.get(settings.redirected_field)),
        )
        if isinstance(signature, Signature):
            return replace(document, signature=signature, text_bytes=len(text.encode("utf-8", "replace")))
        if isinstance(body_digest, bytes) and await self.knows_bytes(body_digest, key):
            return document
        return await self._analysed(adapter, document)

    async def _analysed(self, adapter: ItemAdapter, document: Document) -> Document | None:
        text = _as_text(adapter.get(self.settings.text_field))
        html = adapter.get(self.settings.html_field)
        html = html if isinstance(html, bytes) else _as_text(html)
        body_digest = document.body_digest
        if not text and not html:
            return None
        try:
            if text:
                signature = await self._workers.run(make_signature, text, self._scheme)
            else:
                if body_digest is None:
                    body_digest = digest(html if isinstance(html, bytes) else html.encode("utf-8", "replace"))
                text, signature = await self._workers.run(analyse_html, html, self._scheme)
        except Exception as error:  # whatever a library makes of a broken page, the item is not lost
            logger.warning("%s could not be analysed, and passes: %s: %s", document.key, type(error).__name__, error)
            self._crawler.stats.inc_value("dedup/analysis_failed")
            return None
        size = len(text.encode("utf-8", "replace"))
        return replace(document, signature=signature, text_bytes=size, body_digest=body_digest)

    def _decide(self, documents: list[Document]) -> list[Decision | None]:
        # What was decided though the connection broke is found unchanged, and its verdict stands.
        return self._outages.survive(partial(self._deduplicator.decide, documents, self._run_id))

    def _recognise(self, body_digests: list[bytes]) -> list[bool]:
        known = self._outages.survive(partial(self._deduplicator.known_bodies, body_digests))
        return [body_digest in known for body_digest in body_digests]

    def _count(self, decision: Decision) -> None:
        stats, outcome = self._crawler.stats, decision.outcome
        stats.inc_value(f"dedup/{_counted_as(decision)}")
        stats.inc_value("dedup/text_bytes", decision.text_bytes)
        if outcome.is_replaced or (decision.verdict.is_duplicate and not outcome.kept):
            stats.inc_value("dedup/text_bytes_dropped", decision.text_bytes)
        if outcome.keeper_changed:
            stats.inc_value("dedup/keeper_changed")
        if outcome.joined:
            logger.info("the cluster of %s has joined that of %s", outcome.joined, decision.original)
            stats.inc_value("dedup/clusters_joined")

    def _tell_alarms(self) -> None:
        for alarm in self._deduplicator.take_alarms():
            logger.warning("%s%s", alarm, "" if self.settings.brake is Brake.WARN else "; duplicates there are kept")
            self._crawler.stats.inc_value(f"dedup/{alarm.kind}s_over_limit")

    def _annotate(self, adapter: ItemAdapter, decision: Decision) -> None:
        self._set(adapter, "verdict_field", decision.verdict.value)
        if decision.outcome.replaces:
            self._set(adapter, "replaces_field", decision.outcome.replaces)

    def _set(self, adapter: ItemAdapter, setting: str, value: object) -> None:
        field = getattr(self.settings, setting)
        if not field:
            return
        try:
            adapter[field] = value
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            # Frozen items, and items without such a field.
            if not self._crawler.stats.get_value("dedup/not_annotated"):
                logger.warning("DEDUP_%s = %r cannot be set on the items: %s", setting.upper(), field, error)
            self._crawler.stats.inc_value("dedup/not_annotated")


def _counted_as(decision: Decision) -> str:
    if decision.outcome.is_replaced:
        return "replaced"
    kept = decision.outcome.kept
    return decision.verdict.value.replace(" ", "_") if kept is None else STAT_OF_KEPT[kept]


def _as_text(value: object) -> str:
    """Return a field's text; item loaders make lists of strings."""
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)) and all(isinstance(part, str) for part in value):
        return "\n".join(value)
    return ""
