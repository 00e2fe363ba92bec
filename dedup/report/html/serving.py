"""The page of a report on this machine, whose marks act at once."""

from __future__ import annotations

import hmac
import json
import re
import secrets
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from dedup.errors import DedupError

ADDRESS = "127.0.0.1"
# By the other names of this machine, and at the end of a tunnel that begins at another port. What DNS says of a name
# that a site has made up is none of them.
_LOOPBACK = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::[0-9]{1,5})?", re.IGNORECASE)

MOST_BYTES = 2_000_000
"""Of what a page sends: the keys of some hundred pairs."""

_HEADERS = {
    "Cache-Control": "no-store",
    "Connection": "close",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

Pairs = Sequence[tuple[str, str]]
"""Keys of originals and documents."""

Mark = Callable[[Pairs, bool], list[str]]
"""Acts on pairs that a person says are none, or takes that back; returns what became of each, in a word."""

ReadTexts = Callable[[tuple[str, str], str], dict[str, Any]]
"""Returns the texts of a pair at the time of a run, as `dedup.report.html.full_texts.texts_of` does."""


class ReviewServer(ThreadingHTTPServer):
    """Serves one page to whoever knows its address, on this machine alone, and takes marks from that page.

    Every other page that a browser shows may send requests here, and may have a name of its own that leads here. So
    the address holds a secret, and requests have to name this machine as their host, at whichever port, and the same as
    what they come from if they say so.

    Args:
        page: the page.
        mark: what marks do.
        read_texts: what is shown of the texts of a pair.
        port: where; 0: a free one.

    Attributes:
        url: its address, with the secret.
    """

    daemon_threads = True

    def __init__(self, page: bytes, mark: Mark, read_texts: ReadTexts, port: int = 0) -> None:
        self.page = page
        self.mark = mark
        self.read_texts = read_texts
        self.path = f"/{secrets.token_urlsafe(16)}/"
        super().__init__((ADDRESS, port), _Handler)
        self.host = f"{ADDRESS}:{self.server_port}"
        self.url = f"http://{self.host}{self.path}"


class _Handler(BaseHTTPRequestHandler):
    server: ReviewServer
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        if path.endswith("/texts"):
            self._answer_texts(path, query)
        elif self._is_allowed(self.path, ""):
            self._send(HTTPStatus.OK, self.server.page, "text/html; charset=utf-8")

    def _answer_texts(self, path: str, query: str) -> None:
        if not self._is_allowed(path, "texts"):
            return
        asked = parse_qs(query, keep_blank_values=True)
        if {name: len(values) for name, values in asked.items()} != {"a": 1, "b": 1, "run": 1}:
            self._refuse(HTTPStatus.BAD_REQUEST)
            return
        self._answer(lambda: self.server.read_texts((asked["a"][0], asked["b"][0]), asked["run"][0]))

    def do_POST(self) -> None:
        if not self._is_allowed(self.path, "marks"):
            return
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdecimal()) or int(length) > MOST_BYTES:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return
        content = self.rfile.read(int(length))
        # A form of another page can send no JSON without being asked for leave, which nobody gets here.
        is_json = self.headers.get_content_type() == "application/json"
        marks = _marks(content) if is_json else None
        if marks is None:
            self._refuse(HTTPStatus.BAD_REQUEST)
            return
        self._answer(lambda: {"outcomes": self.server.mark(*marks)})

    def _answer(self, ask: Callable[[], dict[str, Any]]) -> None:
        try:
            status, answer = HTTPStatus.OK, ask()
        except DedupError as error:
            status, answer = HTTPStatus.SERVICE_UNAVAILABLE, {"error": str(error)}
        content = json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace")
        self._send(status, content, "application/json")

    def _is_allowed(self, path: str, name: str) -> bool:
        """Return whether a request comes from the page, or from who has been given its address; else refuse it."""
        host, headers = self.headers.get("Host", ""), self.headers
        has_secret = hmac.compare_digest(path.encode(), f"{self.server.path}{name}".encode())
        is_here = _LOOPBACK.fullmatch(host) is not None
        is_own = headers.get("Origin", f"http://{host}") == f"http://{host}"
        is_followed = headers.get("Sec-Fetch-Site", "none") in ("none", "same-origin")
        if has_secret and is_here and is_own and is_followed:
            return True
        here, port = self.server.host, self.server.server_port
        tunnel = f"from another machine, ssh -L {port}:{here} HOST first"
        self._refuse(HTTPStatus.FORBIDDEN, f"Open the address that dedup review printed, http://{here}/...; {tunnel}.")
        return False

    def _refuse(self, status: HTTPStatus, says: str = "") -> None:
        self.close_connection = True
        self._send(status, f"{says or status.phrase}\n".encode(), "text/plain; charset=utf-8")

    def _send(self, status: HTTPStatus, content: bytes, kind: str) -> None:
        self.send_response(status)
        for name, value in {**_HEADERS, "Content-Type": kind, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Do nothing: whoever asks knows what was asked for."""


def _marks(content: bytes) -> tuple[Pairs, bool] | None:
    """Return the pairs that are marked, and whether their marks are taken back; None for anything else."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None
    pairs, is_undone = (found.get("pairs"), found.get("undo")) if isinstance(found, dict) else (None, None)
    if not isinstance(pairs, list) or not isinstance(is_undone, bool) or not all(map(_is_pair, pairs)):
        return None
    return [(original, key) for original, key in pairs], is_undone


def _is_pair(found: object) -> bool:
    return isinstance(found, list) and [type(each) for each in found] == [str, str]
