"""What is compiled when the package is built, see `dedup/native/`; where it could not be, Python does the same."""

from __future__ import annotations

import secrets

from dedup.errors import InputError

__all__ = ["KEY", "WAY_OUT", "native", "require_compiled"]

try:
    import dedup._native as native
except ImportError:
    native = None  # type: ignore[assignment]

KEY = secrets.randbits(64) | 1
"""Where hash tables have their numbers: another place in each process, so that nobody can make numbers that crowd."""

WAY_OUT = "install the package anew where there is a C compiler, or from a wheel"
"""What helps where nothing is compiled."""


def require_compiled() -> None:
    """Refuse to do without.

    Raises:
        InputError: there is no compiled code.
    """
    if native is None:
        raise InputError(f"this needs what is compiled when dedup is installed, which is not there: {WAY_OUT}")
