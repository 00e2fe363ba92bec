"""The workers of a crawl on this machine: processes of Scrapy with one run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Thread

PROJECT = Path(__file__).resolve().parents[2]


def start_worker(
    database: str,
    run: str,
    arguments: Sequence[str],
    *,
    stdout: int | None = None,
    stderr: int | None = None,
    own_group: bool = False,
) -> subprocess.Popen[str]:
    """Start one worker of a crawl.

    Args:
        database: the URL of a PostgreSQL database.
        run: the name of the run, that of all its workers.
        arguments: more of the command line of `scrapy crawl site`.
        stdout: where its standard output goes, as in `subprocess`.
        stderr: likewise.
        own_group: whether it is the first of a process group of its own, which Ctrl-C does not reach.
    """
    told = {"SCRAPY_PROJECT": "cluster", "DEDUP_DATABASE_URL": database, "DEDUP_RUN": run}
    return subprocess.Popen(  # noqa: S603 -- the user's own arguments
        [sys.executable, "-m", "scrapy", "crawl", "site", *arguments],
        cwd=PROJECT,
        env={**os.environ, **told},
        stdout=stdout,
        stderr=stderr,
        text=True,
        start_new_session=own_group,
    )


def crawl(database: str, run: str, workers: int, arguments: Sequence[str]) -> int:
    """Crawl with so many workers at once; print what they log, and the summary of the one that ends the run.

    Returns:
        The exit status: that of the first worker that failed, 0 if none did.
    """
    processes = [start_worker(database, run, arguments, stderr=subprocess.PIPE) for _ in range(workers)]
    threads = [Thread(target=_pass_on, args=(number, process)) for number, process in enumerate(processes, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    statuses = [process.wait() for process in processes]
    for number, status in enumerate(statuses, 1):
        if status:
            print(f"worker {number} ended with status {status}", file=sys.stderr)
    return next((status for status in statuses if status), 0)


def _pass_on(number: int, process: subprocess.Popen[str]) -> None:
    for line in process.stderr or ():
        print(f"worker {number}: {line}", end="", file=sys.stderr, flush=True)
