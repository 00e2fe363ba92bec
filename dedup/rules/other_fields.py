"""Short fields of items: two items of one text are two things where a date, a place, a number or an author differs.

The copies of one site come from one record there, so that their fields agree. Between sites they are often written
anew, and only what makes a variant of a thing tells it from others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

_VARIANT_WORDS = """
    price preis prix precio prezzo preço prijs cena цена 价格 價格 価格 가격
    variant variante color colour farbe couleur colore cor цвет 颜色
"""
# What tells the variants of a thing from each other on whatever sites.
_VARIANTS = frozenset(_VARIANT_WORDS.split())
_WORD = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z])")

FOR_ITS_KEY, BETWEEN_KEYS = "?", "@"
"""Begin values that tell only whether an item has changed, and only whether it is another one."""


class ItemFields(NamedTuple):
    """The short fields of an item.

    Attributes:
        site: the site that it is from: its registrable domain, or the spider where it has no address.
        values: by name, with dots below another field, each once, and in order.
        is_named: whether the project has named them, so that they count between sites, too.
    """

    site: str
    values: Mapping[str, list[str]]
    is_named: bool = False

    def packed(self) -> str:
        """Return them as they are stored; the same for the same fields. Empty: nothing is told by them."""
        return json.dumps(self, separators=(",", ":")) if self.values else ""


NO_FIELDS = ItemFields("", {})


@lru_cache(maxsize=4_096)
def unpacked(packed: str) -> ItemFields:
    """Return fields of how they are stored."""
    return ItemFields(*json.loads(packed)) if packed else NO_FIELDS


def other_fields(ours: str, theirs: str) -> list[str]:
    """Return the names of the fields that make two items of one text two things; none: they may be copies.

    A field that one of them does not have tells nothing.

    >>> monday = ItemFields("city.example", {"start": ["2026-11-30"], "room": ["12"]}).packed()
    >>> other_fields(monday, monday.replace("2026-11-30", "2026-12-07"))
    ['start']
    >>> other_fields(monday, ItemFields("press.example", {"start": ["2026-12-07"]}).packed())
    []

    Args:
        ours: the fields of an item, packed.
        theirs: those of the other one; the order of the two makes no difference.
    """
    if ours == theirs or not (ours and theirs):
        return []
    one, other = unpacked(ours), unpacked(theirs)
    shared = (name for name in one.values if name in other.values)
    differing = [name for name in shared if _compared(one.values[name]) != _compared(other.values[name])]
    if one.site == other.site or (one.is_named and other.is_named):
        return differing
    return [name for name in differing if not _VARIANTS.isdisjoint(words_of(name))]


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


def share_fields(ours: str, theirs: str) -> bool:
    """Return whether two items have fields in common, and the same in all of them, on whatever sites."""
    one, other = unpacked(ours).values, unpacked(theirs).values
    shared = [(_compared(each), _compared(other[name])) for name, each in one.items() if name in other]
    return any(ours for ours, _ in shared) and all(ours == theirs for ours, theirs in shared)


@lru_cache(maxsize=4_096)
def words_of(name: str) -> frozenset[str]:
    """Return the words of a name: `currentPrice`, `offers.current_price`."""
    return frozenset(word.lower() for word in _WORD.findall(name))


def _compared(values: list[str]) -> list[str]:
    return [each.removeprefix(BETWEEN_KEYS) for each in values if not each.startswith(FOR_ITS_KEY)]


def _is_of_its_day(values: list[str] | None) -> bool:
    return values is None or all(each.startswith(BETWEEN_KEYS) for each in values)
