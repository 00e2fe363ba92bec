"""The hosts of a crawl: how they answer, which ones are left alone, and how fast each may be asked."""

from __future__ import annotations

import logging
import random
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from urllib.parse import ParseResult, SplitResult, urlsplit
from weakref import WeakKeyDictionary

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.utils.httpobj import urlparse_cached

from dedup.console import duration, plain

logger = logging.getLogger(__name__)

FASTER_AFTER = 20
"""After so many pages that a host has served, it is asked a little faster again."""

_FIRST_STEP = 0.1
_SLOWEST = 10.0
_FASTER_BY = 0.9
_JITTER = 0.25


PATIENCE = 600.0
"""For so many seconds a host may fail until the crawl goes on without it."""

FAILED = "failed"
"""Key of a request's meta: how often it has failed while its host answered, since when it is asked for, and when a
failure was counted last."""

_PAGES_OF_A_HOST = 3
"""So many pages that fail in a row say as much of their host as one answer that speaks of it."""

_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
_LONG_PAUSE = 10.0
# Longer ones are none, and would not fit an index.
_LONGEST_HOST = 255

_of_crawls: WeakKeyDictionary[Crawler, Hosts] = WeakKeyDictionary()


def pause_seconds(patience: float, pauses: int, requested: float | None, chance: float) -> float:
    """Return for how many seconds a host that fails is left alone.

    Args:
        patience: how long it may fail before it is parked; all pauses are shares of that.
        pauses: how many it has had in a row, with this one.
        requested: what it said in Retry-After, if it did; it gets half of all patience at most.
        chance: from 0 to 1, so that not all who were sent away come back at once.
    """
    first = patience / 600
    doubled = first * 2.0 ** min(pauses - 1, 30)
    own = min(doubled, patience / 10) * (1 + _JITTER * (2 * chance - 1))
    if requested is None:
        return own
    return max(own, min(requested, patience / 2) + first * _JITTER * chance)


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
    except (ValueError, OverflowError):
        return None
    # Dates without a zone are meant as all dates of HTTP are.
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, moment.timestamp() - now)


def slower(delay: float) -> float:
    """Return the seconds between two requests to a host to which they came too fast."""
    return min(max(2 * delay, _FIRST_STEP), _SLOWEST)


