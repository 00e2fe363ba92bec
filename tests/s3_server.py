"""An S3 server on this machine, with an empty bucket `corpus`, that everything started from a test reaches."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

HEAD_ALONE = 1 << 13


class Server:
    """An S3 server. Where `broken` is a path, the connection is lost in the middle of the bytes of that file."""

    def __init__(self) -> None:
        # Most tests need no server, and its packages take a second to load.
        from moto.server import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import make_server

        self._app = DomainDispatcherApplication(create_backend_app)
        self._server = make_server("127.0.0.1", 0, self, threaded=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.broken = ""
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        body = b"".join(self._app(environ, start_response))
        # Looking whether it is there, and at its ends, goes well.
        start = environ.get("HTTP_RANGE", "bytes=0-").removeprefix("bytes=").partition("-")[0]
        if environ["PATH_INFO"] == self.broken and len(body) > HEAD_ALONE and int(start) < HEAD_ALONE:
            return lost_after(body[: len(body) // 2])
        return [body]

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def lost_after(data: bytes) -> Iterator[bytes]:
    yield data
    raise ConnectionResetError


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def server(running: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Server:
    settings = {
        "ENDPOINT_URL": running.url,
        "ACCESS_KEY_ID": "a",
        "SECRET_ACCESS_KEY": "b",
        "DEFAULT_REGION": "us-east-1",
    }
    settings |= {"EC2_METADATA_DISABLED": "true", "MAX_ATTEMPTS": "1"}
    settings |= {"CONFIG_FILE": str(tmp_path / "none"), "SHARED_CREDENTIALS_FILE": str(tmp_path / "none")}
    for name, value in settings.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    running.broken = ""
    from s3fs import S3FileSystem

    S3FileSystem.clear_instance_cache()
    system = S3FileSystem()
    if system.exists("corpus"):
        system.rm("corpus", recursive=True)
    system.mkdir("corpus")
    return running


def upload(folder: Path) -> None:
    from s3fs import S3FileSystem

    S3FileSystem().put(f"{folder}/", "corpus/", recursive=True)
