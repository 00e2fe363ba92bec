from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest

from dedup.errors import LockedError
from dedup.stage.batching import MicroBatcher

SECONDS = 10


class Handler:
    """Doubles numbers, and remembers the batches; it can be held up before each one."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.begun = threading.Semaphore(0)
        self.threads: set[int] = set()
        self._running = threading.Lock()

    def __call__(self, values: list[int]) -> list[int]:
        assert self._running.acquire(blocking=False), "called twice at once"
        try:
            self.batches.append(values)
            self.threads.add(threading.get_ident())
            self.begun.release()
            assert self.may_go_on.wait(SECONDS)
            if -1 in values:
                raise ValueError(values)
            if -2 in values:
                raise LockedError("locked")
            return [2 * value for value in values]
        finally:
            self._running.release()


Test = Callable[[MicroBatcher[int, int], Handler], Awaitable[None]]


def batching(limit: int = 10) -> Callable[[Test], Callable[[], None]]:
    """Have a coroutine function tested with a batcher and its handler."""

    def decorate(test: Test) -> Callable[[], None]:
        async def main() -> None:
            handler = Handler()
            batcher = MicroBatcher(handler, limit)
            async with asyncio.timeout(SECONDS):
                await test(batcher, handler)
                await batcher.close()

        return lambda: asyncio.run(main())

    return decorate


async def hold_up(handler: Handler, batcher: MicroBatcher[int, int], value: int) -> asyncio.Task[int]:
    """Submit a value and return when the handler has begun with it and is held up."""
    handler.may_go_on.clear()
    task = asyncio.create_task(batcher.submit(value))
    assert await asyncio.to_thread(handler.begun.acquire, timeout=SECONDS)
    return task


@batching()
async def test_each_value_gets_its_own_result_and_all_are_handled_in_the_order_submitted(
    batcher: MicroBatcher[int, int], handler: Handler
) -> None:
    results = await asyncio.gather(*(batcher.submit(i) for i in range(100)))
    assert results == [2 * i for i in range(100)]
    assert [value for batch in handler.batches for value in batch] == list(range(100))


@batching()
async def test_what_comes_while_a_batch_is_worked_on_makes_the_next_one(
    batcher: MicroBatcher[int, int], handler: Handler
) -> None:
    first = await hold_up(handler, batcher, 1)
    others = [asyncio.create_task(batcher.submit(i)) for i in (2, 3, 4)]
    await asyncio.sleep(0)
    handler.may_go_on.set()
    assert await asyncio.gather(first, *others) == [2, 4, 6, 8]
    assert handler.batches == [[1], [2, 3, 4]]


@batching()
async def test_the_event_loop_is_not_blocked_by_a_batch(batcher: MicroBatcher[int, int], handler: Handler) -> None:
    task = await hold_up(handler, batcher, 1)
    for _ in range(10):
        await asyncio.sleep(0)
    assert not task.done()
    handler.may_go_on.set()
    await task
    assert threading.get_ident() not in handler.threads


@batching(limit=5)
async def test_all_batches_run_in_one_thread(batcher: MicroBatcher[int, int], handler: Handler) -> None:
    await asyncio.gather(*(batcher.submit(i) for i in range(50)))
    await batcher.submit(1)
    assert len(handler.threads) == 1


@batching(limit=2)
async def test_an_exception_reaches_everybody_in_the_batch_and_nobody_else(
    batcher: MicroBatcher[int, int], handler: Handler
) -> None:
    first = await hold_up(handler, batcher, 1)
    failing = [asyncio.create_task(batcher.submit(i)) for i in (2, -1)]
    await asyncio.sleep(0)
    later = asyncio.create_task(batcher.submit(3))
    handler.may_go_on.set()
    results = await asyncio.gather(first, *failing, later, return_exceptions=True)
    assert results[0] == 2
    assert all(isinstance(each, ValueError) for each in results[1:3])
    assert results[3] == 6
    assert await batcher.submit(4) == 8
    assert handler.batches == [[1], [2, -1], [3], [4]]


@batching(limit=2)
async def test_for_a_lock_that_stays_all_that_wait_have_waited(
    batcher: MicroBatcher[int, int], handler: Handler
) -> None:
    first = await hold_up(handler, batcher, -2)
    waiting = [asyncio.create_task(batcher.submit(i)) for i in (2, 3, 4)]
    await asyncio.sleep(0)
    handler.may_go_on.set()
    results = await asyncio.gather(first, *waiting, return_exceptions=True)
    assert all(isinstance(each, LockedError) for each in results)
    assert await batcher.submit(5) == 10
    assert handler.batches == [[-2], [5]]


@batching()
async def test_whoever_stops_waiting_disturbs_nobody(batcher: MicroBatcher[int, int], handler: Handler) -> None:
    first = await hold_up(handler, batcher, 1)
    waiting = asyncio.create_task(batcher.submit(2))
    other = asyncio.create_task(batcher.submit(3))
    await asyncio.sleep(0)
    first.cancel()
    waiting.cancel()
    await asyncio.sleep(0)
    handler.may_go_on.set()
    assert await other == 6
    assert await batcher.submit(4) == 8
    assert first.cancelled()
    assert waiting.cancelled()


@batching()
async def test_closing_waits_for_what_was_submitted(batcher: MicroBatcher[int, int], handler: Handler) -> None:
    first = await hold_up(handler, batcher, 1)
    others = [asyncio.create_task(batcher.submit(i)) for i in range(2, 30)]
    await asyncio.sleep(0)
    closing = asyncio.create_task(batcher.close())
    await asyncio.sleep(0)
    assert not closing.done()
    handler.may_go_on.set()
    await closing
    assert [task.result() for task in (first, *others)] == [2 * i for i in range(1, 30)]


@batching()
async def test_closing_ends_the_thread_and_a_value_is_refused_then(
    batcher: MicroBatcher[int, int], handler: Handler
) -> None:
    before = threading.active_count()
    await batcher.submit(1)
    assert threading.active_count() > before
    await batcher.close()
    assert threading.active_count() == before
    with pytest.raises(RuntimeError):
        await batcher.submit(2)


def test_nobody_waits_for_others_that_cannot_come() -> None:
    async def main() -> list[int]:
        batcher = MicroBatcher(Handler(), 10, patience=1_000, is_all=lambda waiting: waiting == 2)
        async with asyncio.timeout(SECONDS):
            results = await asyncio.gather(batcher.submit(1), batcher.submit(2))
            await batcher.close()
        return results

    assert asyncio.run(main()) == [2, 4]


@batching()
async def test_a_value_that_is_ready_later_keeps_its_place(batcher: MicroBatcher[int, int], handler: Handler) -> None:
    first, second, third = (batcher.reserve() for _ in range(3))
    last = asyncio.create_task(batcher.submit(3, third))
    await asyncio.sleep(0.05)
    assert handler.batches == []
    second.give_up()
    assert [await batcher.submit(1, first), await last] == [2, 6]
    assert [value for batch in handler.batches for value in batch] == [1, 3]


@batching()
async def test_places_that_are_given_up_are_forgotten(batcher: MicroBatcher[int, int], handler: Handler) -> None:
    for _ in range(100):
        batcher.reserve().give_up()
    assert await batcher.submit(1) == 2
    assert not batcher._queue


@batching()
async def test_closing_waits_for_no_value_that_does_not_come(batcher: MicroBatcher[int, int], handler: Handler) -> None:
    place = batcher.reserve()
    behind = asyncio.create_task(batcher.submit(1))
    await asyncio.sleep(0.05)
    async with asyncio.timeout(SECONDS):
        await batcher.close()
        assert await behind == 2
        with pytest.raises(RuntimeError):
            await batcher.submit(3, place)
