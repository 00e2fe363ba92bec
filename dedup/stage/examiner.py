"""From an item to the decision on it: reading, signing, deciding."""

from __future__ import annotations

import asyncio
import logging
import re
from collections import Counter
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from html import unescape
from typing import Any, NamedTuple
from urllib.parse import urljoin

from itemadapter import ItemAdapter
from scrapy.crawler import Crawler
from scrapy.http import Response

from dedup.console import logged, readable
from dedup.errors import DatabaseError
from dedup.fields import actual_name, value_of
from dedup.rules.documents import Decision, Document, Rule
from dedup.rules.other_fields import FOR_ITS_KEY
from dedup.rules.scope import host_of, owner_of
from dedup.rules.settings import DedupSettings
from dedup.signature.extraction import analyse_html
from dedup.signature.schemes import find_scheme
from dedup.signature.signature import Signature, digest
from dedup.signature.signing import make_signature
from dedup.stage.crawl_run import CrawlRun
from dedup.stage.item_settings import ItemSettings, SameKey, ShortTexts
from dedup.stage.items import (
    FILES,
    NO_ITEM,
    NO_TEXT,
    NOT_READ,
    WARN_AFTER,
    ItemContent,
    ItemReader,
    Reading,
    UnexaminedItems,
)
from dedup.stage.origins import Turn
from dedup.workers.pool import WorkerPool

logger = logging.getLogger(__name__)

_SOURCES_TOLD = 10
_MOST_COUNTED = 1_000
_FEWEST_PAGES = 5
_MOST_CROWDS = 100_000
_NOT_THEIR_OWN = (Rule.SAME_SHORT_TEXT, Rule.THIN_TEXT)
# Characters: two milliseconds.
_AT_ONCE = 10_000
# Bytes: a page names its address at its beginning. To parse the page would take milliseconds.
_HEAD = 100_000
_CANONICAL = re.compile(rb"<link\s[^<>]*?\brel\s*=\s*[\"']?canonical\b[^<>]*+>", re.IGNORECASE)
_HREF = re.compile(rb"\bhref\s*=\s*(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'<>]++))", re.IGNORECASE)


class Examined(NamedTuple):
    """An examined item, with the decision on it."""

    reading: Reading
    decision: Decision


