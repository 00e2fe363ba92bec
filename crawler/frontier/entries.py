"""Requests as rows of the frontier, and rows as requests again."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from scrapy import Request

from crawler.page import KIND, PLACE, ROW, referrer_of
from crawler.politeness.hosts import FAILED, host_of
from dedup.signature.normalise import clean

_HOPS = "depth"
_NO_PATH = re.compile(r"^([a-z]+://[^/?]+)(?=\?|$)", re.IGNORECASE)
# What redirects and retries have to know of what came before them, and where a page is read instead of fetched.
_CARRIED = ("redirect_times", "redirect_ttl", "redirect_urls", "redirect_reasons", "retry_times", FAILED, PLACE)


class FrontierSpider(Protocol):
    """What the frontier needs of a spider."""

    def make_request(self, kind: str, url: str, depth: int) -> Request:
        """Return a request for a URL, with callback and all; its meta name the kind."""
        ...

    async def log_in(self) -> None:
        """Do what has to be done before any URL of the frontier is fetched."""
        ...


class Entry(NamedTuple):
    """A URL that is known to a run.

    Attributes:
        url: the URL.
        url_digest: what is the same for all ways to write it.
        host: its host.
        kind: which of the spider's callbacks it is for.
        depth: how many links from the start.
        priority: the higher the sooner.
        referrer: the page whose link led to it.
        meta: JSON of what redirects and retries have to know; None for nothing.
    """

    url: str
    url_digest: bytes
    host: str
    kind: str
    depth: int
    priority: int
    referrer: str | None
    meta: str | None


class TakenUrl(NamedTuple):
    """A URL that was taken from the frontier, to be fetched.

    Attributes:
        id: its row.
        attempts: how many processes died with it; the others are as in `Entry`.
    """

    id: int
    url: str
    kind: str
    depth: int
    priority: int
    referrer: str | None
    meta: str | None
    attempts: int
    host: str = ""


def to_entry(request: Request, url_digest: bytes) -> Entry:
    """Return what the frontier keeps of a request.

    Args:
        request: made by the spider's `make_request`, or a copy by a redirect.
        url_digest: the request's fingerprint.

    Raises:
        KeyError: it was not made by `make_request`.
    """
    referrer = referrer_of(request)
    return Entry(
        url=_as_asked_for(request.url),
        url_digest=url_digest,
        host=host_of(request),
        kind=request.meta[KIND],
        depth=request.cb_kwargs.get("depth", 0),
        priority=request.priority,
        referrer=clean(referrer) if referrer else None,
        meta=carried(request),
    )


def _as_asked_for(url: str) -> str:
    """Return an address as a server is asked for it, so that a page has one key: with a path, without a fragment."""
    return _NO_PATH.sub(r"\1/", url.partition("#")[0])


def carried(request: Request) -> str | None:
    """Return as JSON what of a request's meta is needed to go on with it; None for nothing."""
    meta = request.meta
    kept: dict[str, Any] = {name: meta[name] for name in _CARRIED if name in meta}
    # Scrapy counts redirected sitemaps and robots.txt as steps, the depth of a page does not.
    hops = meta.get(_HOPS, 0)
    if hops != request.cb_kwargs.get("depth", 0):
        kept[_HOPS] = hops
    return json.dumps(kept, separators=(",", ":")) if kept else None


def to_request(taken: TakenUrl, spider: FrontierSpider) -> Request:
    """Return the request for a URL that was taken."""
    request = spider.make_request(taken.kind, taken.url, taken.depth)
    request.priority = taken.priority
    if taken.referrer:
        request.headers["Referer"] = taken.referrer
    request.meta[_HOPS] = request.cb_kwargs.get("depth", 0)
    if taken.meta:
        request.meta.update(json.loads(taken.meta))
    request.meta[ROW] = taken.id
    return request


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
