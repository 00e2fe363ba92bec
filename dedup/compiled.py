"""Functions that are compiled to machine code when they are first called."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compile a function on numbers and arrays, once for all processes.

    The machine code is kept beside the module, or in the user's cache directory where that cannot
    be written; where neither can be, every process compiles for itself.
    """
    try:
        return cast("F", njit(cache=True, nogil=True)(function))
    except RuntimeError:  # no place for the cache
        return cast("F", njit(nogil=True)(function))


def inlined(function: F) -> F:
    """Compile a function into each one that calls it: handing it many arrays would take longer than what it does."""
    return cast("F", njit(nogil=True, inline="always")(function))
