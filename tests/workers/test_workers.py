from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial, wraps
from inspect import Signature, signature
from pathlib import Path
from typing import Any

import psutil
import pytest

from dedup.workers.pool import WorkerDiedError, WorkerPool
from tests import worker_jobs
from tests.commands import run_in_process, run_python
from tests.waiting import HANG, wait_until

pytestmark = pytest.mark.slow

LONG = HANG


def run(test: Callable[[WorkerPool], Awaitable[None]], workers: int = 1, seconds: float = HANG) -> None:
    async def main() -> None:
        pool = WorkerPool(workers, seconds)
        try:
            async with asyncio.timeout(LONG):
                await test(pool)
        finally:
            pool.close()

    asyncio.run(main())


def in_pool(workers: int = 1, seconds: float = HANG) -> Callable[[Callable[..., Awaitable[None]]], Callable[..., None]]:
    """Have a coroutine function tested in a pool, which is its first argument; the others are fixtures."""

    def decorate(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
        @wraps(test)
        def tested(**fixtures: Any) -> None:
            run(partial(test, **fixtures), workers, seconds)

        _, *others = signature(test).parameters.values()
        tested.__signature__ = Signature(others)  # type: ignore[attr-defined]
        return tested

    return decorate


def has_ended(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@in_pool()
async def test_a_job_runs_in_another_process_and_its_result_comes_back(pool: WorkerPool) -> None:
    assert await pool.run(worker_jobs.add, 2, b=3) == 5
    assert await pool.run(os.getpid) != os.getpid()


@in_pool(workers=2)
async def test_so_many_jobs_run_at_once_as_there_are_workers(pool: WorkerPool, tmp_path: Path) -> None:
    first, second = str(tmp_path / "1"), str(tmp_path / "2")
    jobs = [pool.run(worker_jobs.meet, first, second), pool.run(worker_jobs.meet, second, first)]
    assert await asyncio.gather(*jobs) == [True, True]


@pytest.mark.parametrize("workers", [0, 1])
def test_an_exception_passes_through_and_the_pool_goes_on(workers: int) -> None:
    async def test(pool: WorkerPool) -> None:
        with pytest.raises(ZeroDivisionError) as caught:
            await pool.run(worker_jobs.divide, 1, 0)
        assert "worker_jobs.py" in caught.value.__notes__[0]
        assert await pool.run(worker_jobs.divide, 1, 2) == 0.5

    run(test, workers)


@in_pool(workers=2)
async def test_jobs_that_wait_are_sent_together_and_each_gets_its_own_result(pool: WorkerPool) -> None:
    jobs = [pool.run(worker_jobs.add, i, i) for i in range(30)]
    jobs.insert(11, pool.run(worker_jobs.divide, 1, 0))
    jobs.insert(13, pool.run(worker_jobs.unpicklable))
    results = await asyncio.gather(*jobs, return_exceptions=True)
    assert "pickle" in str(results.pop(13))
    assert isinstance(results.pop(11), ZeroDivisionError)
    assert results == [i + i for i in range(30)]


@in_pool()
async def test_what_no_future_takes_as_an_exception_is_told_and_the_others_complete(pool: WorkerPool) -> None:
    jobs = [pool.run(worker_jobs.add, i, i) for i in range(9)]
    jobs.insert(3, pool.run(worker_jobs.stop_iteration))
    results = await asyncio.gather(*jobs, return_exceptions=True)
    assert "StopIteration" in str(results.pop(3))
    assert results == [i + i for i in range(9)]


@in_pool()
async def test_a_job_that_is_not_waited_for_any_more_leaves_the_others_alone(pool: WorkerPool) -> None:
    jobs = [asyncio.create_task(pool.run(worker_jobs.sleep, 0.05, i)) for i in range(8)]
    await asyncio.sleep(0)
    for cancelled in (jobs[0], jobs[6]):  # under way, and waiting
        cancelled.cancel()
    results = await asyncio.gather(*jobs, return_exceptions=True)
    assert isinstance(results.pop(6), asyncio.CancelledError)
    assert isinstance(results.pop(0), asyncio.CancelledError)
    assert results == [1, 2, 3, 4, 5, 7]
    assert await pool.run(worker_jobs.add, 1, 1) == 2


def test_all_that_wait_are_told_that_no_worker_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("no process for you")

    async def test(pool: WorkerPool) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(ProcessPoolExecutor, "submit", refuse)
            jobs = [pool.run(worker_jobs.add, i, i) for i in range(9)]
            results = await asyncio.gather(*jobs, return_exceptions=True)
        assert [str(result) for result in results] == ["no process for you"] * 9
        assert await pool.run(worker_jobs.add, 1, 1) == 2

    run(test)


@in_pool(workers=0)
async def test_without_workers_jobs_run_in_a_thread(pool: WorkerPool) -> None:
    assert await pool.run(os.getpid) == os.getpid()
    sleeping = asyncio.create_task(pool.run(worker_jobs.sleep, 0.2, 7))
    await asyncio.sleep(0.01)  # the event loop is free
    assert not sleeping.done()
    assert await sleeping == 7


@in_pool()
async def test_a_job_whose_worker_is_killed_once_is_tried_again(pool: WorkerPool, tmp_path: Path) -> None:
    assert await pool.run(worker_jobs.die_once, str(tmp_path / "flag")) != os.getpid()


@in_pool(workers=2)
async def test_a_job_that_always_kills_its_worker_is_given_up_and_all_others_complete(pool: WorkerPool) -> None:
    innocent = [pool.run(worker_jobs.sleep, 0.02, i) for i in range(20)]
    jobs = [*innocent[:10], pool.run(worker_jobs.die), *innocent[10:]]
    results = await asyncio.gather(*jobs, return_exceptions=True)
    assert isinstance(results.pop(10), WorkerDiedError)
    assert results == list(range(20))
    assert await pool.run(worker_jobs.add, 1, 1) == 2


@in_pool()
async def test_several_jobs_that_kill_their_workers_are_each_given_up(pool: WorkerPool) -> None:
    jobs = [pool.run(worker_jobs.die), pool.run(worker_jobs.add, 1, 1), pool.run(worker_jobs.die)]
    results = await asyncio.gather(*jobs, return_exceptions=True)
    assert isinstance(results[0], WorkerDiedError)
    assert results[1] == 2
    assert isinstance(results[2], WorkerDiedError)
    with pytest.raises(WorkerDiedError):
        await pool.run(worker_jobs.die)
    assert await pool.run(worker_jobs.add, 1, 1) == 2


@in_pool()
async def test_a_worker_that_dies_while_it_has_nothing_to_do_is_replaced(pool: WorkerPool) -> None:
    pid = await pool.run(os.getpid)
    os.kill(pid, signal.SIGKILL)
    for _ in range(3):
        assert await pool.run(worker_jobs.add, 1, 1) == 2
        await asyncio.sleep(0.05)


@in_pool(workers=2, seconds=1.0)
async def test_a_job_that_takes_too_long_is_killed_and_the_others_complete(pool: WorkerPool) -> None:
    started = time.monotonic()
    jobs = [pool.run(worker_jobs.sleep, LONG), pool.run(worker_jobs.add, 1, 1), pool.run(worker_jobs.sleep, 0, 7)]
    results = await asyncio.gather(*jobs, return_exceptions=True)
    assert isinstance(results[0], WorkerDiedError)
    assert "longer than 1 s" in str(results[0])
    assert results[1:] == [2, 7]
    assert time.monotonic() - started < LONG / 2


@in_pool(seconds=0.3)
async def test_a_job_that_hangs_in_c_is_killed_too(pool: WorkerPool) -> None:
    with pytest.raises(WorkerDiedError):
        await pool.run(worker_jobs.hang_in_c)


@in_pool(seconds=1.0)
async def test_the_time_is_that_of_one_job_and_not_of_the_worker(pool: WorkerPool) -> None:
    pid = await pool.run(os.getpid)
    results = await asyncio.gather(*(pool.run(worker_jobs.sleep, 0.3, i) for i in range(4)))
    assert results == [0, 1, 2, 3]
    await asyncio.sleep(1.1)
    assert await pool.run(os.getpid) == pid


@in_pool()
async def test_an_interrupt_from_the_terminal_leaves_the_workers_alone(pool: WorkerPool) -> None:
    pid = await pool.run(os.getpid)
    os.kill(pid, signal.SIGINT)
    await asyncio.sleep(0.1)
    assert await pool.run(os.getpid) == pid


SCRIPT_THAT_STARTED_THE_SERVER_BEFORE = """
import asyncio, os, signal
from multiprocessing import forkserver
from dedup.workers.pool import WorkerPool

async def main():
    pool = WorkerPool(1)
    pid = await pool.run(os.getpid)
    await asyncio.sleep(0.1)  # it waits for work
    os.kill(pid, signal.SIGINT)
    await asyncio.sleep(0.1)
    print(await pool.run(os.getpid) == pid)
    pool.close()

forkserver.ensure_running()
asyncio.run(main())
"""


def test_nor_does_it_end_workers_whose_server_somebody_else_has_started() -> None:
    assert run_python(SCRIPT_THAT_STARTED_THE_SERVER_BEFORE) == "True\n"


SCRIPT_THAT_LOADS_AHEAD = """
import asyncio, os, signal
from multiprocessing import forkserver
from dedup.workers.pool import WorkerPool, load_ahead

async def main():
    pool = WorkerPool(1)
    await pool.run(os.getpid)
    pool.close()

load_ahead()
server = forkserver._forkserver._forkserver_pid
os.kill(server, signal.SIGINT)
asyncio.run(main())
print(forkserver._forkserver._forkserver_pid == server)
"""


def test_nor_does_it_end_a_server_that_is_still_loading() -> None:
    assert run_python(SCRIPT_THAT_LOADS_AHEAD) == "True\n"


def test_closing_ends_the_workers() -> None:
    pids: list[int] = []

    async def test(pool: WorkerPool) -> None:
        pids.append(await pool.run(os.getpid))

    run(test)
    wait_until(lambda: has_ended(pids[0]))


async def begun(path: Path) -> int:
    """Wait until a job has begun, and return the id of its process."""
    async with asyncio.timeout(LONG):
        while not path.exists():
            await asyncio.sleep(0.01)
    return int(path.read_text())


async def assert_ended(*jobs: asyncio.Task[object]) -> None:
    await asyncio.wait(jobs, timeout=LONG / 2)
    assert all(job.done() for job in jobs), "whoever waits for a job waits for ever"
    for job in jobs:
        assert job.cancelled() or isinstance(job.exception(), WorkerDiedError)


@pytest.mark.thorough
def test_closing_does_not_wait_for_what_is_under_way(tmp_path: Path) -> None:
    async def main() -> None:
        pool = WorkerPool(1)
        path = tmp_path / "begun"
        under_way = asyncio.create_task(pool.run(worker_jobs.note_and_sleep, str(path), LONG))
        waiting = asyncio.create_task(pool.run(worker_jobs.add, 1, 1))
        pid = await begun(path)
        started = time.monotonic()
        pool.close()
        assert time.monotonic() - started < LONG / 2
        wait_until(lambda: has_ended(pid))
        await assert_ended(under_way, waiting)

    asyncio.run(main())


def test_closing_ends_second_attempts_too(tmp_path: Path) -> None:
    async def main() -> None:
        pool = WorkerPool(2)
        paths = [tmp_path / "1", tmp_path / "2"]
        jobs = [asyncio.create_task(pool.run(worker_jobs.note_and_sleep, str(path), LONG)) for path in paths]
        pids = [await begun(path) for path in paths]
        for path in paths:
            path.unlink()
        os.kill(pids[0], signal.SIGKILL)
        done, waiting = await asyncio.wait([asyncio.create_task(begun(path)) for path in paths],
                                           return_when=asyncio.FIRST_COMPLETED)  # fmt: skip
        for task in waiting:  # one of the two jobs is tried again, the other waits for its turn
            task.cancel()
        pool.close()
        await assert_ended(*jobs)
        pid = done.pop().result()
        wait_until(lambda: has_ended(pid))

    asyncio.run(main())


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("used", [False, True])
def test_a_closed_pool_refuses_work(workers: int, used: bool) -> None:
    async def main() -> None:
        pool = WorkerPool(workers)
        if used:
            await pool.run(worker_jobs.add, 1, 1)
        pool.close()
        with pytest.raises(WorkerDiedError):
            await pool.run(worker_jobs.add, 1, 1)

    asyncio.run(main())


@pytest.mark.parametrize("workers", [0, 1])
def test_a_pool_that_was_never_used_can_be_closed_and_closed_again(workers: int) -> None:
    pool = WorkerPool(workers)
    pool.close()
    pool.close()


SCRIPT_WITHOUT_MAIN_GUARD = """
import asyncio, os, sys
from dedup.workers.pool import WorkerPool

print("main", flush=True)
pool = WorkerPool(2)

async def main():
    pids = await asyncio.gather(*(pool.run(os.getpid) for _ in range(4)))
    print(os.getpid() in pids, flush=True)

asyncio.run(main())
pool.close()
"""


def test_a_script_without_a_main_guard_is_not_run_again_by_its_workers(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT_WITHOUT_MAIN_GUARD)
    done = run_in_process(script, cwd=tmp_path)
    assert (done.stdout, done.stderr, done.returncode) == ("main\nFalse\n", "", 0)


def test_a_daemonic_process_which_may_have_no_children_works_in_a_thread(capfd: pytest.CaptureFixture[str]) -> None:
    process = multiprocessing.get_context("spawn").Process(target=worker_jobs.use_a_pool, daemon=True)
    process.start()
    process.join(LONG)
    assert process.exitcode == 0
    lines = capfd.readouterr().err.splitlines()
    assert [line for line in lines if "daemonic" in line] == lines
    assert len(lines) == 1


SCRIPT_THAT_IS_KILLED = """
import asyncio, sys, time
from dedup.workers.pool import WorkerPool
from tests.worker_jobs import note_and_sleep

async def main():
    pool = WorkerPool(2)
    await asyncio.gather(*(pool.run(note_and_sleep, path, 60) for path in sys.argv[1:]))

asyncio.run(main())
"""


def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    paths = [tmp_path / "1", tmp_path / "2"]
    command = [sys.executable, "-c", SCRIPT_THAT_IS_KILLED, *map(str, paths)]
    # A process that is killed leaves its temporary files; the names of sockets among them must be short.
    with (
        tempfile.TemporaryDirectory(prefix="dedup-") as folder,
        subprocess.Popen(command, env=os.environ | {"TMPDIR": folder}) as parent,
    ):
        wait_until(lambda: all(path.exists() for path in paths), LONG)
        family = [child.pid for child in psutil.Process(parent.pid).children(recursive=True)]
        assert len(family) >= 2
        parent.kill()
    wait_until(lambda: all(map(has_ended, family)))
