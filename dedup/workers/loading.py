"""What makes a process that loads large libraries start sooner."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

_KEPT_BYTES = 1 << 26


def keep_single_threaded() -> None:
    """Have the library for linear algebra that NumPy brings start no threads, unless the environment asks for some.

    Nothing here calls it. It starts one a core in every process that imports NumPy, and each looks for work
    without a pause before it sleeps: .1 s of CPU.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def keep_freed_memory() -> None:
    """Have processes that are started from now on keep the memory that they free, unless the environment says how much.

    By default the C library of Linux gives memory of large arrays back to the system, which clears it before it hands
    it out again: a tenth of the CPU where one batch of texts comes after the other.
    """
    for name in ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"):
        os.environ.setdefault(name, str(_KEPT_BYTES))


@contextmanager
def without_collections() -> Iterator[None]:
    """Load modules without looking for garbage among what they define: there is none, and it takes an eighth longer."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
