"""User and password of start URLs, as HTTP Basic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response
from w3lib.http import basic_auth_header

from crawler.arguments import Origin, origin_of, without_login


class LoginMiddleware:
    """Downloader middleware: sends user and password of start URLs to where they stood, and to nowhere else.

    What a redirect names is left out: passwords are the user's to give.
    """

    def __init__(self, logins: Mapping[Origin, tuple[str, str]]) -> None:
        self._headers = {origin: basic_auth_header(*login, "utf-8") for origin, login in logins.items()}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler.spider.arguments.logins)  # type: ignore[union-attr]

    def process_request(self, request: Request) -> None:
        if self._headers and (header := self._headers.get(origin_of(request.url))):
            request.headers["Authorization"] = header

    def process_response(self, request: Request, response: Response) -> Response:
        target = (response.headers.get("Location") or b"").decode("latin-1")
        if "@" in target:
            response.headers["Location"] = without_login(target).encode("latin-1")
        return response
