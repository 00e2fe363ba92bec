"""Redirects that lead back to where they came from, as they do once a cookie is set."""

from __future__ import annotations

from scrapy import Request
from w3lib.url import canonicalize_url

MOST_RETURNS = 2
"""How often redirects may lead back to an address; servers that set a cookie do it once, or once for each of two."""


def count_returns(request: Request) -> int:
    """Return how often redirects have led back to the address of a request, in whatever spelling."""
    before = request.meta.get("redirect_urls")
    if not before:
        return 0
    own = canonicalize_url(request.url)
    return sum(canonicalize_url(url) == own for url in before)
