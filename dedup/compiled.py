"""What is compiled when the package is built, see `dedup/native/`; where it could not be, Python does the same."""

from __future__ import annotations

import logging
import secrets
from functools import cache

from dedup.errors import InputError

__all__ = ["KEY", "has_compiled", "native", "require_compiled"]

try:
    import dedup._native as native
except ImportError:
    native = None  # type: ignore[assignment]

logger = logging.getLogger(__name__)

KEY = secrets.randbits(64) | 1
"""Where hash tables have their numbers: another place in each process, so that nobody can make numbers that crowd."""

_WAY_OUT = "install the package anew where there is a C compiler, or from a wheel"


@cache
def has_compiled() -> bool:
    """Return whether there is compiled code; the first time that there is none a line of the log says so."""
    if native is None:
        logger.warning("dedup was built without a C compiler: signatures take some twenty times as long; %s", _WAY_OUT)
    return native is not None


def require_compiled() -> None:
    """Refuse to do without.

    Raises:
        InputError: there is no compiled code.
    """
    if native is None:
        raise InputError(f"this needs what is compiled when dedup is installed, which is not there: {_WAY_OUT}")
