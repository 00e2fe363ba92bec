from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from dedup.errors import LockedError
from dedup.stage.passed import MicroBatcher

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


def run(test: Callable[[MicroBatcher[int, int], Handler], Awaitable[None]], limit: int = 10) -> Handler:
    handler = Handler()

    async def main() -> None:
        batcher = MicroBatcher(handler, limit)
        async with asyncio.timeout(SECONDS):
            await test(batcher, handler)
            await batcher.close()

    asyncio.run(main())
    return handler


async def hold_up(handler: Handler, batcher: MicroBatcher[int, int], value: int) -> asyncio.Task[int]:
    """Submit a value and return when the handler has begun with it and is held up."""
    handler.may_go_on.clear()
    task = asyncio.create_task(batcher.submit(value))
    assert await asyncio.to_thread(handler.begun.acquire, timeout=SECONDS)
    return task


def test_each_value_gets_its_own_result_and_all_are_handled_in_the_order_submitted() -> None:
    async def test(batcher: MicroBatcher[int, int], handler: Handler) -> None:
        results = await asyncio.gather(*(batcher.submit(i) for i in range(100)))
        assert results == [2 * i for i in range(100)]

    handler = run(test)
    assert [value for batch in handler.batches for value in batch] == list(range(100))


def test_a_single_value_is_handled_at_once() -> None:
    async def test(batcher: MicroBatcher[int, int], handler: Handler) -> None:
        for i in range(3):
            assert await batcher.submit(i) == 2 * i

    assert run(test).batches == [[0], [1], [2]]


def test_no_batch_is_larger_than_the_limit() -> None:
    async def test(batcher: MicroBatcher[int, int], handler: Handler) -> None:
        await asyncio.gather(*(batcher.submit(i) for i in range(25)))

    handler = run(test, limit=7)
    assert [len(batch) for batch in handler.batches] == [7, 7, 7, 4]


def test_what_comes_while_a_batch_is_worked_on_makes_the_next_one() -> None:
    async def test(batcher: MicroBatcher[int, int], handler: Handler) -> None:
        first = await hold_up(handler, batcher, 1)
        others = [asyncio.create_task(batcher.submit(i)) for i in (2, 3, 4)]
        await asyncio.sleep(0)
        handler.may_go_on.set()
        assert await asyncio.gather(first, *others) == [2, 4, 6, 8]

    assert run(test).batches == [[1], [2, 3, 4]]


def test_the_event_loop_is_not_blocked_by_a_batch() -> None:
    async def test(batcher: MicroBatcher[int, int], handler: Handler) -> None:
        task = await hold_up(handler, batcher, 1)
        for _ in range(10):
            await asyncio.sleep(0)
        assert not task.done()
        handler.may_go_on.set()
        await task

    handler = run(test)
    assert threading.get_ident() not in handler.threads


def test_all_batches_run_in_one_thread() -> None:
    async def test(batcher: MicroBatcher[int, int], handler: Handler) -> None:
        await asyncio.gather(*(batcher.submit(i) for i in range(50)))
        await batcher.submit(1)

    assert len(run(test, limit=5).threads) == 1


def test_an_exception_reaches_everybody_in_the_batch_and_nobody_else() -> None:
    async def test(batcher: MicroBatcher[int, int], handler: Handler) -> None:
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

    assert run(test, limit=2).batches == [[1], [2, -1], [3], [4]]


def test_for_a_lock_that_stays_all_that_wait_have_waited() -> None:
    async def test(batcher: MicroBatcher[int, int], handler: Handler) -> None:
        first = await hold_up(handler, batcher, -2)
        waiting = [asyncio.create_task(batcher.submit(i)) for i in (2, 3, 4)]
        await asyncio.sleep(0)
        handler.may_go_on.set()
        results = await asyncio.gather(first, *waiting, return_exceptions=True)
        assert all(isinstance(each, LockedError) for each in results)
        assert await batcher.submit(5) == 10

    assert run(test, limit=2).batches == [[-2], [5]]


def test_whoever_stops_waiting_disturbs_nobody() -> None:
    async def test(batcher: MicroBatcher[int, int], handler: Handler) -> None:
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

    run(test)


def test_closing_waits_for_what_was_submitted() -> None:
    async def test(batcher: MicroBatcher[int, int], handler: Handler) -> None:
        first = await hold_up(handler, batcher, 1)
        others = [asyncio.create_task(batcher.submit(i)) for i in range(2, 30)]
        await asyncio.sleep(0)
        closing = asyncio.create_task(batcher.close())
        await asyncio.sleep(0)
        assert not closing.done()
        handler.may_go_on.set()
        await closing
        assert [task.result() for task in (first, *others)] == [2 * i for i in range(1, 30)]

    run(test)


def test_closing_what_was_never_used_ends_at_once() -> None:
    async def test(batcher: MicroBatcher[int, int], handler: Handler) -> None:
        await batcher.close()

    run(test)


def test_closing_ends_the_thread() -> None:
    before = threading.active_count()

    async def test(batcher: MicroBatcher[int, int], handler: Handler) -> None:
        await batcher.submit(1)

    run(test)
    assert threading.active_count() == before


def test_after_closing_a_value_is_refused_and_does_not_wait_for_ever() -> None:
    async def test(batcher: MicroBatcher[int, int], handler: Handler) -> None:
        await batcher.submit(1)
        await batcher.close()
        with pytest.raises(RuntimeError):
            await batcher.submit(2)

    run(test)


@pytest.mark.parametrize("results", [[], [1], [1, 2, 3]], ids=["none", "too few", "too many"])
def test_a_wrong_number_of_results_is_an_error_and_nobody_waits_for_ever(results: list[int]) -> None:
    async def main() -> list[Any]:
        batcher: MicroBatcher[int, int] = MicroBatcher(lambda values: results, limit=10)
        submitted = [asyncio.create_task(batcher.submit(i)) for i in range(2)]
        done, waiting = await asyncio.wait(submitted, timeout=SECONDS)
        for task in waiting:
            task.cancel()
        assert not waiting, "waits for ever"
        return [task.exception() for task in done]

    assert any(isinstance(error, ValueError) for error in asyncio.run(main()))


def test_nobody_waits_for_others_that_cannot_come() -> None:
    async def main() -> list[int]:
        batcher = MicroBatcher(Handler(), 10, patience=1_000, is_all=lambda waiting: waiting == 2)
        async with asyncio.timeout(SECONDS):
            results = await asyncio.gather(batcher.submit(1), batcher.submit(2))
            await batcher.close()
        return results

    assert asyncio.run(main()) == [2, 4]
