"""The exceptions by which duplicates are dropped, one a verdict, and what the log says of them."""

from __future__ import annotations

import logging

from scrapy.exceptions import DropItem

from dedup.display import counted, logged
from dedup.rules.decision import Decision, Kept, Verdict
from dedup.rules.scope import owner_of

logger = logging.getLogger(__name__)

_WHY_KEPT = {
    Kept.KEEPER: "the keeper of its cluster",
    Kept.BRAKE: "over a limit",
    Kept.JOINED: "passed on before its cluster joined another one",
    Kept.SAYS_MORE: "it says more",
    Kept.MARKED: "nothing is dropped (DEDUP_MARK_ONLY)",
}


class DroppedByDedup(DropItem):
    """Base of the exceptions that drop an item here; what is worth a line of the log has it already.

    Attributes:
        key: the key of the dropped item; empty where it is not decided.
        decision: the verdict and its reason; None where there is none.
    """

    def __init__(self, message: str, key: str, decision: Decision | None = None) -> None:
        super().__init__(message, log_level="DEBUG")
        self.key = key
        self.decision = decision

    @property
    def speaks_for_links(self) -> bool:
        """Whether the links of the dropped page are those of its original: of another host they may lead elsewhere."""
        original = self.decision.original if self.decision is not None else None
        return original is None or owner_of(original) == owner_of(self.key)


class ExactDuplicate(DroppedByDedup):
    """The item's text is equal to that of an original."""


class NearDuplicate(DroppedByDedup):
    """The item's text is nearly that of an original."""


class Unchanged(DroppedByDedup):
    """The item's URL had the same text before (only with DEDUP_DROP_UNCHANGED)."""


class Replaced(DroppedByDedup):
    """A better copy has taken the place of the item, which is no duplicate itself (only with DEDUP_SWAP_KEEPER)."""


class Undecided(DroppedByDedup):
    """No verdict was written: the database failed, or a rule for keepers did; the next crawl sees the item again."""


def dropped_by(decision: Decision, *, drop_unchanged: bool) -> DroppedByDedup | None:
    """Return the exception that drops an item, if it is to be dropped.

    Duplicates, and what resembles another item and is kept, have a line in the log.
    """
    key, outcome = decision.key, decision.outcome
    shown = logged(key)
    if outcome.is_replaced:
        logger.info("dropped %s: a better copy has taken its place", shown)
        return Replaced("a better copy has taken its place", key, decision)
    if decision.verdict is Verdict.UNCHANGED:
        is_dropped = drop_unchanged and not decision.may_be_unstored
        return Unchanged("unchanged since it was last seen", key, decision) if is_dropped else None
    if decision.is_similar:
        original = logged(str(decision.original))
        logger.debug("kept %s: similar to %s%s: %s", shown, original, _how_close(decision), decision.rule)
    if not decision.verdict.is_duplicate:
        return None
    original = "an earlier item of this key" if decision.original == key else logged(str(decision.original))
    reason = f"{decision.verdict} of {original}"
    if decision.verdict is Verdict.NEAR_DUPLICATE:
        reason += _how_close(decision)
    if outcome.kept:
        more = f" (+{counted(decision.lost.words, 'word')})" if outcome.kept is Kept.SAYS_MORE else ""
        logger.info("kept %s: %s, but %s%s", shown, reason, _WHY_KEPT[outcome.kept], more)
        return None
    logger.info("dropped %s: %s", shown, reason)
    kind = ExactDuplicate if decision.verdict is Verdict.EXACT_DUPLICATE else NearDuplicate
    return kind(reason, key, decision)


def _how_close(decision: Decision) -> str:
    return f" (distance {decision.distance}, similarity {decision.similarity:.2f})"
