"""What runs in a worker process: its preparation, and jobs with a time limit."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dedup.signature import word_lists

if sys.platform == "linux":
    import resource

Result = tuple[Any, Exception | None]
"""What a job returned, or what it raised."""


def prepare_worker(lists: Iterable[bytes], memory: int) -> None:
    """Make a process that was just started one that serves its parent alone, knows its word lists, and ends with it.

    Args:
        lists: the word lists.
        memory: how many bytes more than it has it may take (on Linux); 0: any number.
    """
    if memory and sys.platform == "linux":
        used = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_DATA, (used + memory, used + memory))
    word_lists.prepare(lists)
    # What these log of a single page is of no use to the user; the crawl counts what matters.
    for name in ("trafilatura", "htmldate", "courlan"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    # Whoever started the server of the workers may have done it without `_spawning`.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def do_nothing() -> None:
    """Do nothing."""


def run_all(calls: list[Callable[[], Any]], seconds: float | None) -> list[Result]:
    """Run jobs one after the other.

    Args:
        calls: the jobs.
        seconds: how long each may take before the process is killed; None: as long as it takes.
    """
    return [_run(call, seconds) for call in calls]


def _run(call: Callable[[], Any], seconds: float | None) -> Result:
    try:
        with _time_limit(seconds):
            return call(), None
    except StopIteration:
        # No future takes it: whoever awaits it would seem to have come to an end.
        return None, RuntimeError(f"a job raised StopIteration, in a worker process:\n{traceback.format_exc()}")
    except Exception as error:  # whatever it is, it is for whoever waits for the result
        error.add_note(f"in a worker process:\n{traceback.format_exc()}")
        return None, error


@contextmanager
def _time_limit(seconds: float | None) -> Iterator[None]:
    if seconds is None or not hasattr(signal, "setitimer"):
        yield
        return
    # The default action of the signal ends the process wherever it is, in a C library too.
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
