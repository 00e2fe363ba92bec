"""What makes a process that loads large libraries start sooner."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager


def keep_single_threaded() -> None:
    """Have the library for linear algebra that NumPy brings start no threads, unless the environment asks for some.

    Nothing here calls it. It starts one a core in every process that imports NumPy, and each looks for work
    without a pause before it sleeps: .1 s of CPU.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


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
