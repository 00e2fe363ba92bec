"""The library for linear algebra that NumPy brings: nothing here calls it."""

from __future__ import annotations

import os


def keep_single_threaded() -> None:
    """Have it start no threads, unless the environment asks for some; of use before NumPy is imported.

    It starts one a core in every process, and each looks for work without a pause before it sleeps: .1 s of CPU.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
