"""Short fields of items: two items of one text are two things where a date, a place, a number or an author differs.

The copies of one site come from one record there, so that their fields agree. Between sites they are often written
anew, and only what makes a variant of a thing tells it from others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

VARIANT_FIELDS = ("price", "sale_price", "variant", "color", "colour")
"""What tells the variants of a thing from each other on whatever sites."""


class ItemFields(NamedTuple):
    """The short fields of an item.

    Attributes:
        site: the site that it is from: host and port, or the spider where it has no address.
        values: by name, with dots below another field, each once, and in order.
        is_named: whether the project has named them, so that they count between sites, too.
    """

    site: str
    values: Mapping[str, list[str]]
    is_named: bool = False

    def packed(self) -> str:
        """Return them as they are stored; the same for the same fields. Empty: nothing is told by them."""
        return json.dumps(self, ensure_ascii=False, separators=(",", ":")) if self.values else ""


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
    differing = [name for name in one.values if name in other.values and one.values[name] != other.values[name]]
    if one.site == other.site or (one.is_named and other.is_named):
        return differing
    return [name for name in differing if name.rpartition(".")[2].lower() in VARIANT_FIELDS]
