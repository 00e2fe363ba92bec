"""The fields of an item by which it may be another thing than one of the same text, see `ItemFields`."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from datetime import time as time_of_day
from decimal import Decimal, InvalidOperation
from email.utils import parsedate_to_datetime
from enum import Enum
from functools import cached_property, lru_cache
from hashlib import blake2b
from itertools import islice
from numbers import Number
from typing import Any
from unicodedata import normalize

import mmh3

from dedup.fields import HTML_FIELDS, TEXT_FIELDS, is_whole_page
from dedup.rules.other_fields import (
    BEHIND_NUMBERS,
    BETWEEN_KEYS,
    FOR_ITS_KEY,
    HEADLINE,
    MEDIUM,
    NO_FIELDS,
    SKETCHED,
    SUMMARY,
    TITLE,
    ItemFields,
    words_of,
)
from dedup.signature.markup import without_markup
from dedup.signature.signature import Signature, digest
from dedup.stage.address_values import DIGEST_DIGITS, elsewhere, is_address, medium_of, names_in, short_digest
from dedup.stage.item_settings import ALL_FIELDS, FieldRule, ItemView, as_item

_LONGEST_VALUE = _LONGEST_NAME = 100
_MOST_FIELDS = 100
_MOST_VALUES = 20
_MOST_OF_FIELD = 100
_DEEPEST = 5
_MOST_NESTED = 20
_MOST_LOOKED_AT = 2_000
_MORE = "..."
# How a part of a text ends that goes on.
_CUT_OFF = " .…[]"


# What names an address, in whatever form, of the page or of another one; pages; what came along with one; and its
# headline, which copies have another of.
_NOT_LOOKED_AT = names_in(
    """
    url link canonical canonical_url page_url source_url article_url news_url product_url permalink href amp_url
    print_url short_url share_url related slug referer referrer body_digest headers cookies
    html_title og_title meta_title page_title seo_title twitter_title
    """
) | frozenset(HTML_FIELDS)

URLS_OF_PIPELINES = ("file_urls", "image_urls")
"""The fields from which Scrapy's media pipelines take what they fetch."""

# Where a site shows a thing, if the value has no digit: § 12 is a section, too.
_SECTIONS = names_in(
    """
    breadcrumb breadcrumbs categories category keyword keywords query search section sections tags topics
    kategorie rubrik schlagworte rubrique catégorie etiquetas categoría categoria sección
    рубрика 栏目 分类 标签 カテゴリ
    """
)
_OF_SECTIONS = names_in("article item main name names news page path post primary product story sub term")
# What readers have done with it, how long it is and where it stood in a list, if the value is a number.
_COUNTED = names_in(
    """
    click clicks comment comments downloads hit hits like likes reaction reactions replies reply share shares
    upvote upvotes view views visit visits vote votes page position rank index idx counter row seq sequence serial
    ordinal
    bytes char characters chars word wordcount words aufrufe klicks vues visitas просмотры 阅读量 浏览量 点赞
    """
)
_OF_COUNTS = names_in("count counts no nr num number total crawl item items list result scrape search spider")
# What is said of how a page was shown, and not of what it shows, if that is all that a name says.
_OF_SHOWING = names_in(
    """
    ad ads amp cached canonical duplicate https is has article item link mobile more new page paywall paywalled print
    printable secure seen sponsored success truncated updated version view visited was
    """
)
# How Scrapy names what it knows of a request.
_OF_REQUESTS = frozenset({"download_latency", "download_slot", "download_timeout", "depth"})
# A hash, a UUID: a thing that people have numbered has a shorter number.
_MADE_BY_MACHINE = re.compile(
    r"(?=.*[0-9])(?=.*[a-f])[0-9a-f]{32,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE
)
_NOTHING = names_in("null none nil nan n/a na undefined unknown - -- --- – — . ... ?")
_NUMBER = re.compile(r"#?[+-]?[0-9]{1,30}(?:[.,'\u202f ][0-9]{1,30})*", re.ASCII)
# An object of which Python says no more than that it is there.
_SAYS_NOTHING = re.compile(r"<.*>\Z", re.DOTALL)
_DIGITS = re.compile(r"[0-9]+")
_SUMMARY_WORD = re.compile(r"[\u3040-\u9fff]|[^\W\u3040-\u9fff]+")
# Bytes: a hundred words.
_LONG_TEXT = 600
# A text that is hardly longer than what it is beside is no text of which that is a summary.
_TIMES_A_SUMMARY = 5
_SECONDS = re.compile(r"[0-9]:[0-9]{2}:[0-9]{2}")
_COMPACT = re.compile(r"[12][0-9]{3}[01][0-9][0-3][0-9]T?[0-2][0-9]{5}Z?")
_YEAR = re.compile(r"[12][0-9]{3}")
_MOMENT = 60.0
_STARTED = time.time()


