"""User and password of start URLs, as HTTP Basic, and headers of a file."""

from __future__ import annotations

from typing import Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.http.headers import Headers
from w3lib.http import basic_auth_header

from crawler.arguments import Origin, SiteArguments, origin_of, without_login


class LoginMiddleware:
    """Downloader middleware: sends headers, and user and password of start URLs, to these, and to nowhere else.

    What a redirect names is left out: passwords are the user's to give.
    """

    def __init__(self, arguments: SiteArguments) -> None:
        self._headers: dict[Origin, Headers] = {}
        if arguments.headers:
            self._headers = {origin: Headers(arguments.headers) for origin in arguments.origins}
        for origin, login in arguments.logins.items():
            self._headers.setdefault(origin, Headers())["Authorization"] = basic_auth_header(*login, "utf-8")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler.spider.arguments)  # type: ignore[union-attr]

    def process_request(self, request: Request) -> None:
        if self._headers and (headers := self._headers.get(origin_of(request.url))):
            request.headers.update(headers)

    def process_response(self, request: Request, response: Response) -> Response:
        if self._headers:
            # A redirect is followed by a copy of the request, wherever it leads.
            for name in self._headers.get(origin_of(request.url), ()):
                request.headers.pop(name, None)
        target = (response.headers.get("Location") or b"").decode("latin-1")
        if "@" in target:
            response.headers["Location"] = without_login(target).encode("latin-1")
        return response
