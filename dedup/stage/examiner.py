"""From an item to the decision on it: its fields are read, its text is signed, and the run decides."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from html import unescape
from typing import Any
from urllib.parse import urljoin

from scrapy.crawler import Crawler
from scrapy.http import Response

from dedup.errors import DatabaseError
from dedup.fields import TEXT_FIELDS, TITLE_FIELDS, actual_name, as_key, joined, text_or_page, with_title
from dedup.rules.documents import Document
from dedup.rules.scope import domain_of
from dedup.rules.settings import DedupSettings
from dedup.signature.extraction import analyse_html
from dedup.signature.normalise import clean
from dedup.signature.schemes import find_scheme
from dedup.signature.signature import Signature, digest
from dedup.signature.signing import make_signature
from dedup.stage.crawl_run import CrawlRun
from dedup.stage.item_settings import FieldRule, ItemSettings, ItemView, SameKey, ShortTexts, as_item
from dedup.stage.monitoring import NO_ITEM, NO_TEXT, ItemMonitor, is_short
from dedup.stage.pending import PendingItem, Reading
from dedup.stage.short_fields import short_fields
from dedup.workers.pool import WorkerPool

SHORT_TEXT = 400
"""Characters: where an item has so few of a page, the page is looked at, too."""

FILES = "files"
"""Where Scrapy's `FilesPipeline` puts files, but for the setting `FILES_RESULT_FIELD`."""

_TITLE_FIELDS = FieldRule(TITLE_FIELDS)
_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
# Characters: two milliseconds.
_AT_ONCE = 10_000
# Bytes: a page names its address at its beginning. To parse the page would take milliseconds.
_HEAD = 100_000
_CANONICAL = re.compile(rb"<link\s[^<>]*?\brel\s*=\s*[\"']?canonical\b[^<>]*+>", re.IGNORECASE)
_HREF = re.compile(rb"\bhref\s*=\s*(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'<>]++))", re.IGNORECASE)


class ItemReader:
    """Finds text and key in the items of a spider.

    Of the fields that are looked at by default, those that come after one in which an item of the class had text are
    not looked at any more: another item of the class whose text is missing has none, and is not compared by a
    description that many items share. Fields that a project names are looked at in every item.

    Args:
        settings: those of the project.
        spider: the spider's name.
        files: the field of files whose checksums are compared where there is no text. Not of pictures: things without
            one of their own all have the same one.
    """

    def __init__(self, settings: ItemSettings, spider: str, files: str = FILES) -> None:
        self._settings = settings
        self._files = FieldRule((files,))
        self._spider = spider
        self._seen: dict[type, set[str]] = {}

    def read(self, view: ItemView, response: Response | None) -> Reading:
        """Read an item of any kind that itemadapter knows."""
        page = "" if response is None else clean(response.url)
        title_field, title = _first_text(self._settings.title_field, view)
        reading = Reading(view.class_name)
        self._find_content(view, reading, title_field, title)
        if not title:
            # Where a title shall not be compared, it is still what people know the item by.
            title_field, title = _first_text(_TITLE_FIELDS, view)
        reading.title = title
        reading.key_field, reading.key = self._find_key(view, page)
        reading.is_page = reading.key == page != ""
        if not reading.key:
            reading.key = f"{page or self._spider} {reading.content_name}"
        elif not reading.source:
            self._take_title(view, reading)
        elif reading.is_page and 0 < len(reading.text) <= SHORT_TEXT:
            reading.html = self._find_page(view)[1]
        # Copies have other headlines now and then.
        used = {reading.key_field, title_field, *reading.source.split(" + ")}
        reading.fields = short_fields(view, used, self._settings.distinct_fields)
        if reading.fields.values:
            # Towns, and shops for phones, have hosts of their own.
            site = domain_of(reading.key) or domain_of(page) or self._spider
            reading.fields = reading.fields._replace(site=site)
        return reading

    def is_exempt(self, view: ItemView) -> bool:
        """Whether the project has said that items of this class have no text."""
        return self._settings.text_field.rule_for(type(view.item)) is None

    def empty_fields(self, view: ItemView) -> list[str]:
        """Return the fields of an item in which text, HTML or files are looked for, and in which there is nothing."""
        rules = (rule.rule_for(type(view.item)) for rule in self._content_rules())
        names = dict.fromkeys(name for rule in rules if rule is not None for name in rule.names)
        there = [actual for name in names if (actual := actual_name(view.fields, name))]
        return [name for name in there if not any(text_or_page(view.fields[name]))]

    def _content_rules(self) -> tuple[FieldRule, FieldRule, FieldRule]:
        return self._settings.text_field, self._settings.html_field, self._files

    def _find_key(self, view: ItemView, page: str) -> tuple[str, str]:
        """Return the field of the key, and the key; two empty ones: there is none."""
        for field, value in self._settings.key_field.find(view):
            if key := clean(as_key(value)).strip():
                if _URL.match(key):
                    return field, key
                # Another spider's numbers are those of other things.
                return field, urljoin(page, key) if page and key.startswith("/") else f"{self._spider}:{key}"
        return "", ""

    def _find_content(self, view: ItemView, reading: Reading, title_field: str, title: str) -> None:
        """Find text, else HTML, else files in an item."""
        for field, value in self._texts(view):
            text, page = text_or_page(value)
            if text:
                self._seen.setdefault(type(view.item), set()).add(field)
                reading.text, reading.source = (
                    (with_title(title, text), f"{title_field} + {field}") if title else (text, field)
                )
                reading.html = ""
                return
            if page and not reading.html:
                reading.html, reading.source = page, field
        found_in, page = self._find_page(view)
        if page:
            reading.html, reading.source = page, found_in
        if reading.html:
            return
        for field, value in self._files.find(view):
            if checksums := _checksums(value):
                reading.checksums, reading.source = checksums, f"checksums of {field}"
                return

    def _find_page(self, view: ItemView) -> tuple[str, bytes | str]:
        found = ((field, page) for field, value in self._settings.html_field.find(view) if (page := _html(value)))
        return next(found, ("", ""))

    def _texts(self, view: ItemView) -> Iterator[tuple[str, Any]]:
        rule = self._settings.text_field.rule_for(type(view.item))
        is_named = rule is None or rule.names != TEXT_FIELDS
        for field, value in self._settings.text_field.find(view):
            if is_named or not self._is_second_choice(view, field):
                yield field, value

    def _is_second_choice(self, view: ItemView, field: str) -> bool:
        """Whether items like this one have their text in a field that comes before this one."""
        better = self._seen.get(type(view.item), set()).intersection(TEXT_FIELDS[: TEXT_FIELDS.index(field)])
        # Dicts of several kinds have one class.
        return any(actual_name(view.fields, name) for name in better) if isinstance(view.item, dict) else bool(better)

    def _take_title(self, view: ItemView, reading: Reading) -> None:
        """Take the title of an item that by its class has nothing else for its text, if its key is its own."""
        rule = self._settings.text_field.rule_for(type(view.item))
        is_named = rule is not None and rule.names != TEXT_FIELDS
        if not is_named and not any(each.has_field(view) for each in self._content_rules()):
            reading.source, reading.text = _first_text(self._settings.title_field, view)


