"""Outages: a server that is away, and what is repeated until it is back."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from threading import Event, Lock
from typing import TypeVar

from sqlalchemy.exc import DBAPIError

from dedup.errors import OutageError

logger = logging.getLogger(__name__)

T = TypeVar("T")

FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 5.0

# Connection exceptions; the server is stopped, has crashed or is starting; too many connections;
# a transaction that gave way to another one.
_PASSING_CLASSES = ("08",)
_PASSING_STATES = ("57P01", "57P02", "57P03", "57P05", "25P03", "53300", "40001", "40P01")


def is_outage(error: BaseException) -> bool:
    """Return whether an error tells of a server that is away, so that the same may succeed later.

    A file of SQLite is never away: ask it of databases on PostgreSQL.
    """
    if not isinstance(error, DBAPIError):
        return False
    # An error of a connection that could not be made has no code.
    state = getattr(error.orig, "sqlstate", None)
    if error.connection_invalidated or state is None:
        return type(error.orig).__name__ != "ProgrammingError"
    return state.startswith(_PASSING_CLASSES) or state in _PASSING_STATES


class Outages:
    """Repeats work on databases for as long as their servers are away, up to a limit.

    What is repeated must be whole transactions that may be written twice: whether the last one
    was committed before the connection was lost is not known.

    Args:
        limit: seconds after which an outage is taken for final; 0: at once.
        clock: seconds that only ever grow.
    """

    def __init__(self, limit: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._clock = clock
        self._since: dict[str, float] = {}
        self._lock = Lock()
        self._is_abandoned = Event()

    def survive(self, work: Callable[[], T], after_outage: Callable[[], T] | None = None) -> T:
        """Return what whole transactions return, however often they have to be tried.

        `after_outage` is done in their place once they were tried in vain, if that differs.

        Raises:
            OutageError: the server was away for longer than the limit.
            Exception: anything else that the work raises.
        """
        pause = FIRST_PAUSE
        lost = ""
        while True:
            try:
                result = (after_outage or work)() if lost else work()
            except OutageError as error:
                lost = error.database
                if not self._has_time(error):
                    raise
                self._is_abandoned.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                if lost:
                    self._end(lost)
                return result

    def abandon(self) -> None:
        """Wait no longer: whatever is tried now is tried for the last time."""
        self._is_abandoned.set()

    def _has_time(self, error: OutageError) -> bool:
        # What comes after the first to give up does not wait all over again.
        with self._lock:
            is_new = error.database not in self._since
            since = self._since.setdefault(error.database, self._clock())
        has_time = self._clock() - since < self._limit and not self._is_abandoned.is_set()
        if is_new and has_time:
            logger.warning("%s; trying again for %g seconds", error, self._limit)
        return has_time

    def _end(self, database: str) -> None:
        with self._lock:
            since = self._since.pop(database, None)
        if since is not None:
            logger.warning("database %s is back after %.1f seconds", database, self._clock() - since)
