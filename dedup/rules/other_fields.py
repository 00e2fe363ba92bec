"""Fields of items: two items of one text are two things where a date, a place, a number or an author differs.

The copies of one site come from one record there, so that their fields agree. Between sites they are often written
anew: by another author, on another day, with other pictures. There it is a price or another variant, a place, or the
day on which something happens that makes another thing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
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
    rent miete loyer alquiler aluguel affitto 租金 家賃
    variant variante color colour farbe couleur colore cor цвет 颜色
    size größe talla taille taglia tamanho 尺码 尺寸 サイズ
    ean gtin isbn mpn upc
    """
)
_PLACES = _words(
    """
    address branch city coordinates country county district geo lat latitude lng locality location lon longitude
    municipality place plz postal postcode province region state street suburb town venue village zip zipcode
    adresse arbeitsort bundesland einsatzort gemeinde kanton land ort plz stadt standort strasse straße
    veranstaltungsort commune département lieu localité pays rue ville
    calle ciudad dirección direccion localidad lugar municipio país pais población provincia cidade endereço
    città comune indirizzo località luogo gemeente plaats адрес город место улица
    """
)
# Between which there is no space, nor before what comes with them: 工作地点.
_PLACE = re.compile("地址|地点|地區|城市|省份|地区|所在地|住所|場所|勤務地|都道府県|장소|지역|주소")
_NO_PLACES = _words("email ip mac mail page web")
# At which nothing tells two things apart; and what else a state may be.
_COUNTRIES = _words("country land pays país pais страна 国家")
_ANYWHERE = _words(
    """
    online remote virtual webinar zoom anywhere worldwide international homeoffice
    open closed active inactive new used draft published sold pending available
    """
)
# When it happens; and what may be that, or the day on which somebody wrote of it.
_EVENTS = _words(
    """
    arrival begin begins closes closing deadline departure due end ends event expires expiry kickoff opening opens start
    starts termin until beginn ende début fin inicio fine inizio início начало
    """
)
_DAYS = _words("date day days time when datum uhrzeit heure jour fecha data дата")
_EVENT, _SOME_DAY = re.compile("开始|结束|結束|開始|截止|活动"), re.compile("日期|时间|時間|日時")
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
_YEAR = re.compile(r"\b(?:19|20)[0-9]{2}\b")
_MONTH = re.compile(r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)")
_DAY_FIRST = re.compile(r"[0-9]{1,2}\.\s*[0-9]")
_DEFAULTS = (datetime(2000, 1, 1), datetime(2001, 2, 2))  # noqa: DTZ001 -- any two that have nothing in common
_MOMENT = re.compile(r"[0-9]{9,10}(?:[0-9]{3})?")
_MILLISECONDS = 10
_BETWEEN_PARTS = re.compile(r"\s*[,;/|]\s*|\s+[-–—]\s+")
_NUMBER = re.compile(r"[0-9]+")
_TITLE_WORD = re.compile(r"[0-9]+|[\u3040-\u9fff]|[^\W0-9\u3040-\u9fff]+")

FOR_ITS_KEY, BETWEEN_KEYS, MEDIUM, SUMMARY, TITLE, HEADLINE = "\x01", "\x02", "\x03", "\x04", "\x05", "\x06"
"""Begin values that tell only whether an item has changed; only whether it is another one; which medium it has; the
sketch of a summary, behind its numbers; a title, and that of a long text."""

BEHIND_NUMBERS = "\n"
"""Stands between the numbers of a summary and its sketch."""

SKETCHED = 12
"""The least digests of its words that the sketch of a summary has, between spaces."""

_SAME_SUMMARY = 0.4
_SAME_HEADLINE = 0.5


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

    A field that one of them does not have tells nothing, unless the other one lacks another.

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
    first, second = _values(ours), _values(theirs)
    differing = [name for name in first if name in second and first[name].differs_from(second[name])]
    if one.site == other.site:
        return [*differing, *_of_one_alone(_inner_names(ours), _inner_names(theirs))]
    if not differing:
        return []
    named = {*one.named} & {*other.named}
    is_at_one_place = _is_at_one_place(first, second)
    is_article = any(not _OF_ARTICLES.isdisjoint(words_of(name)) for name in (*first, *second))
    return [
        name
        for name in differing
        if name in named
        or _is_variant(name)
        or _is_other_place(name, first[name], second[name])
        or _is_other_day(name, first[name], second[name], is_told=is_at_one_place or is_article)
    ]


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


