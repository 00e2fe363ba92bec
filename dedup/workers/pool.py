"""Worker processes for work that would hold up the event loop."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
import sys
import threading
import traceback
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from multiprocessing import forkserver, resource_tracker
from multiprocessing.context import BaseContext
from typing import Any, NamedTuple, ParamSpec, TypeVar

from dedup.errors import DedupError
from dedup.limits import limit_memory, time_limit
from dedup.signature import dictionaries

logger = logging.getLogger(__name__)

Result = tuple[Any, Exception | None]
"""What a job returned, or what it raised."""

P = ParamSpec("P")
R = TypeVar("R")

PRELOAD = ("dedup.workers.preloaded",)
"""What makes signatures of pages and of texts in any language."""

_is_loaded_ahead = False


def prepare_worker(lists: Iterable[bytes], memory: int) -> None:
    """Make a process that was just started one that serves its parent alone, knows its word lists, and ends with it.

    Args:
        lists: the word lists.
        memory: how many bytes more than it has it may take (on Linux); 0: any number.
    """
    if memory:
        limit_memory(memory)
    dictionaries.prepare(lists)
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
        with time_limit(seconds):
            return call(), None
    except StopIteration:
        # No future takes it: whoever awaits it would seem to have come to an end.
        return None, RuntimeError(f"a job raised StopIteration, in a worker process:\n{traceback.format_exc()}")
    except Exception as error:  # whatever it is, it is for whoever waits for the result
        error.add_note(f"in a worker process:\n{traceback.format_exc()}")
        return None, error


class WorkerDiedError(DedupError):
    """A job killed its worker process, or took longer than allowed, twice."""


class _Job(NamedTuple):
    """Something to run, and who waits for its result."""

    call: Callable[[], Any]
    result: asyncio.Future[Any]


class WorkerPool:
    """Runs functions in worker processes and survives the death of a worker.

    When a worker dies, every job that was under way anywhere in the pool is lost with it, and
    which one was to blame cannot be told. So each of them is tried once more alone, in a process
    of its own: only a job that kills that one too is given up.

    Args:
        workers: how many processes; 0 runs everything in a thread, without any protection. So does a
            daemonic process, such as a worker of Celery, which may have no children.
        seconds: how long a job may take before its worker is killed (not on Windows, nor in
            threads).
        preload: modules that the jobs need; the processes share what they load.
        memory: how many bytes a worker may take beyond what is preloaded (on Linux); a job that takes more fails. 0:
            any number.
        bundled: how many jobs that wait for a worker are sent to it at once; 1: each is sent at
            once and alone.
    """

    def __init__(
        self,
        workers: int,
        seconds: float = 60.0,
        preload: Sequence[str] = PRELOAD,
        *,
        memory: int = 700 << 20,
        bundled: int = 4,
    ) -> None:
        self._workers = 0 if workers and _is_childless() else workers
        self._preload = preload
        self._seconds = seconds
        self._memory = memory
        self._bundled = bundled
        self._waiting: deque[_Job] = deque()
        self._bundles = 0
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
        job: _Job = _Job(partial(function, *args, **kwargs), asyncio.get_running_loop().create_future())
        self._require_open()
        self._waiting.append(job)
        self._send_waiting()
        try:
            result: R = await job.result
        except BrokenProcessPool:
            async with self._one_suspect_at_a_time:
                self._require_open()
                result = await self._run_alone(job.call)
        return result

    def close(self) -> None:
        """End all processes, whatever they are doing; from now on no work is taken."""
        self._is_closed = True
        for job in self._waiting:
            job.result.cancel()
        self._waiting.clear()
        for pool in (self._pool, self._lone_pool):
            if pool is not None:
                _end(pool)

    def _require_open(self) -> None:
        if self._is_closed:
            raise WorkerDiedError("the workers were ended")

    def _send_waiting(self) -> None:
        # A page takes some ten milliseconds, and sending one a fifth of one. While all workers have work,
        # and one more bundle lies ready for the first that has none, pages may as well wait for each other.
        while self._waiting and (self._bundled == 1 or self._bundles <= self._workers):
            most = min(self._bundled, -(-len(self._waiting) // max(1, self._workers)))
            bundle = [job for job in (self._waiting.popleft() for _ in range(most)) if not job.result.done()]
            if bundle:
                self._send(bundle)

    def _send(self, bundle: list[_Job]) -> None:
        if self._pool is None:
            self._pool = self._new_pool(self._workers)
        pool = self._pool
        self._bundles += 1
        try:
            sent = self._submit(pool, [job.call for job in bundle])
        except Exception as error:  # a broken pool, a process that cannot be started: each job is told
            sent = asyncio.get_running_loop().create_future()
            sent.set_exception(error)
        sent.add_done_callback(partial(self._receive, pool, bundle))

    def _receive(self, pool: Executor, bundle: list[_Job], sent: asyncio.Future[list[Result]]) -> None:
        self._bundles -= 1
        if sent.cancelled():
            for job in bundle:
                job.result.cancel()
        elif (error := sent.exception()) is None:
            for job, outcome in zip(bundle, sent.result(), strict=True):
                _finish(job, *outcome)
        elif len(bundle) > 1 and not isinstance(error, BrokenProcessPool) and not self._is_closed:
            # One of them cannot be pickled, or what it returned.
            for job in bundle:
                self._send([job])
        else:
            self._replace_broken(pool, error)
            for job in bundle:
                _finish(job, None, error)
        if not self._is_closed:
            self._send_waiting()

    def _replace_broken(self, pool: Executor, error: BaseException) -> None:
        """Let the next job have a new pool, if this one is broken."""
        if isinstance(error, BrokenProcessPool) and self._pool is pool:
            self._pool = None
            if not self._is_closed:
                logger.warning("a worker process died; its work is tried once more")

    def _submit(self, pool: Executor, calls: list[Callable[[], Any]]) -> asyncio.Future[list[Result]]:
        before = len(_processes(pool))
        with _spawning():
            future = pool.submit(run_all, calls, self._seconds if self._workers else None)
            if len(_processes(pool)) > before:
                # The executor looks anew at which processes it has to watch before it starts one, not
                # after: without a second look, nobody would notice the death of this one.
                pool.submit(do_nothing)
        return asyncio.wrap_future(future)

    async def _run_alone(self, call: Callable[[], R]) -> R:
        self._lone_pool = self._new_pool(1)
        try:
            [(value, error)] = await self._submit(self._lone_pool, [call])
        except BrokenProcessPool:
            self._require_open()
            raise WorkerDiedError(f"its worker process died twice, or took longer than {self._seconds:g} s") from None
        finally:
            _end(self._lone_pool)
            self._lone_pool = None
        if error is not None:
            raise error
        result: R = value
        return result

    def _new_pool(self, workers: int) -> Executor:
        if workers == 0:
            return ThreadPoolExecutor(1)
        lists = list(dictionaries.registered().values())
        return ProcessPoolExecutor(workers, process_context(self._preload), prepare_worker, (lists, self._memory))


def _finish(job: _Job, value: Any, error: BaseException | None) -> None:
    if job.result.done():  # nobody waits for it any more
        return
    if error is None:
        job.result.set_result(value)
    else:
        job.result.set_exception(error)


def load_ahead(preload: Sequence[str] = PRELOAD) -> bool:
    """Begin to load what worker processes need, which takes a second, without waiting for it.

    Of use to a process that will have a pool and has something else to do before. Returns whether this was the first
    call in this process, on a system where it is of use.
    """
    global _is_loaded_ahead  # noqa: PLW0603 -- there is one server a process
    if _is_loaded_ahead or process_context(preload).get_start_method() != "forkserver":
        return False
    _is_loaded_ahead = True
    with _spawning():
        forkserver.ensure_running()
    return True


def _is_childless() -> bool:
    """Say, also in the log, whether this process may start no others."""
    if not multiprocessing.current_process().daemon:
        return False
    logger.info("this process is daemonic and may have no children: texts are analysed in a thread of its own")
    return True


def process_context(preload: Sequence[str] = PRELOAD) -> BaseContext:
    """Return how worker processes are started.

    Args:
        preload: modules that they need, and share what these load.
    """
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
    results = getattr(getattr(pool, "_result_queue", None), "_writer", None)
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.kill()
    if results is not None:
        # The executor's thread, which Python joins at its exit, would wait for ever for the rest of what a
        # process was sending: as long as this end is open too, there may come more.
        results.close()


def _processes(pool: Executor) -> list[multiprocessing.Process]:
    return list((getattr(pool, "_processes", None) or {}).values())


@contextmanager
def _spawning() -> Iterator[None]:
    """Let a new process start clean.

    It shall not import the main script again: that takes as long as the rest of its start, and
    fails for a script without a main guard. Nor shall Ctrl-C, which a terminal sends to every
    process, end it while the crawl is still handing out what it has. Nor shall it take modules of the folder
    that it starts in, such as a `dedup.py`, for those of the same name that it needs.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    was_safe = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    masked = hasattr(signal, "pthread_sigmask")
    if masked:
        # When it starts, it unblocks the signal.
        resource_tracker.ensure_running()
        previous = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        if masked:
            signal.pthread_sigmask(signal.SIG_SETMASK, previous)
        if was_safe is None:
            del os.environ["PYTHONSAFEPATH"]
        sys.modules["__main__"] = main