def _first_text(rule: FieldRule, view: ItemView) -> tuple[str, str]:
    """Return the first field of a rule that holds a text, and that text; nothing: none does."""
    found = ((name, text) for name, value in rule.find(view) if (text := text_or_page(value)[0]))
    return next(found, ("", ""))


def _html(value: Any) -> bytes | str:
    if isinstance(value, Response):
        return value.body
    value = joined(value)
    return value if isinstance(value, (bytes, str)) and value.strip() else ""


def _checksums(value: Any) -> tuple[str, ...]:
    files = [as_item(each) for each in (value if isinstance(value, (list, tuple)) else [value])]
    found = [each.get("checksum") for each in files if each is not None]
    return tuple(sorted(str(checksum) for checksum in found if checksum))


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
        if not self._read(pending):
            return
        await self._try(pending, self._make_document)
        if pending.document is None and not pending.reading.source:
            empty = ", ".join(self._reader.empty_fields(pending))
            self._monitor.note_unexamined(pending, NO_TEXT + f" in {empty}" if empty else NO_TEXT)
            return
        if pending.document is not None and not is_short(pending.document, self._pass_below):
            await self._run.decide(pending)
            if pending.decision is None:
                # Its bytes were stored when the page was looked at, and are not any more.
                await self._try(pending, self._sign)
                if pending.document is not None:
                    await self._run.decide(pending)
        self._monitor.note(pending)

    def _read(self, pending: PendingItem) -> bool:
        """Read the fields of an item; return whether it is to be examined."""
        if not pending.is_item:
            self._monitor.note_unexamined(pending, NO_ITEM)
        elif self._reader.is_exempt(pending):
            self._monitor.note(pending)
        else:
            try:
                pending.reading = self._reader.read(pending, pending.response)
            except Exception as error:  # of a function of the project, or of an item of its own; it is not lost
                self._monitor.note_unread(pending, error)
            else:
                return True
        return False

    async def _try(self, pending: PendingItem, make: Callable[[PendingItem], Awaitable[None]]) -> None:
        """Make or sign the document of an item; without one it passes."""
        try:
            await make(pending)
        except DatabaseError:
            raise
        except Exception as error:  # whatever a library makes of a broken page, the item is not lost
            pending.document = None
            self._monitor.note_not_analysed(pending, error)

    async def _make_document(self, pending: PendingItem) -> None:
        """Make the document of an item; there is none where there is nothing to compare.

        A document without a signature is one whose bytes are stored; if they are not any more when it is decided,
        it has to be signed.

        Raises:
            DatabaseError: the database failed.
            Exception: what a library makes of a broken page.
        """
        settings, reading = self._settings, pending.reading
        canonical = settings.canonical_field.value(pending)
        if not canonical and not settings.signature_field.has_field(pending):
            # Who makes signatures has read the page.
            canonical = canonical_of(pending)
        body_digest = settings.body_digest_field.value(pending)
        signature = settings.signature_field.value(pending)
        is_signed = isinstance(signature, Signature)
        pending.document = document = Document(
            reading.key,
            signature if is_signed else None,
            text_bytes=_size(reading.text) if is_signed else 0,
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
            found, of_page = await self._workers.run(analyse_html, reading.html, self._scheme)
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


def canonical_of(pending: PendingItem) -> str | None:
    """Return the address that the page of an item names as its own, if the item represents the page."""
    if not pending.reading.is_page or pending.response is None:
        return None
    head = pending.response.body[:_HEAD]
    found = next(filter(None, map(_HREF.search, _CANONICAL.findall(head))), None)
    if found is None:
        return None
    href = unescape((found[1] or found[2] or found[3]).decode("utf-8", "replace")).strip()
    try:
        return urljoin(pending.response.url, href)
    except ValueError:  # such as http://[
        return None


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
