"""A web server on localhost that behaves as well or as badly as a test wants."""

from __future__ import annotations

import gzip
import re
import ssl
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any, NamedTuple, Self

from tests.texts import document

HTML = "text/html; charset=utf-8"
_PAUSE = 0.01
_MADE_UP = re.compile("/[0-9a-f]{16}$")


class Asked(NamedTuple):
    """One request as the server saw it."""

    path: str
    headers: Mapping[str, str]
    host: str
    time: float
    body: bytes = b""

    @property
    def is_made_up(self) -> bool:
        """Whether a crawl has made the address up, to see how the site says that there is no such page."""
        return _MADE_UP.search(self.path) is not None


@dataclass(frozen=True)
class Reply:
    """What the server does when a path is asked for.

    Attributes:
        body: what is sent; an iterable is sent piece by piece.
        status: the status line's number.
        headers: sent as they are, as pairs where a name comes twice; Content-Length is added
            unless `announced` or `chunked` says otherwise.
        stall: seconds before anything is sent.
        pause: seconds between two pieces of the body.
        announced: the Content-Length to claim instead of the true one; -1 for none at all.
        chunked: whether the body is sent with Transfer-Encoding: chunked.
        hang_up: close the connection instead of replying.
        raw: bytes that are sent instead of a reply, before the connection is closed.
    """

    body: bytes | Callable[[], Iterable[bytes]] = b""
    status: int = 200
    headers: Mapping[str, str] | Sequence[tuple[str, str]] = field(default_factory=lambda: {"Content-Type": HTML})
    stall: float = 0.0
    pause: float = 0.0
    announced: int | None = None
    chunked: bool = False
    hang_up: bool = False
    raw: bytes = b""

    def pieces(self) -> Iterator[bytes]:
        """Yield the body."""
        yield from self.body() if callable(self.body) else (self.body,)


Page = str | bytes | Reply | Callable[[Asked], "str | bytes | Reply"]


def article(
    seed: object,
    links: Iterable[str] = (),
    *,
    words: int = 120,
    text: str | None = None,
    head: str = "",
    title: str = "",
    foot: str = "",
) -> str:
    """Return an HTML page with a text of its own; pages of different seeds have nothing in common.

    Args:
        seed: what the text depends on.
        links: targets of its links, in a navigation above the text.
        words: length of the text.
        text: another main text than the made one.
        head: more elements for the head.
        title: its title; the seed if empty.
        foot: more elements behind the text.
    """
    anchors = " ".join(f'<a href="{escape(link)}">{number}</a>' for number, link in enumerate(links))
    return (
        f'<!DOCTYPE html><html lang="en"><head><title>{escape(title or str(seed))}</title>{head}</head>'
        f"<body><nav>{anchors}</nav><article><p>{text if text is not None else document(words, seed)}.</p></article>"
        f"{foot}</body></html>"
    )


def redirect(target: str, status: int = 302) -> Reply:
    """Return a reply that sends the client elsewhere."""
    return Reply(status=status, headers={"Location": target})


def gzipped(body: bytes, content_type: str = HTML) -> Reply:
    """Return a reply that is compressed on its way."""
    return Reply(gzip.compress(body), headers={"Content-Type": content_type, "Content-Encoding": "gzip"})


_NOT_FOUND = Reply(b"not found", 404, {"Content-Type": "text/plain"})


