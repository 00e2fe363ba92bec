"""What is ready to be fetched, by host, and whose turn it is."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Collection, Iterable

from scrapy.core.downloader import Downloader

from crawler.frontier.schema import SUSPECT, TakenUrl
from crawler.politeness.hosts import Hosts, host_of

_AHEAD = 0.25
_LEAST_COST = 0.01
_MOST_HOSTS = 10_000
_UNLIMITED = 1 << 30


class FairQueue:
    """URLs by host, those of each in the order in which they were taken; hosts share the requests under way.

    The next host is the one that has had the least of them so far, by the seconds that they take
    (start-time fair queueing, Goyal, Vin, Cheng, SIGCOMM 1996). None has more than its share at once, and none
    while it would have to wait for its own pace: so that slow ones leave room for others.

    Args:
        hosts: how fast they answer.
    """

    def __init__(self, hosts: Hosts) -> None:
        self._hosts = hosts
        self._taken: dict[str, dict[int, TakenUrl]] = {}
        # Hosts of which the frontier may have more than it has given.
        self._with_more: set[str] = set()
        self._finish: dict[str, float] = {}
        self._now = 0.0

    def __len__(self) -> int:
        return sum(map(len, self._taken.values()))

    @property
    def hosts(self) -> int:
        """How many hosts they are of."""
        return len(self._taken)

    @property
    def rows(self) -> set[int]:
        """Their rows."""
        return {row for taken in self._taken.values() for row in taken}

    @property
    def has_suspect(self) -> bool:
        """Whether several processes died with one of them."""
        return any(each.attempts >= SUSPECT for taken in self._taken.values() for each in taken.values())

    def is_low(self, most: int) -> bool:
        """Return whether more is wanted of a host, where so many may be held of each."""
        few = any(len(self._taken.get(host, ())) <= most // 4 for host in self._with_more)
        return few or not self._taken

    def filled(self, most: int) -> frozenset[str]:
        """Return the hosts of which no more are wanted."""
        return frozenset(host for host, taken in self._taken.items() if len(taken) > most // 2)

    def add(self, taken: Iterable[TakenUrl], limit: int) -> None:
        """Put URLs behind the others of their hosts, of which so many were asked for each."""
        counts: Counter[str] = Counter()
        for each in taken:
            self._taken.setdefault(each.host, {})[each.id] = each
            counts[each.host] += 1
        if limit:
            self._with_more = {host for host in self._with_more if host in self.filled(limit)}
        self._with_more |= {host for host, count in counts.items() if count >= limit}

    def next(self, downloader: Downloader, filled: Collection[str] = ()) -> tuple[TakenUrl | None, float]:
        """Remove the URL whose turn it is and return it; else None, and after how many seconds one may be due.

        Of some hosts no more may be taken now.
        """
        under_way = Counter(map(host_of, downloader.active))
        hosts = self._taken.keys() | under_way.keys()
        share = math.ceil((downloader.total_concurrency or _UNLIMITED) / max(1, len(hosts)))
        soonest = math.inf
        for host in sorted((each for each in self._taken if each not in filled), key=self._start):
            seconds = self._seconds_until(host, downloader, under_way[host], share)
            if seconds <= 0:
                return self._take(host), 0.0
            soonest = min(soonest, seconds)
        return None, soonest

    def remove(self, hosts: Collection[str]) -> list[int]:
        """Remove URLs by their hosts; return the rows."""
        return [row for host in hosts for row in self._taken.pop(host, ())]

    def _take(self, host: str) -> TakenUrl:
        self._now = self._start(host)
        self._finish[host] = self._now + max(_LEAST_COST, self._hosts[host].seconds)
        if len(self._finish) > _MOST_HOSTS:
            self._finish = {each: at for each, at in self._finish.items() if at > self._now}
        taken = self._taken[host]
        found = taken.pop(next(iter(taken)))
        if not taken:
            del self._taken[host]
        return found

    def _start(self, host: str) -> float:
        return max(self._now, self._finish.get(host, 0.0))

    def _seconds_until(self, host: str, downloader: Downloader, under_way: int, share: int) -> float:
        slot = downloader.slots.get(host)
        if slot is None or not slot.lastseen:
            return math.inf if under_way else 0.0
        if under_way >= min(share, slot.concurrency):
            return math.inf
        due = slot.lastseen + slot.delay * (1 + len(slot.queue))
        return due - time.monotonic() - _AHEAD if slot.delay else 0.0
