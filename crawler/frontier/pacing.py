"""When the frontier's memory and its table exchange what they have: soon, or at once where the crawl waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

PATIENCE = 0.1
"""Seconds that changes wait for others, so that they share the cost of a transaction."""

_BREATH = 0.01  # for the links of one page, which come one by one


class Pacer:
    """Calls a coroutine function again and again, never twice at once.

    Args:
        exchange: what is called. It returns for how many seconds it need not be called again
            unless it is asked for; None ends it all.
    """

    def __init__(self, exchange: Callable[[], Awaitable[float | None]]) -> None:
        self._exchange = exchange
        self._asked = asyncio.Event()
        self._urgent = asyncio.Event()
        self._is_closing = False
        self._task = asyncio.create_task(self._run())

    def ask(self, *, urgent: bool) -> None:
        """Let the function be called soon.

        Args:
            urgent: whether it shall not wait for more to come.
        """
        self._asked.set()
        if urgent:
            self._urgent.set()

    async def close(self) -> None:
        """Wait for the call that is under way; no other follows."""
        self._is_closing = True
        self.ask(urgent=True)
        await self._task

    async def _run(self) -> None:
        seconds: float | None = 0.0
        while seconds is not None:
            await _wait(self._asked, seconds)
            if not self._urgent.is_set():
                await _wait(self._urgent, PATIENCE)
            if not self._is_closing:
                await asyncio.sleep(_BREATH)
            if self._is_closing:
                return
            self._asked.clear()
            self._urgent.clear()
            seconds = await self._exchange()


async def _wait(event: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
