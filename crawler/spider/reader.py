"""Reading pages: what a response holds, as its server has sent it or the browser makes it."""

from __future__ import annotations

import logging

from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, Response

from crawler.pages.extraction import Extraction, LinkRules, content_type_of, extract_links, extract_page
from crawler.pages.reading import ReadPage
from crawler.request_meta import CUT_OFF, LAST_VISIT, NOT_MODIFIED, PASSED_OVER
from crawler.runtime import Workers
from crawler.settings import JavaScript
from crawler.spider.browser import Browser, RenderingError
from crawler.warc.replaying import FLAG
from dedup.readers.responses import ONLY_BEGINNING
from dedup.signature.normalise import clean
from dedup.signature.pdf import COSTLY, MOST_BYTES, MOST_SECONDS, is_pdf
from dedup.signature.schemes import Scheme
from dedup.signature.signature import digest
from dedup.stage.pipelines import NearDuplicatePipeline
from dedup.workers.pool import WorkerDiedError

logger = logging.getLogger(__name__)


class PageReader:
    """Reads the pages of a crawl in worker processes; what cannot be analysed has a problem, and perhaps links.

    Args:
        crawler: the crawl.
        rules: which links are its own.
        scheme: of the signatures.
        browser: renders pages.
    """

    def __init__(self, crawler: Crawler, rules: LinkRules, scheme: Scheme, browser: Browser) -> None:
        self._crawler = crawler
        self._rules = rules
        self._scheme = scheme
        self._browser = browser

    def mode_of(self, url: str) -> JavaScript:
        """Return whether pages of a host are rendered."""
        return self._browser.mode_of(url)

    async def read(self, response: Response, *, with_links: bool) -> ReadPage:
        """Return what a page holds; without text where the database has seen its bytes before."""
        # What the server has not sent again is stored as it was rendered.
        is_sent = not {NOT_MODIFIED, PASSED_OVER, FLAG} & set(response.flags)
        mode = self._browser.mode_of(response.url) if is_sent else JavaScript.OFF
        if mode is JavaScript.ALWAYS:
            response = await self._render(response)
        body_digest = digest(response.body)
        visit = response.meta.get(LAST_VISIT)
        # What stands there now in the place of another page may be an error, whoever has these bytes.
        is_changed = visit is not None and visit.body_digest != body_digest
        with_text = is_changed or not await self._knows(body_digest, response.url)
        extraction = await self.extract(response, with_text=with_text, with_links=with_links)
        if mode is JavaScript.WHEN_EMPTY and extraction.is_shell:
            rendered = await self._render(response)
            if rendered is not response:
                extraction = await self.extract(rendered, with_text=True, with_links=with_links)
                response, body_digest = rendered, digest(rendered.body)
        if CUT_OFF in response.flags:
            extraction.problem = extraction.problem or ONLY_BEGINNING
        return ReadPage(response, body_digest, extraction)

    async def extract(self, response: Response, *, with_text: bool = True, with_links: bool = False) -> Extraction:
        """Return what a page holds as it is; why, and its links, where it could not be analysed."""
        pool = Workers.of(self._crawler)
        content_type = content_type_of(response)
        try:
            return await pool.run(
                extract_page,
                response.body,
                response.url,
                self._rules,
                with_text=with_text,
                with_links=with_links,
                scheme=self._scheme,
                content_type=content_type,
                refresh=(response.headers.get("Refresh") or b"").decode("latin-1"),
            )
        except Exception as error:  # whatever a library makes of a broken page, the page is not lost
            problem = f"no text could be extracted: {type(error).__name__}: {error}"
            is_costly = isinstance(error, (WorkerDiedError, MemoryError))
        if is_pdf(response.body):
            if is_costly:
                problem = f"more than {MOST_SECONDS:.0f} s or {MOST_BYTES >> 20} MB"
            # What else fails, such as workers that end with the crawl, says nothing of it.
            return Extraction(problem=problem, refused=COSTLY if is_costly else None)
        try:
            return await pool.run(
                extract_links, response.body, response.url, self._rules, problem, content_type, with_links=with_links
            )
        except Exception as error:  # likewise
            return Extraction(problem=f"{problem}; nor links: {type(error).__name__}: {error}")

    async def _render(self, response: Response) -> Response:
        if not isinstance(response, HtmlResponse) or is_pdf(response.body):
            return response
        try:
            return await self._browser.render(response)
        except RenderingError as error:
            logger.warning("%s is taken as it was sent: %s", clean(response.url), error)
            return response

    async def _knows(self, body_digest: bytes, url: str) -> bool:
        pipeline = self._crawler.get_item_pipeline(NearDuplicatePipeline)
        return pipeline is not None and await pipeline.has_seen_bytes(body_digest, url)
