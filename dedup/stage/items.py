"""Items: which of their values are text, HTML, files and key; those without any; what is written into them."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any
from urllib.parse import urljoin

from itemadapter import ItemAdapter
from scrapy.crawler import Crawler
from scrapy.http import Response

from dedup.console import counted, readable
from dedup.fields import (
    TEXT_FIELDS,
    TITLE_FIELDS,
    actual_name,
    as_key,
    joined,
    text_or_page,
    with_title,
)
from dedup.rules.documents import Decision
from dedup.rules.other_fields import NO_FIELDS, ItemFields
from dedup.rules.scope import domain_of
from dedup.signature.normalise import clean
from dedup.signature.signature import digest
from dedup.stage.item_settings import (
    FieldRule,
    ItemSettings,
)
from dedup.stage.short_fields import short_fields
from dedup.store.notes import Unexamined

logger = logging.getLogger(__name__)

_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_NAMED_BYTES = 6

SHORT_TEXT = 400
"""Characters: where an item has so few of a page, the page is looked at, too."""

_TITLE_FIELDS = FieldRule(TITLE_FIELDS)


WARN_AFTER = 20
"""So many items pass before the first warning: now and then one has no text."""

_FIELDS_NAMED = 20

NO_TEXT = "no text"
NO_ITEM = "no item"
NOT_READ = "reading their fields raised"
_STAND_BEFORE = "The stage has to stand before the pipeline that makes them of items: DEDUP_AFTER, or ITEM_PIPELINES"

FILES = "files"
"""Where Scrapy's `FilesPipeline` puts files, but for the setting `FILES_RESULT_FIELD`."""

MARK = "dedup"
"""The key of a response's meta with the marks, by the items' keys."""


@dataclass(frozen=True, slots=True)
class ItemContent:
    """The content of an item that is compared.

    Attributes:
        text: its text, the title above it; empty where there is none.
        html: what its text is to be taken from, where it has none, or a short one while this brings a longer one.
        checksums: those of its files, where it has neither.
        source: the fields that it is from, such as `title + content`; empty: none.
    """

    text: str = ""
    html: bytes | str = ""
    checksums: tuple[str, ...] = ()
    source: str = ""

    @property
    def name(self) -> str:
        """A few characters that tell this content from other."""
        html = self.html.encode("utf-8", "replace") if isinstance(self.html, str) else self.html
        content = self.text.encode("utf-8", "replace") or html or "\n".join(self.checksums).encode("utf-8", "replace")
        return f"(text {digest(content)[:_NAMED_BYTES].hex()})"


