"""Sitemaps and feeds: which pages and further sitemaps they list."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import urljoin

from lxml import etree
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.sitemap import sitemap_urls_from_robots

from crawler.arguments import without_login
from crawler.pages.extraction import MAX_URL_CHARACTERS, LinkRules
from crawler.request_meta import CUT_OFF
from crawler.runtime import Workers
from dedup.console import counted
from dedup.readers.responses import ONLY_BEGINNING, decode_body
from dedup.rules.scope import domain_of
from dedup.signature.normalise import clean
from dedup.workers.pool import WorkerDiedError

logger = logging.getLogger(__name__)

MOST_ENTRIES = 50_000
"""Of a sitemap with more addresses, which the standard does not allow, the others are not read."""

MOST_LEVELS = 5
"""Sitemaps that so many others lead to are not read."""

MOST_SITEMAPS = 5_000
"""More sitemaps of a site (a registrable domain) are not read."""

_GZIP = b"\x1f\x8b\x08"
# Byte order marks, the zeros of UTF-16, and white space.
_BEFORE_XML = b"\xef\xbb\xbf\xff\xfe\0 \t\r\n"
# What begins none of the entities that XML knows by itself: others are nobody's.
_BARE_AMPERSAND = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9a-f]{1,6});)", re.IGNORECASE)
_CDATA = b"<![CDATA["
_ADDRESS = re.compile("https?://", re.IGNORECASE)
# Of each kind of document the elements that list one address, and the ones in them that have it.
_ENTRIES = {
    "urlset": ("url", ("loc", "link")),
    "sitemapindex": ("sitemap", ("loc",)),
    "rss": ("item", ("link", "origLink")),
    "RDF": ("item", ("link", "origLink")),
    "feed": ("entry", ("link", "origLink")),
}
_ROOT = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*+(?:<(?:\?|!DOCTYPE)[^>]*+>\s*+|<!--(?:[^-]|-(?!->))*+-->\s*+)*+"
    rb"<(?:\w++:)?(?:%s)[\s>]" % "|".join(_ENTRIES).encode(),
    re.IGNORECASE,
)


class SitemapError(ValueError):
    """A file that is no sitemap; its message says why, in one line."""


class Sitemap(NamedTuple):
    """What a sitemap lists.

    Attributes:
        is_index: whether these are sitemaps, and not pages.
        urls: absolute addresses, of whatever host, each once.
        left_out: how many more it lists than are read.
        damage: what of it could not be read; empty: nothing.
    """

    is_index: bool
    urls: list[str]
    left_out: int
    damage: str = ""


def has_feed(body: bytes) -> bool:
    """Return whether bytes are a feed or a sitemap in XML, whatever their server calls them."""
    return _ROOT.match(body) is not None


def read_sitemap(body: bytes, url: str, max_size: int) -> Sitemap:
    """Read a sitemap (sitemaps.org), as XML or as a text with an address a line, or a feed (RSS, Atom, JSON Feed).

    What is whole of a damaged one is read.

    Args:
        body: the file as it came, compressed by gzip or not.
        url: its address, to which those that it lists may be relative.
        max_size: how many bytes it may have at most when it is unpacked; 0 for any number.

    Raises:
        SitemapError: it is none, or too large.
    """
    damage = ""
    try:
        if body.startswith(_GZIP):
            body, is_whole = decode_body(body, ["gzip"], max_size or sys.maxsize)
            if not is_whole:
                damage = "its compressed body is damaged"
                # An address that is cut off is another one.
                body = body[: max(map(body.rfind, (b">", b"\n"))) + 1]
        start = body.lstrip(_BEFORE_XML)[:1]
        kind, found = {b"<": _read_xml, b"{": _read_json}.get(start, _read_text)(body, url)
    except (etree.LxmlError, OSError, RuntimeError, ValueError) as error:
        raise SitemapError(damage or " ".join(str(error).split()) or "it is not XML") from None
    urls: dict[str, None] = {}
    for base, each in found:
        with suppress(ValueError):  # such as http://[broken
            address = each.strip()
            joined = without_login(urljoin(base, address)) if 0 < len(address) <= MAX_URL_CHARACTERS else ""
            if _ADDRESS.match(joined):
                urls[joined] = None
    return Sitemap(kind == "sitemapindex", list(urls)[:MOST_ENTRIES], max(0, len(urls) - MOST_ENTRIES), damage)


def _read_text(body: bytes, url: str) -> tuple[str, Iterator[tuple[str, str]]]:
    lines = body.decode("utf-8-sig", errors="replace").splitlines()
    if not any(_ADDRESS.match(line.strip()) for line in lines):
        raise SitemapError("it is neither XML nor a list of addresses")
    return "urlset", ((url, line) for line in lines if _ADDRESS.match(line.strip()))


def _read_json(body: bytes, url: str) -> tuple[str, Iterator[tuple[str, str]]]:
    feed = json.loads(body.strip(_BEFORE_XML))
    items = feed.get("items")
    if "jsonfeed.org" not in str(feed.get("version")) or not isinstance(items, list):
        raise SitemapError("it is JSON, and no feed")
    found = (item.get("url") for item in items if isinstance(item, dict))
    return "feed", ((url, each) for each in found if isinstance(each, str))


def _read_xml(body: bytes, url: str) -> tuple[str, Iterator[tuple[str, str]]]:
    if b"\0" not in body[:64]:  # which UTF-16 has
        body = _with_entities(body[: body.rfind(b">") + 1])
    parser = etree.XMLParser(
        recover=True, remove_comments=True, remove_pis=True, resolve_entities=False, no_network=True
    )
    root = etree.fromstring(body.lstrip(), parser, base_url=url)
    if root is None:
        raise SitemapError("it is not XML")
    kind = _name(root)
    if kind not in _ENTRIES:
        raise SitemapError(f"it is a document of the kind {kind!r}")
    return kind, _addresses(root, *_ENTRIES[kind])


def _with_entities(xml: bytes) -> bytes:
    """Return XML with an entity for each bare ampersand outside of CDATA sections."""
    before, *sections = xml.split(_CDATA)
    parts = [_BARE_AMPERSAND.sub(b"&amp;", before)]
    for section in sections:
        inside, end, after = section.partition(b"]]>")
        parts += (_CDATA, inside, end, _BARE_AMPERSAND.sub(b"&amp;", after))
    return b"".join(parts)


def _addresses(root: etree._Element, entry: str, holders: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield each address with the one that it is relative to."""
    for element in root.iter(etree.Element):
        if _name(element) != entry:
            continue
        found = [(child.base, each) for child in element if _name(child) in holders and (each := _address(child))]
        yield from found or ((child.base, child.text) for child in element if _is_address(child))


