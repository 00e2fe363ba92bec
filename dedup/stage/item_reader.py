"""Text and key of an item: where they stand in the items of a project."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import urljoin

from scrapy.http import Response

from dedup.fields import (
    HTML_FIELDS,
    ITEM_TEXT_FIELDS,
    KEY_FIELDS,
    SUMMARY_FIELDS,
    TITLE_FIELDS,
    actual_name,
    as_key,
    is_whole_page,
    joined,
    names_in,
    text_or_page,
    with_title,
)
from dedup.rules.scope import domain_of
from dedup.signature.normalise import clean
from dedup.stage.address_values import is_address
from dedup.stage.distinct_fields import URLS_OF_PIPELINES, distinct_fields
from dedup.stage.item_settings import FieldRule, ItemSettings, ItemView, as_item
from dedup.stage.pending import Reading

SHORT_TEXT = 400
"""Characters: where an item has so few of a page, the page is looked at, too."""

FILES = "files"
"""Where Scrapy's `FilesPipeline` puts files, but for the setting `FILES_RESULT_FIELD`."""

_TITLE_FIELDS = FieldRule(TITLE_FIELDS)
_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
# Bytes: a note of fewer is no text of an item whose text has another name.
_LEAST = 100
# A text is the longest if it is so many times as long as the next one.
_CLEARLY = 2
_DEEPEST = 3
_FEWEST_WORDS = 6
_MOST_WORDS = 100
_MOST_NAMED = 10
# What others have said of a thing, and what else may be long.
_NO_TEXTS = frozenset(
    names_in(
        "comments reviews replies answers related links tags keywords categories breadcrumbs "
        "headers meta cookies request extruct jsonld json_ld schema metadata"
    )
)
# How far the spider went to an item.
_DEPTH = "depth"
_CHECKSUMS_OF = "checksums of "


class _Found(NamedTuple):
    """A text that stands in a field, or a page that a text is to be taken from."""

    field: str
    text: str
    page: bytes | str = ""

    @property
    def size(self) -> int:
        # In bytes Chinese says as much as English.
        return len(self.text.encode("utf-8", "replace"))


_NOTHING = _Found("", "")