class Examiner:
    """Reads items, signs them and has them decided, and says in the log where it finds what.

    Long texts are signed in a thread, HTML in worker processes. It counts the items that got a decision, and keeps
    those that could get none. `behind` are the names of the pipelines behind the stage.
    """

    def __init__(
        self,
        crawler: Crawler,
        settings: DedupSettings,
        items: ItemSettings,
        run: CrawlRun,
        workers: WorkerPool,
        *,
        behind: Sequence[str],
    ) -> None:
        self._spider = str(getattr(crawler.spider, "name", ""))
        self.examined = 0
        self.unexamined = UnexaminedItems()
        self._stats = crawler.stats
        self._run = run
        self._settings = items
        self._min_tokens = settings.min_tokens
        self._reader = ItemReader(items, self._spider, crawler.settings.get("FILES_RESULT_FIELD", FILES))
        self._short_tokens = settings.short_tokens
        self._behind = behind
        # By the classes of items, and by the originals whose text they have with other fields.
        self._items: Counter[str] = Counter()
        self._equal: Counter[tuple[str, str]] = Counter()
        self._crowds = Crowds(settings, crawler)
        self._earlier, self._is_earlier_told = 0, False
        self._told_of_texts: set[str] = set()
        self._similar_below = settings.min_tokens if items.short_texts is ShortTexts.SIMILAR else 0
        self._scheme = find_scheme(settings.scheme)
        self._workers = workers
        self._sources: set[tuple[str, str, str]] = set()
        self._reasons_told: set[str] = set()

    async def examine(self, item: Any, response: Response | None, turn: Turn) -> Examined | None:
        """Return the decision on an item, when its turn comes; None where there is none, and it passes.

        Raises:
            DatabaseError: the database failed.
        """
        reading = self._read(item, response)
        if reading is None:
            return None
        document = await self._signed(reading, self._document(item, reading, response))
        if document is None and not reading.content.source:
            empty = ", ".join(self._reader.empty_fields(item))
            self._note_unexamined(item, NO_TEXT + f" in {empty}" if empty else NO_TEXT)
            return None
        passes_short = self._settings.short_texts is ShortTexts.PASS
        if document is None or (passes_short and self._is_short(document, self._min_tokens)):
            self._stats.inc_value("dedup/not_examined")
            return None
        decision = await self._run.decide(document, turn)
        if decision is None:
            # Its bytes were known when the page was looked at, and are not any more.
            document = await self._signed(reading, self.analysed(document, reading.content))
            decision = None if document is None else await self._run.decide(document, turn)
        if decision is None:
            self._stats.inc_value("dedup/not_examined")
            return None
        self.examined += 1
        self._crowds.note(decision)
        self._notice_earlier(decision)
        self._notice_text(reading, decision, is_short=document is None or self._is_short(document, self._short_tokens))
        self._tell_source(reading)
        return Examined(reading, decision)

    def _read(self, item: Any, response: Response | None) -> Reading | None:
        if not ItemAdapter.is_item(item):
            self._note_unexamined(item, NO_ITEM)
            return None
        if self._reader.is_exempt(item):
            self._stats.inc_value("dedup/not_examined")
            return None
        try:
            return self._reader.read(item, response)
        except Exception as error:  # of a function of the project, or of an item of its own; it is not lost
            reason = f"{NOT_READ} {type(error).__name__}"
            if reason not in self._reasons_told:
                self._reasons_told.add(reason)
                logger.warning("an item could not be read, and passes: %s: %s", type(error).__name__, error)
            self._note_unexamined(item, reason)
            return None

    def _note_unexamined(self, item: Any, reason: str) -> None:
        self._stats.inc_value("dedup/not_examined")
        self.unexamined.note(item, reason)

    async def _signed(self, reading: Reading, signing: Awaitable[Document | None]) -> Document | None:
        try:
            return await signing
        except DatabaseError:
            raise
        except Exception as error:  # whatever a library makes of a broken page, the item is not lost
            key = logged(reading.key)
            logger.warning("%s could not be analysed, and passes: %s: %s", key, type(error).__name__, error)
            self._stats.inc_value("dedup/analysis_failed")
            return None

    def _is_short(self, document: Document, tokens: int) -> bool:
        signature = document.signature
        return signature is not None and 0 < signature.sketch.tokens < tokens

    def _notice_earlier(self, decision: Decision) -> None:
        """Tell of a run of which most items are dropped as copies of what earlier ones have seen."""
        self._earlier += decision.is_dropped and decision.is_of_earlier_run
        if not self._is_earlier_told and self._earlier >= WARN_AFTER and 2 * self._earlier > self.examined:
            self._is_earlier_told = True
            logger.warning(
                "most items are dropped as copies of items of earlier runs, such as %s of %s; "
                "DEDUP_MEMORY = 'run' compares the items of one run alone",
                *(logged(decision.key), logged(str(decision.original))),
            )

    def _notice_text(self, reading: Reading, decision: Decision, *, is_short: bool) -> None:
        """Tell of a text that most items of a class have, or several pages of a site, and that is not their own."""
        owner = reading.item_class if self._similar_below else owner_of(reading.key)
        self._items[owner] += 1
        is_equal = decision.rule is Rule.OTHER_FIELDS and decision.similarity == 1
        if owner in self._told_of_texts or not (is_equal or decision.rule in _NOT_THEIR_OWN):
            return
        if len(self._equal) == _MOST_COUNTED:
            self._equal.clear()
        equal = owner, str(decision.original)
        self._equal[equal] += 1
        if self._similar_below:
            is_of_most = self._equal[equal] >= WARN_AFTER and 2 * self._equal[equal] > self._items[owner]
            is_told = not is_short and (is_of_most or not is_equal)
        else:
            is_told = self._equal[equal] == _FEWEST_PAGES
        if is_told:
            self._told_of_texts.add(owner)
            self._tell_of_text(owner, decision)

    def _tell_of_text(self, owner: str, decision: Decision) -> None:
        if not self._similar_below:
            logger.warning(
                "%s: some pages have the text of %s under other titles, and are kept; look at it: "
                "their own text was not found, and if scripts write it, the pages have to be rendered",
                *(logged(owner), logged(str(decision.original))),
            )
            return
        of = f" of {owner}" if owner else ""
        behind = f" ({', '.join(self._behind)}): DEDUP_AFTER = [{self._behind[0]!r}]" if self._behind else ""
        logger.warning(
            "most items%s have the text of %s, and no more of them are dropped; if a pipeline makes their own text, let"
            " the stage run behind that%s",
            *(of, logged(str(decision.original)), behind),
        )

    def _tell_source(self, reading: Reading) -> None:
        source = (reading.item_class, reading.content.source, reading.key_field)
        if source in self._sources or len(self._sources) == _SOURCES_TOLD:
            return
        self._sources.add(source)
        values = reading.fields.values.items()
        names = [name for name, each in values if not all(value.startswith(FOR_ITS_KEY) for value in each)]
        logger.info(
            "text: %s; key: %s%s%s",
            readable(reading.content.source) or "the item's signature",
            readable(reading.key_field) or "the response's URL and the text",
            f"; told apart by: {readable(', '.join(names))}" if names else "",
            f"; items of {reading.item_class}" if reading.item_class else "",
        )

    async def _document(self, item: Any, reading: Reading, response: Response | None) -> Document | None:
        """Return the document of an item; None where there is nothing to compare.

        A document without a signature is one whose bytes are known; if they are not any more when it is decided,
        it has to be `analysed`.

        Raises:
            DatabaseError: the database failed.
            Exception: what a library makes of a broken page.
        """
        settings, adapter = self._settings, ItemAdapter(item)
        canonical = value_of(adapter, settings.canonical_field)
        if not canonical and actual_name(adapter, settings.signature_field) is None:
            # Who makes signatures has read the page.
            canonical = _canonical_of(reading, response)
        body_digest = value_of(adapter, settings.body_digest_field)
        document = Document(
            reading.key,
            None,
            body_digest=body_digest if isinstance(body_digest, bytes) else None,
            canonical=canonical if isinstance(canonical, str) and canonical else None,
            spider=self._spider,
            item_class=reading.item_class,
            separate=settings.same_key is SameKey.SEPARATE,
            is_keyless=not reading.key_field,
            may_repeat=reading.is_page or not reading.key_field,
            fields=reading.fields.packed(),
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
            signature = await self._sign(content.text)
            return replace(document, signature=signature, text_bytes=_size(content.text))
        if content.checksums:
            # Files are alike only if they are the same to the byte, as pages without text are.
            body_digest = digest("\n".join(content.checksums).encode("utf-8", "replace"))
            return replace(document, signature=await self._sign(""), body_digest=body_digest)
        return None

    async def _sign(self, text: str) -> Signature:
        if len(text) <= _AT_ONCE:
            return make_signature(text, self._scheme)
        return await asyncio.to_thread(make_signature, text, self._scheme)


class Crowds:
    """Warns once of each cluster that grows large, and of each host of which nearly all is a copy.

    Either may be a crawler trap, and either may be a mistake: a page that says no more than "please log in" under a
    thousand addresses. Each process counts for itself; the report counts all. Stats: `dedup/clusters_over_limit`,
    `dedup/hosts_over_limit`.
    """

    def __init__(self, settings: DedupSettings, crawler: Crawler) -> None:
        self._settings = settings
        self._stats = crawler.stats
        self._clusters: Counter[str] = Counter()
        self._documents: Counter[str] = Counter()
        self._duplicates: Counter[str] = Counter()
        self._told: set[str] = set()

    def note(self, decision: Decision) -> None:
        """Count a decision."""
        settings, host = self._settings, host_of(decision.key)
        for counter in (self._clusters, self._documents, self._duplicates):
            if len(counter) > _MOST_CROWDS:
                counter.clear()
        self._documents[host] += 1
        if not decision.verdict.is_duplicate:
            return
        self._duplicates[host] += 1
        self._clusters[str(decision.original)] += 1
        if self._clusters[str(decision.original)] == settings.max_cluster:
            told = f"the cluster of {logged(str(decision.original))} has more than {settings.max_cluster:,} members"
            self._tell("clusters", told)
        documents, duplicates = self._documents[host], self._duplicates[host]
        if host and host not in self._told and settings.are_mostly_duplicates(documents, duplicates):
            self._told.add(host)
            self._tell("hosts", f"{duplicates:,} of {documents:,} documents of {logged(host)} are duplicates")

    def _tell(self, kind: str, told: str) -> None:
        self._stats.inc_value(f"dedup/{kind}_over_limit")
        logger.warning("%s: look at them; if it is a trap, DEDUP_FOLLOW_DUPLICATES = False ends it", told)


def _canonical_of(reading: Reading, response: Response | None) -> str | None:
    """Return the address that the page of an item names as its own, if the item stands for the page."""
    if not reading.is_page or response is None:
        return None
    found = next(filter(None, map(_HREF.search, _CANONICAL.findall(response.body[:_HEAD]))), None)
    if found is None:
        return None
    href = unescape((found[1] or found[2] or found[3]).decode("utf-8", "replace")).strip()
    try:
        return urljoin(response.url, href)
    except ValueError:  # such as http://[
        return None


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
