"""The fields of an item by which it may be another thing than one of the same text, see `ItemFields`."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from datetime import time as time_of_day
from decimal import Decimal, InvalidOperation
from email.utils import parsedate_to_datetime
from enum import Enum
from functools import cached_property, lru_cache
from itertools import islice
from numbers import Number
from typing import Any
from unicodedata import normalize

import mmh3

from dedup.fields import HTML_FIELDS, TEXT_FIELDS, is_whole_page
from dedup.rules.other_fields import (
    BETWEEN_KEYS,
    FOR_ITS_KEY,
    MEDIUM,
    NO_FIELDS,
    SKETCHED,
    SUMMARY,
    ItemFields,
    words_of,
)
from dedup.signature.markup import without_markup
from dedup.signature.signature import Signature, digest
from dedup.stage.item_settings import ALL_FIELDS, FieldRule, ItemView, as_item

_LONGEST_VALUE = _LONGEST_NAME = 100
_MOST_FIELDS = 100
_MOST_VALUES = 20
_DEEPEST = 5
_MOST_LOOKED_AT = 2_000
_DIGEST_DIGITS = 16
_LONGEST_ADDRESS = 2_000
# How a part of a text ends that goes on.
_CUT_OFF = " .…[]"
_SUMMARY_WORD = re.compile(r"[\u3040-\u9fff]|[^\W\u3040-\u9fff]+")


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What names an address, in whatever form, of the page or of another one; pages; what came along with one; and its
# headline, which copies have another of.
_NOT_LOOKED_AT = _names(
    """
    url link canonical canonical_url page_url source_url article_url news_url product_url permalink href amp_url
    print_url short_url share_url related slug path filename referer referrer body_digest headers meta cookies request
    html_title og_title meta_title page_title seo_title twitter_title
    """
) | frozenset(HTML_FIELDS)

URLS_OF_PIPELINES = ("file_urls", "image_urls")
"""The fields from which Scrapy's media pipelines take what they fetch."""

