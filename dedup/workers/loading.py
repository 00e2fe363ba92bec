"""Faster loading of large libraries."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# See mallopt(3).
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_KEPT_BYTES = 1 << 25


def keep_single_threaded() -> None:
    """Have the library for linear algebra that NumPy brings start no threads, unless the environment asks for some.

    Nothing here calls it. It starts one a core in every process that imports NumPy, and each looks for work
    without a pause before it sleeps: .1 s of CPU.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def keep_freed_memory() -> None:
    """Have this process, and those that it forks, keep the memory that they free, where the C library is that of GNU.

    By default it gives memory of large arrays back to the system, which clears it before it hands it out again: a
    tenth of the CPU where one batch of texts comes after the other.
    """
    if sys.platform == "linux" and hasattr(library := ctypes.CDLL(None), "mallopt"):
        library.mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
        library.mallopt(_M_MMAP_THRESHOLD, _KEPT_BYTES)


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
