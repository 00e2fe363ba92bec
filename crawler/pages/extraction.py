"""HTML bytes to main text, links and metadata; all of it runs in worker processes."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

from lxml.html import HtmlElement
from scrapy.http import Response
from w3lib.encoding import html_body_declared_encoding, http_content_type_encoding, resolve_encoding

from dedup.signature.deflating import deflate
from dedup.signature.extraction import MainText, find_text, parse_html, sign_page
from dedup.signature.normalise import clean
from dedup.signature.schemes import Scheme
from dedup.signature.signature import Signature

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# What servers say that were never told; and all bytes are letters of it.
_USUAL_LIE = "cp1252"
# In the languages that it is for letters with accents stand between others.
_OTHER_SCRIPTS = re.compile(b"[\xa1-\xff]{6}")
_MOST_BROKEN = 0.01


MAX_METADATA_CHARACTERS = 2_000
MAX_URL_CHARACTERS = 2_083

_LINE_BREAKS = re.compile("[\t\r\n]")
_ABSOLUTE = re.compile("https?://([^/?#]+)", re.IGNORECASE)
_ORIGIN = re.compile("https?://[^/?#]+")
# Paths that joining leaves as they are: without dots to resolve and without empty parts to drop.
_PLAIN_PATH = re.compile(r"(?:/[^/.?;\s][^/?;\s]*)+/?(?:\?[^?;\s]+)?")
_REFRESH = re.compile(r"url\s*=\s*(.+)", re.IGNORECASE)
_NO_PAGE = ("#", "javascript:", "mailto:", "tel:", "data:")
# Directives of robots that have a colon of their own.
_WITH_VALUES = ("max-snippet", "max-image-preview", "max-video-preview", "unavailable_after")
_PORTS_OF_THE_WEB = (80, 443)
# More than a menu or a note that it is loading.
_MOST_OF_A_SHELL = 200
_MUCH_SCRIPT = 2_000
_RUNNABLE = ("", "module", "text/javascript", "application/javascript", "application/x-javascript")
# What frameworks fill: an element of their own name, or one without a meaning.
_FILLED = re.compile("div|main|section|[a-z]+-[a-z-]+")
_METADATA_FIELDS = ("title", "author", "date", "description")


def content_type_of(response: Response) -> str:
    """Return what a server says that the bytes of its answer are; "" if it does not."""
    return (response.headers.get("Content-Type") or b"").decode("latin-1")


def decode_page(html: bytes, content_type: str | None) -> bytes | str:
    """Return a page as text; as it is where nobody says, or wrongly, what its bytes mean.

    In the order of the standard: a byte order mark, the header, a meta element.

    Args:
        html: its bytes.
        content_type: the header.
    """
    for mark, name in _BYTE_ORDER_MARKS:
        if html.startswith(mark):
            return html.decode(name, errors="replace")
    declared = http_content_type_encoding(content_type) if content_type else None, html_body_declared_encoding(html)
    for given in filter(None, declared):
        name = resolve_encoding(given) or ""
        if name == _USUAL_LIE and (_is_utf8(html) or _OTHER_SCRIPTS.search(html)):
            continue
        try:
            text = html.decode(name, errors="replace")
        except LookupError:
            continue
        # Some broken ones are in many pages; another charset breaks most that is not ASCII.
        broken = text.count("\ufffd")
        if not broken or broken <= _MOST_BROKEN * (len(text) - len(text.encode("ascii", "ignore"))):
            return text
    return html


def _is_utf8(html: bytes) -> bool:
    try:
        html.decode()
    except UnicodeDecodeError:
        return False
    return True


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
        """Say whether a URL is one of the allowed domains, whatever its path."""
        absolute = _ABSOLUTE.match(url)
        return absolute is not None and self.is_of(absolute[1])

    def is_of(self, network_location: str) -> bool:
        """Say the same of the part of a URL that names host and port."""
        return _is_of(network_location, self.allowed_domains, self.starts)

    def allow(self, url: str) -> bool:
        """Say whether a URL may be followed."""
        return self.is_on_site(url) and self.matches(url)

    def matches(self, url: str) -> bool:
        """Say whether a URL is wanted by `follow` and `ignore`, whatever its host."""
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
        canonical: the absolute address that the page names as its own.
        title: its title, "" if it has none.
        is_shell: whether there is little but scripts, which would have to write the text.
        noindex: whether the page asks not to be stored.
        nofollow: whether it asks that none of its links be followed.
    """

    main: MainText | None = None
    signature: Signature | None = None
    links: list[str] = field(default_factory=list)
    canonical: str | None = None
    title: str = ""
    is_shell: bool = False
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
        main: the main text, and how it was found; None where it was not asked for.
        title: its title.
        author: who wrote it.
        date: when it was published, as YYYY-MM-DD.
        language: its language as the page says, such as `en` or `zh-CN`.
        description: what its metadata say it is about.
    """

    compressed_html: bytes
    main: MainText | None = None
    title: str | None = None
    author: str | None = None
    date: str | None = None
    language: str | None = None
    description: str | None = None


def extract_page(
    html: bytes,
    url: str,
    rules: LinkRules,
    *,
    with_text: bool,
    with_links: bool = True,
    scheme: Scheme | None = None,
    content_type: str | None = None,
) -> Extraction:
    """Take links and main text from a page, in one parse.

    Args:
        html: the page's bytes.
        url: its address, to which its links are relative.
        rules: which links are wanted.
        with_text: whether the main text and its signature are wanted.
        with_links: whether links are wanted.
        scheme: how the signature is made; None: by scheme 1.
        content_type: what the server says that the bytes are.
    """
    tree = parse_html(decode_page(html, content_type))
    extraction = Extraction() if tree is None else _read_links(tree, url, rules, with_links)
    if with_text:
        extraction.main = find_text(tree)
        extraction.signature = sign_page(extraction.main, scheme)
    if tree is not None:
        extraction.title = (tree.findtext(".//title") or "")[:MAX_METADATA_CHARACTERS]
        # Last: it takes what is no text out of the tree.
        extraction.is_shell = with_text and _is_shell(tree, extraction.text or "")
    return extraction


def describe_page(html: bytes, url: str, *, with_text: bool, content_type: str | None = None) -> Description:
    """Take the metadata from a page that is kept, and compress it.

    Args:
        html: the page's bytes.
        url: its address.
        with_text: whether the main text is wanted too.
        content_type: what the server says that the bytes are.
    """
    from trafilatura.metadata import extract_metadata  # noqa: PLC0415 -- only the workers need it, see dedup.signature.extraction

    tree = parse_html(decode_page(html, content_type))
    if tree is None:
        return Description(deflate(html))
    language = _language(tree)
    main = find_text(tree) if with_text else None
    found = extract_metadata(tree, url, extensive=False)
    title, author, date, description = (_tidy(getattr(found, name)) for name in _METADATA_FIELDS)
    return Description(deflate(html), main, title, author, date, language, description)


def ascii_host(host: str) -> str:
    """Return a host as it is looked up: in lower case, an international name in its ASCII form.

    Raises:
        ValueError: it is no name of a host.
    """
    return host.lower() if host.isascii() else host.encode("idna").decode("ascii")


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


def _is_shell(tree: HtmlElement, text: str) -> bool:
    """Say whether a page has little text and much script that may write it.

    A page of few words that has some script is none: what tells it apart is that it says so in a noscript element, or
    that what is to be filled stands there empty.
    """
    body = tree.find(".//body")
    if len(text) > _MOST_OF_A_SHELL or body is None:
        return False
    scripts = [script for script in tree.iter("script") if (script.get("type") or "").lower() in _RUNNABLE]
    if (
        not any(script.get("src") for script in scripts)
        and sum(len(each.text or "") for each in scripts) < _MUCH_SCRIPT
    ):
        return False
    says_so = any("javascript" in element.text_content().lower() for element in tree.iter("noscript"))
    for element in list(body.iter("script", "style", "noscript", "template")):
        element.drop_tree()
    seen = len(" ".join(body.text_content().split()))
    # Pictures and forms are content, too.
    has_more = next(body.iter("img", "video", "audio", "iframe", "object", "input", "form", "svg", "picture"), None)
    if seen > _MOST_OF_A_SHELL or has_more is not None:
        return False
    is_empty = any(
        not len(each) and not (each.text or "").strip() and _FILLED.fullmatch(str(each.tag)) for each in body
    )
    return says_so or is_empty or not seen


def _read_links(tree: HtmlElement, url: str, rules: LinkRules, with_links: bool) -> Extraction:
    extraction = Extraction()
    base = url
    hrefs: dict[str, None] = {}
    for element in tree.iter("base", "link", "meta", *(("a", "area") if with_links else ())):
        if element.tag == "meta":
            _read_meta(element, extraction, hrefs, rules.robot)
            continue
        href = element.get("href")
        if not href:
            continue
        relations = (element.get("rel") or "").lower()
        if element.tag == "base":
            base = _absolute(url, href) or url
        elif element.tag == "link" and "canonical" in relations.split():
            extraction.canonical = _absolute(base, href)
        elif element.tag == "link" and not (with_links and _leads_on(element, relations)):
            continue
        elif not (rules.obey_robots and "nofollow" in relations):
            hrefs[href] = None
    if with_links:
        extraction.links = list(_allowed_links(hrefs, base, rules))
    return extraction


def _leads_on(link: HtmlElement, relations: str) -> bool:
    """Say whether a link element names a page to follow: the next one of a series, or one in another language."""
    words = relations.split()
    is_translation = "alternate" in words and link.get("hreflang") and "html" in (link.get("type") or "html").lower()
    return "next" in words or bool(is_translation)


def _read_meta(element: HtmlElement, extraction: Extraction, hrefs: dict[str, None], robot: str) -> None:
    content = element.get("content") or ""
    if (element.get("name") or "").strip().lower() in {"robots", robot} - {""}:
        noindex, nofollow = read_directives(content)
        extraction.noindex |= noindex
        extraction.nofollow |= nofollow
    elif (element.get("http-equiv") or "").lower() == "refresh" and (target := _REFRESH.search(content)):
        hrefs[target[1].strip("'\" ")] = None


def _allowed_links(hrefs: Iterable[str], base: str, rules: LinkRules) -> dict[str, None]:
    links: dict[str, None] = {}
    for href in hrefs:
        # Most links of most pages lead to other hosts or to the page itself: they are told first.
        absolute = _ABSOLUTE.match(href)
        if absolute is None:
            if href.startswith(_NO_PAGE):
                continue
        elif not rules.is_of(absolute[1]):
            continue
        link = _absolute(base, href)
        if link is not None and rules.allow(link):
            links[link] = None
    return links


def read_directives(content: str) -> tuple[bool, bool]:
    """Read what a robots meta tag asks for.

    Args:
        content: directives between commas, such as "noindex, nofollow" or "none".

    Returns:
        Whether the page shall not be stored, and whether its links shall not be followed.
    """
    directives = {directive.strip().lower() for directive in content.split(",")}
    return bool(directives & {"noindex", "none"}), bool(directives & {"nofollow", "none"})


def read_robots_header(values: Iterable[str], robot: str) -> tuple[bool, bool]:
    """Read what X-Robots-Tag headers ask a crawler for.

    Args:
        values: of each header; a name, such as "otherbot: noindex, nofollow", is for what follows it there.
        robot: the crawler's name, in lower case.

    Returns:
        As `read_directives`.
    """
    own = []
    for value in values:
        is_own = True
        for directive in value.split(","):
            name, colon, rest = directive.partition(":")
            if colon and name.strip().lower() not in _WITH_VALUES:
                is_own, directive = name.strip().lower() == robot, rest  # noqa: PLW2901
            if is_own:
                own.append(directive)
    return read_directives(",".join(own))


def _absolute(base: str, href: str) -> str | None:
    """Return the absolute http or https URL of a link, without its fragment."""
    if len(href) > MAX_URL_CHARACTERS:
        return None
    # All that is to be taken out is not printable, and telling that is ten times as fast.
    if not href.isprintable():
        href = _LINE_BREAKS.sub("", clean(href))
    href = href.strip().partition("#")[0]
    if _PLAIN_PATH.fullmatch(href) and (origin := _ORIGIN.match(base)):
        return origin[0] + href
    # Joining takes longer than everything else about a link.
    if not _ABSOLUTE.match(href) or "[" in href:
        try:
            href = urljoin(base, href)
        except ValueError:  # such as http://[broken
            return None
    return href if _ABSOLUTE.match(href) else None


def _language(tree: HtmlElement) -> str | None:
    root = tree if tree.tag == "html" else tree.find(".//html")
    return _tidy(root.get("lang") or root.get("xml:lang")) if root is not None else None


def _tidy(value: str | None) -> str | None:
    return clean(value).strip()[:MAX_METADATA_CHARACTERS] or None if value else None
