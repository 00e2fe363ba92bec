"""The kinds of requests: pages, pages once more, sitemaps, robots.txt."""

from __future__ import annotations

from hashlib import blake2b

from scrapy import Request
from scrapy.utils.request import RequestFingerprinter

from crawler.frontier.entries import KIND

PAGE = "page"
SITEMAP = "sitemap"
ROBOTS = "robots"
AGAIN = ("page again", "page again 2", "page again 3")
"""Pages that are fetched once more in the same run; the next one if even that has not settled them."""


def is_page(kind: str | None) -> bool:
    """Say whether requests of a kind lead to pages."""
    return kind == PAGE or kind in AGAIN


class KindFingerprinter(RequestFingerprinter):
    """Tells a page that is fetched once more from the same page before, so that it is not passed over as known."""

    def fingerprint(self, request: Request) -> bytes:
        fingerprint = super().fingerprint(request)
        kind = request.meta.get(KIND)
        return (
            blake2b(fingerprint + kind.encode(), digest_size=len(fingerprint)).digest()
            if kind in AGAIN
            else fingerprint
        )
