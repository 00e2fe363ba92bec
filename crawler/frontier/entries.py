"""Requests as rows of the frontier, and rows as requests again."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple, Protocol

from scrapy import Request

from crawler.page import KIND, PLACE, ROW
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
    referrer = request.headers.get("Referer")
    return Entry(
        url=_as_asked_for(request.url),
        url_digest=url_digest,
        host=host_of(request),
        kind=request.meta[KIND],
        depth=request.cb_kwargs.get("depth", 0),
        priority=request.priority,
        referrer=clean(referrer.decode("latin-1")) if referrer else None,
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
