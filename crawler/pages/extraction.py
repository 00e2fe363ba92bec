"""HTML bytes to main text, links and metadata; all of it runs in worker processes."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, cast
from urllib.parse import urljoin, urlsplit

from lxml import etree
from lxml.html import HtmlElement
from scrapy.http import Response
from w3lib.url import canonicalize_url, safe_url_string

from crawler.arguments import ascii_host, without_login
from crawler.pages.directives import read_directives
from crawler.pages.few_words import FRAMES, MOST_WORDS, FewWords
from crawler.pages.metadata import MAX_METADATA_CHARACTERS, Metadata, find_metadata
from crawler.pages.moves import Refresh, read_refresh, read_script
from dedup.signature.charsets import Decoded, decode_html
from dedup.signature.deflating import deflate
from dedup.signature.extraction import MOST_MARKUP, NOWHERE, MainText, find_markdown, find_text, parse_html, sign_page
from dedup.signature.markup import parts_with_text
from dedup.signature.normalise import clean
from dedup.signature.pdf import PdfError, is_pdf, read_pdf
from dedup.signature.schemes import Scheme
from dedup.signature.signature import Signature

logger = logging.getLogger(__name__)

MAX_URL_CHARACTERS = 2_083

_LINE_BREAKS = re.compile("[\t\r\n]")
_ABSOLUTE = re.compile("https?://([^/?#]+)", re.IGNORECASE)
_ORIGIN = re.compile("https?://[^/?#]+")
# Paths that joining leaves as they are: without dots to resolve and without empty parts to drop.
_PLAIN_PATH = re.compile(r"(?:/[^/.?;\s][^/?;\s]*)+/?(?:\?[^?;\s]+)?")
_REFERENCE = re.compile("&#([0-9]+);")
_NO_PAGE = ("#", "javascript:", "mailto:", "tel:", "data:")
_ADDRESSES_OF_PEOPLE = ("mailto:", "tel:")
_FEED_TYPES = ("application/rss+xml", "application/atom+xml", "application/feed+json")
_PORTS_OF_THE_WEB = (80, 443)
# In so many seconds nobody reads a page; after so many a site has let its readers read.
_AT_ONCE = 1.0
_LATE = 100.0
_UNLINKED = ("meta", "script", "body")
_LINKS = ("a", "area", "object", *FRAMES)
_OF_LINKS = ("base", "link", "meta", *_LINKS)
_READ = frozenset({"href", "src", "data", "rel", "type", "hreflang", "name", "content", "http-equiv"})
_LINK_TAG = re.compile(
    rf"""<({"|".join(_OF_LINKS)})(?=[\s/])(?:(?:[^<>"']|"[^"<]*+"|'[^'<]*+')*+>|[^<>]*+>)""", re.IGNORECASE
)


def content_type_of(response: Response) -> str:
    """Return what a server says that the bytes of its answer are; "" if it does not."""
    return (response.headers.get("Content-Type") or b"").decode("latin-1")


@dataclass(frozen=True)
class LinkRules:
    """Which links of a page may be followed.

    Attributes:
        allowed_domains: hosts, their subdomains included.
        starts: hosts of start URLs with their ports. A host is asked at the ports at which the crawl starts
            with it; any other one at those of the web and at those of the starts.
        follow: regular expression that a URL has to match somewhere; empty: any URL.
        ignore: regular expression that a URL must not match anywhere; empty: none.
        obey_robots: whether what pages ask of robots holds; links with rel=nofollow are left out then.
        robot: the name under which pages know this crawler, in lower case; "" for none.
    """

    allowed_domains: tuple[str, ...]
    starts: tuple[tuple[str, int], ...] = ()
    follow: str = ""
    ignore: str = ""
    obey_robots: bool = True
    robot: str = ""

    def is_on_site(self, url: str) -> bool:
        """Return whether a URL is one of the allowed domains, whatever its path."""
        absolute = _ABSOLUTE.match(url)
        return absolute is not None and self.is_of(absolute[1])

    def is_of(self, network_location: str) -> bool:
        """Return the same of the part of a URL that names host and port."""
        return _is_of(network_location, self.allowed_domains, self.starts)

    def allow(self, url: str) -> bool:
        """Return whether a URL may be followed."""
        return self.is_on_site(url) and self.matches(url)

    def matches(self, url: str) -> bool:
        """Return whether a URL is wanted by `follow` and `ignore`, whatever its host."""
        return (not self.follow or re.search(self.follow, url) is not None) and (
            not self.ignore or re.search(self.ignore, url) is None
        )


@dataclass
class Extraction:
    """What a page holds for the crawl.

    Attributes:
        main: the main text, and how it was found; None where it was not asked for.
        signature: the text's signature; None where it was not asked for.
        links: absolute URLs that the rules allow, in the order of the page, each once.
        feeds: those of feeds that it names as its own.
        canonical: the absolute address that the page names as its own.
        title: its title, "" if it has none.
        leads_to: the absolute address that it leads to by itself, at once or after a while.
        is_move: whether it is nothing but a redirect to that.
        is_shell: whether there is little but scripts, which would have to write the text.
        problem: why there is no content, where there is none.
        refused: for which reason a PDF is skipped that gives no text, in one word.
        noindex: whether the page asks not to be stored.
        nofollow: whether it asks that none of its links be followed.
    """

    main: MainText | None = None
    signature: Signature | None = None
    links: list[str] = field(default_factory=list)
    feeds: list[str] = field(default_factory=list)
    canonical: str | None = None
    title: str = ""
    leads_to: str | None = None
    is_move: bool = False
    is_shell: bool = False
    problem: str | None = None
    refused: str | None = None
    noindex: bool = False
    nofollow: bool = False

    @property
    def text(self) -> str | None:
        """The main text, "" if there is none; None where it was not asked for."""
        return None if self.main is None else self.main.text


class Description(NamedTuple):
    """What is stored of a kept page besides its text.

    Attributes:
        compressed_html: its bytes, by zlib.
        main: the main text, and how it was found; None where it was known.
        problem: what of its bytes could not be read.
        metadata: what it says of itself.
        markdown: its text as Markdown; None where it was not asked for.
    """

    compressed_html: bytes
    main: MainText | None = None
    problem: str | None = None
    metadata: Metadata = Metadata()
    markdown: str | None = None


def extract_page(
    html: bytes,
    url: str,
    rules: LinkRules,
    *,
    with_text: bool,
    with_links: bool = True,
    scheme: Scheme | None = None,
    content_type: str | None = None,
    refresh: str = "",
) -> Extraction:
    """Take links and main text from a page, in one parse; of a PDF its text.

    Args:
        html: the page's bytes.
        url: its address, to which its links are relative.
        rules: which links are wanted.
        with_text: whether the main text and its signature are wanted.
        with_links: whether links are wanted.
        scheme: how the signature is made; None: by scheme 1.
        content_type: what the server says that the bytes are.
        refresh: the header of this name, which asks for another address.
    """
    if is_pdf(html):
        return _extract_pdf(html, scheme, with_text=with_text)
    decoded = decode_html(html, content_type)
    tree = parse_html(decoded.text)
    if tree is None:
        return Extraction(find_text(tree), problem="no text at all") if with_text else Extraction()
    reader = _LinkReader(tree, url, rules, decoded.charset)
    extraction = reader.read(read_refresh(refresh), with_links=with_links)
    extraction.title = (tree.findtext(".//title") or "")[:MAX_METADATA_CHARACTERS]
    if with_text and not extraction.is_move:
        extraction.main = find_text(tree)
        if len(extraction.main.text) <= MOST_WORDS:
            # Last: it takes what is no text out of the tree.
            _judge(extraction, FewWords(tree, extraction.main.text), reader)
        if extraction.problem is None and not extraction.is_move:
            extraction.signature = sign_page(extraction.main, scheme)
    return extraction


def _extract_pdf(data: bytes, scheme: Scheme | None, *, with_text: bool) -> Extraction:
    try:
        pdf = read_pdf(data, with_text=with_text)
    except PdfError as error:
        return Extraction(problem=str(error), refused=error.reason)
    extraction = Extraction(title=pdf.title[:MAX_METADATA_CHARACTERS], problem=pdf.problem or None)
    if with_text:
        extraction.main = pdf.main
        extraction.signature = None if pdf.problem else sign_page(pdf.main, scheme)
    return extraction


def extract_links(
    html: bytes, url: str, rules: LinkRules, problem: str, content_type: str | None, *, with_links: bool
) -> Extraction:
    """Take links, and what is asked of robots, from a page that cannot be analysed.

    No tree is made of all of it, so that time and memory are bounded whatever it is made of.

    Args:
        html: the page's bytes.
        url: its address.
        rules: which links are wanted.
        problem: why it cannot be analysed.
        content_type: what the server says that the bytes are.
        with_links: whether links are wanted.
    """
    decoded = decode_html(html, content_type)
    parser = etree.HTMLParser(target=_LinkElements(), encoding="utf-8", huge_tree=True)
    # Others first taken out: of elements within each other the parser takes a time that grows with the square.
    tags = (f"{tag[0]}</{tag[1]}>" for part in parts_with_text(decoded.text) for tag in _LINK_TAG.finditer(part))
    tree = etree.fromstring(f"<html>{''.join(tags)}".encode(), parser)
    extraction = _LinkReader(tree, url, rules, decoded.charset).read(None, with_links=with_links)
    extraction.is_move, extraction.problem = False, problem
    return extraction


class _LinkElements:
    """Makes a flat tree of the elements that `_LinkReader` reads, `MOST_MARKUP` at most, of what a parser finds."""

    def __init__(self) -> None:
        self._root = etree.Element("html")
        self._left = MOST_MARKUP

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag in _OF_LINKS and self._left:
            self._left -= 1
            etree.SubElement(self._root, tag, {name: clean(attributes[name]) for name in _READ & attributes.keys()})

    def end(self, tag: str) -> None:
        pass

    def close(self) -> HtmlElement:
        return cast("HtmlElement", self._root)


def _judge(extraction: Extraction, found: FewWords, reader: _LinkReader) -> None:
    extraction.is_shell = found.is_shell
    if found.is_shell:
        return
    if extraction.leads_to is not None:
        extraction.is_move = reader.seconds < _LATE and not found.has_media
    elif found.target is not None:
        extraction.leads_to = reader.other_address(found.target)
        extraction.is_move = extraction.leads_to is not None and not found.has_frame
    if not extraction.is_move:
        extraction.problem = found.problem


def describe_page(
    html: bytes,
    url: str,
    *,
    main: MainText | None,
    with_markdown: bool = False,
    content_type: str | None = None,
) -> Description:
    """Take the metadata from a page that is kept, and compress it.

    Args:
        html: the page's bytes.
        url: its address.
        main: the main text; None where it is not known, and wanted too.
        with_markdown: whether it is wanted as Markdown.
        content_type: what the server says that the bytes are.
    """
    if is_pdf(html):
        pdf = read_pdf(html, with_text=main is None)
        metadata = Metadata(*(value[:MAX_METADATA_CHARACTERS] or None for value in (pdf.title, pdf.author)))
        return Description(deflate(html), pdf.main if main is None else None, metadata=metadata)
    decoded = decode_html(html, content_type)
    tree = parse_html(decoded.text)
    found = main or find_text(tree)
    metadata = Metadata() if tree is None else find_metadata(tree, url)
    # Last: it changes links.
    markdown = _mark_up(tree, url, found, decoded.charset) if with_markdown else None
    return Description(deflate(html), None if main else found, _why_broken(decoded), metadata, markdown)


def mark_up_page(html: bytes, url: str, main: MainText, *, content_type: str | None = None) -> str:
    """Return the main text of a page as Markdown, as `describe_page` does."""
    if is_pdf(html):
        return main.text
    decoded = decode_html(html, content_type)
    return _mark_up(parse_html(decoded.text), url, main, decoded.charset)


def _mark_up(tree: HtmlElement | None, url: str, main: MainText, charset: str) -> str:
    if tree is None:
        return main.text
    try:
        _LinkReader(tree, url, LinkRules(()), charset).make_links_absolute()
        return find_markdown(tree, main)
    except Exception as error:  # whatever trafilatura makes of a broken page, metadata and text are stored
        logger.debug("%s: no Markdown can be made of it: %r", url, error)
        return main.text


def _why_broken(decoded: Decoded) -> str | None:
    if not decoded.broken:
        return None
    times = "once" if decoded.broken == 1 else f"{decoded.broken:,} times"
    return f"bytes that are no {decoded.charset} stand in the text as U+FFFD, {times}"


def host_and_port(network_location: str) -> tuple[str, int]:
    """Return the host of a URL as it is looked up, and its port; 0 for both ports of the web.

    Raises:
        ValueError: it has none, such as example.com:port.
    """
    parts = urlsplit(f"//{network_location}")
    return ascii_host(parts.hostname or ""), 0 if parts.port in _PORTS_OF_THE_WEB else parts.port or 0


@lru_cache(maxsize=4096)
def _is_of(network_location: str, domains: tuple[str, ...], starts: tuple[tuple[str, int], ...]) -> bool:
    try:
        host, port = host_and_port(network_location)
    except ValueError:
        return False
    ports = {port for start, port in starts if start == host} or ports_for_all(starts)
    return port in ports and any(host == domain or host.endswith(f".{domain}") for domain in domains)


def ports_for_all(starts: Iterable[tuple[str, int]]) -> set[int]:
    """Return the ports, as in `LinkRules.starts`, at which any host may be asked with which no crawl starts."""
    return {0, *(port for _, port in starts)}


class _LinkReader:
    """Reads where a page leads.

    Args:
        tree: the page.
        url: its address.
        rules: which links are wanted.
        charset: that of the page, in which browsers send queries.

    Attributes:
        seconds: after how long it leads elsewhere by itself.
    """

    def __init__(self, tree: HtmlElement, url: str, rules: LinkRules, charset: str) -> None:
        self._tree = tree
        self._url = url
        self._rules = rules
        self._charset = charset
        self._is_in_utf = charset.startswith("utf")
        self._base = url
        self._hrefs: dict[str, None] = {}
        self.seconds = 0.0

    def read(self, refresh: Refresh | None, *, with_links: bool) -> Extraction:
        """Return what is found; `refresh` is what the server asks for."""
        extraction = Extraction()
        base = canonical = None
        feeds: list[str] = []
        for element in self._elements(*_UNLINKED, "base", "link", *(_LINKS if with_links else ())):
            tag = element.tag
            if tag in _UNLINKED:
                refresh = refresh or self._read_unlinked(element, extraction)
                continue
            if tag == "object":
                href = element.get("data") if (element.get("type") or "").strip().lower() == "text/html" else None
            else:
                href = element.get("src" if tag in FRAMES else "href")
            if tag == "base":
                base = href if base is None else base
            elif href:
                relations = (element.get("rel") or "").lower()
                means = _meaning(element, relations) if tag == "link" else "page"
                if means == "canonical":
                    canonical = href
                elif means == "feed":
                    feeds.append(href)
                elif means == "page" and with_links and not (self._rules.obey_robots and "nofollow" in relations):
                    self._hrefs[href] = None
        self._base = (base and self._absolute(base)) or self._url
        extraction.canonical = canonical and self._absolute(canonical)
        if refresh is not None and (target := self.other_address(refresh.target)) is not None:
            self.seconds, extraction.leads_to, extraction.is_move = refresh.seconds, target, refresh.seconds <= _AT_ONCE
        if with_links:
            extraction.links = list(self._allowed_links(self._hrefs))
            extraction.feeds = list(self._allowed_links(feeds))
        return extraction

    def make_links_absolute(self) -> None:
        """Let the links of the page name whole addresses; those that lead to none, such as scripts, `NOWHERE`."""
        self.read(None, with_links=False)
        for link in self._tree.iter("a"):
            href = clean(link.get("href") or "").strip()
            if not href.startswith(_ADDRESSES_OF_PEOPLE):
                absolute = self._absolute(href) if href else None
                _, mark, fragment = href.partition("#")
                link.set("href", NOWHERE if absolute is None else f"{absolute}{mark}{fragment}")

    def _elements(self, *tags: str) -> Iterator[HtmlElement]:
        """Yield the elements of these names, but of templates, of which browsers show those of a shadow root alone."""
        templates = [each for each in self._tree.iter("template") if each.get("shadowrootmode") is None]
        inert = {element for template in templates for element in template.iter()}
        return (element for element in self._tree.iter(*tags) if element not in inert)

    def other_address(self, target: str) -> str | None:
        """Return the address that a page leads to by itself; None if that is its own, or none."""
        absolute = self._absolute(target)
        try:
            is_other = absolute is not None and canonicalize_url(absolute) != canonicalize_url(self._url)
        except ValueError:  # such as http://host:port/
            return None
        return absolute if is_other else None

    def _read_unlinked(self, element: HtmlElement, extraction: Extraction) -> Refresh | None:
        """Read an element that names no link; return where it leads, if it does by itself."""
        if element.tag != "meta":
            return read_script((element.text if element.tag == "script" else element.get("onload")) or "")
        content = element.get("content") or ""
        if (element.get("name") or "").strip().lower() in {"robots", self._rules.robot} - {""}:
            noindex, nofollow = read_directives(content)
            extraction.noindex |= noindex
            extraction.nofollow |= nofollow
        if (element.get("http-equiv") or "").strip().lower() != "refresh":
            return None
        refresh = read_refresh(content)
        if refresh is not None and next(element.iterancestors("noscript"), None) is not None:
            self._hrefs[refresh.target] = None  # which a browser with scripts would not do
            return None
        return refresh

    def _allowed_links(self, hrefs: Iterable[str]) -> dict[str, None]:
        links: dict[str, None] = {}
        for href in hrefs:
            # Most links of most pages lead to other hosts or to the page itself: they are told first.
            absolute = _ABSOLUTE.match(href)
            if absolute is None:
                if href.startswith(_NO_PAGE):
                    continue
            elif not self._rules.is_of(absolute[1]):
                continue
            link = self._absolute(href)
            if link is not None and self._rules.allow(link):
                links[link] = None
        return links

    def _absolute(self, href: str) -> str | None:
        """Return the absolute http or https URL of a link, without its fragment."""
        if len(href) > MAX_URL_CHARACTERS:
            return None
        # All that is to be taken out is not printable, and telling that is ten times as fast.
        if not href.isprintable():
            href = _LINE_BREAKS.sub("", clean(href))
        href = href.strip().partition("#")[0]
        if "\\" in href:  # as browsers read it, which is no part of a query
            path, mark, query = href.partition("?")
            href = path.replace("\\", "/") + mark + query
        try:
            if not (self._is_in_utf or href.isascii()):
                href = _in_charset(href, self._charset)
            if _PLAIN_PATH.fullmatch(href) and (origin := _ORIGIN.match(self._base)):
                return origin[0] + href
            # Joining takes longer than everything else about a link.
            if not _ABSOLUTE.match(href) or "[" in href:
                href = urljoin(self._base, href)
        except ValueError:  # such as http://[broken
            return None
        return without_login(href) if _ABSOLUTE.match(href) else None


def _in_charset(href: str, charset: str) -> str:
    """Return a link with its query in a charset; what that does not have as browsers write it."""
    path, mark, query = href.partition("?")
    known = query.encode(charset, "xmlcharrefreplace").decode(charset)
    return safe_url_string(path + mark + _REFERENCE.sub(r"%26%23\1%3B", known), charset)


def _meaning(link: HtmlElement, relations: str) -> str:
    """Return what a link element names: its `canonical` address, a `feed`, or a `page`.

    That is the next one of a series, or one in another language; "": nothing that is looked at.
    """
    words, kind = relations.split(), (link.get("type") or "html").strip().lower()
    if "canonical" in words:
        return "canonical"
    if "alternate" in words and kind in _FEED_TYPES:
        return "feed"
    is_translation = "alternate" in words and link.get("hreflang") and "html" in kind
    return "page" if "next" in words or is_translation else ""
