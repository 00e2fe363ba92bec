"""Hosts that are crawled by several workers: slow ones, and pairs whose pages are answered at the same moment."""

from __future__ import annotations

import asyncio
import multiprocessing
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import SynchronizedArray
from typing import NamedTuple

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
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    seen = context.Array("d", 4)
    names = [f"127.0.0.{number}" for number in range(1, len(pages) + 1)]
    server = context.Process(
        target=_serve, args=(names, pages, seconds if not in_pairs else None, there, seen), daemon=True
    )
    server.start()
    try:
        port = here.recv()
        yield Hosts(names, [f"http://{name}:{port}/sitemap.xml" for name in names], seen)
    finally:
        server.terminate()
        server.join()


def _serve(
    names: list[str],
    pages: Sequence[dict[str, bytes]],
    seconds: float | None,
    pipe: Connection,
    seen: SynchronizedArray[float],
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

    async def answer(place: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while request := await reader.readuntil(b"\r\n\r\n"):
                path = request.split(b" ", 2)[1].decode("latin-1")
                body = pages[place].get(path)
                if body is not None:
                    seen[0] = seen[0] or time.time()
                    agent = _AGENT.search(request)
                    if seconds is None:
                        await wait_for_other(place, path, agent[1] if agent else b"")
                    else:
                        await asyncio.sleep(seconds)
                    seen[1] = time.time()
                elif path == "/sitemap.xml":
                    locations = (f"<url><loc>{addresses[place]}{each}</loc></url>" for each in pages[place])
                    body = _SITEMAP.format("".join(locations)).encode()
                writer.write(_reply(body))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def run() -> None:
        port = 0
        servers = []
        for place, name in enumerate(names):
            serving = await asyncio.start_server(partial(answer, place), name, port)
            port = serving.sockets[0].getsockname()[1]
            servers.append(serving)
        addresses.extend(f"http://{name}:{port}" for name in names)
        pipe.send(port)
        await asyncio.gather(*(each.serve_forever() for each in servers))

    asyncio.run(run())


def _reply(body: bytes | None) -> bytes:
    status, body = ("404", b"") if body is None else ("200", body)
    kind = "text/html" if body[:1] == b"<" and not body.startswith(b"<urlset") else "application/xml"
    head = f"HTTP/1.1 {status} -\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body
