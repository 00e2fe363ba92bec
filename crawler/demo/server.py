"""The web server of the demo site."""

import sys
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from types import TracebackType
from typing import Any, Self

from crawler.demo.reply import Reply
from crawler.demo.site import answer, build_site, service_files


class _QuietServer(ThreadingHTTPServer):
    """A server that does not mind clients who hang up, as crawlers do."""

    # Room for a crawler that opens many connections at once.
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report an error, unless it is the client's."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class DemoServer:
    """Serve the site on localhost for as long as the context lasts."""

    def __init__(self, port: int = 0) -> None:
        """Bind to `port`, or to a free port for 0."""
        self.hits: Counter[str] = Counter()
        self._hits_lock = Lock()
        self._http = _QuietServer(("127.0.0.1", port), self._handler_class())
        self._site = build_site()
        self._site |= service_files(self._site, self.url)
        self._thread = Thread(target=self._http.serve_forever, name="demo-site", daemon=True)

    @property
    def port(self) -> int:
        """Return the port that the site is served at."""
        return self._http.server_port

    @property
    def url(self) -> str:
        """Return the address of the site, without a slash at its end."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def reply_to(self, target: str) -> Reply:
        """Count the request of a path, with its query string, and return the reply."""
        # Every connection has a thread of its own.
        with self._hits_lock:
            self.hits[target] += 1
        return answer(self._site, target)

    def _handler_class(self) -> type[BaseHTTPRequestHandler]:
        demo = self

        class Handler(BaseHTTPRequestHandler):
            """Answer requests from the data of the site."""

            protocol_version = "HTTP/1.1"
            # Headers and body are written apart; without this the second write may wait
            # for the client to acknowledge the first.
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                self._send(with_body=True)

            def do_HEAD(self) -> None:
                self._send(with_body=False)

            def _send(self, *, with_body: bool) -> None:
                reply = demo.reply_to(self.path)
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                if with_body:
                    self.wfile.write(reply.body)

            def log_message(self, *args: object) -> None:
                """Write nothing: the output belongs to the crawl."""

        return Handler