def _of_one_alone(ours: Mapping[str, set[str]], theirs: Mapping[str, set[str]]) -> list[str]:
    """Return the fields that one of two items has alone, if the other one has others alone: at the top, or in a field.

    Tables of two things have other rows.
    """
    alone = ((ours[outer] - theirs[outer], theirs[outer] - ours[outer]) for outer in ours if outer in theirs)
    return sorted(name for names, others in alone if names and others for name in names | others)


# An item is compared with many of its text, and each of them with many.
@lru_cache(maxsize=4_096)
def _inner_names(packed: str) -> Mapping[str, set[str]]:
    """Return of each field, and of the item as a whole (""), the names of the fields in it that say anything."""
    names: dict[str, set[str]] = {}
    for name, each in unpacked(packed).values.items():
        inner = "" if all(value.startswith(FOR_ITS_KEY) for value in each) else name
        while inner:
            outer = inner.rpartition(".")[0]
            names.setdefault(outer, set()).add(inner)
            inner = outer
    return names


@lru_cache(maxsize=4_096)
def words_of(name: str) -> frozenset[str]:
    """Return the words of a name: `currentPrice`, `offers.current_price`."""
    return frozenset(word.lower() for word in _WORD.findall(name))


class _Values:
    """What an item has in one field, by its kinds."""

    def __init__(self, values: list[str]) -> None:
        self.plain = [each.removeprefix(BETWEEN_KEYS) for each in values if each[:1] not in _KINDS]
        self._summaries = [each[1:].partition(BEHIND_NUMBERS) for each in values if each.startswith(SUMMARY)]
        self.title = "".join(each[1:] for each in values if each.startswith((TITLE, HEADLINE)))
        self._is_headline = any(each.startswith(HEADLINE) for each in values)
        # By the last of their parts: what has another one is another medium.
        self._media: dict[str, list[str]] = {}
        for medium in (each[1:] for each in values if each.startswith(MEDIUM)):
            self._media.setdefault(medium.rpartition("/")[2], []).append(medium)

    def differs_from(self, other: _Values) -> bool:
        """Return whether what two items have in one field makes them two things."""
        if self.plain != other.plain:
            return True
        if self._summaries and other._summaries and not all(map(_are_near, self._summaries, other._summaries)):
            return True
        if self.title != other.title and not self._is_titled_like(other):
            return True
        # A copy may have fewer pictures.
        return bool(self._media and other._media) and not (self._is_among(other) or other._is_among(self))

    def _is_titled_like(self, other: _Values) -> bool:
        # At another address a title may be that of the page, with the name of the site.
        ours, theirs = ({*_BETWEEN_PARTS.split(each.title)} for each in (self, other))
        if ours <= theirs or theirs <= ours:
            return True
        # Of long texts copies have reworded it.
        ours, theirs = ({*_TITLE_WORD.findall(each.title)} for each in (self, other))
        has_other_number = any(map(str.isdecimal, ours ^ theirs))
        are_headlines = self._is_headline and other._is_headline and not has_other_number
        return are_headlines and len(ours & theirs) >= _SAME_HEADLINE * len(ours | theirs)

    def _is_among(self, other: _Values) -> bool:
        return all(
            any(_is_same_medium(each, their) for their in other._media.get(name, ()))
            for name, media in self._media.items()
            for each in media
        )


_KINDS = (FOR_ITS_KEY, MEDIUM, SUMMARY, TITLE, HEADLINE)


@lru_cache(maxsize=4_096)
def _values(packed: str) -> Mapping[str, _Values]:
    return {name: _Values(values) for name, values in unpacked(packed).values.items()}


def _are_near(one: tuple[str, str, str], other: tuple[str, str, str]) -> bool:
    """Return whether two summaries are alike: a copy has another word here and there, or leaves numbers out."""
    numbers, others = ({*each[0].split()} for each in (one, other))
    if not (numbers <= others or others <= numbers):
        return False
    ours, theirs = one[2].split(), other[2].split()
    least = sorted({*ours, *theirs})[:SKETCHED]
    return sum(each in ours and each in theirs for each in least) >= _SAME_SUMMARY * len(least)


def _is_same_medium(one: str, other: str) -> bool:
    """Return whether two media have one address, but for the host and a folder before it."""
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")


def _is_of_its_day(values: list[str] | None) -> bool:
    return values is None or all(each.startswith(BETWEEN_KEYS) for each in values)


