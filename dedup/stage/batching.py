"""Batches: what waits in order for a blocking function is handed to it together, in a thread of its own."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice, takewhile
from typing import Any, Generic, TypeVar, cast

from dedup.errors import LockedError, OutageError

T = TypeVar("T")
R = TypeVar("R")

BATCH_PATIENCE = 0.1
"""Seconds: four or five pages of a crawl at full speed share a transaction; nobody notices the delay."""


class Place(Generic[T, R]):
    """A place in the queue of a `MicroBatcher`: what is behind it waits until it has a value, or is given up."""

    def __init__(self) -> None:
        self.value: T | None = None
        self.is_settled = asyncio.Event()
        self.result: asyncio.Future[R] = asyncio.get_running_loop().create_future()

    def give_up(self) -> None:
        """Let others pass, if no value has come."""
        self.is_settled.set()


class MicroBatcher(Generic[T, R]):
    """Hands what was submitted to a blocking function, in order and in batches.

    While one batch is being worked on, the next one gathers.

    Args:
        handle: takes a list of submitted values and returns a result for each; it runs in a
            thread of its own, never twice at once.
        limit: how many values a batch has at most.
        patience: seconds that the first value of a batch waits for others, so that they share the
            cost of a transaction.
        is_all: whether, of a number of waiting values, others can hardly follow them, so that they need not wait.
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
        self._queue: deque[Place[T, R]] = deque()
        self._thread = ThreadPoolExecutor(1)
        self._worker: asyncio.Task[None] | None = None

    def reserve(self) -> Place[T, R]:
        """Take a place in the queue for a value that is not ready; who takes one submits a value, or gives it up."""
        while self._queue and self._worker is None and self._queue[0].is_settled.is_set():
            self._queue.popleft()
        place: Place[T, R] = Place()
        self._queue.append(place)
        return place

    async def submit(self, value: T, place: Place[T, R] | None = None) -> R:
        """Return the function's result for a value; raise what it raised for the batch that the value was in.

        Args:
            value: the value.
            place: where it stands in the queue; None, or one that was given up: at its end.

        Raises:
            DatabaseError: also where an earlier batch waited in vain for the database while this value was waiting.
        """
        if place is None or place.is_settled.is_set():
            place = self.reserve()
        place.value = value
        place.is_settled.set()
        if self._worker is None:
            self._worker = asyncio.create_task(self._work())
        return await place.result

    async def close(self) -> None:
        """Wait for what was submitted and end the thread; a value that has not come is not waited for."""
        for place in self._queue:
            place.give_up()
        if self._worker is not None:
            await self._worker
        self._thread.shutdown()

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while await self._is_any_ready():
            ready = sum(1 for _ in takewhile(_is_ready, self._queue))
            if ready < self._limit and not (self._is_all and self._is_all(ready)):
                await asyncio.sleep(self._patience)
            batch = list(islice(takewhile(_is_ready, self._queue), self._limit))
            for _ in batch:
                self._queue.popleft()
            try:
                values = [cast("T", place.value) for place in batch]
                results = await loop.run_in_executor(self._thread, self._handle, values)
            except Exception as error:  # handed on to all that wait for this batch
                if isinstance(error, (LockedError, OutageError)):
                    # Each batch would wait for the same, and for as long, before the crawl could end.
                    batch += filter(_is_ready, self._queue)
                    self._queue = deque(place for place in self._queue if not _is_ready(place))
                for place in batch:
                    if not place.result.done():
                        place.result.set_exception(error)
            else:
                for place, result in zip(batch, results, strict=True):
                    if not place.result.done():
                        place.result.set_result(result)
        self._worker = None

    async def _is_any_ready(self) -> bool:
        """Wait for the first of the queue; return whether there is any with a value."""
        while self._queue:
            await self._queue[0].is_settled.wait()
            if _is_ready(self._queue[0]):
                return True
            self._queue.popleft()
        return False


def _is_ready(place: Place[Any, Any]) -> bool:
    return place.value is not None
