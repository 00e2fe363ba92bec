"""Downloader middleware in the place of Scrapy's for redirects: where they lead off the site, or back, they end."""

from __future__ import annotations

from typing import Any

from scrapy import Request, Spider
from scrapy.downloadermiddlewares.redirect import RedirectMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from w3lib.url import canonicalize_url

from crawler.reasons import REDIRECT_LOOP, REDIRECTED_AWAY, Refused

MOST_RETURNS = 2
"""How often redirects may lead back to an address; servers that set a cookie do it once, or once for each of two."""


class SiteRedirectMiddleware(RedirectMiddleware):
    """Downloader middleware: what a redirect ends in is an error of the page that redirects."""

    def process_response(
        self, request: Request, response: Response, spider: Spider | None = None
    ) -> Request | Response:
        try:
            redirected = super().process_response(request, response)
        except IgnoreRequest as error:
            raise Refused(REDIRECT_LOOP, str(error)) from None
        if not isinstance(redirected, Request) or redirected.dont_filter or redirected.meta.get("allow_offsite"):
            return redirected
        if count_returns(redirected) > MOST_RETURNS:
            raise Refused(REDIRECT_LOOP, redirected.url)
        own: Any = self.crawler.spider
        if not own.rules.is_on_site(redirected.url):
            raise Refused(REDIRECTED_AWAY, redirected.url)
        return redirected


def count_returns(request: Request) -> int:
    """Return how often redirects have led back to the address of a request, in whatever spelling."""
    before = request.meta.get("redirect_urls")
    if not before:
        return 0
    own = canonicalize_url(request.url)
    return sum(canonicalize_url(url) == own for url in before)
