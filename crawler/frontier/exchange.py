"""What a worker and the frontier's table tell each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from crawler.frontier.entries import Entry, TakenUrl


@dataclass
class Changes:
    """What happened to URLs since the last exchange; written in one transaction.

    Attributes:
        found: URLs that may be new.
        done: rows whose page is dealt with for good, and whether it was kept.
        again: rows to be fetched once more, with their new priority and meta.
        back: rows that were taken and are not to be fetched by this worker.
    """

    found: list[Entry] = field(default_factory=list)
    done: list[tuple[int, bool]] = field(default_factory=list)
    again: list[tuple[int, int, str | None]] = field(default_factory=list)
    back: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class WorkerState:
    """What a worker holds and knows at an exchange.

    Attributes:
        held: the rows that it has taken and not finished with.
        has_suspect: whether one of them is a URL that several processes died with.
        is_after_outage: whether the same exchange was tried before, and the connection lost.
        delays: seconds between two requests to the hosts that it asks, as far as known.
        counts: its stats so far.
        pauses: hosts of which nothing is to be handed out, and for how many seconds more.
        parked: hosts of which nothing is to be handed out to this process any more.
    """

    held: frozenset[int] = frozenset()
    has_suspect: bool = False
    is_after_outage: bool = False
    delays: Mapping[str, float] = field(default_factory=dict)
    counts: Mapping[str, float] = field(default_factory=dict)
    pauses: Mapping[str, float] = field(default_factory=dict)
    parked: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ExchangeResult:
    """What a worker gets at an exchange.

    Attributes:
        added: how many of the found URLs were new.
        taken: the URLs to fetch next, in order.
        is_left: whether others are left, in the queue or in the hands of other workers.
        given_up: URLs that too many processes died with.
        lost: rows that the worker thought it had, and another has now.
        leaving: hosts that it gives to others once it has nothing under way there.
        delays: seconds between two requests, as others learned them, of hosts that it got.
        kept_elsewhere: how many pages other workers have kept, as far as they are known.
    """

    added: int
    taken: list[TakenUrl]
    is_left: bool
    given_up: list[str]
    lost: frozenset[int] = frozenset()
    leaving: frozenset[str] = frozenset()
    delays: Mapping[str, float] = field(default_factory=dict)
    kept_elsewhere: int = 0


@dataclass(frozen=True)
class LeaveResult:
    """A run as a worker leaves it.

    Attributes:
        left: how many URLs are queued, taken or parked, by whomever.
        goes_on: whether other workers go on with it, or have ended it.
        counts: the stats of all processes that were at it, added up; empty where there was one.
        workers: how many there were.
        seconds: since its start.
        parked: how many URLs of each host are parked.
    """

    left: int
    goes_on: bool = False
    counts: Mapping[str, float] = field(default_factory=dict)
    workers: int = 1
    seconds: float = 0.0
    parked: Mapping[str, int] = field(default_factory=dict)


class OpenResult(NamedTuple):
    """A run at the start of a process.

    Attributes:
        queued: how many URLs are to be fetched.
        done: how many were dealt with before.
        kept: how many of these were kept.
        given_up: URLs that too many processes died with.
        is_over: whether other workers have finished it already.
    """

    queued: int
    done: int
    kept: int
    given_up: list[str]
    is_over: bool = False
