"""A web server in a process of its own that answers from memory, so that it costs little."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

INDEX = "/"


def path_of(document_id: str) -> str:
    """Return the path of a document's page."""
    return f"/page/{document_id}"


@contextmanager
def serve(pages: dict[str, bytes], latency: float = 0.0) -> Iterator[str]:
    """Serve pages, and an index page that links to them all; yield the site's address.

    Args:
        pages: the bytes of each page, by document id.
        latency: seconds before each answer.
    """
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    server = context.Process(target=_serve, args=(pages, latency, there), daemon=True)
    server.start()
    try:
        yield f"http://127.0.0.1:{here.recv()}"
    finally:
        server.terminate()
        server.join()


def _serve(pages: dict[str, bytes], latency: float, pipe: Connection) -> None:
    links = "".join(f'<li><a href="{path_of(name)}">{name}</a></li>' for name in pages)
    index = f"<!DOCTYPE html><html lang=en><title>All pages</title><body><ul>{links}</ul></body></html>"
    replies = {INDEX: _reply(index.encode()), **{path_of(name): _reply(body) for name, body in pages.items()}}
    not_found = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while request := await reader.readuntil(b"\r\n\r\n"):
                path = request.split(b" ", 2)[1].decode("latin-1")
                if latency:
                    await asyncio.sleep(latency)
                writer.write(replies.get(path, not_found))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def run() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


def _reply(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
