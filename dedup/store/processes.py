"""The processes that share a database: which of them are still at work."""

from __future__ import annotations

import os
import socket
from functools import cache
from pathlib import Path
from uuid import uuid4


def worker_name() -> str:
    """Return a name that nobody else has or had: host, number of this process, something random."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"


def process_name() -> str:
    """Return the one name of this process, see `worker_name`; a fork has another one."""
    return _name_of(os.getpid())


@cache
def _name_of(_number: int) -> str:
    return worker_name()


def is_gone(process: str, me: str) -> bool | None:
    """Return whether a process has ended; None: it ran on another machine, and nobody knows.

    Args:
        process: its name, see `worker_name`.
        me: the name of the process that asks.
    """
    host, _, rest = process.rpartition(":")[0].rpartition(":")
    own_host, _, own_rest = me.rpartition(":")[0].rpartition(":")
    if process == me:
        return False
    if host != own_host:
        return None
    if rest == own_rest:  # the number of a process that ended has been given to this one
        return True
    try:
        os.kill(int(rest), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError):  # it is there, and somebody else's
        return False
    return _is_zombie(rest)


def _is_zombie(number: str) -> bool:
    """Return whether a process has ended and only its parent has not noticed, as in containers where nobody does."""
    try:
        status = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:  # not every system has these files
        return False
    return status.rpartition(")")[2].split()[:1] == ["Z"]
