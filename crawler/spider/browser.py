"""Pages that JavaScript writes: rendered in a browser that reaches nothing by itself."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, Response
from scrapy.http.request import NO_CALLBACK

from crawler.pages.extraction import content_type_of
from crawler.request_meta import RESOURCE, STATIC
from crawler.settings import CrawlerSettings, JavaScript, JavaScriptByHost
from dedup.errors import DedupError, SettingsError
from dedup.stage.project import settings_of
from dedup.stage.running import refuse_to_start

if sys.platform == "linux":
    import resource

if TYPE_CHECKING:
    from playwright.async_api import Browser as Chromium
    from playwright.async_api import Page as Window
    from playwright.async_api import Playwright, Route

logger = logging.getLogger(__name__)

MOST_REQUESTS = 100
"""A page may make so many requests."""

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_ARGUMENTS = (
    # Whatever is not handed to it, as by WebSocket or WebRTC, ends at a proxy that is not there; no name is asked for.
    "--proxy-server=http://127.0.0.1:9",
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--js-flags=--max-old-space-size=256",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
_PAGES_AT_ONCE = 2
_PAGES_OF_A_BROWSER = 200
_MEMORY_OF_A_PROCESS = 1_500 * 1024 * 1024
RENDERING_SECONDS = 60.0
_MOST_CACHED = 64 * 1024 * 1024
_DATA = ("xhr", "fetch")
_PASSED_ON = ("content-type", "access-control-allow-origin", "access-control-allow-credentials")
_SENT = ("Accept", "Accept-Language", "Origin", "Referer", "X-Requested-With", "Authorization")


class RenderingError(DedupError):
    """A page could not be rendered; the message says why, in a few words."""


class Browser:
    """The system's Chromium, in which pages of a crawl are rendered.

    It gets the page as it was fetched. What the page asks for is fetched as pages are, by Scrapy: robots.txt, inner
    addresses and the limits of bodies hold for it, and only GET is done. Scripts and styles are fetched once; pictures,
    fonts and films never. A page has `RENDERING_SECONDS` (60), `MOST_REQUESTS` requests, and 256 MB for
    its objects; two are rendered at once, in a browser each, which is started again after 200 pages or one that failed.

    Stats: `crawler/rendered`, `crawler/rendering_failed`, `crawler/rendering_requests`.
    """

    def __init__(self, crawler: Crawler, modes: JavaScriptByHost, path: str | None) -> None:
        self._crawler = crawler
        self._modes = modes
        self._slots = asyncio.Semaphore(_PAGES_AT_ONCE)
        self._idle = [_Chromium(path, crawler.settings["USER_AGENT"]) for _ in range(_PAGES_AT_ONCE)]
        self._cache: dict[str, Response] = {}
        self._cached = 0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the browser of a crawl; a setting that is wrong, or a program that is missing, ends it at once."""
        modes = settings_of(crawler, CrawlerSettings).javascript
        try:
            path = _find_browser() if modes.is_used else None
        except SettingsError as error:
            refuse_to_start(error)
        browser = cls(crawler, modes, path)
        crawler.signals.connect(browser.close, signals.spider_closed)
        return browser

    def mode_of(self, url: str) -> JavaScript:
        """Return which pages of a URL's host are rendered."""
        return self._modes.of_host(urlsplit(url).hostname or "")

    async def render(self, response: HtmlResponse) -> HtmlResponse:
        """Return a page as JavaScript makes it.

        It has no ETag and no Last-Modified: these are of the page without what it fetches.

        Raises:
            RenderingError: that was not possible.
        """
        from playwright.async_api import Error  # noqa: PLC0415 -- an extra

        async with self._slots:
            chromium = self._idle.pop()
            try:
                async with asyncio.timeout(RENDERING_SECONDS):
                    html = await self._render(response, chromium)
            except (Error, TimeoutError, OSError) as error:
                await chromium.close()
                self._crawler.stats.inc_value("crawler/rendering_failed")
                why = "it took too long" if isinstance(error, TimeoutError) else str(error).partition("\n")[0]
                raise RenderingError(f"the browser could not render it: {why}") from None
            finally:
                self._idle.append(chromium)
        self._crawler.stats.inc_value("crawler/rendered")
        headers = response.headers.copy()
        for name in ("ETag", "Last-Modified", "Content-Encoding", "Content-Length"):
            headers.pop(name, None)
        headers["Content-Type"] = "text/html; charset=utf-8"
        return response.replace(body=html.encode(errors="replace"), headers=headers, encoding="utf-8")

    async def close(self) -> None:
        """End the browser."""
        self._cache.clear()
        for chromium in self._idle:
            await chromium.close()

    async def _render(self, response: HtmlResponse, chromium: _Chromium) -> str:
        async with chromium.open_page() as page:
            await page.context.route("**/*", _Loading(self, response).answer)
            await page.goto(response.url, wait_until="domcontentloaded", timeout=0)
            # A page that never rests is taken as it is after a while.
            with suppress(TimeoutError):
                async with asyncio.timeout(RENDERING_SECONDS / 2):
                    await page.wait_for_load_state("networkidle", timeout=0)
            return await page.content()

    async def fetch(self, url: str, kind: str, headers: Mapping[str, str]) -> Response:
        """Fetch what a page asks for.

        Args:
            url: its address.
            kind: what it is for, as playwright names it.
            headers: that the page sends.
        """
        if url in self._cache:
            return self._cache[url]
        self._crawler.stats.inc_value("crawler/rendering_requests")
        sent = {name: headers[name.lower()] for name in _SENT if name.lower() in headers}
        meta: dict[str, Any] = {RESOURCE: kind, "allow_offsite": True, "dont_retry": True}
        if kind in STATIC:
            meta |= {"download_slot": f"{urlsplit(url).hostname} static", "autothrottle_dont_adjust_delay": True}
        request = Request(url, headers=sent, meta=meta, callback=NO_CALLBACK, dont_filter=True)
        response = await self._crawler.engine.download_async(request)
        if kind in STATIC and response.status == 200 and self._cached + len(response.body) <= _MOST_CACHED:
            self._cache[url] = response
            self._cached += len(response.body)
        return response