def _address(holder: etree._Element) -> str | None:
    # Those of Atom, and translations in a sitemap, stand in an attribute.
    href: str | None = holder.get("href") if holder.get("rel", "alternate") == "alternate" else None
    return href or holder.text


def _is_address(child: etree._Element) -> bool:
    """Return whether an element names an entry by its address."""
    return _name(child) == "guid" and child.get("isPermaLink", "true") != "false" and bool(child.text)


def _name(element: etree._Element) -> str:
    # Of a namespace that is not declared the prefix is still there; lxml's own splitting refuses a:b:c.
    return str(element.tag).rpartition("}")[2].rpartition(":")[2]


class SitemapReader:
    """Reads the sitemaps of a crawl in worker processes, and bounds them: an index may list others without an end.

    - Stats: `crawler/sitemaps_not_read`.
    """

    def __init__(self, crawler: Crawler, rules: LinkRules) -> None:
        self._crawler = crawler
        self._rules = rules
        self._counts: Counter[str] = Counter()

    async def read(self, response: Response) -> Sitemap:
        """Return what a sitemap or feed lists; a warning says what of it is not followed.

        Raises:
            SitemapError: it is none, or too large.
        """
        most = self._crawler.settings.getint("DOWNLOAD_MAXSIZE")
        try:
            sitemap = await Workers.of(self._crawler).run(read_sitemap, response.body, response.url, most)
        except (WorkerDiedError, MemoryError) as error:
            raise SitemapError(str(error) or "it takes too much memory") from error
        message = f"{'sitemap index' if sitemap.is_index else 'sitemap'} {clean(response.url)} lists"
        if damage := sitemap.damage or (ONLY_BEGINNING if CUT_OFF in response.flags else ""):
            logger.warning("%s %s, and perhaps more: %s", message, counted(len(sitemap.urls), "address"), damage)
        if sitemap.left_out:
            more = counted(sitemap.left_out, "address")
            logger.warning("%s %s more than %s, which are not read", message, more, f"{MOST_ENTRIES:,}")
        if not any(map(self._rules.is_on_site, sitemap.urls)):
            what = f"{counted(len(sitemap.urls), 'address')}, none of this site" if sitemap.urls else "nothing"
            logger.warning("%s %s", message, what)
        return sitemap

    def allow(self, url: str, level: int) -> bool:
        """Return whether one more sitemap may be read, to which so many others have led."""
        site = domain_of(url)
        self._counts[site] += 1
        if level < MOST_LEVELS and self._counts[site] <= MOST_SITEMAPS:
            return True
        stats = self._crawler.stats
        if not stats.get_value("crawler/sitemaps_not_read"):
            bounds = f"{MOST_SITEMAPS:,} of a site, {MOST_LEVELS} that lead to one another"
            logger.warning("there are too many sitemaps (%s): %s and more are not read", bounds, clean(url))
        stats.inc_value("crawler/sitemaps_not_read")
        return False


def read_sitemaps_of_robots(body: bytes, url: str) -> list[str]:
    """Return the addresses of the sitemaps that a robots.txt names; what is no address is passed over."""
    found: list[str] = []
    for line in body.splitlines():
        with suppress(ValueError):  # it is no address
            found += sitemap_urls_from_robots(line, url)
    return found
