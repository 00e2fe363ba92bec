"""What becomes of the items that the stage has passed: an original that nobody stores must not make others drop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar

from scrapy.statscollectors import StatsCollector

from dedup.display import counted, logged
from dedup.ledger.refused import Orphan
from dedup.rules.decision import Decision
from dedup.stage.batching import MicroBatcher

logger = logging.getLogger(__name__)

PATIENCE = 10.0
"""Seconds that a copy waits at most until its original is through all pipelines: one may wait for items itself."""

_ORPHANS_NAMED = 5


class _Passed:
    """An item that was passed on and is not through all pipelines."""

    def __init__(self, decision: Decision) -> None:
        self.decision = decision
        self.is_heard_of = False
        self.orphans: frozenset[int] = frozenset()
        self.is_through = asyncio.Event()


# Scrapy has an item processed, and sends its signals, in one context, whatever objects pipelines put in its place.
_passed: ContextVar[_Passed | None] = ContextVar("_passed", default=None)


class PassedItems:
    """The items of a crawl that were passed on, until it is known what became of them.

    Args:
        refuse: forgets documents in a thread, and returns what was dropped because of them.
        stats: those of the crawl.
        batch_size: how many are forgotten at once, at most.

    - An item that a later pipeline drops or fails on is forgotten, unless it was passed on before, by a run that has
      ended: then it is stored already, and a pipeline that drops what it has stored may have dropped it.
    - A copy waits, `PATIENCE` seconds at most, until its original is through, and is decided anew if that is forgotten.
      What was dropped all the same is named at the end, and passes in the next crawl.
    - Stats: `dedup/refused`, `dedup/dropped_with_refused`.
    """

    def __init__(self, refuse: Callable[[list[int]], list[Orphan]], stats: StatsCollector, batch_size: int) -> None:
        self._forget = refuse
        self._stats = stats
        self._refusing: MicroBatcher[int, frozenset[int]] = MicroBatcher(self._refuse_all, batch_size)
        self._under_way: dict[str, _Passed] = {}
        self._orphans: dict[int, Orphan] = {}

    def note(self, decision: Decision) -> None:
        """Note, where an item is processed, that it is passed on."""
        passed = _Passed(decision)
        _passed.set(passed)
        if decision.may_be_unstored:
            self._under_way[decision.key] = passed
        self._orphans.pop(decision.document_id, None)

    def store(self) -> None:
        """Note that the item of this context is through all pipelines."""
        if passed := self._take():
            self._end(passed)

    async def refuse(self) -> None:
        """Forget the item of this context, if it was passed on: a later pipeline has dropped it, or failed on it.

        Raises:
            DatabaseError: the database failed, and it is not forgotten.
        """
        passed = self._take()
        if passed is None:
            return
        try:
            if passed.decision.may_be_unstored:
                passed.orphans = await self._refusing.submit(passed.decision.document_id)
                self._stats.inc_value("dedup/refused")
        finally:
            self._end(passed)

    async def loses_original(self, decision: Decision, deadline: float) -> bool:
        """Wait for the original of a document that is to be dropped, if it is under way; say whether it is forgotten.

        Then the document is undecided.

        Args:
            decision: the decision on it.
            deadline: by the clock of the event loop, when it waits no longer.
        """
        number, is_orphan = decision.document_id, False
        for key in {decision.original, decision.outcome.keeper}:
            if passed := self._under_way.get(key or ""):
                with suppress(TimeoutError):
                    async with asyncio.timeout_at(deadline):
                        await passed.is_through.wait()
                is_orphan |= number in passed.orphans
        # The original may also have been forgotten while the decision was on its way here.
        return self._orphans.pop(number, None) is not None or is_orphan

    async def close(self) -> list[Orphan]:
        """Return what was dropped, has lost its original and was not decided since; name it in the log."""
        await self._refusing.close()
        orphans = list(self._orphans.values())
        if not orphans:
            return []
        self._stats.set_value("dedup/dropped_with_refused", len(orphans))
        named = ", ".join(logged(each.key) for each in orphans[:_ORPHANS_NAMED])
        logger.warning(
            "dropped as copies of what a later pipeline has refused, and decided anew by the next crawl: %s: %s%s",
            counted(len(orphans), "item"),
            named,
            f" and {len(orphans) - _ORPHANS_NAMED:,} more" if len(orphans) > _ORPHANS_NAMED else "",
        )
        return orphans

    def _take(self) -> _Passed | None:
        passed = _passed.get()
        if passed is None or passed.is_heard_of:
            return None
        passed.is_heard_of = True
        return passed

    def _end(self, passed: _Passed) -> None:
        passed.is_through.set()
        if self._under_way.get(passed.decision.key) is passed:
            del self._under_way[passed.decision.key]

    def _refuse_all(self, document_ids: list[int]) -> list[frozenset[int]]:
        orphans = {each.document_id: each for each in self._forget(document_ids)}
        self._orphans.update(orphans)
        return [frozenset(orphans)] * len(document_ids)
