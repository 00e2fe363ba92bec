"""The page of a report on this machine, whose marks act at once."""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from dedup.errors import DedupError

ADDRESS = "127.0.0.1"
HTML = "text/html; charset=utf-8"
MOST_BYTES = 20_000
"""Of what a page sends: two keys of the most characters that a page holds."""

_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

Mark = Callable[[str, str], str]
"""Acts on a pair, original and document, that a person says is none; returns what became of it, in a word."""

Answers = Mapping[str, tuple[Callable[[], bytes], str]]
"""What is served beside the page, by names: what makes it when it is asked for, and its kind."""


class ReviewServer(ThreadingHTTPServer):
    """Serves one page to whoever knows its address, on this machine alone, and takes marks from that page.

    Every other page that a browser shows may send requests here, and may have a name of its own that leads here. So
    the address holds a secret, requests have to name this server as their host, and what they come from if they say so.

    Args:
        page: the page.
        mark: what a mark does; called by one request at a time.
        port: where; 0: a free one.
        answers: what else is served; called by several requests at a time.

    Attributes:
        url: its address, with the secret.
    """

    daemon_threads = True

    def __init__(self, page: bytes, mark: Mark, port: int = 0, answers: Answers | None = None) -> None:
        self.answers: Answers = {"": (lambda: page, HTML), **(answers or {})}
        self.mark = mark
        self.path = f"/{secrets.token_urlsafe(16)}/"
        super().__init__((ADDRESS, port), _Handler)
        self.host = f"{ADDRESS}:{self.server_port}"
        self.url = f"http://{self.host}{self.path}"


class _Handler(BaseHTTPRequestHandler):
    server: ReviewServer
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self) -> None:
        name = self.path.rpartition("/")[2]
        make, kind = self.server.answers.get(name, (None, ""))
        if not self._is_allowed(name if make else ""):
            return
        assert make is not None
        try:
            self._send(HTTPStatus.OK, make(), kind)
        except DedupError as error:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, str(error))

    def do_POST(self) -> None:
        if not self._is_allowed("marks"):
            return
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdecimal()) or int(length) > MOST_BYTES:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return
        content = self.rfile.read(int(length))
        # A form of another page can send no JSON without being asked for leave, which nobody gets here.
        is_json = self.headers.get_content_type() == "application/json"
        pair = _pair(content) if is_json else None
        if pair is None:
            self._refuse(HTTPStatus.BAD_REQUEST)
            return
        outcome = self.server.mark(*pair)
        self._send(HTTPStatus.OK, json.dumps({"outcome": outcome}).encode(), "application/json")

    def _is_allowed(self, name: str) -> bool:
        """Say whether a request comes from the page, or from who has been given its address; else refuse it."""
        server, headers = self.server, self.headers
        has_secret = hmac.compare_digest(self.path.encode(), f"{server.path}{name}".encode())
        is_here = headers.get("Host") == server.host
        is_own = headers.get("Origin", f"http://{server.host}") == f"http://{server.host}"
        is_followed = headers.get("Sec-Fetch-Site", "none") in ("none", "same-origin")
        if has_secret and is_here and is_own and is_followed:
            return True
        self._refuse(HTTPStatus.FORBIDDEN)
        return False

    def _refuse(self, status: HTTPStatus, why: str = "") -> None:
        self.close_connection = True
        self._send(status, (why or status.phrase).encode("utf-8", "replace"), "text/plain; charset=utf-8")

    def _send(self, status: HTTPStatus, content: bytes, kind: str) -> None:
        self.send_response(status)
        for name, value in {**_HEADERS, "Content-Type": kind, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Say nothing: what is asked for is known by who asks."""


def _pair(content: bytes) -> tuple[str, str] | None:
    """Return the keys that a mark names; None for anything else."""
    try:
        found = json.loads(content)
    except ValueError:
        return None
    if not isinstance(found, dict):
        return None
    original, key = found.get("a"), found.get("b")
    return (original, key) if isinstance(original, str) and isinstance(key, str) else None
