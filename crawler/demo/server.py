"""The web server of the demo site."""

import sys
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self

from crawler.demo.site import answer, build_site, service_files


class DemoServer(ThreadingHTTPServer):
    """Serves the site on localhost for as long as the context lasts.

    Args:
        port: 0 for a free one.
    """

    # Room for a crawler that opens many connections at once.
    request_queue_size = 64

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.asked: list[str] = []
        self.site = build_site()
        self.site |= service_files(self.site, self.url)
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
        reply = answer(self.server.site, self.path)
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, *args: object) -> None:
        pass  # the output belongs to the crawl
