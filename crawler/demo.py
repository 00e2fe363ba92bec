"""Serve the demo site, or crawl it.

python -m crawler.demo serve [--port N]
python -m crawler.demo crawl [ARGUMENT...]
python -m crawler.demo continue [ARGUMENT...]
"""

from __future__ import annotations

import argparse
import json
import shlex
import signal
import subprocess
import sys
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any, Self

USUAL_PORT = 8817

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "demo"

_ADDRESS = b"http://demo.example"
"""What stands for the address of the site where it has to be whole, as in a sitemap."""

_HTML = "text/html; charset=utf-8"


class DemoServer(ThreadingHTTPServer):
    """Serves the site on localhost for as long as the context lasts.

    Args:
        port: 0 for a free one.

    Attributes:
        asked: what was asked for, with query strings.
        replies: what is sent otherwise than as the HTML of a file, by path.
    """

    # Room for a crawler that opens many connections at once.
    request_queue_size = 64

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.asked: list[str] = []
        self.replies: dict[str, Any] = json.loads((FOLDER / "replies.json").read_text(encoding="utf-8"))
        self._thread = Thread(target=self.serve_forever, name="demo-site", daemon=True)

    @property
    def port(self) -> int:
        """The port that the site is served at."""
        return self.server_port

    @property
    def url(self) -> str:
        """The address of the site, without a slash at its end."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def hits(self) -> Counter[str]:
        """How often each path was asked for, with its query string."""
        return Counter(self.asked)

    def read(self, path: str) -> bytes | None:
        """Return what is sent for a path; None for nothing that is there."""
        name = self.replies.get(path, {}).get("file", f"{path}index" if path.endswith("/") else path)
        if name is None:
            return b""
        places = [FOLDER / "site" / f"{name.lstrip('/')}{ending}" for ending in ("", ".html")]
        found = next((place for place in places if place.is_file() and FOLDER in place.resolve().parents), None)
        return None if found is None else found.read_bytes()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()

    def handle_error(self, request: Any, client_address: Any) -> None:
        # Clients hang up, as crawlers do.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: DemoServer
    protocol_version = "HTTP/1.1"
    # Headers and body are written apart; else the second may wait for the client to acknowledge the first.
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        path = self.path if self.path in self.server.replies else self.path.partition("?")[0]
        reply, body = self.server.replies.get(path, {}), self.server.read(path)
        status = reply.get("status", 200)
        if body is None:
            status, body = 404, b'<!DOCTYPE html><html lang="en"><title>Not found</title><p>No such page.</p></html>'
        self.send_response(status)
        body = body.replace(_ADDRESS, self.server.url.encode())
        headers = {"Content-Type": _HTML, **reply.get("headers", {}), "Content-Length": str(len(body))}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass  # the output belongs to the crawl


def server_at_its_usual_address() -> DemoServer:
    """Return a server of the site, at its usual port if that is free."""
    # A second crawl then finds the same pages again, and not copies of them at another address.
    try:
        return DemoServer(USUAL_PORT)
    except OSError:
        server = DemoServer()
        print(f"port {USUAL_PORT} is taken, the demo site is at {server.url}/", file=sys.stderr)
        return server


def main() -> int:
    """Run the command named on the command line and return the exit status."""
    description = "Serve the demo site, or crawl it."
    parser = argparse.ArgumentParser(prog="python -m crawler.demo", description=description)
    commands = parser.add_subparsers(dest="command", required=True)
    serve_parser = commands.add_parser("serve", help="serve the site until Ctrl-C")
    serve_parser.add_argument("--port", type=int, default=0, help="default: a free one")
    commands.add_parser("crawl", help="crawl the site; arguments are passed on to scrapy")
    commands.add_parser("continue", help="go on with the last crawl, which may be that of the site")
    options, further = parser.parse_known_args()
    if options.command != "serve":
        return crawl(further, is_begun=options.command == "continue")
    if further:
        parser.error(f"unknown arguments: {' '.join(further)}")
    return serve(options.port)


def serve(port: int) -> int:
    """Serve the site until Ctrl-C."""
    with DemoServer(port) as server:
        print(f"The demo site is at {server.url}/ (Ctrl-C stops it)", flush=True)
        try:
            Event().wait()
        except KeyboardInterrupt:
            print()
    return 0


def crawl(scrapy_arguments: list[str], *, is_begun: bool) -> int:
    """Crawl the site with scrapy, or go on with the last crawl, and return scrapy's exit status."""
    # Ctrl-C reaches the crawl as well, which then finishes the pages under way and still
    # needs the site. A handler, unlike SIG_IGN, is not handed down to the child.
    signal.signal(signal.SIGINT, lambda signum, frame: None)
    said = shlex.join(["make", "crawl", *scrapy_arguments])
    with server_at_its_usual_address() as server:
        arguments = [] if is_begun else ["-a", f"url={server.url}/", "-s", f"SCRAPY_COMMAND_LINE={said}"]
        command = [sys.executable, "-m", "scrapy", "crawl", "site", "-L", "WARNING", *arguments, *scrapy_arguments]
        return subprocess.run(command, check=False).returncode  # noqa: S603 -- the user's own arguments


if __name__ == "__main__":
    sys.exit(main())
