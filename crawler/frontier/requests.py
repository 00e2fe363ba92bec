"""Requests as rows of the frontier, in which order they are asked for, and requests of rows again."""

from __future__ import annotations

import json
import re
from typing import Any, Protocol
from urllib.parse import urlsplit

from scrapy import Request

from crawler.frontier.schema import Entry, TakenUrl
from crawler.page import is_named_pdf
from crawler.politeness.hosts import FAILED, host_of
from crawler.request_meta import ARCHIVED, GIVEN, KIND, RECORD, ROW
from dedup.signature.normalise import clean
from dedup.stage.addresses import LAST, drawn, referrer_of

NAMED = 0
"""The rank of an address that a page names as its own."""

_WITH_QUERY, _OF_PDF = 10_000, 20_000
_LAST_PLACES = 10_000

_HOPS = "depth"
_NO_PATH = re.compile(r"^([a-z]+://[^/?]+)(?=\?|$)", re.IGNORECASE)
# What redirects and retries have to know of what came before them, and where a page is read instead of fetched.
_CARRIED = ("redirect_times", "redirect_ttl", "redirect_urls", "redirect_reasons", "retry_times", FAILED, RECORD, GIVEN)


class FrontierSpider(Protocol):
    """What the frontier needs of a spider."""

    def make_request(self, kind: str, url: str, depth: int) -> Request:
        """Return a request for a URL, with callback and all; its meta name the kind."""
        ...

    def take_named(self) -> list[Request]:
        """Return requests for what pages have named as their own addresses since the last call."""
        ...

    def take_fallen(self) -> bool:
        """Return whether a rule by which URLs were passed over has turned out to be false since the last call."""
        ...

    async def log_in(self) -> None:
        """Do what has to be done before any URL of the frontier is fetched."""
        ...


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
        priority=priority_of(request),
        rank=rank_of(request),
        referrer=clean(referrer) if referrer else None,
        meta=carried(request),
    )


def priority_of(request: Request) -> int:
    """Return the priority of a request: what is fetched last comes in no order, so that a few are a sample of all."""
    if request.priority > LAST:
        return request.priority
    # Whatever their depth: it would put all that is found late behind what is found first.
    return LAST - drawn(request.url, _LAST_PLACES)


def rank_of(request: Request) -> int:
    """Return the place of a page among those at its depth: of copies the one at the likely better address comes first.

    Those without a query come before those with one, then shorter ones before longer ones, and pages before PDFs, which
    lead nowhere. The host does not count, so that those of several take turns.
    """
    if request.meta[KIND] == ARCHIVED:
        return NAMED  # in the order of their files
    address = urlsplit(request.url)
    length = len(address.path) + len(address.query)
    behind = (_WITH_QUERY if address.query else 0) + (_OF_PDF if is_named_pdf(request.url) else 0)
    return NAMED + 1 + min(length, _WITH_QUERY - 1) + behind


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