def distinct_fields(
    view: ItemView,
    used: Collection[str],
    chosen: FieldRule,
    text: str = "",
    *,
    site: str = "",
    title_field: str = "",
) -> ItemFields:
    """Return the fields by which an item may be another thing than one of its text.

    Any value counts, long ones and bytes by their digest, but for what says nothing of the thing by its kind: addresses
    of pages of its site, pages, what stands in the text, sections and tags, what readers have done with it, its place
    in a list, the moment at which it was crawled, and numbers that machines have made. Of media it is their addresses,
    and the checksums that Scrapy's media pipelines have made.

    Args:
        view: the item.
        used: the fields that its text, title and key are from.
        chosen: finds those that the project has named, in which anything counts; `*` among them stands for all others.
        text: the text of the item; empty: it has none, or it may be what its site says of itself.
        site: the site that it is from.
        title_field: the field of its title, of which its site may say more at another address.
    """
    rule = chosen.rule_for(type(view.item))
    if rule is None:
        return NO_FIELDS
    named = _Fields(rule.find(view), text, site, is_named=True) if rule.names != ALL_FIELDS else None
    if named is not None and ALL_FIELDS[0] not in rule.names:
        return ItemFields(site, named.values, tuple(named.values))
    pairs = ((name, value) for name, value in view.fields.items() if name not in used)
    found = _Fields(pairs, text, site, title_field=title_field)
    if named is None:
        return ItemFields(site, found.values)
    return ItemFields(site, found.values | named.values, tuple(named.values))


