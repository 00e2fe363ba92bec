"""Texts that many items share: made up where a later pipeline fills in the real one, or no more than a few words."""

from __future__ import annotations

import logging
import sys
from collections import Counter
from collections.abc import Sequence

from dedup.display import counted, logged
from dedup.rules.decision import Decision, Verdict
from dedup.rules.rule import Rule

logger = logging.getLogger(__name__)

_FEWEST_ITEMS = 20
_MOST_COUNTED = 1_000


class EqualTexts:
    """Says up to which length equal texts of a class of items are similar, and no copies.

    That is `min_tokens`, or any length once more than half of the items of a class, of twenty at least, had one and the
    same text: it is no text then, but what stands there until a later pipeline fills it in, or a wall. The log says so
    once a class, and names the pipelines that may fill it in.

    Args:
        min_tokens: texts with fewer tokens are similar in any case; 0: equal texts are always copies.
        behind: the names of the pipelines behind the stage.
    """

    def __init__(self, min_tokens: int, behind: Sequence[str]) -> None:
        self._min_tokens = min_tokens
        self._behind = behind
        self._items: Counter[str] = Counter()
        self._equal: dict[str, Counter[str]] = {}
        self._dropped: dict[str, Counter[str]] = {}
        self._told: set[str] = set()

    def limit(self, item_class: str) -> int:
        """Return the number of tokens below which equal texts of a class are similar."""
        return sys.maxsize if item_class in self._told else self._min_tokens

    def note(self, item_class: str, decision: Decision) -> None:
        """Count an item that was decided."""
        if not self._min_tokens or item_class in self._told:
            return
        self._items[item_class] += 1
        if decision.original in {None, decision.key} or not (
            decision.verdict is Verdict.EXACT_DUPLICATE or decision.rule is Rule.SAME_SHORT_TEXT
        ):
            return
        equal = self._equal.setdefault(item_class, Counter())
        equal[decision.original] += 1
        dropped = self._dropped.setdefault(item_class, Counter())
        dropped[decision.original] += decision.is_dropped
        if len(equal) > _MOST_COUNTED:
            self._equal[item_class] = Counter(dict(equal.most_common(_MOST_COUNTED // 2)))
        if 2 * equal[decision.original] > self._items[item_class] >= _FEWEST_ITEMS:
            self._tell(item_class, decision.original, equal[decision.original], dropped[decision.original])

    def _tell(self, item_class: str, original: str, equal: int, dropped: int) -> None:
        self._told.add(item_class)
        behind = f" ({', '.join(self._behind)}): DEDUP_AFTER = [{self._behind[0]!r}]" if self._behind else ""
        logger.warning(
            "%d of %s%s have the text of %s: %d were dropped, and no more of them are;"
            " let the stage run behind the pipeline that makes the text%s",
            equal,
            counted(self._items[item_class], "item"),
            f" of {item_class}" if item_class else "",
            logged(original),
            dropped,
            behind,
        )