# Where a site shows a thing, if the value has no digit: § 12 is a section, too.
_SECTIONS = _names(
    """
    breadcrumb breadcrumbs categories category keywords section sections tags topics
    kategorie rubrik schlagworte rubrique catégorie etiquetas categoría categoria sección
    рубрика 栏目 分类 标签 カテゴリ
    """
)
_OF_SECTIONS = _names("article item main name names news page path post primary product story sub")
# What readers have done with it, how long it is and where it stood in a list, if the value is a number.
_COUNTED = _names(
    """
    click clicks comment comments download downloads hit hits like likes reaction reactions replies reply share shares
    upvote upvotes view views visit visits vote votes page position rank index idx counter seq sequence ordinal depth
    bytes char characters chars word wordcount words aufrufe klicks vues visitas просмотры 阅读量 浏览量 点赞
    """
)
_OF_COUNTS = _names("count counts num number total crawl item items list scrape spider")
# What a thing consists of besides its text: other addresses of the same picture are told by their ends.
_MEDIA = _names(
    """
    artwork attachment attachments audio cover document download enclosure episode file files image images img media
    mp3 pdf photo photos picture pictures pic pics podcast poster stream thumb thumbnail thumbnails track video videos
    bild bilder foto fotos imagen imágenes imagem vídeo vidéo audios 图片 图像 视频 音频 附件 画像 動画
    """
)
_MEDIA_FILE = re.compile(
    r"\.(?:aac|avi|avif|bmp|csv|docx?|epub|flac|gif|ics|jpe?g|m3u8|m4[abv]|mkv|mobi|mov|mp[34g]|og[gv]|opus|pdf|png|pptx?"
    r"|rtf|svg|tiff?|wav|web[mp]|wmv|xlsx?|zip)\Z",
    re.IGNORECASE,
)
_BEFORE_PATH = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//[^/?#]*", re.IGNORECASE)
# How a picture says that it is the same in another size: name-300x200.jpg, name@2x.png.
_OF_ANOTHER_SIZE = re.compile(r"(?:[-_@](?:[0-9]{2,4}x[0-9]{2,4}|[0-9]x|scaled|thumb))+(?=\.\w+\Z)", re.IGNORECASE)
_OF_A_VISIT = re.compile(
    r"(?:\A|(?<=&))(?:utm_\w+|\w*sess\w*|sid|token|sig|signature|expires?|key-pair-id|policy|x-amz-[\w-]+|width|height)"
    r"=[^&]*(?:&|\Z)",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//\S|(?:data|mailto|tel):\S|www\.\S+\Z|/[^\s/]+/\S*\Z", re.IGNORECASE)
# A hash, a UUID: a thing that people have numbered has a shorter number.
_MADE_BY_MACHINE = re.compile(
    r"(?=.*[0-9])(?=.*[a-f])[0-9a-f]{32,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE
)
_NOTHING = _names("null none nil nan n/a na undefined unknown - -- --- – — . ... ?")
_NUMBER = re.compile(r"#?[+-]?[0-9]{1,30}(?:[.,'\u202f ][0-9]{1,30})*", re.ASCII)
_SECONDS = re.compile(r"[0-9]:[0-9]{2}:[0-9]{2}")
_COMPACT = re.compile(r"[12][0-9]{3}[01][0-9][0-3][0-9]T?[0-2][0-9]{5}Z?")
_YEAR = re.compile(r"[12][0-9]{3}")
_MOMENT = 60.0
_STARTED = time.time()


def distinct_fields(view: ItemView, used: Collection[str], chosen: FieldRule, text: str = "") -> ItemFields:
    """Return the fields by which an item may be another thing than one of its text; no site is named.

    Any value counts, long ones and bytes by their digest, but for what says nothing of the thing by its kind: addresses
    of pages, pages, what stands in the text, sections and tags, what readers have done with it, its place in a list,
    the moment at which it was crawled, and numbers that machines have made. Of media it is their addresses, and the
    checksums that Scrapy's media pipelines have made.

    Args:
        view: the item.
        used: the fields that its text, title and key are from.
        chosen: finds those that the project has named, in which anything counts; `*` among them stands for all others.
        text: the text of the item.
    """
    rule = chosen.rule_for(type(view.item))
    if rule is None:
        return NO_FIELDS
    named = _Fields(rule.find(view), text, is_named=True) if rule.names != ALL_FIELDS else None
    if named is not None and ALL_FIELDS[0] not in rule.names:
        return ItemFields("", named.values, tuple(named.values))
    found = _Fields(((name, value) for name, value in view.fields.items() if name not in used), text)
    if named is None:
        return ItemFields("", found.values)
    return ItemFields("", found.values | named.values, tuple(named.values))


def is_address(text: str) -> bool:
    """Return whether a value is an address."""
    return _ADDRESS.match(text) is not None


class _Fields:
    """Collects values by name; of an item as large as a file only so many."""

    def __init__(self, pairs: Iterable[tuple[Any, Any]], text: str, *, is_named: bool = False) -> None:
        self._is_named = is_named
        self._text = text
        self._left = _MOST_LOOKED_AT
        self.values: dict[str, list[str]] = {}
        self._has_checksums = False
        for name, value in pairs:
            self._add(str(name), value, 1)
        if self._has_checksums:
            # A file is the same wherever it came from.
            for name in URLS_OF_PIPELINES:
                self.values.pop(name, None)

    def _add(self, name: str, value: Any, depth: int) -> None:
        self._left -= 1
        if self._left < 0 or depth > _DEEPEST or len(name) > _LONGEST_NAME or isinstance(value, Signature):
            return
        if not self._is_named and name in _NOT_LOOKED_AT:
            return
        if isinstance(value, (list, tuple, set, frozenset)):
            self._add_several(name, value, depth)
        elif not isinstance(value, (str, bytes, Number)) and (fields := as_item(value)) is not None:
            if not self._is_named and (checksum := _checksum_of(fields)):
                self._has_checksums = True
                self._note(name, checksum)
                return
            for below, each in islice(fields.items(), self._left):
                self._add(f"{name}.{below}", each, depth + 1)
        elif told := self._told(name, value):
            self._note(name, told)

    def _note(self, name: str, told: str) -> None:
        if name in self.values or len(self.values) < _MOST_FIELDS:
            self.values.setdefault(name, []).append(told)

    def _add_several(self, name: str, values: Collection[Any], depth: int) -> None:
        ordered = sorted(values, key=str) if isinstance(values, (set, frozenset)) else values
        if len(values) <= _MOST_VALUES or self._is_named:
            for each in islice(ordered, self._left):
                self._add(name, each, depth + 1)
            return
        # Many items are a list of other things; many values are compared as one.
        told = [self._told(name, each) for each in islice(ordered, self._left) if isinstance(each, (str, Number))]
        self._left -= len(told)
        for medium in [each for each in told if each.startswith(MEDIUM)][:_MOST_VALUES]:
            self._note(name, medium)
        if others := [each for each in told if each and not each.startswith(MEDIUM)]:
            self._note(name, _digest("\n".join(others)))

    def _told(self, name: str, value: Any) -> str:
        """Return a value as it is compared; empty where it is irrelevant."""
        if self._is_named:
            return "" if value is None else _named(value)
        if isinstance(value, bool):
            return f"{FOR_ITS_KEY}{value}"
        text = _text_of(value)
        if medium := _medium(name, text):
            return f"{MEDIUM}{medium}"
        if isinstance(value, bytes) or len(text) > _LONGEST_VALUE:
            return self._long(name, value if isinstance(value, bytes) else text)
        if not text or _is_irrelevant(name, text) or _is_moment(value):
            return ""
        return f"{BETWEEN_KEYS}{_plain(text)}" if _is_of_today(value) else _plain(text)

    def _long(self, name: str, text: bytes | str) -> str:
        """Return the digest of a long text or of bytes, unless that is a page, or stands in the text of the item.

        Of what may be a summary it is a sketch: copies have edited that, too.
        """
        if not text or is_whole_page(text) or (isinstance(text, str) and is_address(text)):
            return ""
        if isinstance(text, bytes):
            return _digest(text)
        plain = _plain(without_markup(text))
        if name.rpartition(".")[2] in TEXT_FIELDS:
            return f"{SUMMARY}{_sketch(plain)}"
        return "" if plain.rstrip(_CUT_OFF) in self._plain_text else _digest(plain)

    @cached_property
    def _plain_text(self) -> str:
        return _plain(self._text)


def _digest(value: bytes | str) -> str:
    return digest(value if isinstance(value, bytes) else value.encode("utf-8", "replace")).hex()[:_DIGEST_DIGITS]


def _sketch(text: str) -> str:
    words = {mmh3.hash(word, signed=False) for word in _SUMMARY_WORD.findall(text)}
    return " ".join(f"{each:08x}" for each in sorted(words)[:SKETCHED])


def _checksum_of(fields: Any) -> str:
    """Return the checksum of a file that a media pipeline has fetched; empty: it is none."""
    checksum = fields.get("checksum") if "path" in fields or "url" in fields else None
    return f"{MEDIUM}{checksum}" if isinstance(checksum, str) and checksum else ""


def _medium(name: str, text: str) -> str:
    """Return what tells a medium from others by its address; empty: it is none, or no address."""
    if not _ADDRESS.match(text):
        return ""
    if text[:5].lower() == "data:" or len(text) > _LONGEST_ADDRESS:
        return _digest(text)
    path, _, query = _BEFORE_PATH.sub("", text, count=1).partition("#")[0].partition("?")
    if _MEDIA_FILE.search(path):
        # Behind the name of a file stand sizes and signatures.
        return _OF_ANOTHER_SIZE.sub("", path).strip("/")
    if _MEDIA.isdisjoint(words_of(name)):
        return ""
    query = _OF_A_VISIT.sub("", query).rstrip("&")
    return path.strip("/") + (f"?{query}" if query else "")


def _text_of(value: Any) -> str:
    """Return a value as a text; empty where it has none that says anything."""
    if isinstance(value, (date, time_of_day, timedelta, Enum)):
        return str(value.value) if isinstance(value, Enum) else str(value)
    if isinstance(value, Number):
        return _number(value)
    return value if isinstance(value, str) else ""


def _named(value: Any) -> str:
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
    if plain in _NOTHING or not plain or _ADDRESS.match(plain) or _MADE_BY_MACHINE.fullmatch(plain):
        return True
    shows_section, shows_count = _kinds_of(name)
    if shows_section:
        return not any(map(str.isdigit, plain))
    return shows_count and _NUMBER.fullmatch(plain) is not None


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
