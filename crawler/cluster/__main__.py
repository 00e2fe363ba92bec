"""Crawl with many workers on this machine, or report on what they crawled.

python -m crawler.cluster crawl [--workers N] [--url URL] [ARGUMENT...]
python -m crawler.cluster report [ARGUMENT...]

Arguments are passed on to scrapy. The database is the one that DEDUP_DATABASE_URL in the environment names, else one
of a PostgreSQL server of our own that runs as long as the command.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from crawler.cluster.server import postgresql_server
from crawler.cluster.workers import PROJECT, crawl
from crawler.demo.__main__ import server_at_its_usual_address
from dedup.ledger.runs.listing import name_by_time

_FOLDER = PROJECT / ".postgresql"
_DATABASE = "crawl"


def main() -> int:
    """Run the command named on the command line and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m crawler.cluster", description="Crawl with many workers.")
    commands = parser.add_subparsers(dest="command", required=True)
    crawl_parser = commands.add_parser(
        "crawl", help="crawl a site, or the demo site; arguments are passed on to scrapy"
    )
    crawl_parser.add_argument("--workers", type=int, default=4, help="how many (default: 4)")
    crawl_parser.add_argument("--url", help="where to start (default: the demo site)")
    commands.add_parser(
        "report", help="every dropped or similar page, its original and why; arguments are passed on to scrapy"
    )
    options, arguments = parser.parse_known_args()
    if options.command == "crawl" and options.workers < 1:
        parser.error(f"--workers {options.workers}: expected at least 1")
    # Ctrl-C reaches the workers as well, which then finish the pages under way and still need the
    # server and the site. A handler, unlike SIG_IGN, is not handed down to them.
    signal.signal(signal.SIGINT, lambda signum, frame: None)
    with _database() as url:
        if options.command == "report":
            command = [sys.executable, "-m", "scrapy", "duplicates", "--database", url, *arguments]
            return subprocess.run(command, check=False, cwd=PROJECT).returncode  # noqa: S603 -- the user's own
        with _site(options.url) as site:
            status = _crawl(url, site, options.workers, arguments)
    if not os.environ.get("DEDUP_DATABASE_URL"):
        print("\nThe server has stopped. `make cluster-report` starts it again and says what was dropped, and why.")
    return status


def _crawl(database: str, site: str, workers: int, arguments: list[str]) -> int:
    run = os.environ.get("DEDUP_RUN") or name_by_time()
    # Each worker has processes for extraction of its own.
    processes = max(1, (os.cpu_count() or 1) // workers)
    given = ["-L", "WARNING", "-a", f"url={site}", "-s", f"CRAWLER_WORKERS={processes}", *arguments]
    return crawl(database, run, workers, given)


@contextmanager
def _database() -> Iterator[str]:
    if url := os.environ.get("DEDUP_DATABASE_URL"):
        yield url
        return
    with postgresql_server(_FOLDER) as server:
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
