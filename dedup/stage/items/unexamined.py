"""Items that could not be examined, and what a project has to set so that they can be."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from itemadapter import ItemAdapter

from dedup.display import counted, readable
from dedup.stage.items.reading import class_of

logger = logging.getLogger(__name__)

WARN_AFTER = 20
"""So many items pass before the first warning: now and then one has no text."""

_FIELDS_NAMED = 20


class UnexaminedKind(NamedTuple):
    """Items of a class (empty: dicts) that were not examined for the same reason."""

    item_class: str
    reason: str


NO_TEXT = "no text"
NO_ITEM = "no item"
NOT_READ = "reading their fields raised"
_STAND_BEFORE = "The stage has to stand before the pipeline that makes them of items: DEDUP_AFTER, or ITEM_PIPELINES"


class UnexaminedItems:
    """Counts the items that could not be examined, and warns of them: after some, and at the end."""

    def __init__(self) -> None:
        self._counts: Counter[UnexaminedKind] = Counter()
        self._fields: dict[UnexaminedKind, dict[str, None]] = {}
        self._is_told = False

    def note(self, item: Any, reason: str = NO_TEXT) -> None:
        """Count an item; the twentieth brings the first warning."""
        kind = UnexaminedKind(class_of(item), reason)
        self._counts[kind] += 1
        if ItemAdapter.is_item(item):
            known = self._fields.setdefault(kind, {})
            known.update(dict.fromkeys(map(str, islice(ItemAdapter(item), _FIELDS_NAMED - len(known)))))
        if not self._is_told and self._counts.total() >= WARN_AFTER:
            self._is_told = True
            self._warn()

    def rows(self) -> Iterator[tuple[UnexaminedKind, tuple[str, ...], int]]:
        """Yield what was counted: the kind of items, their fields, how many there were."""
        for kind, count in self._counts.items():
            yield kind, tuple(self._fields.get(kind, ())), count

    def warn_at_the_end(self, examined: int) -> None:
        """Warn once more, if there is anything to warn of; so many items were examined."""
        if self._counts:
            total = examined + self._counts.total()
            self._warn(f" (of {counted(total, 'item')} in all)")

    def _warn(self, of_all: str = "") -> None:
        for kind, fields, count in self.rows():
            named = readable(", ".join(fields)) or "none"
            logger.warning(
                "%s%s%s %s not examined for duplicates: %s. %s",
                counted(count, "item"),
                f" of {kind.item_class}" if kind.item_class else "",
                of_all,
                "was" if count == 1 else "were",
                kind.reason,
                _STAND_BEFORE if kind.reason == NO_ITEM else f"Their fields: {named}. {_way_out(kind)}",
            )


def _way_out(kind: UnexaminedKind) -> str:
    if kind.reason.startswith(NOT_READ):
        return "A function that a DEDUP_*_FIELD names returns None where an item has no such value"
    asked = "Name the one with the text" if kind.reason == NO_TEXT else "If the text is in another one, name that"
    if not kind.item_class:
        return f"{asked}: DEDUP_TEXT_FIELD = 'NAME'"
    rule = f"DEDUP_TEXT_FIELD = {{'{kind.item_class}': 'NAME'}}"
    return f"{asked}: {rule}, or None in the place of 'NAME' if they have none"
