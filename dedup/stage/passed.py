"""Items that the stage has passed on: an original that nobody stores must not make others drop."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar
from typing import Generic, TypeVar

from scrapy.statscollectors import StatsCollector

from dedup.console import counted, logged
from dedup.errors import LockedError, OutageError
from dedup.rules.documents import Decision
from dedup.store.writing import Orphan

logger = logging.getLogger(__name__)

T = TypeVar("T")
R = TypeVar("R")

PATIENCE = 10.0
"""Seconds that a copy waits at most until its original is through all pipelines: one may wait for items itself."""

_ORPHANS_NAMED = 5


# Scrapy has an item processed, and sends its signals, in one context, whatever objects pipelines put in its place.
_passed: ContextVar[_PassedItem | None] = ContextVar("_passed", default=None)

BATCH_PATIENCE = 0.1
"""Seconds: four or five pages of a crawl at full speed share a transaction; nobody notices the delay."""


class _PassedItem:
    """An item that was passed on and is not through all pipelines."""

    def __init__(self, decision: Decision) -> None:
        self.decision = decision
        self.is_reported = False
        self.orphans: frozenset[int] = frozenset()
        self.is_through = asyncio.Event()


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
        self._under_way: dict[str, _PassedItem] = {}
        self._orphans: dict[int, Orphan] = {}

    def note(self, decision: Decision) -> None:
        """Note, where an item is processed, that it is passed on."""
        passed = _PassedItem(decision)
        _passed.set(passed)
        if decision.may_be_unstored:
            self._under_way[decision.key] = passed
        self._orphans.pop(decision.document_id, None)

    def store(self) -> None:
        """Note that the item of this context is through all pipelines."""
        if passed := self._take_current():
            self._end(passed)

    async def refuse(self) -> None:
        """Forget the item of this context, if it was passed on: a later pipeline has dropped it, or failed on it.

        Raises:
            DatabaseError: the database failed, and it is not forgotten.
        """
        passed = self._take_current()
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
        if passed := self._under_way.get(decision.original or ""):
            with suppress(TimeoutError):
                async with asyncio.timeout_at(deadline):
                    await passed.is_through.wait()
            is_orphan = number in passed.orphans
        # The original may also have been forgotten while the decision was on its way here.
        return self._orphans.pop(number, None) is not None or is_orphan

    async def close(self) -> list[Orphan]:
        """Return what was dropped, has lost its original and was not decided since; name it in the log."""
        await self._refusing.close()
        orphans = list(self._orphans.values())
        if orphans:
            self._stats.set_value("dedup/dropped_with_refused", len(orphans))
            logger.warning(
                "dropped as copies of what a later pipeline has refused, and decided anew by the next crawl: %s: %s%s",
                counted(len(orphans), "item"),
                ", ".join(logged(each.key) for each in orphans[:_ORPHANS_NAMED]),
                f" and {len(orphans) - _ORPHANS_NAMED:,} more" if len(orphans) > _ORPHANS_NAMED else "",
            )
        return orphans

    def _take_current(self) -> _PassedItem | None:
        passed = _passed.get()
        if passed is None or passed.is_reported:
            return None
        passed.is_reported = True
        return passed

    def _end(self, passed: _PassedItem) -> None:
        passed.is_through.set()
        if self._under_way.get(passed.decision.key) is passed:
            del self._under_way[passed.decision.key]

    def _refuse_all(self, document_ids: list[int]) -> list[frozenset[int]]:
        orphans = {each.document_id: each for each in self._forget(document_ids)}
        self._orphans.update(orphans)
        return [frozenset(orphans)] * len(document_ids)


class MicroBatcher(Generic[T, R]):
    """Hands what was submitted to a blocking function, in order and in batches.

    While one batch is being worked on, the next one gathers.

    Args:
        handle: takes a list of submitted values and returns a result for each; it runs in a
            thread of its own, never twice at once.
        limit: how many values a batch has at most.
        patience: seconds that the first value of a batch waits for others, so that they share the
            cost of a transaction.
        is_all: says of a number of waiting values whether others can hardly follow them, so that they need not wait.
    """

    def __init__(
        self,
        handle: Callable[[list[T]], Sequence[R]],
        limit: int,
        patience: float = 0.0,
        is_all: Callable[[int], bool] | None = None,
    ) -> None:
        self._handle = handle
        self._is_all = is_all
        self._limit = limit
        self._patience = patience
        self._waiting: deque[tuple[T, asyncio.Future[R]]] = deque()
        self._thread = ThreadPoolExecutor(1)
        self._worker: asyncio.Task[None] | None = None

    async def submit(self, value: T) -> R:
        """Return the function's result for a value; raise what it raised for the batch that the value was in.

        Raises:
            DatabaseError: also where an earlier batch waited in vain for the database while this value was waiting.
        """
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.append((value, future))
        if self._worker is None:
            self._worker = asyncio.create_task(self._work())
        return await future

    async def close(self) -> None:
        """Wait for what was submitted and end the thread."""
        if self._worker is not None:
            await self._worker
        self._thread.shutdown()

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            if len(self._waiting) < self._limit and not (self._is_all and self._is_all(len(self._waiting))):
                await asyncio.sleep(self._patience)
            batch = [self._waiting.popleft() for _ in range(min(self._limit, len(self._waiting)))]
            try:
                results = await loop.run_in_executor(self._thread, self._handle, [value for value, _ in batch])
            except Exception as error:  # handed on to all that wait for this batch
                if isinstance(error, (LockedError, OutageError)):
                    # Each batch would wait for the same, and for as long, before the crawl could end.
                    batch += self._waiting
                    self._waiting.clear()
                for _, future in batch:
                    if not future.done():
                        future.set_exception(error)
            else:
                for (_, future), result in zip(batch, results, strict=True):
                    if not future.done():
                        future.set_result(result)
        self._worker = None
