"""The short fields of an item by which it may be another thing than one of the same text, see `ItemFields`."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any

from dateutil.parser import parse
from itemadapter import ItemAdapter

from dedup.fields import HTML_FIELDS, TEXT_FIELDS, TITLE_FIELDS, is_placeholder
from dedup.rules.other_fields import NO_FIELDS, ItemFields
from dedup.stage.item_settings import ALL_FIELDS, FieldRule

_LONGEST_VALUE = 100
_MOST_FIELDS = 40
_MOST_VALUES = 5
_DEEPEST = 4
_FOR_THE_STAGE = ("signature", "body_digest", "canonical", "redirected")
_CONTENT = frozenset(name.lower() for name in (*TITLE_FIELDS, *TEXT_FIELDS, *HTML_FIELDS, *_FOR_THE_STAGE))
# Words of names: where a site shows a thing, what it shows beside it, how long that is, and what readers did with it.
_ADDED_BY_SITES = """
    breadcrumb breadcrumbs categories category keyword keywords section sections tag tags topic topics
    file files href image images img link links media path photo photos picture pictures related slug thumbnail
    thumbnails uri url urls video videos
    bytes char characters chars word words wordcount
    clicks comments downloads hits likes reactions replies shares upvotes views visits votes
    depth referer referrer
"""
_BESIDE = frozenset(_ADDED_BY_SITES.split())
# Where a thing stood in a list, or how often it was seen, if it is a number: a position may be a job, a view the sea.
_COUNTED = "index page position rank row click comment download hit like reaction reply share view visit vote"
_COUNTS = frozenset(_COUNTED.split())
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_ADDRESS = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//|(?:data|mailto|tel):|www\.|/\S+\Z", re.IGNORECASE)
# A hash, a UUID: a thing that people have numbered has a shorter number.
_MADE_BY_MACHINE = re.compile(r"(?=.*[0-9])[0-9a-f]{32,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?[0-9]{1,30}(?:\.[0-9]{1,30})?", re.ASCII)
_HAS_TIME = re.compile(r"[0-9]:[0-9]{2}")
_YEAR = re.compile(r"[0-9]{4}")
_MOMENT = 60.0
_STARTED = time.time()


def short_fields(item: Any, site: str, key_field: str, chosen: FieldRule) -> ItemFields:
    """Return the short fields of an item, but for those that say nothing of the thing that it is.

    These are its text, title and key, addresses, sections and tags, what readers have done with it, its place in a
    list, the moment at which it was crawled, and numbers that machines have made.

    Args:
        item: of any kind that itemadapter knows.
        site: the site that it is from.
        key_field: the field that its key is from.
        chosen: finds those that the project has named, in which anything counts, or all.
    """
    rule = chosen.rule_for(type(item))
    if rule is None:
        return NO_FIELDS
    is_named = rule.names != ALL_FIELDS
    no_fields = {key_field.lower(), *_CONTENT}
    pairs = ((name, value) for name, value in ItemAdapter(item).items() if str(name).lower() not in no_fields)
    found: dict[str, list[str]] = {}
    for name, value in rule.find(item) if is_named else pairs:
        _add(found, str(name), value, 1, is_named=is_named)
    values = {name: sorted(set(each)) for name, each in found.items() if 0 < len(each) <= _MOST_VALUES}
    return ItemFields(site, dict(sorted(values.items())[:_MOST_FIELDS]), is_named)


def _add(found: dict[str, list[str]], name: str, value: Any, depth: int, *, is_named: bool) -> None:
    if not is_named and _is_beside(name.rpartition(".")[2]):
        return
    if isinstance(value, (list, tuple, set, frozenset)):
        # A few authors, or sizes; many are a list of other things.
        for each in value if len(value) <= _MOST_VALUES else ():
            _add(found, name, each, depth, is_named=is_named)
    elif not isinstance(value, (str, int, float)) and ItemAdapter.is_item(value):
        for below, each in ItemAdapter(value).items() if depth < _DEEPEST else ():
            _add(found, f"{name}.{below}", each, depth + 1, is_named=is_named)
    elif short := _short(name, value, is_named=is_named):
        found.setdefault(name, []).append(short)


def _is_beside(name: str) -> bool:
    return not _BESIDE.isdisjoint(_words(name))


@lru_cache(maxsize=1_000)
def _words(name: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(name))


def _short(name: str, value: Any, *, is_named: bool) -> str:
    """Return a value as it is compared; empty where it says nothing."""
    if isinstance(value, bool):
        return str(value).lower() if is_named else ""
    if isinstance(value, (datetime, date)):
        return "" if _is_now(value) and not is_named else value.isoformat()
    if isinstance(value, (int, float, Decimal)):
        return _number(name, value, is_named=is_named)
    is_short = isinstance(value, str) and len(value) <= _LONGEST_VALUE and not is_placeholder(value)
    return _of_text(name, " ".join(value.split()), is_named=is_named) if is_short else ""


def _of_text(name: str, text: str, *, is_named: bool) -> str:
    if _NUMBER.fullmatch(text):
        return _number(name, Decimal(text), is_named=is_named)
    says_nothing = _ADDRESS.match(text) or _MADE_BY_MACHINE.fullmatch(text) or _is_now(text)
    return "" if says_nothing and not is_named else text.casefold()


def _number(name: str, value: float | Decimal, *, is_named: bool) -> str:
    if not is_named and (_COUNTS.intersection(_words(name)) or _is_now(value)):
        return ""
    try:
        # 12.50, 12.5 and "12.5" are one price.
        number = Decimal(str(value)).normalize()
    except InvalidOperation:
        return ""
    return f"{number:f}" if number.is_finite() and abs(number.adjusted()) < _LONGEST_VALUE else ""


def _is_now(value: Any) -> bool:
    """Say whether a value is a moment of this crawl, in seconds or milliseconds, or written as a time."""
    return any(_STARTED - _MOMENT <= moment <= time.time() + _MOMENT for moment in _moments(value))


def _moments(value: Any) -> Iterator[float]:
    if isinstance(value, str):
        value = _read_moment(value) if _HAS_TIME.search(value) and _YEAR.search(value) else None
    if isinstance(value, datetime):
        # Without a zone it is of this machine, or of Greenwich.
        yield from (value.timestamp(), value.replace(tzinfo=value.tzinfo or UTC).timestamp())
    elif isinstance(value, (int, float, Decimal)) and math.isfinite(value):
        yield from (float(value), float(value) / 1_000)


def _read_moment(text: str) -> datetime | None:
    # dateutil reads most of what people write, in fifty times the time.
    for read in (datetime.fromisoformat, parsedate_to_datetime, parse):
        with suppress(ValueError, TypeError, OverflowError):
            return read(text)
    return None
