"""Compiling ahead, in a process of its own that ends with it, what would else be compiled when it is first called.

What the compiler takes in memory goes with that process; who waits is told so, and can be interrupted.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from dedup.compiled_cache import (
    FOLDER_VARIABLE,
    is_installed,
    is_kept,
    kept_folder,
    mark_kept,
    named_folder,
    take_up,
)
from dedup.errors import DedupError, InputError
from dedup.progress import Progress
from dedup.warming_parts import PARTS
from dedup.workers.loading import without_collections

logger = logging.getLogger("dedup")

_WAY_OUT = f"set {FOLDER_VARIABLE} to a folder that can be written, or run `dedup warm-up` when the image is made"

# Seconds.
_MOMENT = 0.1
# Of each function one, as it is done.
_COMPILED = "*.nbc"

SIGNATURES = ("signatures",)
"""The parts that signatures of any text need, and the check of their words."""


class CompilingError(DedupError):
    """What was compiled can be kept nowhere, or could not be compiled."""


def compile_ahead(names: Sequence[str], tell: Callable[[str], None], stream: TextIO | None = None) -> None:
    """Compile what is not compiled yet, and wait for it.

    Args:
        names: parts, names in `dedup.warming_parts.PARTS`.
        tell: takes a line for the user before and one after it; is not called where there is nothing to do.
        stream: a terminal that is shown how far it is; None: none is.

    Raises:
        CompilingError: it failed, or there is no folder to keep it in; each process compiles for itself then.
        InputError: the compiler is not installed, and what is needed beside signatures cannot do without it.
        KeyboardInterrupt: the user stopped it; the process that compiles is gone.
    """
    if not is_installed():
        if set(names) <= set(SIGNATURES):
            return
        raise InputError("this needs numba, which is not installed: pip install 'scrapy-neardup[fast]'")
    folder = kept_folder()
    if folder is None:
        where = f"{named_folder()}: cannot be written" if named_folder() else "no folder can be written"
        raise CompilingError(f"{where}, and compiled code is kept nowhere; {_WAY_OUT}")
    missing = [name for name in names if not is_kept(name)]
    if not missing:
        return
    about = ", ".join(PARTS[name].about for name in missing)
    tell(f"compiling {about} for this machine, once; kept in {folder}")
    started = time.monotonic()
    _compile_in_processes(missing, folder, stream if stream is not None and stream.isatty() else None)
    tell(f"compiled in {time.monotonic() - started:.0f} s")


def prepare_crawl() -> None:
    """Compile what makes signatures, load it, and use it from now on; say so in the log.

    Where that cannot be kept, or cannot be compiled, the log says so, and the crawl goes on without it. What was
    compiled is loaded, and never looked at again by the garbage collector, which would take a millisecond of CPU
    for each page of a crawl. It waits for a process: call it in a thread.
    """
    prepare(SIGNATURES, logger.info)
    if is_kept(*SIGNATURES):
        if "dedup.signature.analysis" not in sys.modules:
            with without_collections():
                from dedup.signature.analysis import analyse  # noqa: PLC0415 -- loads the compiler

                analyse("Whatever is compiled is loaded.")
            gc.freeze()
        take_up()


def prepare(names: Sequence[str], tell: Callable[[str], None], stream: TextIO | None = None) -> None:
    """Do what `compile_ahead` does; where that fails, the log says so, and each process compiles for itself."""
    try:
        compile_ahead(names, tell, stream)
    except CompilingError as error:
        without = "; signatures are made without it, in some milliseconds a text" if kept_folder() is None else ""
        logger.warning("%s%s", error, without)


def _compile_in_processes(names: Sequence[str], folder: Path, terminal: TextIO | None) -> None:
    """Compile parts side by side: each is work for one core, and takes 200 MB.

    No more at a time than there are cores: a part that starts later finds what it shares with earlier ones.

    Args:
        names: the parts.
        folder: where it is kept.
        terminal: where it is shown how far it is, if anywhere.

    Raises:
        CompilingError: one of them failed.
    """
    waiting, running = list(names), list[subprocess.Popen[str]]()
    progress = (
        None if terminal is None else Progress("compiling", sum(PARTS[name].functions for name in names), terminal)
    )
    started = time.time()
    try:
        while waiting or running:
            with _interrupt_held():
                while waiting and len(running) < (os.cpu_count() or 1):
                    running.append(_start(waiting.pop(0)))
            for process in running.copy():
                if _has_ended(process):
                    running.remove(process)
            if progress is not None:
                progress.show(sum(path.stat().st_mtime >= started for path in folder.rglob(_COMPILED)))
    finally:
        if progress is not None:
            progress.erase()
        for process in running:
            if process.poll() is None:
                _kill(process)


def _has_ended(process: subprocess.Popen[str]) -> bool:
    """Wait a moment for a process, and say whether it has ended.

    Raises:
        CompilingError: it failed.
    """
    try:
        told = process.communicate(timeout=_MOMENT)[1]
    except subprocess.TimeoutExpired:
        return False
    if process.returncode:
        last = (told.strip().splitlines() or [f"its process ended with status {process.returncode}"])[-1]
        raise CompilingError(f"compiling failed: {last}")
    return True


@contextmanager
def _interrupt_held() -> Iterator[None]:
    """Let Ctrl-C wait: in the middle of starting a process it would leave one that nobody knows of."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start(name: str) -> subprocess.Popen[str]:
    # Found as it was found here, and nothing else where the user happens to be.
    paths = [str(Path(__file__).parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(  # noqa: S603 -- this program itself
        [sys.executable, "-P", "-m", "dedup.warming", name],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        text=True,
        process_group=0 if hasattr(os, "killpg") else None,
    )


def _kill(process: subprocess.Popen[str]) -> None:
    """End a process with those that it started itself."""
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


def _main(name: str) -> None:
    # The user who interrupts need not be told where it was.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    from dedup.compiled import not_kept  # noqa: PLC0415 -- loads the compiler

    # The compiler makes many objects that stay: looking for garbage among them takes a tenth of its time.
    gc.set_threshold(100_000, 50, 1000)
    PARTS[name].compile()
    if not_kept:
        raise not_kept[0]
    mark_kept(name)


if __name__ == "__main__":
    try:
        _main(sys.argv[1])
    except (DedupError, OSError) as error:
        sys.exit(f"{error}")
