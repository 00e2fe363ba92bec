"""Worker processes for work that would hold up the event loop."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
import sys
import threading
import types
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from multiprocessing import forkserver
from multiprocessing.context import BaseContext
from typing import ParamSpec, TypeVar

from dedup.errors import DedupError

P = ParamSpec("P")
R = TypeVar("R")

logger = logging.getLogger(__name__)

_PRELOAD = ("dedup.preloaded",)


class WorkerDiedError(DedupError):
    """A job killed its worker process, or took longer than allowed, twice."""


class WorkerPool:
    """Runs functions in worker processes and survives the death of a worker.

    When a worker dies, every job that was under way anywhere in the pool is lost with it, and
    which one was to blame cannot be told. So each of them is tried once more alone, in a process
    of its own: only a job that kills that one too is given up.

    Args:
        workers: how many processes; 0 runs everything in a thread, without any protection.
        seconds: how long a job may take before its worker is killed (not on Windows, nor in
            threads).
        preload: modules that the jobs need; the processes share what they load.
    """

    def __init__(self, workers: int, seconds: float = 60.0, preload: Sequence[str] = ()) -> None:
        self._workers = workers
        self._preload = (*_PRELOAD, *preload)
        self._seconds = seconds
        self._pool: Executor | None = None
        self._lone_pool: Executor | None = None
        self._is_closed = False
        self._one_suspect_at_a_time = asyncio.Lock()

    async def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a function in a worker and return what it returns.

        Args:
            function: a function at the top level of a module.
            *args: its arguments; they are pickled, as is the result.
            **kwargs: likewise.

        Raises:
            WorkerDiedError: the worker died or took too long, twice; or the pool is closed.
            Exception: what the function raised.
        """
        job = partial(function, *args, **kwargs)
        self._require_open()
        if self._pool is None:
            self._pool = self._new_pool(self._workers)
        pool = self._pool
        try:
            return await self._run_in(pool, job)
        except BrokenProcessPool:
            self._require_open()
            if self._pool is pool:
                logger.warning("a worker process died; its work is tried once more")
                self._pool = None
        async with self._one_suspect_at_a_time:
            self._require_open()
            return await self._run_alone(job)

    def close(self) -> None:
        """End all processes, whatever they are doing; from now on no work is taken."""
        self._is_closed = True
        for pool in (self._pool, self._lone_pool):
            if pool is not None:
                _end(pool)

    def _require_open(self) -> None:
        if self._is_closed:
            raise WorkerDiedError("the workers were ended")

    async def _run_in(self, pool: Executor, job: Callable[[], R]) -> R:
        attempt: Callable[[Callable[[], R], float], R] = _limited if self._workers else _call
        before = len(_processes(pool))
        with _spawning():
            future = pool.submit(attempt, job, self._seconds)
            if len(_processes(pool)) > before:
                # The executor looks anew at which processes it has to watch before it starts one, not
                # after: without a second look, nobody would notice the death of this one.
                pool.submit(_nothing)
        return await asyncio.wrap_future(future)

    async def _run_alone(self, job: Callable[[], R]) -> R:
        self._lone_pool = self._new_pool(1)
        try:
            return await self._run_in(self._lone_pool, job)
        except BrokenProcessPool:
            self._require_open()
            raise WorkerDiedError(f"its worker process died twice, or took longer than {self._seconds:g} s") from None
        finally:
            _end(self._lone_pool)
            self._lone_pool = None

    def _new_pool(self, workers: int) -> Executor:
        if workers == 0:
            return ThreadPoolExecutor(1)
        return ProcessPoolExecutor(workers, mp_context=_context(self._preload), initializer=_prepare_worker)


def load_ahead() -> None:
    """Begin to load what worker processes need, which takes a second, without waiting for it.

    Of use to a process that will have a pool, without further modules, and has something else to do before.
    """
    if _context(_PRELOAD).get_start_method() == "forkserver":
        with _spawning():
            forkserver.ensure_running()


def _context(preload: Sequence[str]) -> BaseContext:
    # Forking this process, with its threads and event loop, is not safe. A server that has
    # loaded the libraries and nothing else is forked instead: loading them takes a second
    # and 150 MB, once and not for every worker.
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(method)
    context.set_forkserver_preload(list(preload))
    return context


def _end(pool: Executor) -> None:
    # What kill_workers() does from Python 3.14 on.
    processes = _processes(pool)
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.kill()


def _processes(pool: Executor) -> list[multiprocessing.Process]:
    return list((getattr(pool, "_processes", None) or {}).values())


@contextmanager
def _spawning() -> Iterator[None]:
    """Let a new process start clean.

    It shall not import the main script again: that takes as long as the rest of its start, and
    fails for a script without a main guard. Nor shall Ctrl-C, which a terminal sends to every
    process, end it while the crawl is still handing out what it has.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    masked = hasattr(signal, "pthread_sigmask")
    if masked:
        previous = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        if masked:
            signal.pthread_sigmask(signal.SIG_SETMASK, previous)
        sys.modules["__main__"] = main


def _prepare_worker() -> None:
    # What these log of a single page is of no use to the user; the crawl counts what matters.
    for name in ("trafilatura", "htmldate", "courlan"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _nothing() -> None:
    pass


def _call(job: Callable[[], R], _: float) -> R:
    return job()


def _limited(job: Callable[[], R], seconds: float) -> R:
    if not hasattr(signal, "setitimer"):
        return job()
    # The default action of the signal ends the process wherever it is, in a C library too.
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return job()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