class _Chromium:
    """A Chromium with a driver of its own, in which one page at a time is rendered: what breaks it breaks no other.

    Args:
        path: where the program is; None where no page is rendered.
        user_agent: what it says that it is.
    """

    def __init__(self, path: str | None, user_agent: str) -> None:
        self._path = path
        self._user_agent = user_agent
        self._playwright: Playwright | None = None
        self._chromium: Chromium | None = None
        self._opened = 0

    @asynccontextmanager
    async def open_page(self) -> AsyncIterator[Window]:
        """Open an empty page that shares nothing with those before it."""
        if self._chromium is None or self._opened >= _PAGES_OF_A_BROWSER:
            await self.close()
            self._chromium = await self._start()
        self._opened += 1
        context = await self._chromium.new_context(
            user_agent=self._user_agent, service_workers="block", accept_downloads=False
        )
        yield await context.new_page()
        await context.close()

    async def close(self) -> None:
        """End it, also if it has crashed or does not answer."""
        with suppress(Exception):
            if self._chromium is not None:
                await asyncio.wait_for(self._chromium.close(), 5)
        with suppress(Exception):
            if self._playwright is not None:
                await self._playwright.stop()
        self._playwright = self._chromium = None
        self._opened = 0

    async def _start(self) -> Chromium:
        from playwright.async_api import async_playwright  # noqa: PLC0415 -- an extra

        with _less_memory():
            self._playwright = await async_playwright().start()
        # Chromium's own sandbox does not work for root, who is mostly in a container.
        return await self._playwright.chromium.launch(
            executable_path=self._path,
            args=list(_ARGUMENTS),
            ignore_default_args=["--disable-popup-blocking"],
            chromium_sandbox=os.geteuid() != 0,
        )


class _Loading:
    """What one page asks for while it is rendered."""

    def __init__(self, browser: Browser, response: HtmlResponse) -> None:
        self._browser = browser
        self._response = response
        self._requests = 0
        self._is_there = False

    async def answer(self, route: Route) -> None:
        """Answer a request of the page."""
        with suppress(Exception):  # the page may be closed by now
            await self._answer(route)

    async def _answer(self, route: Route) -> None:
        request = route.request
        if request.is_navigation_request() and request.frame.parent_frame is None:
            if self._is_there:
                # What has no content leaves the page as it is.
                await route.fulfill(status=204)
                return
            self._is_there = True
            content_type = content_type_of(self._response) or "text/html"
            await route.fulfill(status=200, content_type=content_type, body=self._response.body)
            return
        self._requests += 1
        kind = request.resource_type
        is_wanted = kind in (*STATIC, *_DATA) and request.method in ("GET", "HEAD")
        if not is_wanted or self._requests > MOST_REQUESTS or not request.url.startswith(("http://", "https://")):
            await route.abort()
            return
        try:
            response = await self._browser.fetch(request.url, kind, request.headers)
        except Exception as error:  # whatever keeps it from being fetched, the page goes on without it
            logger.debug("%s of %s: %s", request.url, self._response.url, error)
            await route.abort()
            return
        headers = {name: (response.headers.get(name) or b"").decode("latin-1") for name in _PASSED_ON}
        await route.fulfill(
            status=response.status,
            headers={name: value for name, value in headers.items() if value},
            body=response.body,
        )


def _find_browser() -> str:
    try:
        import playwright  # noqa: F401, PLC0415 -- an extra
    except ImportError:
        message = "CRAWLER_JAVASCRIPT needs a package more: pip install 'scrapy-neardup[javascript]'"
        raise SettingsError(message) from None
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        raise SettingsError("CRAWLER_JAVASCRIPT needs a browser in PATH: apt install chromium")
    return found


@contextmanager
def _less_memory() -> Iterator[None]:
    """Let what is started meanwhile, and all that it starts, have a bounded memory (on Linux)."""
    if sys.platform != "linux":
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY_OF_A_PROCESS, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)
