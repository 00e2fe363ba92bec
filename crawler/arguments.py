"""The arguments of the site spider, checked before anything is fetched."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from scrapy import Request

from crawler.given_files import GivenCookies, read_cookies, read_headers
from crawler.intervals import Intervals
from crawler.secrets import without_password
from dedup.errors import SettingsError
from dedup.rules.scope import SECONDS
from dedup.rules.setting_values import number, parsed, read_value, to_bool, whole_number

NAMES = (
    "url",
    "urls_file",
    "sitemap",
    "warc",
    "headers",
    "cookies",
    "allowed_domains",
    "follow",
    "ignore",
    "max_pages",
    "max_pages_per_host",
    "max_share",
    "max_depth",
    "recrawl",
    "max_age",
    "visit_every",
)

_OF_THE_WEB = frozenset(
    ("url", "urls_file", "sitemap", "max_depth", "recrawl", "max_age", "visit_every", "headers", "cookies")
)
_AGE = re.compile(rf"([0-9]{{1,9}}(?:\.[0-9]{{1,9}})?)([{''.join(SECONDS)}])", re.ASCII)
# What people type for a server of their own; of another one a port says nothing of the scheme.
_LOCAL = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(?::[0-9]+)?(?:/.*)?", re.IGNORECASE | re.DOTALL)
_LOGIN = re.compile(r"^((?:https?:)?//)[^/?#\\]*@", re.IGNORECASE)
_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[^\s,/\\]+")


class Origin(NamedTuple):
    """Where an address leads to: what a password is for."""

    scheme: str
    host: str
    port: int


@dataclass(frozen=True)
class SiteArguments:
    """What `scrapy crawl site` was asked to crawl.

    Attributes:
        urls: where the crawl starts.
        sitemaps: addresses of sitemaps whose pages are crawled too.
        sitemaps_of_robots: whether the sitemaps that robots.txt names are read.
        logins: user and password by the scheme, host and port of the addresses in which they stood.
        headers: names and values of headers that are sent to `origins`.
        cookies: those that are sent to the hosts of these addresses, and of their subdomains.
        warc: WARC files, or folders of such, whose pages are taken instead; their links are not followed.
        allowed_domains: the hosts that may be fetched from, their subdomains included.
        follow: regular expression that a link has to match; "" for any.
        ignore: regular expression that a link must not match; "" for none.
        max_pages: how many pages are kept at most; None for any number.
        max_pages_per_host: how many pages of a host are kept at most; None for any number.
        max_share: the share of `max_pages` after which addresses that are alike wait for all others; None for none.
        max_depth: how many links away from the start at most; None for any number.
        recrawl: whether the pages that the database knows are visited again.
        max_age: seconds; only those that were seen longer ago than that; None for all.
        intervals: only those that were left alone for their own time between these; None for all.
    """

    urls: tuple[str, ...]
    sitemaps: tuple[str, ...]
    sitemaps_of_robots: bool
    allowed_domains: tuple[str, ...]
    follow: str
    ignore: str
    max_pages: int | None
    max_depth: int | None
    recrawl: bool = False
    max_age: float | None = None
    intervals: Intervals | None = None
    warc: tuple[str, ...] = ()
    logins: Mapping[Origin, tuple[str, str]] = field(default_factory=dict)
    max_pages_per_host: int | None = None
    max_share: float | None = None
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    cookies: GivenCookies = field(default_factory=GivenCookies, repr=False)

    @classmethod
    def parse(cls, arguments: Mapping[str, str]) -> SiteArguments:
        """Read the arguments as they stand on the command line.

        Raises:
            SettingsError: an argument is unknown or wrong, or none says where to start.
        """
        unknown = sorted(set(arguments) - set(NAMES))
        if unknown:
            raise SettingsError(f"unknown argument {unknown[0]!r}; the arguments are {', '.join(NAMES)}")
        urls = _split_urls(arguments.get("url", "")) + _read_urls_file(arguments.get("urls_file", ""))
        for url in urls:
            _check_url("url", url)
        sitemap = arguments.get("sitemap", "").strip()
        sitemaps = () if sitemap in ("", "auto") else _split_urls(sitemap)
        for url in sitemaps:
            _check_url("sitemap", url)
        logins = _read_logins(urls + sitemaps)
        urls, sitemaps = tuple(map(without_login, urls)), tuple(map(without_login, sitemaps))
        warc = _split(arguments.get("warc", ""))
        if warc and (excess := _OF_THE_WEB.intersection(arguments)):
            raise SettingsError(f"{min(excess)} cannot be combined with warc")
        if not urls and not sitemaps and not warc:
            places = "-a url=https://example.com, urls_file=FILE, sitemap=URL or warc=FILE"
            raise SettingsError(f"no crawl to resume, and nowhere to start: pass {places}")
        max_age = _age("max_age", arguments.get("max_age"))
        every = arguments.get("visit_every")
        intervals = None if every is None else read_value("visit_every", every, parsed(Intervals))
        if max_age is not None and every is not None:
            raise SettingsError("max_age and visit_every: give one of the two")
        of_recrawl = "max_age" if every is None else "visit_every"
        recrawl = read_value("recrawl", arguments.get("recrawl", of_recrawl in arguments), to_bool)
        if of_recrawl in arguments and not recrawl:
            raise SettingsError(f"{of_recrawl} needs recrawl=true")
        return cls(
            urls=urls,
            sitemaps=sitemaps,
            sitemaps_of_robots=sitemap == "auto",
            allowed_domains=_domains(arguments.get("allowed_domains", ""), urls + sitemaps),
            follow=_pattern("follow", arguments.get("follow", "")),
            ignore=_pattern("ignore", arguments.get("ignore", "")),
            max_pages=_number("max_pages", arguments.get("max_pages"), least=1),
            max_depth=0 if warc else _number("max_depth", arguments.get("max_depth"), least=0),
            recrawl=recrawl,
            max_age=max_age,
            intervals=intervals,
            warc=warc,
            logins=logins,
            max_pages_per_host=_number("max_pages_per_host", arguments.get("max_pages_per_host"), least=1),
            max_share=_share(arguments),
            headers=read_headers(arguments.get("headers", "")),
            cookies=read_cookies(arguments.get("cookies", ""), [origin_of(url).host for url in urls + sitemaps]),
        )

    @property
    def origins(self) -> set[Origin]:
        """Where the addresses that the crawl was given lead to."""
        return set(map(origin_of, self.urls + self.sitemaps))

    def is_start(self, request: Request) -> bool:
        """Return whether a request is for one of `urls`, if by a redirect."""
        return request.meta.get("redirect_urls", [request.url])[0] in self.urls


def _share(arguments: Mapping[str, str]) -> float | None:
    if "max_share" not in arguments:
        return None
    if "max_pages" not in arguments:
        raise SettingsError("max_share needs max_pages, of which it is a share")
    return read_value("max_share", arguments["max_share"], number(0, 1))


def as_texts(arguments: Mapping[str, object]) -> dict[str, str]:
    """Return arguments as they would stand on the command line; a script may give numbers, flags and lists.

    None is an argument that is not given.
    """
    return {name: _as_text(value) for name, value in arguments.items() if value is not None}


def _as_text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, (list, tuple, set, frozenset)) else str(value)


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _split_urls(text: str) -> tuple[str, ...]:
    # A comma can be part of an address: what follows it is another one only if it has a scheme.
    parts = (part.strip(" \t,") for part in re.split(r",(?=\s*[a-z]+:)", text, flags=re.IGNORECASE))
    return tuple(map(_with_scheme, filter(None, parts)))


def _with_scheme(url: str) -> str:
    return f"http://{url}" if _LOCAL.fullmatch(url) else url


def _read_urls_file(name: str) -> tuple[str, ...]:
    if not name:
        return ()
    try:
        lines = Path(name).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"urls_file {name!r} cannot be read: {error}") from None
    urls = tuple(_with_scheme(line.strip()) for line in lines if line.strip() and not line.lstrip().startswith("#"))
    if not urls:
        raise SettingsError(f"urls_file {name!r} has no URL; write one per line")
    return urls


def _check_url(name: str, url: str) -> None:
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and _HOST.fullmatch(parts.hostname or "") is not None
        ascii_host(parts.hostname or "")
        parts.port  # noqa: B018 -- raises where it is no number
    except ValueError:
        is_usable = False
    if not is_usable:
        raise SettingsError(
            f"{name} {without_password(url)!r} is not a web address; write it like https://example.com/"
        )


def _read_logins(urls: tuple[str, ...]) -> dict[Origin, tuple[str, str]]:
    parts = [(url, urlsplit(url)) for url in urls]
    return {
        origin_of(url): (unquote(each.username or ""), unquote(each.password or ""))
        for url, each in parts
        if "@" in each.netloc
    }


def origin_of(url: str) -> Origin:
    """Return the origin of a web address."""
    parts = urlsplit(url)
    return Origin(parts.scheme, ascii_host(parts.hostname or ""), parts.port or _PORTS.get(parts.scheme, 0))


def without_login(url: str) -> str:
    """Return a web address without user and password."""
    return _LOGIN.sub(r"\1", url)


def _domains(text: str, urls: tuple[str, ...]) -> tuple[str, ...]:
    if domains := _split(text):
        return tuple(dict.fromkeys(map(_domain, domains)))
    # Most sites answer with and without www. and redirect from one to the other.
    return tuple(dict.fromkeys(ascii_host(urlsplit(url).hostname or "").removeprefix("www.") for url in urls))


def _domain(text: str) -> str:
    try:
        if not set("/:*") & set(text):
            return ascii_host(text.removeprefix("."))
    except ValueError:
        pass
    raise SettingsError(f"allowed_domains {text!r} is not a host; write it like example.com, which has its subdomains")


def _pattern(name: str, text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise SettingsError(f"invalid regular expression in {name}: {text!r}: {error}") from None
    return text


def _number(name: str, text: str | None, least: int) -> int | None:
    return None if text is None else read_value(name, text, whole_number(least))


def _age(name: str, text: str | None) -> float | None:
    if text is None:
        return None
    found = _AGE.fullmatch(text.strip())
    if found is None:
        raise SettingsError(f"{name} {text!r} is not a time; write it like 90s, 30m, 12h, 7d or 2w")
    return float(found[1]) * SECONDS[found[2]]


def ascii_host(host: str) -> str:
    """Return a host as it is looked up: in lower case, an international name in its ASCII form.

    Raises:
        ValueError: it is no name of a host.
    """
    return host.lower() if host.isascii() else host.encode("idna").decode("ascii")
