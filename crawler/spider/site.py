"""The spider that crawls sites: `scrapy crawl site -a url=https://example.com`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any, Self, TypeVar, cast
from urllib.parse import urljoin, urlsplit

from scrapy import Request, Spider, signals
from scrapy.core.scheduler import Scheduler
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.redirect import RedirectMiddleware
from scrapy.exceptions import DontCloseSpider, IgnoreRequest
from scrapy.http import JsonResponse, Response, XmlResponse
from scrapy.linkextractors import IGNORED_EXTENSIONS
from scrapy.settings import BaseSettings
from scrapy.spidermiddlewares.httperror import HttpError
from scrapy.utils.datatypes import LocalCache
from twisted.python.failure import Failure

from crawler.arguments import SiteArguments, as_texts
from crawler.output import LINKS_NOT_HTML, Progress
from crawler.page import Page
from crawler.pages.extraction import (
    LinkRules,
    host_and_port,
)
from crawler.pages.pipeline import StoragePipeline
from crawler.pages.reading import ReadPage
from crawler.politeness.robots import own_name
from crawler.reasons import NOTHING_NEW, OTHER_HOST, REDIRECT_LOOP, REDIRECTED_AWAY, reason_of
from crawler.request_meta import (
    AGAIN,
    ARCHIVED,
    BY_RULE,
    GIVEN,
    KIND,
    KNOWN,
    PAGE,
    RECORD,
    ROBOTS,
    SITEMAP,
    is_page,
)
from crawler.runtime import BoundedDownloadHandler
from crawler.settings import CrawlerSettings, StoredText, add_markdown
from crawler.skipping import SKIPPED, skip
from crawler.spider.addresses import AddressPatterns, read_address_rules
from crawler.spider.browser import Browser
from crawler.spider.defaults import add_defaults
from crawler.spider.outcome import NOINDEX, Outcome, Outcomes
from crawler.spider.reader import PageReader
from crawler.spider.sitemaps import SitemapError, SitemapReader, has_feed, read_sitemaps_of_robots
from crawler.spider.soft_errors import NOT_FOUND, SoftErrors
from crawler.warc.replaying import Archives
from dedup.addresses.evidence import MOST_SEEN
from dedup.addresses.learning import AddressRules
from dedup.errors import SettingsError
from dedup.rules.decisions import Decision
from dedup.signature.normalise import clean
from dedup.signature.pdf import require_pdfium
from dedup.signature.schemes import find_scheme
from dedup.stage.addresses import LAST
from dedup.stage.pending import document_dropped, document_kept
from dedup.stage.project import read_settings, settings_of
from dedup.stage.running import refuse_to_start

logger = logging.getLogger(__name__)


T = TypeVar("T")

_REMEMBERED = 50_000
_AT_ONCE = 50

_GONE = (404, 410)


async def _cooperatively(values: Iterable[T]) -> AsyncIterator[T]:
    """Yield values, and let the rest of the process run in between."""
    for number, value in enumerate(values, 1):
        yield value
        if number % _AT_ONCE == 0:
            await asyncio.sleep(0)


class SiteSpider(Spider):
    """Crawls whole sites breadth-first and yields a `Page` for each HTML page.

    - Arguments: see `SiteArguments`; a wrong one ends the process with status 2.
    - Text and links come from a worker process, in one parse; bytes that the database has seen
      before are not extracted again.
    - Where robots.txt is obeyed (`ROBOTSTXT_OBEY`), pages with noindex are not stored, links of pages with
      nofollow are not followed, nor are links with rel=nofollow.
    - `given` are its arguments as they stood on the command line.
    - Pages that hold nothing are skipped, by the reason: see `SoftErrors`, `AddressPatterns`,
      and those that JavaScript would have to write; with `CRAWLER_JAVASCRIPT` a `Browser` does.
    - Stats: `crawler/skipped/REASON`, `crawler/not_modified`,
      `crawler/passed_over`, `crawler/links_not_html`, `crawler/links_nothing_new`,
      `crawler/made_up_asked`, `crawler/sitemaps_not_read`.
    """

    name = "site"
    archives: Archives | None
    soft_errors: SoftErrors
    browser: Browser
    reader: PageReader
    _sitemaps: SitemapReader
    _outcomes: Outcomes
    address_rules: AddressRules
    learns: bool

    def __init__(self, arguments: SiteArguments, rules: LinkRules) -> None:
        super().__init__()
        self.arguments = arguments
        self.given: dict[str, Any] = {}
        self.allowed_domains = list(arguments.allowed_domains)
        self.rules = rules
        # Making a Request and its fingerprint costs more than everything else about a link, and
        # most links of a page have been seen on another one.
        # What it has forgotten costs time and no more: the frontier knows all of them. A hash is 64 bits; the URLs
        # themselves would take ten times the memory.
        self._scheduled: LocalCache[int, None] = LocalCache(_REMEMBERED)
        self.patterns = AddressPatterns()
        self._ignored_endings: tuple[str, ...] = ()
        self._named: list[Request] = []

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        super().update_settings(settings)
        add_defaults(settings, "settings.site")
        if settings.get(CrawlerSettings.full_name("text")) == StoredText.MARKDOWN:
            add_markdown(settings)
        if settings.getbool("TWISTED_REACTOR_ENABLED"):  # else another handler does it, which has bounds
            handlers = dict.fromkeys(("http", "https"), BoundedDownloadHandler)
            settings.set("DOWNLOAD_HANDLERS", {**handlers, **settings.getdict("DOWNLOAD_HANDLERS")}, priority="spider")
        if cls._is_tried_out():
            # The requests are the command's own, which no run remembers.
            settings.set("SCHEDULER", Scheduler, priority="cmdline")
            settings.set_in_component_priority_dict("EXTENSIONS", Progress, None)

    @classmethod
    def _is_tried_out(cls) -> bool:
        """Return whether `scrapy parse` or `scrapy fetch` has put a start in the place of ours."""
        return cls.start.__module__.startswith("scrapy.commands.")

    @classmethod
    def handles_request(cls, request: Request) -> bool:
        """Return False: no address is this spider's without being asked for: its name is a domain, too."""
        return False

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        try:
            given = as_texts(kwargs)
            arguments = SiteArguments.parse(given)
        except SettingsError as error:
            refuse_to_start(error)
        rules = LinkRules(
            arguments.allowed_domains,
            tuple({host_and_port(urlsplit(url).netloc): None for url in arguments.urls + arguments.sitemaps}),
            arguments.follow,
            arguments.ignore,
            obey_robots=crawler.settings.getbool("ROBOTSTXT_OBEY"),
            robot=own_name(crawler.settings["ROBOTSTXT_USER_AGENT"] or crawler.settings["USER_AGENT"]),
        )
        scheme = find_scheme(read_settings(crawler).scheme)
        spider: Self = super().from_crawler(crawler, arguments, rules)
        spider.given = given
        spider.archives = _open_archives(crawler, arguments) if not cls._is_tried_out() else None
        spider.browser = Browser.from_crawler(crawler)
        spider.address_rules = AddressRules(read_address_rules(crawler))
        settings = settings_of(crawler, CrawlerSettings)
        try:
            if settings.pdf:
                require_pdfium("CRAWLER_PDF = True")
            _require_cookies(crawler, arguments)
        except SettingsError as error:
            refuse_to_start(error)
        spider.learns = settings.learn_addresses
        read = {"pdf"} if settings.pdf else set()
        spider._ignored_endings = tuple(f".{each}" for each in IGNORED_EXTENSIONS if each not in read)
        probes = not arguments.warc and not cls._is_tried_out()
        spider._sitemaps = SitemapReader(crawler, rules)
        spider.reader = PageReader(crawler, rules, scheme, spider.browser)
        spider.soft_errors = SoftErrors(crawler, spider.reader.extract, arguments.urls, probes=probes)
        follows = spider.archives is None
        spider._outcomes = Outcomes(
            rules, spider.reader, spider._sitemaps, spider.soft_errors, reads_pdf=settings.pdf, follows=follows
        )
        crawler.signals.connect(spider.note_scheduled, signals.request_scheduled)
        crawler.signals.connect(spider.visit_undecided, signals.spider_idle)
        crawler.signals.connect(spider.note_verdict, document_kept)
        crawler.signals.connect(spider.patterns.note_kept, document_kept)
        crawler.signals.connect(spider.patterns.note_unchanged, signals.item_scraped)
        crawler.signals.connect(spider.patterns.note_copy, document_dropped)
        return spider

    async def _prepare_moving(self, response: Response) -> None:
        if (revisits := StoragePipeline.revisits_of(self.crawler)) is not None:
            await revisits.prepare_moving(response)

    async def _note_gone(self, urls: list[str]) -> None:
        if (revisits := StoragePipeline.revisits_of(self.crawler)) is not None:
            await revisits.note_gone(urls)

    async def log_in(self) -> None:
        """Do nothing; a subclass can log in here, by `self.crawler.engine.download_async`.

        It is awaited whenever a crawl begins or goes on, before any page is fetched. What it raises ends the crawl.
        """

    async def start(self) -> AsyncIterator[Request]:
        """Yield the requests that the crawl starts with."""
        if self.archives is not None:
            async for request in self._start_of_archives(self.archives):
                yield request
            return
        revisits = StoragePipeline.revisits_of(self.crawler)
        if revisits is not None and self.learns:
            self.address_rules.recall(await revisits.read_last_verdicts(MOST_SEEN))
            self.patterns.recall(await revisits.read_over())
        async for request in self._starts(PAGE, self.arguments.urls):
            yield request
        if revisits is not None:
            async for visit in revisits.find_due():
                # Before what is new, which may be what they have moved to.
                yield self._make_given(PAGE, visit.url, visit.depth).replace(priority=1)
        async for request in self._starts(SITEMAP, self.arguments.sitemaps):
            yield request
        if self.arguments.sitemaps_of_robots:
            for url in dict.fromkeys(urljoin(url, "/robots.txt") for url in self.arguments.urls):
                yield self.make_request(ROBOTS, url)

    async def _start_of_archives(self, archives: Archives) -> AsyncIterator[Request]:
        async for url, location in archives.find_pages():
            if isinstance(location, str):
                await skip(self.crawler, url, "damaged_record", location)
            elif self.rules.matches(url) and (not self.allowed_domains or self.rules.is_on_site(url)):
                request = self.make_request(ARCHIVED, url)
                request.meta[RECORD] = location
                yield request
        for reason, count in archives.skipped.items():
            self.crawler.stats.inc_value(SKIPPED + reason, count)

    async def _starts(self, kind: str, urls: Iterable[str]) -> AsyncIterator[Request]:
        for url in urls:
            if self.rules.is_on_site(url):
                yield self._make_given(kind, url)
            else:
                await skip(self.crawler, url, OTHER_HOST, "it is none of allowed_domains")

    def parse_robots(self, response: Response, depth: int = 0) -> Iterator[Request]:
        """Follow the sitemaps that a robots.txt names."""
        found = [url for url in read_sitemaps_of_robots(response.body, response.url) if self.rules.is_on_site(url)]
        if not found:
            logger.warning("%s names no sitemap on this site", response.url)
        for url in found:
            yield self.make_request(SITEMAP, url)

    async def parse_sitemap(self, response: Response, depth: int = 0) -> AsyncIterator[Request]:
        """Follow the pages and further sitemaps that a sitemap or a feed lists, which may be a start URL."""
        try:
            sitemap = await self._sitemaps.read(response)
        except SitemapError as error:
            if response.request is not None and is_page(response.request.meta.get(KIND)):
                await self._skip(response, Outcome(reason="not_html", detail=str(error)))
            else:
                logger.warning("sitemap %s cannot be read: %s", clean(response.url), error)
                self.crawler.stats.inc_value("crawler/broken_sitemaps")
            return
        async for url in _cooperatively(filter(self.rules.is_on_site, sitemap.urls)):
            if not sitemap.is_index and self.rules.allow(url):
                yield self._make_given(PAGE, url)
            elif sitemap.is_index and self._sitemaps.allow(url, depth + 1):
                yield self.make_request(SITEMAP, url, depth + 1)

    async def parse(self, response: Response, depth: int = 0) -> AsyncIterator[Page | Request]:
        """Yield the page, and requests for its links; of a feed that the crawl starts with, those for its entries."""
        with_links = self.arguments.max_depth is None or depth < self.arguments.max_depth
        may_start = isinstance(response, (XmlResponse, JsonResponse)) or has_feed(response.body)
        if may_start and response.request and self.arguments.is_start(response.request):
            async for request in self.parse_sitemap(response):
                yield request
            return
        # Those of other pages are of what they say, such as their comments, and would double the requests.
        outcome = await self._outcomes.of(response, with_links=with_links, with_feeds=depth == 0)
        if outcome.redirect is not None:
            await self._redirect(response, outcome.redirect)
            return
        self._count_known(response)
        if outcome.reason is not None:
            await self._skip(response, outcome)
        elif outcome.read is not None and outcome.is_page:
            yield await self._keep(outcome.read, depth)
        if outcome.read is not None and self._is_repeated(outcome.read):
            return
        if outcome.leads_to and self.rules.allow(outcome.leads_to):
            # Not as a link, which is not followed on a duplicate.
            for request in self._follow([outcome.leads_to], depth + 1):
                self.crawler.engine.crawl(request)
        async for request in _cooperatively(self._follow(outcome.links, depth + 1)):
            yield request
        await self._note_over()

    async def _note_over(self) -> None:
        """Note the patterns of addresses that are over, each as one page that is not asked for."""
        for over in self.patterns.take_over():
            told = "no more of such addresses are asked for"
            await skip(self.crawler, over.pattern, over.reason, told, referrer=over.referrer)

    async def _keep(self, read: ReadPage, depth: int) -> Page:
        """Return a page on its way to storage."""
        await self._prepare_moving(read.response)
        self._log_problem(read)
        if self._is_tried_out():
            read.extraction.signature = None  # which these commands cannot print
        canonical = read.extraction.canonical
        if canonical and canonical != read.response.url and self.rules.allow(canonical):
            self._named.append(self.make_request(PAGE, canonical, depth))
        return read.as_page(depth)

    async def _skip(self, response: Response, outcome: Outcome) -> None:
        await skip(self.crawler, response.url, outcome.reason or "", outcome.detail, request=response.request)
        if outcome.reason == NOINDEX:
            await self._note_gone([response.url])
        if outcome.reason == NOT_FOUND:
            self.patterns.note_in_vain(response.url)

    def _is_repeated(self, read: ReadPage) -> bool:
        """Return whether so many pages without content had the bytes of this one that its links lead nowhere."""
        return read.extraction.problem is not None and self.patterns.is_repeated(read.body_digest)

    async def _redirect(self, response: Response, target: str) -> None:
        """Go on to where a page leads that is none, as if its server had answered with a redirect."""
        request = cast("Request", response.request)
        middleware = self.crawler.get_downloader_middleware(RedirectMiddleware)
        answer = Response(response.url, 302, {"Location": target})
        try:
            redirected = answer if middleware is None else middleware.process_response(request, answer)
        except (IgnoreRequest, ValueError) as error:
            reason, detail = reason_of(error)
            await self._skip(response, Outcome(reason=reason, detail=detail))
            return
        if isinstance(redirected, Request):
            self.crawler.engine.crawl(redirected)
        else:  # redirects are switched off
            await self._skip(response, Outcome(reason="http_302", detail=target))

    def _count_known(self, response: Response) -> None:
        for flag in KNOWN.intersection(response.flags):
            self.crawler.stats.inc_value(f"crawler/{flag.replace(' ', '_')}")

    def _log_problem(self, read: ReadPage) -> None:
        problem = read.extraction.problem
        if problem is not None and read.extraction.main is None:
            logger.warning("%s is stored without text: %s", clean(read.response.url), clean(problem))
            self.crawler.stats.inc_value("crawler/extraction_failed")
        elif problem is not None:
            logger.info("%s is not compared with others: %s", clean(read.response.url), problem)

    async def skip_failed(self, failure: Failure) -> None:
        """Count and name what could not be fetched; a page that is gone is dealt with as `CRAWLER_GONE` says."""
        request: Request = failure.request  # type: ignore[attr-defined]  # Scrapy sets it
        if self.archives is not None:
            self.archives.leave(request)
        if request.meta.get(BY_RULE):
            return  # the frontier counts them
        error = failure.value or Exception()
        reason, detail = reason_of(error)
        if reason == NOTHING_NEW:  # one row for all of them
            self.crawler.stats.inc_value("crawler/links_nothing_new")
            await self._note_over()
            return
        # A redirect that leads nowhere is named by the address that stands in the link.
        origin = request.meta.get("redirect_urls", [request.url])[0]
        url = origin if reason in (REDIRECT_LOOP, REDIRECTED_AWAY) else request.url
        await skip(self.crawler, url, reason, detail, request=request)
        is_gone = isinstance(error, HttpError) and error.response.status in _GONE
        if is_gone and is_page(request.meta.get(KIND)):
            self.patterns.note_in_vain(request.url)
            await self._note_gone([request.url, *request.meta.get("redirect_urls", [])])

    def note_verdict(self, item: Any, decision: Decision) -> None:
        """Write the verdict on a page that is kept."""
        if isinstance(item, Page):
            item.verdict = decision.verdict.value

    def visit_undecided(self) -> None:
        """Fetch what has to be fetched once more before the crawl is over, see `Revisits.find_undecided`.

        Raises:
            DontCloseSpider: there is something.
        """
        # Nothing else goes on, so that nothing has to wait for the database.
        revisits = StoragePipeline.revisits_of(self.crawler)
        if revisits is None or self.archives is not None:
            return  # pages of archives are not asked for once more
        visits = revisits.find_undecided()
        for visit in visits:
            self.crawler.engine.crawl(self.make_request(AGAIN, visit.url, visit.depth))
        if visits:
            raise DontCloseSpider

    def _follow(self, links: Iterable[str], depth: int) -> Iterator[Request]:
        for url in links:
            if hash(url) in self._scheduled:
                continue
            if self.patterns.is_over(url):
                self.crawler.stats.inc_value("crawler/links_nothing_new")
                continue
            if urlsplit(url).path.lower().endswith(self._ignored_endings):
                self.crawler.stats.inc_value(LINKS_NOT_HTML)
                continue
            request = self.make_request(PAGE, url, depth)
            is_last = self.patterns.is_last(url) and not self.patterns.is_recalled(url)
            yield request.replace(priority=LAST) if is_last else request

    def _make_given(self, kind: str, url: str, depth: int = 0) -> Request:
        request = self.make_request(kind, url, depth)
        request.meta[GIVEN] = True
        return request

    def make_request(self, kind: str, url: str, depth: int = 0) -> Request:
        """Return the request for a URL.

        Args:
            kind: what it leads to, see `crawler.request_meta`.
            url: the URL.
            depth: how many links from the start; of a sitemap, how many sitemaps.
        """
        callbacks: dict[str, Callable[..., Any]] = {SITEMAP: self.parse_sitemap, ROBOTS: self.parse_robots}
        # Known pages are requested like those that a crawl starts with, and are none: their links are held back.
        meta = {KIND: kind, "depth": depth}
        return Request(
            url, callbacks.get(kind, self.parse), errback=self.skip_failed, cb_kwargs={"depth": depth}, meta=meta
        )

    def take_named(self) -> list[Request]:
        """Return requests for what pages have named as their own addresses since the last call."""
        named, self._named = self._named, []
        return named

    def take_fallen(self) -> bool:
        """Return whether a rule by which addresses were passed over has turned out to be false since the last call."""
        return self.address_rules.take_fallen()

    def note_scheduled(self, request: Request) -> None:
        """Remember a request."""
        # Only what was really scheduled: the links of a duplicate are dropped on their way here,
        # and may be found again on a page that is kept.
        self._scheduled[hash(request.url)] = None


def _require_cookies(crawler: Crawler, arguments: SiteArguments) -> None:
    if arguments.cookies.cookies and not crawler.settings.getbool("COOKIES_ENABLED"):
        raise SettingsError("cookies cannot be combined with COOKIES_ENABLED = False")


def _open_archives(crawler: Crawler, arguments: SiteArguments) -> Archives | None:
    try:
        return Archives(crawler, arguments.warc) if arguments.warc else None
    except SettingsError as error:
        refuse_to_start(error)
