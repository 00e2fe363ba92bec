"""Web servers in processes of their own that answer from memory, so that they cost little; and crawls of them."""

from __future__ import annotations

import asyncio
import multiprocessing
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from typing import NamedTuple

INDEX = "/"


def path_of(document_id: str) -> str:
    """Return the path of a document's page."""
    return f"/page/{document_id}"


def crawl_command(url: str, database: str, settings: Mapping[str, str], *arguments: str) -> list[str]:
    """Return the command that crawls a site by the project's spider.

    Args:
        url: where it starts.
        database: the URL of the database.
        settings: by their names.
        *arguments: further ones.
    """
    values = [f"-s{name}={value}" for name, value in {**settings, "DEDUP_DATABASE_URL": database}.items()]
    return [sys.executable, "-m", "scrapy", "crawl", "site", f"-aurl={url}", *values, *arguments]


@contextmanager
def serve(pages: dict[str, bytes], latency: float = 0.0) -> Iterator[str]:
    """Serve pages, and an index page that links to them all; yield the site's address.

    Args:
        pages: the bytes of each page, by document id.
        latency: seconds before each answer.
    """
    with in_process(_serve, pages, latency) as port:
        yield f"http://127.0.0.1:{port}"


def _serve(pages: dict[str, bytes], latency: float, pipe: Connection) -> None:
    links = "".join(f'<li><a href="{path_of(name)}">{name}</a></li>' for name in pages)
    index = f"<!DOCTYPE html><html lang=en><title>All pages</title><body><ul>{links}</ul></body></html>"
    replies = {INDEX: reply(index.encode()), **{path_of(name): reply(body) for name, body in pages.items()}}
    not_found = reply(b"", 404)

    async def answer(_place: int, path: str, _request: bytes) -> bytes:
        if latency:
            await asyncio.sleep(latency)
        return replies.get(path, not_found)

    answer_requests(["127.0.0.1"], answer, pipe.send)


@contextmanager
def in_process(serve_for_ever: Callable[..., None], *arguments: object) -> Iterator[int]:
    """Run a server in a process of its own; yield its port.

    Args:
        serve_for_ever: the server; takes the arguments, and a pipe that it sends its port into.
        *arguments: what it serves.
    """
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    server = context.Process(target=serve_for_ever, args=(*arguments, there), daemon=True)
    server.start()
    try:
        yield here.recv()
    finally:
        server.terminate()
        server.join()


def answer_requests(
    names: Sequence[str], answer: Callable[[int, str, bytes], Awaitable[bytes]], tell: Callable[[int], None]
) -> None:
    """Answer requests to hosts for ever, all at one port.

    Args:
        names: the addresses of the hosts.
        answer: gives the reply, by the place of the host, the path, and the request.
        tell: is given the port before the first request.
    """

    async def talk(place: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while request := await reader.readuntil(b"\r\n\r\n"):
                path = request.split(b" ", 2)[1].decode("latin-1")
                writer.write(await answer(place, path, request))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def run() -> None:
        port, servers = 0, []
        for place, name in enumerate(names):
            servers.append(await asyncio.start_server(partial(talk, place), name, port))
            port = servers[-1].sockets[0].getsockname()[1]
        tell(port)
        await asyncio.gather(*(each.serve_forever() for each in servers))

    asyncio.run(run())


def reply(body: bytes, status: int = 200, kind: str = "text/html", location: str = "") -> bytes:
    """Return a reply as HTTP has it; location: where a redirect leads."""
    head = f"HTTP/1.1 {status} -\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
    head += f"Location: {location}\r\n" if location else ""
    return head.encode() + b"\r\n" + body


class Answer(NamedTuple):
    """What a site answers."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "text/html; charset=utf-8"),)


MISSING = Answer(404, b"not found", (("Content-Type", "text/plain"),))
"""What a site answers to an address where nothing is."""


@contextmanager
def answering(answer: Callable[[str, str], Answer], address: str) -> Iterator[int]:
    """Answer requests, by what is asked for and the host, as long as the context lasts; yield the port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, body, headers = answer(self.path, self.headers["Host"])
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            with suppress(ConnectionError):  # what is too long is not read to its end
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer((address, 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