class LocalSite:
    """Serves pages on a free port for as long as the context lasts.

    Args:
        pages: what to answer, by path and query. More pages may be put there while the site is up, such
            as those that have to name its address.
        missing: what is answered to everything else.
        tls: with which certificate it is a site of https; None: of http.
        address: of this machine; "0.0.0.0" for all that begin with 127.

    Attributes:
        missing: as above.
        asked: every request, in the order of arrival, but for those of `made_up`.
        made_up: those for addresses that a crawl has made up.
        answers: how many requests are answered; later ones wait for a larger number, or for None, which is any.
    """

    def __init__(
        self,
        pages: Mapping[str, Page] | None = None,
        missing: Page = _NOT_FOUND,
        tls: ssl.SSLContext | None = None,
        address: str = "127.0.0.1",
    ) -> None:
        self.pages: dict[str, Page] = dict(pages or {})
        self.missing = missing
        self.asked: list[Asked] = []
        self.made_up: list[Asked] = []
        self.answers: int | None = None
        self.closing = Event()
        self._lock = Lock()
        self._http = _QuietServer((address, 0), self._handler_class())
        self._scheme = "http" if tls is None else "https"
        if tls is not None:
            # Shaken hands with by the thread of the connection.
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True, do_handshake_on_connect=False)
        self._thread = Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return self._http.server_port

    @property
    def url(self) -> str:
        """The address of the site, without a slash at its end."""
        return f"{self._scheme}://127.0.0.1:{self.port}"

    @property
    def other_url(self) -> str:
        """The same site under the name of another host."""
        return f"{self._scheme}://localhost:{self.port}"

    @property
    def hits(self) -> Counter[str]:
        """How often each path was asked for."""
        with self._lock:
            return Counter(asked.path for asked in self.asked)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def _answer(self, asked: Asked) -> Reply:
        with self._lock:
            (self.made_up if asked.is_made_up else self.asked).append(asked)
            number = 0 if asked.is_made_up else len(self.asked)
        while self.answers is not None and number > self.answers and not self.closing.wait(_PAUSE):
            pass
        page = self.pages.get(asked.path, self.missing)
        if callable(page):
            page = page(asked)
        if isinstance(page, str):
            page = page.encode("utf-8", "surrogatepass")
        return Reply(page) if isinstance(page, bytes) else page

    def _handler_class(self) -> type[BaseHTTPRequestHandler]:
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                asked = Asked(self.path, dict(self.headers), self.headers.get("Host", ""), time.monotonic(), body)
                reply = site._answer(asked)
                if reply.stall and site.closing.wait(reply.stall):
                    reply = Reply(hang_up=True)
                with suppress(ConnectionError):
                    if reply.hang_up or reply.raw:
                        self.close_connection = True
                        self.wfile.write(reply.raw)
                    else:
                        self._send(reply)

            def do_POST(self) -> None:
                self.do_GET()

            def do_CONNECT(self) -> None:
                # What a proxy is asked for on behalf of https: there is nothing, but it is noted.
                self.do_GET()

            def _send(self, reply: Reply) -> None:
                self.send_response(reply.status)
                headers = reply.headers.items() if isinstance(reply.headers, Mapping) else reply.headers
                for name, value in headers:
                    self.send_header(name, value)
                if reply.chunked:
                    self.send_header("Transfer-Encoding", "chunked")
                elif reply.announced is None and not callable(reply.body):
                    self.send_header("Content-Length", str(len(reply.body)))
                elif reply.announced is not None and reply.announced >= 0:
                    self.send_header("Content-Length", str(reply.announced))
                self.end_headers()
                for piece in reply.pieces():
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if reply.chunked else piece)
                    if reply.pause and site.closing.wait(reply.pause):
                        break
                if reply.chunked:
                    self.wfile.write(b"0\r\n\r\n")
                elif reply.announced is not None or callable(reply.body):
                    self.close_connection = True

            def log_message(self, *args: object) -> None:
                pass

        return Handler


class EndlessSite(LocalSite):
    """Every page is slow and leads to three others; each fourth one is a copy of the one before."""

    def _answer(self, asked: Asked) -> Reply:
        number = asked.path.removeprefix("/") or "0"
        if number.isdecimal() and asked.path not in self.pages:
            links = [f"/{int(number) * 3 + step}" for step in (1, 2, 3)]
            seed = int(number) - (int(number) % 4 == 3)
            self.pages[asked.path] = Reply(article(seed, links).encode(), stall=0.05)
        return super()._answer(asked)


class _QuietServer(ThreadingHTTPServer):
    request_queue_size = 64
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: crawlers hang up as they like."""