def is_this_machine(host: str) -> bool:
    """Return whether a host, as `host_of` names it, is the machine that the crawl runs on, by its name alone."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or name.endswith(".localhost") or ip_address(name).is_loopback
    except ValueError:
        return False


def host_of(request: Request | Response) -> str:
    """Return the host that a request goes to, by which the crawl knows it: with its port, if that is not the usual."""
    return _host(urlparse_cached(request))


def host_at(url: str) -> str:
    """Return the host of an address, as `host_of` names it."""
    return _host(urlsplit(url))


def _host(parts: ParseResult | SplitResult) -> str:
    host = parts.netloc.rpartition("@")[2].lower().removesuffix(_DEFAULT_PORTS.get(parts.scheme, ""))
    return host.removesuffix(":")[:_LONGEST_HOST]


def retry_after(response: Response) -> float | None:
    """Return for how many seconds an answer asks its host to be left alone (Retry-After); None if it does not."""
    return read_retry_after((response.headers.get("Retry-After") or b"").decode("latin-1"), time.time())


@dataclass
class Host:
    """How a host has answered.

    Attributes:
        is_known: whether it has ever answered anything.
        answered: when that was asked for which it has answered last, if only robots.txt, by the clock of `Hosts`.
        served: the same of pages.
        failing_since: since when it has not served a page; 0 if it has.
        strikes: how many pages have failed since; what speaks of the host counts as `_PAGES_OF_A_HOST`.
        paused_until: when it may be asked again.
        crawl_delay: the seconds between two requests that it asks for.
        learnt: those that it has taught by sending requests away.
        pages: how many pages it has served since it was asked faster or slower.
        seconds: how long its answers take, on average of late.
    """

    is_known: bool = False
    answered: float = 0.0
    served: float = 0.0
    failing_since: float = 0.0
    strikes: int = 0
    paused_until: float = 0.0
    crawl_delay: float = 0.0
    learnt: float = 0.0
    pages: int = 0
    seconds: float = 0.0


class Hosts:
    """What a crawl knows of its hosts; one is left alone while it is paused, and once parked to the crawl's end.

    Args:
        patience: for how many seconds a host may fail until it is parked.
        usual: returns the least seconds between two requests to a host of which nothing else is known.
        clock: seconds; one that nobody sets back or forward.
        chance: a number from 0 to 1, another one at each call.
    """

    def __init__(
        self,
        patience: float,
        usual: Callable[[str], float] = lambda host: 0.0,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._patience = patience
        self._usual = usual
        self._clock = clock
        self._chance = chance
        self._hosts: defaultdict[str, Host] = defaultdict(Host)
        self._paused: set[str] = set()
        self._parked: dict[str, str] = {}

    @classmethod
    def of(cls, crawler: Crawler) -> Hosts:
        """Return those of a crawl."""
        if crawler not in _of_crawls:
            _of_crawls[crawler] = cls(PATIENCE, _usual_delay(crawler))
        return _of_crawls[crawler]

    def __getitem__(self, host: str) -> Host:
        return self._hosts[host]

    @property
    def pauses(self) -> Mapping[str, float]:
        """The hosts that are paused, and for how many seconds more."""
        now = self._clock()
        self._paused = {host for host in self._paused if self._hosts[host].paused_until > now}
        return {host: self._hosts[host].paused_until - now for host in self._paused}

    @property
    def parked(self) -> Mapping[str, str]:
        """The hosts that have failed for too long, and why."""
        return self._parked

    @property
    def resting(self) -> set[str]:
        """The hosts that are not to be asked now."""
        return {*self.pauses, *self._parked} if self._paused or self._parked else set()

    def least_delay(self, host: str) -> float:
        """Return the least seconds between two requests to a host."""
        state = self._hosts[host]
        return max(self._usual(host), state.crawl_delay, state.learnt)

    def note_answer(self, host: str, seconds: float, *, is_page: bool) -> None:
        """Note that a host has answered as it should.

        Args:
            host: its name.
            seconds: since it was asked.
            is_page: whether for a page, not for robots.txt.
        """
        state, asked = self._hosts[host], self._clock() - seconds
        state.is_known = True
        state.answered = max(state.answered, asked)
        if not is_page:
            return
        state.seconds += (seconds - state.seconds) / (4 if state.seconds else 1)
        state.served = max(state.served, asked)
        if asked >= state.paused_until:  # what was under way before says nothing of now
            state.failing_since, state.strikes = 0.0, 0
        state.pages += 1
        if state.learnt and state.pages >= FASTER_AFTER:
            state.learnt, state.pages = state.learnt * _FASTER_BY, 0

    def note_failure(
        self, host: str, why: str, requested: float | None = None, *, answers: bool = True, is_of_page: bool = False
    ) -> bool:
        """Note that a host does not serve what it is asked for; pause or park it where that is not of one page alone.

        Args:
            host: its name.
            why: what happened, in a few words.
            requested: the seconds for which it has asked to be left alone.
            answers: whether it has said so itself; one that has never said anything is not waited for.
            is_of_page: whether it may be the page's fault: others in a row have to fail, too.

        Returns:
            Whether it is left alone now.
        """
        state, now = self._hosts[host], self._clock()
        state.is_known |= answers
        if host in self._parked:
            return True
        if now < state.paused_until:  # this was under way
            if requested is not None:
                state.paused_until = max(state.paused_until, now + pause_seconds(self._patience, 1, requested, 0))
            return True
        state.failing_since = state.failing_since or now
        before = state.strikes // _PAGES_OF_A_HOST
        state.strikes += 1 if is_of_page else _PAGES_OF_A_HOST
        pauses = state.strikes // _PAGES_OF_A_HOST
        if pauses == before:
            return False
        if not state.is_known or now - state.failing_since >= self._patience:
            self._parked[host] = why
            how_long = (
                f"has failed for {duration(now - state.failing_since)}" if state.is_known else "has never answered"
            )
            logger.warning("%s %s (%s): its pages wait until the crawl is continued", plain(host), how_long, why)
            return True
        seconds = pause_seconds(self._patience, pauses, requested, self._chance())
        state.paused_until = now + seconds
        self._paused.add(host)
        level = logging.WARNING if seconds >= _LONG_PAUSE else logging.INFO
        logger.log(level, "%s is left alone for %.3g s: %s", plain(host), seconds, why)
        return True

    def slow_down(self, host: str, delay: float) -> None:
        """Let a host be asked more slowly than with a delay, with which it has served pages until it was too fast."""
        state = self._hosts[host]
        if state.pages:
            state.learnt, state.pages = slower(max(delay, self.least_delay(host))), 0


def _usual_delay(crawler: Crawler) -> Callable[[str], float]:
    """Return what says the least delay of a host by the settings."""
    settings = crawler.settings
    slots = settings.getdict("DOWNLOAD_SLOTS")
    delay = settings.getfloat("DOWNLOAD_DELAY")
    # Who gives it on the command line means it; that of the settings is there for servers of others.
    holds_here = (settings.getpriority("DOWNLOAD_DELAY") or 0) >= SETTINGS_PRIORITIES["cmdline"]

    def usual(host: str) -> float:
        if "delay" in slots.get(host, {}):
            return float(slots[host]["delay"])
        return delay if holds_here or not is_this_machine(host) else 0.0

    return usual
