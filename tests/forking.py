"""Processes of the commands of Scrapy and of `dedup`, forked from one that has loaded everything.

Loading takes a command longer than what most tests let it do. A forked process is like one of its own in all else:
arguments, environment, folder, process group, output, signals and exit status.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from threading import Thread
from typing import Self

# Nothing of settings, which depend on the environment, and nothing that chooses a reactor.
_LOADED = (
    "scrapy.cmdline",
    *(f"scrapy.commands.{name}" for name in ("bench", "check", "crawl", "parse", "shell", "startproject", "version")),
    "dedup.stage.commands.dedup_check",
    "scrapy.core.downloader.handlers.http11",
    "twisted.internet.asyncioreactor",
    "scrapy.extensions.corestats",
    "scrapy.spidermiddlewares.referer",
    "crawler.spider.site",
    "crawler.spider.conditional",
    "crawler.feeds.writing",
    "crawler.frontier.scheduler",
    "crawler.pages.pipeline",
    "crawler.runs",
    "crawler.runtime",
    "dedup.stage.addon",
    "dedup.report",
    "dedup.cli.main",
    "dedup.cli.duplicates",
    "dedup.cli.explain",
    "dedup.cli.runs",
    "rich.table",
    "dedup.workers.preloaded",
    "crawler.pages.extraction",
    "psycopg",
    "sqlalchemy.dialects.postgresql.psycopg",
    "sqlalchemy.dialects.sqlite",
)
_ROOT = Path(__file__).resolve().parents[1]
_LARGEST_REQUEST = 200_000
_NUMBER_BYTES = 8


class ForkedProcess:
    """A process of `python -m MODULE ARGUMENT...`, with what tests need of a `subprocess.Popen`.

    Args:
        arguments: the module, and its arguments.
        folder: where it runs.
        environment: its environment variables, all of them.
        constants: what else modules' names stand for there, by their full names; text is the full name of what they do.
        stdout: where its output goes, such as a terminal; None: to who reads it here.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        constants: Mapping[str, object] | None = None,
        stdout: int | None = None,
    ) -> None:
        pipes = [os.pipe() for _ in range(3)]
        request = {
            "arguments": list(map(str, arguments)),
            "folder": str(folder),
            "environment": dict(environment),
            "constants": dict(constants or {}),
        }
        given = [write for _, write in pipes]
        given[0] = given[0] if stdout is None else stdout
        socket.send_fds(_server(), [json.dumps(request).encode()], given)
        for _, write in pipes:
            os.close(write)
        self.stdout, self.stderr = (
            os.fdopen(read, encoding="utf-8", errors="replace", newline=None) for read, _ in pipes[:2]
        )
        self._told = pipes[2][0]
        self.returncode: int | None = None
        self.pid = self._read_number()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Wait until it has ended."""
        self.communicate()

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Return all output once the process has ended.

        Raises:
            TimeoutExpired: it has not ended in so many seconds.
        """
        if not hasattr(self, "_output"):
            self._output = ["", ""]
            streams = (self.stdout, self.stderr)
            self._readers = [Thread(target=self._read, args=each, daemon=True) for each in enumerate(streams)]
            for reader in self._readers:
                reader.start()
        for reader in self._readers:
            reader.join(timeout)
            if reader.is_alive():
                raise subprocess.TimeoutExpired("a forked command", timeout or 0)
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(self._read_number())
            os.close(self._told)
        return self._output[0], self._output[1]

    def poll(self) -> int | None:
        """Return the exit status; None while it runs."""
        if self.returncode is None and select.select([self._told], [], [], 0)[0]:
            self.returncode = os.waitstatus_to_exitcode(self._read_number())
            os.close(self._told)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it is there."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)

    def _read(self, number: int, stream: object) -> None:
        with stream:  # type: ignore[attr-defined]
            self._output[number] = stream.read()  # type: ignore[attr-defined]

    def _read_number(self) -> int:
        found = os.read(self._told, _NUMBER_BYTES)
        if len(found) < _NUMBER_BYTES:
            raise RuntimeError("the process that forks commands has ended")
        return int.from_bytes(found, "big")


@cache
def _server() -> socket.socket:
    """Start the process that forks others, which ends with this one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    # As many threads as settings allow: what has threads of its own cannot be forked.
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.forking", str(theirs.fileno())],
        cwd=_ROOT,
        env=environment,
        pass_fds=[theirs.fileno()],
        start_new_session=True,
    )
    theirs.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def serve(requests: socket.socket) -> list[str]:
    """Fork a process for each request until there are no more.

    Returns:
        In each of them alone, the module to run and its arguments.
    """
    for name in _LOADED:
        # The crawler needs a newer Scrapy than the stage does.
        with suppress(ImportError):
            import_module(name)
    assert "twisted.internet.reactor" not in sys.modules
    # What garbage collection never looks at is not copied into each process.
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        message, (stdout, stderr, told), _, _ = socket.recv_fds(requests, _LARGEST_REQUEST, 3)
        if os.fork():
            for descriptor in (stdout, stderr, told):
                os.close(descriptor)
            continue
        # Who waits for the command, in a process of its own.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        if command := os.fork():
            os.close(stdout)
            os.close(stderr)
            requests.close()
            _, status = os.waitpid(command, 0)
            os.write(told, status.to_bytes(_NUMBER_BYTES, "big"))
            os._exit(0)
        os.setsid()
        os.write(told, os.getpid().to_bytes(_NUMBER_BYTES, "big"))
        os.close(told)
        requests.close()
        return _become(json.loads(message), stdout, stderr)


def _become(request: dict[str, object], stdout: int, stderr: int) -> list[str]:
    for descriptor, place in ((os.open(os.devnull, os.O_RDONLY), 0), (stdout, 1), (stderr, 2)):
        os.dup2(descriptor, place)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(request["environment"])  # type: ignore[arg-type]
    encoding = os.environ.get("PYTHONIOENCODING", sys.stdout.encoding)
    # Those that were loaded know what the other process writes to.
    sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__ = (
        os.fdopen(0, encoding=encoding, closefd=False),
        os.fdopen(1, "w", encoding=encoding, closefd=False),
        os.fdopen(2, "w", encoding=encoding, errors="backslashreplace", buffering=1, closefd=False),
    )
    folder = str(request["folder"])
    os.chdir(folder)
    sys.path[:1] = [folder, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    for name, value in request["constants"].items():  # type: ignore[attr-defined]
        where, _, constant = name.rpartition(".")
        setattr(resolve_name(where), constant, resolve_name(value) if isinstance(value, str) else value)
    return request["arguments"]  # type: ignore[return-value]


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as given:
        try:
            module, *sys.argv[1:] = serve(given)
        except ValueError:  # no descriptors came: nobody is there any more
            os._exit(0)
    runpy.run_module(module, run_name="__main__", alter_sys=True)