class _Fields:
    """Collects values by name; of an item as large as a file only so many."""

    def __init__(
        self,
        pairs: Iterable[tuple[Any, Any]],
        text: str,
        site: str,
        *,
        title_field: str = "",
        is_named: bool = False,
    ) -> None:
        self._is_named = is_named
        self._title_field = title_field
        self._text = text
        self._site = site
        self._left = _MOST_LOOKED_AT
        self.values: dict[str, list[str]] = {}
        # What is too much to be kept by its names.
        self._more = blake2b(digest_size=DIGEST_DIGITS // 2)
        self._has_more = self._has_checksums = False
        for name, value in pairs:
            self._add(str(name), value, 1)
        if self._has_checksums:
            # A file is the same wherever it came from.
            for name in URLS_OF_PIPELINES:
                self.values.pop(name, None)
        if self._has_more:
            self.values[_MORE] = [self._more.hexdigest()]

    def _add(self, name: str, value: Any, depth: int, *, is_alone: bool = True) -> None:
        self._left -= 1
        if isinstance(value, Signature) or (not self._is_named and name in _NOT_LOOKED_AT):
            return
        if self._left < 0 or depth > _MOST_NESTED:
            self._note_more(name, _written(value))
        elif isinstance(value, (list, tuple, set, frozenset)):
            self._add_several(name, value, depth)
        elif not isinstance(value, (str, bytes, bytearray, Number)) and (fields := as_item(value)) is not None:
            self._add_fields(name, fields, depth)
        else:
            value = bytes(value) if isinstance(value, bytearray) else value
            is_title = name == self._title_field and isinstance(value, str)
            told = _named(value) if self._is_named else self._told(name, value, is_alone=is_alone)
            if told and is_title:
                is_long = len(self._text.encode("utf-8", "replace")) >= _LONG_TEXT
                told = f"{HEADLINE if is_long else TITLE}{_plain(without_markup(value))[:_LONGEST_VALUE]}"
            if told:
                self._note(name, told, depth)

    def _add_fields(self, name: str, fields: Mapping[Any, Any], depth: int) -> None:
        if not self._is_named:
            if checksum := _checksum_of(fields):
                self._has_checksums = True
                self._note(name, checksum, depth)
                return
            if name == "meta" and not _OF_REQUESTS.isdisjoint(fields):
                return
        for below, each in fields.items():
            self._add(f"{name}.{below}", each, depth + 1)

    def _note(self, name: str, told: str, depth: int) -> None:
        is_known = name in self.values
        is_small = depth <= _DEEPEST and len(name) <= _LONGEST_NAME and (is_known or len(self.values) < _MOST_FIELDS)
        if is_small and len(self.values.get(name, ())) < _MOST_OF_FIELD:
            self.values.setdefault(name, []).append(told)
        else:
            self._note_more(name, told)

    def _note_more(self, name: str, told: str) -> None:
        self._has_more = True
        self._more.update(f"{name}\0{told}\0".encode("utf-8", "replace"))

    def _add_several(self, name: str, values: Collection[Any], depth: int) -> None:
        if len(values) == 1:
            # Item loaders make a list of everything.
            only = next(iter(values))
            self._add(name, only, depth + isinstance(only, (list, tuple)))
            return
        ordered = sorted(values, key=str) if isinstance(values, (set, frozenset)) else values
        if len(values) <= _MOST_VALUES or self._is_named or not all(isinstance(each, (str, Number)) for each in values):
            for each in ordered:
                self._add(name, each, depth + 1, is_alone=False)
            return
        # Many values are compared as one.
        told = [self._told(name, each) for each in islice(ordered, max(self._left, 0))]
        self._left -= len(told)
        if len(told) < len(values):
            self._note_more(name, _written([*islice(ordered, len(told), None)]))
        for medium in [each for each in told if each.startswith(MEDIUM)]:
            self._note(name, medium, depth)
        if others := [each for each in told if each and not each.startswith(MEDIUM)]:
            self._note(name, short_digest("\n".join(others)), depth)

    def _told(self, name: str, value: Any, *, is_alone: bool = False) -> str:
        """Return a value as it is compared; empty where it is irrelevant."""
        if isinstance(value, bool):
            return f"{FOR_ITS_KEY}{value}" if _is_of_showing(name) else str(value).casefold()
        text = _text_of(value)
        if medium := medium_of(name, text):
            return f"{MEDIUM}{medium}"
        if isinstance(value, bytes) or len(text) > _LONGEST_VALUE:
            return self._long(name, value if isinstance(value, bytes) else text)
        if is_address(text):
            return elsewhere(text, self._site) if is_alone else ""
        if not text or _is_irrelevant(name, text) or _is_moment(value):
            return ""
        return f"{BETWEEN_KEYS}{_plain(text)}" if _is_of_today(value) else _plain(text)

    def _long(self, name: str, text: bytes | str) -> str:
        """Return the digest of a long text or of bytes, unless that is a page, or stands in the text of the item.

        Of what is a summary beside a long text it is its numbers and a sketch: copies have edited that, too.
        """
        if not text or is_whole_page(text) or (isinstance(text, str) and is_address(text)):
            return ""
        if isinstance(text, bytes):
            return short_digest(text)
        plain = _plain(without_markup(text))
        if name.rpartition(".")[2] in TEXT_FIELDS and len(self._text) > _TIMES_A_SUMMARY * len(plain):
            numbers = " ".join(sorted({*_DIGITS.findall(plain)})[:_MOST_VALUES])
            return f"{SUMMARY}{numbers}{BEHIND_NUMBERS}{_sketch(plain)}"
        return "" if plain.rstrip(_CUT_OFF) in self._plain_text else short_digest(plain)

    @cached_property
    def _plain_text(self) -> str:
        return _plain(self._text)


def _sketch(text: str) -> str:
    words = {mmh3.hash(word, signed=False) for word in _SUMMARY_WORD.findall(text)}
    return " ".join(f"{each:08x}" for each in sorted(words)[:SKETCHED])


def _checksum_of(fields: Any) -> str:
    """Return the checksum of a file that a media pipeline has fetched; empty: it is none."""
    checksum = fields.get("checksum") if "path" in fields or "url" in fields else None
    return f"{MEDIUM}{checksum}" if isinstance(checksum, str) and checksum else ""


def _is_of_showing(name: str) -> bool:
    return words_of(name.rpartition(".")[2]) <= _OF_SHOWING


def _text_of(value: Any) -> str:
    """Return a value as a text; empty where it has none that says anything."""
    if isinstance(value, (date, time_of_day, timedelta, Enum)):
        return str(value.value) if isinstance(value, Enum) else str(value)
    if isinstance(value, Number):
        return _number(value)
    if isinstance(value, str):
        return value
    return "" if value is None or isinstance(value, bytes) else _written(value)


def _written(value: Any) -> str:
    """Return what Python writes for a value; empty where that is only that it is there."""
    try:
        text = str(value)
    except RecursionError:
        return ""
    return "" if _SAYS_NOTHING.match(text) else text


def _named(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bytes):
        return digest(value).hex()
    text = _plain(_number(value) if isinstance(value, Number) and not isinstance(value, bool) else str(value))
    return text if len(text) <= _LONGEST_VALUE else digest(text.encode("utf-8", "replace")).hex()


def _plain(text: str) -> str:
    text = " ".join(text.split()).casefold()
    return text if text.isascii() else normalize("NFKC", text)


def _number(value: Any) -> str:
    try:
        # 12.50 and 12.5 are one price.
        number = Decimal(str(value)).normalize()
    except (InvalidOperation, ValueError):
        return str(value)
    return f"{number:f}" if number.is_finite() and abs(number.adjusted()) < _LONGEST_VALUE else ""


def _is_irrelevant(name: str, text: str) -> bool:
    plain = text.strip().casefold()
    if plain in _NOTHING or not plain or _MADE_BY_MACHINE.fullmatch(plain):
        return True
    shows_section, shows_count = _kinds_of(name)
    if shows_section:
        return not any(map(str.isdigit, plain))
    # Also: 1,200 views.
    counted = _NUMBER.match(plain) if shows_count else None
    return counted is not None and words_of(plain[counted.end() :]) <= _COUNTED


@lru_cache(maxsize=4_096)
def _kinds_of(name: str) -> tuple[bool, bool]:
    """Whether a field has the name of a section of a site, and whether that of what readers have done with a thing."""
    words = words_of(name.rpartition(".")[2])
    is_section = words <= _SECTIONS | _OF_SECTIONS and bool(words & _SECTIONS)
    return is_section, words <= _COUNTED | _OF_COUNTS and bool(words & _COUNTED)


def _is_moment(value: Any) -> bool:
    """Whether a value is a moment of this crawl to the second, as seconds or parts of them, or as a time."""
    with suppress(ValueError, OverflowError, ArithmeticError, TypeError, OSError):
        return any(_STARTED - _MOMENT <= moment <= time.time() + 1 for moment in _moments(value))
    return False


def _moments(value: Any) -> Iterator[float]:
    if isinstance(value, str):
        is_time = (_SECONDS.search(value) and _YEAR.search(value)) or _COMPACT.fullmatch(value)
        value = _read_moment(value) if is_time else None
    if isinstance(value, datetime):
        # Without a zone it is of this machine, or of Greenwich.
        yield from (value.timestamp(), value.replace(tzinfo=value.tzinfo or UTC).timestamp())
    elif isinstance(value, (int, float, Decimal)) and math.isfinite(value):
        yield from (float(value) / parts for parts in (1, 10**3, 10**6, 10**9))


def _is_of_today(value: Any) -> bool:
    """Whether a value is today's date, with a time or without: a list that is crawled daily may give it to all."""
    days = _days(int(time.time()) // 3_600)
    return str(value)[:10] in days if isinstance(value, (str, date)) else False


@lru_cache(maxsize=1)
def _days(_hour: int) -> frozenset[str]:
    return frozenset(f"{now:%Y-%m-%d}" for now in (datetime.now(UTC), datetime.now().astimezone()))


def _read_moment(text: str) -> datetime | None:
    # dateutil reads most of what people write, in fifty times the time, and takes a while to load.
    from dateutil.parser import parse  # noqa: PLC0415

    for read in (datetime.fromisoformat, parsedate_to_datetime, parse):
        with suppress(ValueError, TypeError, OverflowError, ArithmeticError):
            return read(text)
    return None