@dataclass(frozen=True, slots=True)
class Reading:
    """An item as it was read.

    Attributes:
        item_class: the name of its class; empty for a dict.
        key: what identifies it.
        key_field: the field of the key; empty where it was made of the response's URL and what the item holds.
        is_page: whether the item represents the page that it was found on: its key is the page's URL.
        content: what there is to compare.
        title: what it is called, for people; empty where it has none.
        fields: what else tells it from items of the same text.
    """

    item_class: str
    key: str
    key_field: str
    is_page: bool
    content: ItemContent
    title: str = ""
    fields: ItemFields = NO_FIELDS


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

    def read(self, item: Any, response: Response | None) -> Reading:
        """Read an item of any kind that itemadapter knows."""
        content = self._find_content(item)
        item_class, (title_field, title) = class_of(item), self._title_of(item)
        page = "" if response is None else clean(response.url)
        for field, value in self._settings.key_field.find(item):
            if key := clean(as_key(value)).strip():
                key = self._full_key(key, page)
                if not content.source:
                    content = self._find_title(item)
                elif key == page and 0 < len(content.text) <= SHORT_TEXT:
                    content = replace(content, html=self._find_page(item))
                # Copies have other headlines now and then.
                fields = self._fields_of(item, key, page, {field, title_field, *content.source.split(" + ")})
                return Reading(item_class, key, field, key == page, content, title, fields)
        key = f"{page or self._spider} {content.name}"
        fields = self._fields_of(item, page, page, {title_field, *content.source.split(" + ")})
        return Reading(item_class, key, "", is_page=False, content=content, title=title, fields=fields)

    def is_exempt(self, item: Any) -> bool:
        """Say whether the project has said that items of this class have no text."""
        return self._settings.text_field.rule_for(type(item)) is None

    def empty_fields(self, item: Any) -> list[str]:
        """Return the fields of an item in which text, HTML or files are looked for, and in which there is nothing."""
        adapter = ItemAdapter(item)
        rules = self._rules_for(item)
        names = dict.fromkeys(name for rule in rules if rule is not None for name in rule.names)
        there = [actual for name in names if (actual := actual_name(adapter, name))]
        return [name for name in there if not any(text_or_page(adapter[name]))]

    def _rules_for(self, item: Any) -> list[FieldRule | None]:
        """Return the rules for text, HTML and files of an item."""
        settings = self._settings
        return [each.rule_for(type(item)) for each in (settings.text_field, settings.html_field, self._files)]

    def _full_key(self, key: str, page: str) -> str:
        if _URL.match(key):
            return key
        # Another spider's numbers are those of other things.
        return urljoin(page, key) if page and key.startswith("/") else f"{self._spider}:{key}"

    def _find_content(self, item: Any) -> ItemContent:
        html = ItemContent()
        for field, value in self._texts(item):
            text, page = text_or_page(value)
            if text:
                self._seen.setdefault(type(item), set()).add(field)
                return self._with_title(item, text, field)
            if page and not html.html:
                html = ItemContent(html=page, source=field)
        for field, value in self._settings.html_field.find(item):
            if page := _html(value):
                return ItemContent(html=page, source=field)
        if html.html:
            return html
        for field, value in self._files.find(item):
            if checksums := _checksums(value):
                return ItemContent(checksums=checksums, source=f"checksums of {field}")
        return ItemContent()

    def _find_page(self, item: Any) -> bytes | str:
        return next((page for _, value in self._settings.html_field.find(item) if (page := _html(value))), "")

    def _fields_of(self, item: Any, key: str, page: str, used: Collection[str]) -> ItemFields:
        # Towns, and shops for phones, have hosts of their own.
        site = domain_of(key) or domain_of(page) or self._spider
        return short_fields(item, site, used, self._settings.distinct_fields)

    def _texts(self, item: Any) -> Iterator[tuple[str, Any]]:
        found = self._settings.text_field.find(item)
        rule = self._settings.text_field.rule_for(type(item))
        if rule is None or rule.names != TEXT_FIELDS:
            return found
        return ((field, value) for field, value in found if not self._is_second_choice(item, field))

    def _is_second_choice(self, item: Any, field: str) -> bool:
        """Say whether items like this one have their text in a field that comes before this one."""
        better = self._seen.get(type(item), set()).intersection(TEXT_FIELDS[: TEXT_FIELDS.index(field)])
        if not isinstance(item, dict):
            return bool(better)
        # Dicts of several kinds have one class.
        return any(actual_name(ItemAdapter(item), name) for name in better)

    def _find_title(self, item: Any) -> ItemContent:
        """Return the title of an item that by its class has nothing else: a short text, if its key is its own."""
        adapter, rules = ItemAdapter(item), self._rules_for(item)
        is_named = rules[0] is not None and rules[0].names != TEXT_FIELDS
        if is_named or any(actual_name(adapter, name) for rule in rules if rule is not None for name in rule.names):
            return ItemContent()
        name, title = _first_text(self._settings.title_field, item)
        return ItemContent(text=title, source=name) if title else ItemContent()

    def _title_of(self, item: Any) -> tuple[str, str]:
        """Return the field of a title, and the title."""
        # Where a title shall not be compared, it is still what people know the item by.
        name, title = _first_text(self._settings.title_field, item)
        return (name, title) if title else _first_text(_TITLE_FIELDS, item)

    def _with_title(self, item: Any, text: str, field: str) -> ItemContent:
        name, title = _first_text(self._settings.title_field, item)
        if not title:
            return ItemContent(text=text, source=field)
        return ItemContent(text=with_title(title, text), source=f"{name} + {field}")


def class_of(item: Any) -> str:
    """Return the name of an item's class; of a dict, which can be anything, the empty string."""
    return "" if isinstance(item, dict) else type(item).__qualname__


def _first_text(rule: FieldRule, item: Any) -> tuple[str, str]:
    """Return the first field of a rule that holds a text, and that text; nothing: none does."""
    found = ((name, text) for name, value in rule.find(item) if (text := text_or_page(value)[0]))
    return next(found, ("", ""))