def _is_at_one_place(ours: Mapping[str, _Values], theirs: Mapping[str, _Values]) -> bool:
    """Return whether two items say that both are at one place; a country is none."""
    shared = [name for name in ours if name in theirs and _is_place(name) and _COUNTRIES.isdisjoint(words_of(name))]
    places = [(ours[name].plain, theirs[name].plain) for name in shared]
    return any(_is_somewhere(one) and _is_somewhere(other) and _is_same_place(one, other) for one, other in places)


def _is_other_place(name: str, ours: _Values, theirs: _Values) -> bool:
    one, other = ours.plain, theirs.plain
    is_known = _is_place(name) and _is_somewhere(one) and _is_somewhere(other)
    return is_known and not _is_same_place(one, other)


def _is_other_day(name: str, ours: _Values, theirs: _Values, *, is_told: bool) -> bool:
    """Return whether what two items tell of happens on other days; when somebody wrote of it says nothing.

    Args:
        name: the field.
        ours: what one item has there.
        theirs: what the other one has there.
        is_told: whether one thing may be told of on several days, as it is by articles, and at one place.
    """
    words = words_of(name)
    if not _OF_PUBLISHING.isdisjoint(words):
        return False
    is_of_event = not _EVENTS.isdisjoint(words) or _EVENT.search(name) is not None
    if not is_of_event and (is_told or (_DAYS.isdisjoint(words) and not _SOME_DAY.search(name))):
        return False
    one, other = ([_days_of(value) for value in each.plain] for each in (ours, theirs))
    if one and other and all(one) and all(other):
        return not (_are_days_of(one, other) or _are_days_of(other, one))
    # What is not read as a day may be any, but for other numbers written in one way.
    return is_of_event or (not any((*one, *other)) and _are_other_days(ours.plain, theirs.plain))


def _are_days_of(some: list[frozenset[date]], others: list[frozenset[date]]) -> bool:
    return all(any(day & other for other in others) for day in some)


def _are_other_days(ours: list[str], theirs: list[str]) -> bool:
    one, other = ([*map(_NUMBER.findall, values)] for values in (ours, theirs))
    have_years = all(_YEAR.search(value) for value in (*ours, *theirs))
    return have_years and one != other


def _is_variant(name: str) -> bool:
    return not _VARIANTS.isdisjoint(words_of(name))


@lru_cache(maxsize=4_096)
def _is_place(name: str) -> bool:
    words = words_of(name)
    return (not _PLACES.isdisjoint(words) and _NO_PLACES.isdisjoint(words)) or _PLACE.search(name) is not None


def _is_somewhere(values: list[str]) -> bool:
    return any(value not in _ANYWHERE for value in values)


def _is_same_place(ours: list[str], theirs: list[str]) -> bool:
    """Return whether two places are one: one says no more than the other."""
    one, other = ({part for value in values for part in _BETWEEN_PARTS.split(value)} for values in (ours, theirs))
    return one <= other or other <= one


@lru_cache(maxsize=4_096)
def _days_of(value: str) -> frozenset[date]:
    """Return the days that a value may name: by its own clock or that of Greenwich, before or after the month."""
    if _MOMENT.fullmatch(value):
        seconds = int(value) / (1 if len(value) <= _MILLISECONDS else 1_000)
        return _days_at(datetime.fromtimestamp(seconds, UTC))
    if found := _DAY.search(value):
        with suppress(ValueError):
            return _days_at(datetime.fromisoformat(value.upper()))
        with suppress(ValueError):
            return frozenset({date(int(found["year"]), int(found["month"]), int(found["day"]))})
    if not (_YEAR.search(value) or _MONTH.search(value)):
        return frozenset()
    orders = (True,) if _DAY_FIRST.match(value) else (False, True)
    return frozenset().union(*(_days_at(_read(value, day_first=each)) for each in orders))


def _days_at(moment: datetime | None) -> frozenset[date]:
    if moment is None:
        return frozenset()
    with suppress(OverflowError):
        return frozenset({moment.date(), (moment.astimezone(UTC) if moment.tzinfo else moment).date()})
    return frozenset({moment.date()})


def _read(value: str, *, day_first: bool) -> datetime | None:
    """Return the time that a value names; None where it does not name day, month and year."""
    # It reads most of what people write, and takes a while to load.
    from dateutil.parser import parse  # noqa: PLC0415

    # It raises whatever its arithmetic does, and takes from a default what is not said.
    with suppress(ValueError, TypeError, OverflowError, ArithmeticError, OSError), catch_warnings():
        simplefilter("ignore")
        read, again = (parse(value.upper(), dayfirst=day_first, default=default) for default in _DEFAULTS)
        if isinstance(read, datetime) and read.date() == again.date():
            return read
    return None
