"""Micro-batches: database work in one thread, whatever is waiting in one transaction."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from dedup.errors import LockedError

T = TypeVar("T")
R = TypeVar("R")

BATCH_PATIENCE = 0.1
"""Seconds: four or five pages of a crawl at full speed share a transaction; nobody notices the delay."""


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
            LockedError: also where an earlier batch waited in vain for the database while this value was waiting.
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
                if len(results) != len(batch):
                    raise ValueError(f"{len(results)} results for {len(batch)} values")  # noqa: TRY301
            except Exception as error:  # handed on to everybody who waits for this batch
                if isinstance(error, LockedError):
                    # Each batch would wait for the same lock, and for as long, before the crawl could end.
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
