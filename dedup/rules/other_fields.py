"""Fields of items: two items of one text are two things where a date, a place, a number or an author differs.

The copies of one site come from one record there, so that their fields agree. Between sites they are often written
anew: by another author, on another day, with other pictures. There it is a price or another variant, a place, or the
day on which something happens that makes another thing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import NamedTuple
from warnings import catch_warnings, simplefilter

_WORD = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z])")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What tells the variants of a thing from each other on whatever sites.
_VARIANTS = _words(
    """
    price preis prix precio prezzo preço prijs cena цена 价格 價格 価格 가격
    variant variante color colour farbe couleur colore cor цвет 颜色
    """
)
_PLACES = _words(
    """
    address branch city coordinates country county district geo lat latitude lng locality location lon longitude
    municipality place plz postal postcode province region state street suburb town venue village zip zipcode
    adresse bundesland kanton land ort plz stadt strasse straße veranstaltungsort département lieu pays rue ville
    calle ciudad dirección direccion lugar país pais provincia cidade endereço città indirizzo luogo адрес город место
    улица 地址 地点 城市 省份 地区 所在地 住所 場所 都道府県
    """
)
_NO_PLACES = _words("email ip mac mail page web")
_DAYS = _words(
    """
    arrival begin begins closes closing date day days deadline departure due end ends event expires expiry kickoff
    opening opens start starts termin time until valid when beginn datum ende uhrzeit début fin heure jour fecha
    inicio data fine inizio início дата начало 日期 开始 时间 結束 開始 日時
    """
)
# When somebody has written of it, and who: copies have another of either.
_OF_PUBLISHING = _words(
    """
    added article changed crawl crawled created creation edited fetched indexed lastmod modification modified news post
    posted pub pubdate publication publish published retrieved scraped seen story timestamp update updated upload
    uploaded
    veröffentlicht aktualisiert publié modifié publicado actualizado pubblicato 发布 更新 抓取 公開
    """
)
_OF_ARTICLES = _words(
    """
    author authors byline contributor desk editor feed journalist newspaper outlet paper publisher reporter source
    writer autor autoren auteur autore автор 作者 来源 记者 著者
    """
)
_DAY = re.compile(r"(?P<year>[12][0-9]{3})[-/.年](?P<month>[0-9]{1,2})[-/.月](?P<day>[0-9]{1,2})(?![0-9])")
_WITH_YEAR_OR_MONTH = re.compile(
    r"\b(?:19|20)[0-9]{2}\b|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)", re.IGNORECASE
)
_MOMENT = re.compile(r"[0-9]{9,10}(?:[0-9]{3})?")
_MILLISECONDS = 10
_BETWEEN_PARTS = re.compile(r"\s*[,;/|(]\s*|\s+[-–—]\s+")

FOR_ITS_KEY, BETWEEN_KEYS, MEDIUM, SUMMARY = "\x01", "\x02", "\x03", "\x04"
"""Begin values that tell only whether an item has changed; only whether it is another one; which medium it has; and the
sketch of a summary."""

SKETCHED = 12
"""The least digests of its words that the sketch of a summary has, between spaces."""

_SAME_SUMMARY = 0.4


class ItemFields(NamedTuple):
    """The fields of an item.

    Attributes:
        site: the site that it is from: its registrable domain, or the spider where it has no address.
        values: by name, with dots below another field, each once, and in order.
        named: those that the project has named, so that they count between sites, too.
    """

    site: str
    values: Mapping[str, list[str]]
    named: Sequence[str] = ()

    def packed(self) -> str:
        """Return them as they are stored; the same for the same fields. Empty: nothing is told by them."""
        return json.dumps(self, separators=(",", ":")) if self.values else ""


NO_FIELDS = ItemFields("", {})


@lru_cache(maxsize=4_096)
def unpacked(packed: str) -> ItemFields:
    """Return fields of how they are stored."""
    if not packed:
        return NO_FIELDS
    site, values, named = json.loads(packed)
    return ItemFields(site, values, tuple(named))


def other_fields(ours: str, theirs: str) -> list[str]:
    """Return the names of the fields that make two items of one text two things; none: they may be copies.

    A field that one of them does not have tells nothing.

    >>> monday = ItemFields("city.example", {"start": ["2026-11-30"], "room": ["12"]}).packed()
    >>> other_fields(monday, monday.replace("12", "14"))
    ['room']
    >>> other_fields(monday, ItemFields("press.example", {"start": ["2026-11-30"], "room": ["14"]}).packed())
    []
    >>> other_fields(monday, ItemFields("press.example", {"start": ["2026-12-07"]}).packed())
    ['start']

    Args:
        ours: the fields of an item, packed.
        theirs: those of the other one; the order of the two makes no difference.
    """
    if ours == theirs or not (ours and theirs):
        return []
    one, other = unpacked(ours), unpacked(theirs)
    shared = [name for name in one.values if name in other.values]
    differing = [name for name in shared if _differ(one.values[name], other.values[name])]
    if one.site == other.site:
        return differing
    named = {*one.named} & {*other.named}
    places = _other_places(one.values, other.values, shared)
    days = [] if places is not None else _other_days(one.values, other.values, differing)
    is_another = {*(places or ()), *days, *named}
    return [name for name in differing if name in is_another or _is_variant(name)]


def have_changed(before: str, now: str) -> bool:
    """Return whether the fields of an item have changed since it was seen under its key before.

    Args:
        before: its fields then, packed.
        now: those of today.
    """
    if before == now or not (before and now):
        return before != now
    one, other = unpacked(before).values, unpacked(now).values
    return any(
        one.get(name) != other.get(name) and not (_is_of_its_day(one.get(name)) and _is_of_its_day(other.get(name)))
        for name in {*one, *other}
    )


def are_one(ours: str, theirs: str, names: Sequence[str]) -> bool:
    """Return whether two items that no field makes two are one thing by those that tell one of them from a third.

    Between sites one field is enough that makes two things there.

    Args:
        ours: the fields of an item, packed.
        theirs: those of the other one.
        names: the fields by which one of them is another thing than a third item of that text.
    """
    one, other = unpacked(ours), unpacked(theirs)
    agreeing = [name for name in names if _agree(name, one.values.get(name, []), other.values.get(name, []))]
    if len(agreeing) == len(names):
        return bool(names)
    is_between = one.site != other.site
    return is_between and any(_is_place(name) or _is_day(name) or _is_variant(name) for name in agreeing)


@lru_cache(maxsize=4_096)
def words_of(name: str) -> frozenset[str]:
    """Return the words of a name: `currentPrice`, `offers.current_price`."""
    return frozenset(word.lower() for word in _WORD.findall(name))


def _differ(ours: list[str], theirs: list[str]) -> bool:
    """Return whether what two items have in one field makes them two things."""
    if _compared(ours) != _compared(theirs):
        return True
    summaries = [[each[1:].split() for each in values if each.startswith(SUMMARY)] for values in (ours, theirs)]
    if all(summaries) and not all(map(_are_near, *summaries)):
        return True
    media = [[each[1:] for each in values if each.startswith(MEDIUM)] for values in (ours, theirs)]
    # A copy may have fewer pictures.
    return all(media) and not (_are_among(*media) or _are_among(*reversed(media)))


def _are_near(one: list[str], other: list[str]) -> bool:
    """Return whether two summaries are alike: a copy has another word here and there."""
    least = sorted({*one, *other})[:SKETCHED]
    return sum(each in one and each in other for each in least) >= _SAME_SUMMARY * len(least)


def _are_among(some: list[str], others: list[str]) -> bool:
    return all(any(_is_same_medium(each, other) for other in others) for each in some)


def _is_same_medium(one: str, other: str) -> bool:
    """Return whether two media have one address, but for the host and a folder before it."""
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")


def _compared(values: list[str]) -> list[str]:
    return [each.removeprefix(BETWEEN_KEYS) for each in values if not each.startswith((FOR_ITS_KEY, MEDIUM, SUMMARY))]


def _is_of_its_day(values: list[str] | None) -> bool:
    return values is None or all(each.startswith(BETWEEN_KEYS) for each in values)


def _other_places(
    ours: Mapping[str, list[str]], theirs: Mapping[str, list[str]], shared: Iterable[str]
) -> list[str] | None:
    """Return which fields say that two items are at other places; None: they do not say where both are."""
    found = [name for name in shared if _is_place(name) and _compared(ours[name]) and _compared(theirs[name])]
    if not found:
        return None
    return [name for name in found if not _is_same_place(_compared(ours[name]), _compared(theirs[name]))]


def _other_days(ours: Mapping[str, list[str]], theirs: Mapping[str, list[str]], differing: Iterable[str]) -> list[str]:
    """Return which fields say that what two items tell of happens on other days; those of articles say nothing."""
    if any(not _OF_ARTICLES.isdisjoint(words_of(name)) for name in (*ours, *theirs)):
        return []
    found = []
    for name in differing:
        days = [_days_in(_compared(values[name])) for values in (ours, theirs)] if _is_day(name) else []
        if days and all(days) and days[0] != days[1]:
            found.append(name)
    return found


def _agree(name: str, ours: list[str], theirs: list[str]) -> bool:
    """Return whether two items have the same in one field, in whatever form."""
    if not (ours and theirs):
        return False
    one, other = _compared(ours), _compared(theirs)
    if _is_place(name):
        return _is_same_place(one, other)
    if one != other and _is_day(name):
        return bool(_days_in(one)) and _days_in(one) == _days_in(other)
    return not _differ(ours, theirs)


def _is_variant(name: str) -> bool:
    return not _VARIANTS.isdisjoint(words_of(name))


def _is_day(name: str) -> bool:
    words = words_of(name)
    return not _DAYS.isdisjoint(words) and _OF_PUBLISHING.isdisjoint(words)


@lru_cache(maxsize=4_096)
def _is_place(name: str) -> bool:
    words = words_of(name)
    return not _PLACES.isdisjoint(words) and _NO_PLACES.isdisjoint(words)


def _is_same_place(ours: list[str], theirs: list[str]) -> bool:
    """Return whether two places are one: one says less than the other, or both begin alike."""
    one, other = ({*re.findall(r"\w+", " ".join(values))} for values in (ours, theirs))
    first, second = (_BETWEEN_PARTS.split(" ".join(values), maxsplit=1)[0] for values in (ours, theirs))
    return one <= other or other <= one or first == second


def _days_in(values: list[str]) -> list[date]:
    """Return the days that values name; of what is no day nothing is known."""
    return [day for day in map(_day_of, values) if day is not None]


@lru_cache(maxsize=4_096)
def _day_of(value: str) -> date | None:
    # dateutil raises whatever its arithmetic does.
    with suppress(ValueError, TypeError, OverflowError, ArithmeticError, OSError), catch_warnings():
        simplefilter("ignore")
        if found := _DAY.search(value):
            return date(int(found["year"]), int(found["month"]), int(found["day"]))
        if _MOMENT.fullmatch(value):
            seconds = int(value) / (1 if len(value) <= _MILLISECONDS else 1_000)
            return datetime.fromtimestamp(seconds, UTC).date()
        if _WITH_YEAR_OR_MONTH.search(value):
            # It reads most of what people write, and takes a while to load.
            from dateutil.parser import parse  # noqa: PLC0415

            read: date = parse(value).date()
            return read
    return None
