"""Commands in processes of their own, what they print and what they take with all that they start; rates of work."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import psutil

T = TypeVar("T")

PROJECT = Path(__file__).parent.parent
"""Where commands of the project run."""

# CPU time of a method in a round, at least: the fastest need a thousandth of it for a pass.
_LEAST_SECONDS = 0.2
SAMPLE_SECONDS = 0.1
# Adding up the pages of a process takes the kernel some 10 ms, in which the process is slowed down.
MEMORY_EVERY = 20


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield a folder that is removed in the end, even if somebody still writes into it."""
    with TemporaryDirectory(prefix="benchmark-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def output_of(command: Sequence[str], folder: Path = PROJECT, environment: Mapping[str, str] | None = None) -> str:
    """Run a command to its end and return what it prints.

    Args:
        command: program and arguments.
        folder: where it runs.
        environment: what is added to the environment variables.

    Raises:
        ValueError: it ended with another status than 0.
    """
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ValueError(f"{' '.join(command[:4])} ended with status {done.returncode}: {done.stderr[-500:]}")
    return done.stdout


def rate(work: Callable[[T], object], values: Sequence[T]) -> float:
    """Return for how many values a second of CPU time something is done.

    Args:
        work: what is done for one.
        values: the values, taken again and again until enough time has passed.
    """
    # CPU time of all threads: a second core gains nothing, and waiting for a busy one costs nothing.
    started = time.process_time()
    spent, passes = 0.0, 0
    while spent < _LEAST_SECONDS:
        for value in values:
            work(value)
        passes += 1
        spent = time.process_time() - started
    return passes * len(values) / spent


@dataclass(frozen=True)
class Usage:
    """What a command used, its child processes included.

    Attributes:
        cpu_seconds: user and system time.
        wall_seconds: from its start to its end.
        peak_bytes: the largest sum of the processes' own memory, shared pages divided among them.
    """

    cpu_seconds: float
    wall_seconds: float
    peak_bytes: int

    def of(self, documents: int) -> dict[str, Any]:
        """Return what is told of a command that read so many documents."""
        return {
            "documents": documents,
            "seconds": self.wall_seconds,
            "cpu_seconds": self.cpu_seconds,
            "peak_bytes": self.peak_bytes,
        }


def run_measured(
    command: list[str],
    folder: Path,
    environment: Mapping[str, str] | None = None,
    memory_every: int = MEMORY_EVERY,
    *,
    is_quiet: bool = False,
) -> Usage:
    """Run a command to its end.

    Args:
        command: program and arguments.
        folder: where it runs.
        environment: what is added to the environment variables.
        memory_every: each how many samples include memory.
        is_quiet: whether its output and its status are of no interest.

    Raises:
        ValueError: it ended with another status than 0.
    """
    started = time.perf_counter()
    output = subprocess.DEVNULL if is_quiet else None
    process = subprocess.Popen(
        command, cwd=folder, env={**os.environ, **(environment or {})}, stdout=output, stderr=output
    )
    sampler = _Sampler(process.pid, memory_every)
    sampler.start()
    # Unlike Popen.wait this gives the times of the process itself to the end.
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    sampler.end()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0 and not is_quiet:
        raise ValueError(f"{' '.join(command[:4])} ended with status {process.returncode}")
    # Workers that are not the program's own children are missing from its times.
    cpu = max(sum(sampler.cpu_seconds.values()), usage.ru_utime + usage.ru_stime)
    return Usage(cpu, wall, sampler.peak)


def note_usage(parent: psutil.Process, cpu_seconds: dict[int, float], *, with_memory: bool) -> int:
    """Note what a process and all below it have used so far.

    Args:
        parent: the process.
        cpu_seconds: takes the user and system time of each, by its number.
        with_memory: whether memory is added up.

    Returns:
        Bytes of their own memory, shared pages divided among them; 0 where that was not asked for, or all have ended.
    """
    memory = 0
    with suppress(psutil.Error):  # a process can end while it is looked at
        for process in [parent, *parent.children(recursive=True)]:
            times = process.cpu_times()
            cpu_seconds[process.pid] = times.user + times.system
            memory += process.memory_full_info().pss if with_memory else 0
    return memory


class _Sampler(threading.Thread):
    """Looks at the times of a process and all below it ten times a second, and now and then at their memory."""

    def __init__(self, pid: int, memory_every: int) -> None:
        super().__init__(daemon=True)
        self._memory_every = memory_every
        self.peak = 0
        self.cpu_seconds: dict[int, float] = {}
        self._process = psutil.Process(pid)
        self._ended = threading.Event()

    def run(self) -> None:
        for number in count():
            if self._ended.wait(SAMPLE_SECONDS):
                return
            self._sample(with_memory=number % self._memory_every == 0)

    def end(self) -> None:
        self._ended.set()
        self.join()

    def _sample(self, *, with_memory: bool) -> None:
        memory = note_usage(self._process, self.cpu_seconds, with_memory=with_memory)
        self.peak = max(self.peak, memory)