def _html(value: Any) -> bytes | str:
    if isinstance(value, Response):
        return value.body
    value = joined(value)
    return value if isinstance(value, (bytes, str)) and value.strip() else ""


def _checksums(value: Any) -> tuple[str, ...]:
    files = value if isinstance(value, (list, tuple)) else [value]
    found = [ItemAdapter(each).get("checksum") for each in files if ItemAdapter.is_item(each)]
    return tuple(sorted(str(checksum) for checksum in found if checksum))


class UnexaminedItems:
    """Counts the items that could not be examined, and warns of them: after some, and at the end."""

    def __init__(self) -> None:
        # By item class (empty: dicts) and reason.
        self._counts: Counter[tuple[str, str]] = Counter()
        self._fields: dict[tuple[str, str], dict[str, None]] = {}
        self._is_told = False

    def note(self, item: Any, reason: str = NO_TEXT) -> None:
        """Count an item; the twentieth brings the first warning."""
        kind = class_of(item), reason
        self._counts[kind] += 1
        if ItemAdapter.is_item(item):
            known = self._fields.setdefault(kind, {})
            known.update(dict.fromkeys(map(str, islice(ItemAdapter(item), _FIELDS_NAMED - len(known)))))
        if not self._is_told and self._counts.total() >= WARN_AFTER:
            self._is_told = True
            self._warn()

    def rows(self) -> Iterator[Unexamined]:
        """Yield what was counted."""
        for (item_class, reason), count in self._counts.items():
            yield item_class, tuple(self._fields.get((item_class, reason), ())), reason, count

    def warn_at_the_end(self, examined: int) -> None:
        """Warn once more, if there is anything to warn of; so many items were examined."""
        if self._counts:
            total = examined + self._counts.total()
            self._warn(f" (of {counted(total, 'item')} in all)")

    def _warn(self, of_all: str = "") -> None:
        for item_class, fields, reason, count in self.rows():
            named = readable(", ".join(fields)) or "none"
            logger.warning(
                "%s%s%s %s not examined for duplicates: %s. %s",
                counted(count, "item"),
                f" of {item_class}" if item_class else "",
                of_all,
                "was" if count == 1 else "were",
                reason,
                _STAND_BEFORE if reason == NO_ITEM else f"Their fields: {named}. {_way_out(item_class, reason)}",
            )


def _way_out(item_class: str, reason: str) -> str:
    if reason.startswith(NOT_READ):
        return "A function that a DEDUP_*_FIELD names returns None where an item has no such value"
    advice = "Name the one with the text" if reason == NO_TEXT else "If the text is in another one, name that"
    if not item_class:
        return f"{advice}: DEDUP_TEXT_FIELD = 'NAME'"
    rule = f"DEDUP_TEXT_FIELD = {{'{item_class}': 'NAME'}}"
    return f"{advice}: {rule}, or None in the place of 'NAME' if they have none"


class Marker:
    """Writes verdict, original, distance and similarity on items.

    - `DEDUP_MARK_FIELD` receives those of each item.
    - With DEDUP_MARK_ONLY `response.meta["dedup"]` has, by the items' keys, those of the duplicates that are passed on,
      and of what is similar.
    """

    def __init__(self, crawler: Crawler, settings: ItemSettings, *, is_marking_only: bool) -> None:
        self._stats = crawler.stats
        self._field = settings.mark_field
        self._is_marking_only = is_marking_only

    def mark(self, item: Any, decision: Decision, response: Response | None) -> None:
        """Write the decision on an item."""
        mark = {
            "verdict": decision.verdict.value,
            "original": decision.original,
            "distance": decision.distance,
            "similarity": decision.similarity,
        }
        is_related = self._is_marking_only and decision.original is not None
        if is_related and response is not None and response.request is not None:
            marks = response.meta.setdefault(MARK, {})
            if isinstance(marks, dict):  # what a project has put there itself stays
                marks[decision.key] = mark
        if self._field:
            try:
                ItemAdapter(item)[self._field] = mark
            except Exception as error:  # of frozen items, items without such a field, validators of a project
                self._warn(error)

    def _warn(self, error: Exception) -> None:
        if not self._stats.get_value("dedup/not_annotated"):
            logger.warning("DEDUP_MARK_FIELD = %r cannot be set on the items: %s", self._field, error)
        self._stats.inc_value("dedup/not_annotated")
