"""Who has taken a URL, for how long, and whether that one is still there."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from uuid import uuid4

LEASE_SECONDS = 60.0
"""How long a URL belongs to a worker that does not say that it is alive."""

RENEWAL_SECONDS = LEASE_SECONDS / 3
"""How often it says so."""


def is_gone(worker: str, me: str) -> bool:
    """Say whether a worker is known to have ended: it ran on this machine, and its process is not there.

    Args:
        worker: its name.
        me: the name of the worker that asks.
    """
    host, _, rest = worker.rpartition(":")[0].rpartition(":")
    own_host, _, own_rest = me.rpartition(":")[0].rpartition(":")
    if host != own_host or worker == me:
        return False
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
    """Say whether a process has ended and only its parent has not noticed, as in containers where nobody does."""
    try:
        status = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:  # not every system has these files
        return False
    return status.rpartition(")")[2].split()[:1] == ["Z"]


def worker_name() -> str:
    """Return a name for this process that no other one has or had: host, number, something random."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
