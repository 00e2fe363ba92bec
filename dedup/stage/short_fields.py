"""The short fields of an item by which it may be another thing than one of the same text, see `ItemFields`."""

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
from functools import lru_cache
from itertools import islice
from numbers import Number
from typing import Any
from unicodedata import normalize

from dedup.rules.other_fields import BETWEEN_KEYS, FOR_ITS_KEY, NO_FIELDS, ItemFields, words_of
from dedup.signature.signature import Signature, digest
from dedup.stage.item_settings import ALL_FIELDS, FieldRule, ItemView, as_item

_LONGEST_VALUE = _LONGEST_NAME = 100
_MOST_FIELDS = 100
_MOST_VALUES = 20
_DEEPEST = 5
_MOST_LOOKED_AT = 2_000


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Fields of media pipelines, and what names an address.
_NOT_LOOKED_AT = _names("files file_urls images image_urls related slug path filename referer referrer")
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
    upvote upvotes view views visit visits vote votes page position rank
    bytes char characters chars word wordcount words aufrufe klicks vues visitas просмотры 阅读量 浏览量 点赞
    """
)
_OF_COUNTS = _names("count counts num number total")
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


def short_fields(view: ItemView, used: Collection[str], chosen: FieldRule) -> ItemFields:
    """Return the short fields of an item, but for those that say nothing of the thing that it is; no site is named.

    Left out are addresses, sections and tags, what readers have done with it, its place in a list, the moment at which
    it was crawled, and numbers that machines have made.

    Args:
        view: the item.
        used: the fields that its text, title and key are from.
        chosen: finds those that the project has named, in which anything counts, or all.
    """
    rule = chosen.rule_for(type(view.item))
    if rule is None:
        return NO_FIELDS
    is_named = rule.names != ALL_FIELDS
    pairs = ((name, value) for name, value in view.fields.items() if name not in used)
    return ItemFields("", _Fields(rule.find(view) if is_named else pairs, is_named=is_named).values, is_named)


class _Fields:
    """Collects values by name; of an item as large as a file only so many."""

    def __init__(self, pairs: Iterable[tuple[Any, Any]], *, is_named: bool) -> None:
        self._is_named = is_named
        self._left = _MOST_LOOKED_AT
        self.values: dict[str, list[str]] = {}
        for name, value in pairs:
            self._add(str(name), value, 1)

    def _add(self, name: str, value: Any, depth: int) -> None:
        self._left -= 1
        if self._left < 0 or depth > _DEEPEST or len(name) > _LONGEST_NAME or isinstance(value, Signature):
            return
        if not self._is_named and name in _NOT_LOOKED_AT:
            return
        if isinstance(value, (list, tuple, set, frozenset)):
            # Many are a list of other things.
            for each in self._few(value):
                self._add(name, each, depth + 1)
        elif not isinstance(value, (str, Number)) and (fields := as_item(value)) is not None:
            for below, each in islice(fields.items(), self._left):
                self._add(f"{name}.{below}", each, depth + 1)
        elif (name in self.values or len(self.values) < _MOST_FIELDS) and (short := self._short(name, value)):
            self.values.setdefault(name, []).append(short)

    def _few(self, values: Collection[Any]) -> Iterable[Any]:
        if len(values) > _MOST_VALUES and not self._is_named:
            return ()
        return sorted(values, key=str) if isinstance(values, (set, frozenset)) else islice(values, self._left)

    def _short(self, name: str, value: Any) -> str:
        """Return a value as it is compared; empty where it is irrelevant."""
        if value is None:
            return ""
        if self._is_named:
            return _named(value)
        if isinstance(value, bool):
            return f"{FOR_ITS_KEY}{value}"
        if isinstance(value, (date, time_of_day, timedelta, Enum)):
            text = str(value.value) if isinstance(value, Enum) else str(value)
        elif isinstance(value, Number):
            text = _number(value)
        else:
            text = value if isinstance(value, str) else ""
        if not text or len(text) > _LONGEST_VALUE or _is_irrelevant(name, text) or _is_moment(value):
            return ""
        return f"{BETWEEN_KEYS}{_plain(text)}" if _is_of_today(value) else _plain(text)


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
