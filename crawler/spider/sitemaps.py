"""Sitemaps: which pages and further sitemaps they list."""

from __future__ import annotations

from contextlib import suppress

from lxml.etree import LxmlError
from scrapy.utils.gz import gunzip
from scrapy.utils.sitemap import Sitemap, sitemap_urls_from_robots

_GZIP = b"\x1f\x8b\x08"


class SitemapError(ValueError):
    """A file that is no sitemap; its message says why, in one line."""


def read_sitemap(body: bytes, max_size: int) -> tuple[str, list[str]]:
    """Read a sitemap.

    Args:
        body: the file as it came, compressed by gzip or not.
        max_size: how many bytes it may have at most when it is unpacked; 0 for any number.

    Returns:
        Its kind, `urlset` (of pages) or `sitemapindex` (of sitemaps), and the URLs that it lists.

    Raises:
        SitemapError: it is none, or too large.
    """
    try:
        if body.startswith(_GZIP):
            body = gunzip(body, max_size=max_size)
        sitemap = Sitemap(body)
        # Scrapy's reader raises StopIteration where there is nothing to read.
        kind, urls = sitemap.type, [entry.get("loc", "") for entry in sitemap]
    except (LxmlError, OSError, EOFError, RuntimeError, StopIteration, ValueError, AttributeError) as error:
        raise SitemapError(" ".join(str(error).split()) or "it is not XML") from None
    if kind not in ("urlset", "sitemapindex"):
        raise SitemapError(f"it is a document of the kind {kind!r}")
    return kind, [url for url in urls if url]


def read_sitemaps_of_robots(body: bytes, url: str) -> list[str]:
    """Return the addresses of the sitemaps that a robots.txt names; what is no address is passed over."""
    found: list[str] = []
    for line in body.splitlines():
        with suppress(ValueError):  # it is no address
            found += sitemap_urls_from_robots(line, url)
    return found
