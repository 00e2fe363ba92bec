"""What the worker processes of `test_workers` run."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
import sys
import time
from pathlib import Path

from dedup.workers.pool import WorkerPool


def add(a: int, b: int) -> int:
    return a + b


def divide(a: int, b: int) -> float:
    return a / b


def stop_iteration() -> None:
    next(iter(()))


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(flag: str) -> int:
    """Kill the worker, unless the file is there that the first attempt leaves behind; return its id."""
    if not Path(flag).exists():
        Path(flag).touch()
        die()
    return os.getpid()


def sleep(seconds: float, value: int = 0) -> int:
    time.sleep(seconds)
    return value


def hang_in_c() -> object:
    """Never come back from a call into C that holds the interpreter's lock."""
    return re.match(r"(a+)+$", "a" * 60 + "b")


def note_and_sleep(path: str, seconds: float) -> None:
    """Write the id of the process into a file, then sleep."""
    Path(path).with_suffix(".new").write_text(str(os.getpid()))
    Path(path).with_suffix(".new").rename(path)
    time.sleep(seconds)


def meet(mine: str, other: str) -> bool:
    """Wait until another job, that runs at the same time, has done the same."""
    Path(mine).touch()
    for _ in range(60_000):
        if Path(other).exists():
            return True
        time.sleep(0.01)
    return False


def unpicklable() -> object:
    return lambda: None


def use_a_pool() -> None:
    """Run jobs in a pool, as a daemonic process that has been started for that; end with status 0 if it works."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")

    async def main() -> None:
        pool = WorkerPool(2)
        sums = await asyncio.gather(*(pool.run(add, number, 1) for number in range(9)))
        pid = await pool.run(os.getpid)
        pool.close()
        sys.exit(0 if sums == list(range(1, 10)) and pid == os.getpid() else 1)

    asyncio.run(main())
