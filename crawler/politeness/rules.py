"""How long a host is left alone, and how fast it is asked: rules without a clock and without a crawl."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from ipaddress import ip_address

FASTER_AFTER = 20
"""After so many pages that a host has served, it is asked a little faster again."""

_FIRST_STEP = 0.1
_SLOWEST = 10.0
_FASTER_BY = 0.9
_JITTER = 0.25


@dataclass(frozen=True)
class Patience:
    """How a host that fails is waited for.

    Attributes:
        seconds: how long it may fail before it is parked; all pauses are shares of that.
    """

    seconds: float

    @property
    def first(self) -> float:
        """The first pause."""
        return self.seconds / 600

    def pause(self, pauses: int, asked_for: float | None, chance: float) -> float:
        """Return for how many seconds a host is left alone.

        Args:
            pauses: how many it has had in a row, with this one.
            asked_for: what it said in Retry-After, if it did; it gets half of all patience at most.
            chance: from 0 to 1, so that not all who were sent away come back at once.
        """
        doubled = self.first * 2.0 ** min(pauses - 1, 30)
        own = min(doubled, self.seconds / 10) * (1 + _JITTER * (2 * chance - 1))
        if asked_for is None:
            return own
        return max(own, min(asked_for, self.seconds / 2) + self.first * _JITTER * chance)


def read_retry_after(value: str, now: float) -> float | None:
    """Return for how many seconds a server asks to be left alone; None if it says nothing that can be read.

    Args:
        value: of the header, seconds or a date.
        now: the time, in seconds since 1970.
    """
    value = value.strip()
    if value.isascii() and value.isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    # Dates without a zone are meant as all dates of HTTP are.
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, moment.timestamp() - now)


def slower(delay: float) -> float:
    """Return the seconds between two requests to a host to which they came too fast."""
    return min(max(2 * delay, _FIRST_STEP), _SLOWEST)


def faster(delay: float) -> float:
    """Return the seconds between two requests to a host that has served `FASTER_AFTER` pages at a delay."""
    return delay * _FASTER_BY


def is_this_machine(host: str) -> bool:
    """Say whether a host is the machine that the crawl runs on, by its name alone."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