class ItemReader:
    """Finds text and key in the items of a spider.

    The text stands under a usual name. Where it does not, or a usual name has a few words or a summary, it is the
    longest text of the item, if that is clearly the longest; else the item has none. A title alone is none.

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
        compared = title_field
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
        elif reading.is_page and 0 < len(reading.text) <= SHORT_TEXT:
            reading.html = self._find_page(view)[1]
        used = {reading.key_field, title_field, *reading.source.removeprefix(_CHECKSUMS_OF).split(" + ")}
        if not reading.checksums:
            used.discard(compared)
        is_guessed = not self._is_named(view) and used.isdisjoint(ITEM_TEXT_FIELDS)
        if reading.checksums:
            used |= {*URLS_OF_PIPELINES}
        if response is None or response.request is None or response.meta.get(_DEPTH) == view.fields.get(_DEPTH):
            # Of a lake it is the lake's.
            used.add(_DEPTH)
        # Towns, and shops for phones, have hosts of their own.
        site = domain_of(reading.key) or domain_of(page) or self._spider
        chosen = self._settings.distinct_fields
        reading.fields = distinct_fields(
            view, used, chosen, "" if is_guessed else reading.text, site=site, title_field=compared
        )
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
        usual = self._usual(view)
        found_in, page = self._find_page(view)
        found = usual
        if not self._is_named(view) and not page and not usual.page and self._may_be_longer(usual):
            found, reading.unclear = self._longest(view, usual)
        if found.text:
            self._seen.setdefault(type(view.item), set()).add(found.field)
            has_title = title and title_field != found.field
            reading.text = with_title(title, found.text) if has_title else found.text
            reading.source = f"{title_field} + {found.field}" if has_title else found.field
        elif page or found.page:
            reading.html, reading.source = (page, found_in) if page else (found.page, found.field)
        elif not reading.unclear:
            for field, value in self._files.find(view):
                if checksums := _checksums(value):
                    reading.checksums, reading.source = checksums, f"{_CHECKSUMS_OF}{field}"
                    return

    def _usual(self, view: ItemView) -> _Found:
        """Return the first text under the names that are looked at, else the first page there."""
        page = _NOTHING
        for field, value in self._texts(view):
            found = _Found(field, *text_or_page(value))
            if found.text:
                return found
            if found.page and not page.page:
                page = found
        return page

    @staticmethod
    def _may_be_longer(usual: _Found) -> bool:
        """Return whether another text of an item than that under a usual name may be what it is about."""
        return usual.field in SUMMARY_FIELDS or usual.size < _LEAST

    def _longest(self, view: ItemView, usual: _Found) -> tuple[_Found, tuple[str, ...]]:
        """Return the longest text of an item, or that under a usual name; or nothing, and which it may be."""
        known = {usual.field, *TITLE_FIELDS, *KEY_FIELDS, *HTML_FIELDS}
        texts = sorted(_texts_in(view.fields, known), key=lambda found: (-found.size, found.field))
        long = [found for found in texts if found.size >= _LEAST]
        if usual.text and (not long or long[0].size < _CLEARLY * usual.size):
            return usual, ()
        if not long:
            return next((found for found in texts if found.page), _NOTHING), ()
        first, *others = long
        if others and first.size < _CLEARLY * others[0].size:
            may_be_it = (found.field for found in long if _CLEARLY * found.size > first.size)
            return _NOTHING, tuple(islice(may_be_it, _MOST_NAMED))
        # Items of the class may have their text in a field that is empty here.
        others_have = self._seen.get(type(view.item), set()) - {found.field for found in (*texts, usual)}
        return (_NOTHING if any(self._has(view, each) for each in others_have) else first), ()

    def _find_page(self, view: ItemView) -> tuple[str, bytes | str]:
        found = ((field, page) for field, value in self._settings.html_field.find(view) if (page := _html(value)))
        return next(found, ("", ""))

    def _is_named(self, view: ItemView) -> bool:
        """Return whether the project has named the fields with the text."""
        rule = self._settings.text_field.rule_for(type(view.item))
        return rule is None or rule.names != ITEM_TEXT_FIELDS

    def _texts(self, view: ItemView) -> Iterator[tuple[str, Any]]:
        is_named = self._is_named(view)
        for field, value in self._settings.text_field.find(view):
            if is_named or not self._is_second_choice(view, field):
                yield field, value

    def _is_second_choice(self, view: ItemView, field: str) -> bool:
        """Whether items like this one have their text in a field that comes before this one."""
        place = ITEM_TEXT_FIELDS.index(field)
        seen = self._seen.get(type(view.item), set())
        better = [name for name in seen if name not in ITEM_TEXT_FIELDS[place:]]
        # Dicts of several kinds have one class.
        return any(self._has(view, name) for name in better) if isinstance(view.item, dict) else bool(better)

    @staticmethod
    def _has(view: ItemView, name: str) -> bool:
        return actual_name(view.fields, name.partition(".")[0]) is not None


def _first_text(rule: FieldRule, view: ItemView) -> tuple[str, str]:
    """Return the first field of a rule that holds a text, and that text; nothing: none does."""
    found = ((name, text) for name, value in rule.find(view) if (text := text_or_page(value)[0]))
    return next(found, ("", ""))


def _texts_in(fields: Mapping[Any, Any], known: Container[str], path: str = "", depth: int = 1) -> Iterator[_Found]:
    """Yield the texts, and the pages, that stand in fields of other names than known ones."""
    for name, value in fields.items():
        field = f"{path}{name}"
        if field in known or str(name).lower() in _NO_TEXTS or isinstance(value, (int, float, Response)):
            continue
        if isinstance(value, (str, bytes, list, tuple)):
            found = _Found(field, *text_or_page(value))
            # Bytes may be a picture.
            if _is_prose(found.text) or (found.page and is_whole_page(found.page)):
                yield found
        elif depth < _DEEPEST and (inner := as_item(value)) is not None:
            yield from _texts_in(inner, known, f"{field}.", depth + 1)


def _is_prose(text: str) -> bool:
    if not text or f"{text[0]}{text[-1]}" in ("{}", "[]"):
        return False
    words = (word for word in text.split(None, _MOST_WORDS) if not is_address(word))
    return len([*islice(words, _FEWEST_WORDS)]) == _FEWEST_WORDS or not (text.isascii() or is_address(text))


def _html(value: Any) -> bytes | str:
    if isinstance(value, Response):
        return value.body
    value = joined(value)
    return value if isinstance(value, (bytes, str)) and value.strip() else ""


def _checksums(value: Any) -> tuple[str, ...]:
    files = [as_item(each) for each in (value if isinstance(value, (list, tuple)) else [value])]
    found = [each.get("checksum") for each in files if each is not None]
    return tuple(sorted(str(checksum) for checksum in found if checksum))
