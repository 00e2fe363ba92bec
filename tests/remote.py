"""Files that are not on this machine: in fsspec's memory, and on a web server that gives ranges of their bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote

MEMORY = "memory:///corpus/"
HEAD_ALONE = 1 << 13


def upload(folder: Path) -> None:
    """Make the files of a folder all that there is at `MEMORY`."""
    from fsspec import filesystem

    memory = filesystem("memory")
    if memory.exists("/corpus"):
        memory.rm("/corpus", recursive=True)
    memory.put(f"{folder}/", "/corpus/", recursive=True)


class FileServer:
    """A web server with the files of a folder.

    Attributes:
        url: its address, with a slash at its end.
        broken: the name of a file; in the middle of its bytes the connection is lost.
        unknown: the name of a file of which it does not say how large it is.
    """

    def __init__(self, folder: Path) -> None:
        self.broken = self.unknown = ""
        self._folder = folder
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler_class())
        self.url = f"http://127.0.0.1:{self.http.server_port}/"

    def _handler_class(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self) -> None:
                self._send(with_body=False)

            def do_GET(self) -> None:
                self._send(with_body=True)

            def _send(self, *, with_body: bool) -> None:
                name = unquote(self.path.partition("?")[0]).removeprefix("/")
                path = server._folder / name
                if not path.is_file():
                    self.send_error(404)
                    return
                whole = path.read_bytes()
                asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
                start = int(asked[1]) if asked else 0
                data = whole[start : int(asked[2]) + 1 if asked and asked[2] else None]
                self.send_response(206 if asked else 200)
                self.send_header("Accept-Ranges", "bytes")
                if name == server.unknown:
                    self.close_connection = True
                else:
                    self.send_header("Content-Length", str(len(data)))
                if asked:
                    self.send_header("Content-Range", f"bytes {start}-{start + len(data) - 1}/{len(whole)}")
                self.end_headers()
                if not with_body:
                    return
                # Looking whether it is there, and at its ends, goes well.
                if name == server.broken and len(data) > HEAD_ALONE and start < HEAD_ALONE:
                    data = data[: len(data) // 2]
                    self.close_connection = True
                with suppress(ConnectionError):
                    self.wfile.write(data)

            def log_message(self, *args: Any) -> None:
                pass

        return Handler


@contextmanager
def serving(folder: Path) -> Iterator[FileServer]:
    """Serve the files of a folder as long as the context lasts."""
    server = FileServer(folder)
    thread = Thread(target=server.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.http.shutdown()
        server.http.server_close()
        thread.join()
