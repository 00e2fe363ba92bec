"""The private parts of Scrapy's and Twisted's downloader that are used: each in a function, with the reason.

There is no public way to any of them, and a test looks at each. Those of the engine: `dedup.stage.scrapy_private`.
"""

from __future__ import annotations

from http.cookiejar import Cookie

from scrapy.core.downloader.handlers.http11 import (
    HTTP11DownloadHandler,
    _LenientHTTP11ClientFactory,
    _LenientHTTP11ClientProtocol,
)
from scrapy.downloadermiddlewares import cookies
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.http.cookies import CookieJar
from scrapy.robotstxt import RobotParser
from tldextract import TLDExtract
from twisted.web._newclient import HEADER, STATUS

# ruff: noqa: SLF001

ConnectionFactory = _LenientHTTP11ClientFactory
"""What makes connections; subclassed to bound the headers of a response, which Scrapy does not."""

Connection = _LenientHTTP11ClientProtocol
"""A connection; likewise."""


def use_public_suffixes(split: TLDExtract) -> None:
    """Have Scrapy's cookies go by a list of public suffixes: its own fetches one from others at the first cookie."""
    cookies._split_domain = split


def cookies_of(jar: CookieJar) -> dict[str, dict[str, dict[str, Cookie]]]:
    """Return the cookies of a jar by domain, path and name; going through a jar goes through all domains."""
    return jar._cookies


def robots_parser_of(middleware: RobotsTxtMiddleware) -> type[RobotParser]:
    """Return the class of `ROBOTSTXT_PARSER`, as the middleware has loaded it."""
    parser: type[RobotParser] = middleware._parserimpl  # type: ignore[assignment]  # as Scrapy annotates it
    return parser


def connect_with(handler: HTTP11DownloadHandler, factory: type[ConnectionFactory]) -> None:
    """Have a download handler make its connections with a factory."""
    handler._pool._factory = factory


def allow_lines(connection: Connection, most: int) -> None:
    """Let a line of the headers have so many bytes; Twisted takes 16 kB for the end of the connection."""
    connection._parser.MAX_LENGTH = most  # type: ignore[union-attr]


def is_reading_headers(connection: Connection) -> bool:
    """Return whether a connection is at the headers of a response."""
    return connection._parser is not None and connection._parser.state in (STATUS, HEADER)
