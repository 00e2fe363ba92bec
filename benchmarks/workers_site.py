"""Hosts that are crawled by several workers: slow ones, and pairs whose pages are answered at the same moment."""

from __future__ import annotations

import asyncio
import multiprocessing
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import SynchronizedArray
from typing import NamedTuple

from benchmarks.site import answer_requests, in_process, reply

_LONGEST_WAIT = 5.0
_AGENT = re.compile(rb"\r\nuser-agent: *([^\r]*)", re.IGNORECASE)
_SITEMAP = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{}</urlset>'


class Hosts(NamedTuple):
    """Hosts that are served.

    Attributes:
        names: 127.0.0.1, 127.0.0.2 and so on.
        sitemaps: addresses of sitemaps that list all their pages.
        seen: when the first page was asked for, and the last one sent; how many pairs were sent at
            the same moment, and how many of these to two clients that call themselves differently.
    """

    names: list[str]
    sitemaps: list[str]
    seen: SynchronizedArray[float]


@contextmanager
def serve(pages: Sequence[dict[str, bytes]], seconds: float = 0.0, *, in_pairs: bool = False) -> Iterator[Hosts]:
    """Serve hosts in a process of their own.

    Args:
        pages: the pages of each host, by path.
        seconds: after which an answer is sent.
        in_pairs: whether a page waits for the one with its path on the host beside it.
    """
    seen = multiprocessing.get_context("spawn").Array("d", 4)
    names = [f"127.0.0.{number}" for number in range(1, len(pages) + 1)]
    with in_process(_serve, names, pages, None if in_pairs else seconds, seen) as port:
        yield Hosts(names, [f"http://{name}:{port}/sitemap.xml" for name in names], seen)


def _serve(
    names: list[str],
    pages: Sequence[dict[str, bytes]],
    seconds: float | None,
    seen: SynchronizedArray[float],
    pipe: Connection,
) -> None:
    waiting: dict[tuple[int, str], tuple[bytes, asyncio.Event]] = {}
    addresses: list[str] = []

    async def wait_for_other(place: int, path: str, agent: bytes) -> None:
        first = waiting.pop((place // 2, path), None)
        if first is not None:
            seen[2] += 1
            seen[3] += first[0] != agent
            first[1].set()
            return
        event = asyncio.Event()
        waiting[place // 2, path] = agent, event
        try:
            async with asyncio.timeout(_LONGEST_WAIT):
                await event.wait()
        except TimeoutError:
            waiting.pop((place // 2, path), None)

    async def answer(place: int, path: str, request: bytes) -> bytes:
        body = pages[place].get(path)
        if body is not None:
            seen[0] = seen[0] or time.time()
            agent = _AGENT.search(request)
            if seconds is None:
                await wait_for_other(place, path, agent[1] if agent else b"")
            else:
                await asyncio.sleep(seconds)
            seen[1] = time.time()
            return reply(body)
        if path != "/sitemap.xml":
            return reply(b"", 404, "application/xml")
        locations = (f"<url><loc>{addresses[place]}{each}</loc></url>" for each in pages[place])
        return reply(_SITEMAP.format("".join(locations)).encode(), kind="application/xml")

    def tell(port: int) -> None:
        addresses.extend(f"http://{name}:{port}" for name in names)
        pipe.send(port)

    answer_requests(names, answer, tell)
