"""The item that a response becomes."""

from __future__ import annotations

from datetime import UTC, datetime

from scrapy.http import Response

from crawler.page import EXCHANGE, FETCHED, Page
from crawler.pages.charsets import content_type_of, decode_page
from crawler.pages.extraction import Extraction
from crawler.spider.conditional import read_validators


def make_page(
    response: Response, body_digest: bytes, extraction: Extraction, problem: str | None = None, *, depth: int
) -> Page:
    """Return the page that a response holds.

    Args:
        response: the response.
        body_digest: the digest of its bytes.
        extraction: what was found in it.
        problem: why nothing was found, if that went wrong.
        depth: how many links from the start.
    """
    referrer = response.request.headers.get("Referer") if response.request else None
    etag, last_modified = read_validators(response.headers)
    content_type = content_type_of(response)
    exchange = response.meta.get(EXCHANGE)
    fetched = response.meta.get(FETCHED) if exchange is None else exchange.time
    is_unread = extraction.signature is None and problem is None
    return Page(
        url=response.url,
        html=response.body,
        content_type=content_type,
        body_digest=None if problem else body_digest,
        fetched=fetched or datetime.now(UTC),
        depth=depth,
        referrer=referrer.decode("latin-1") if referrer else None,
        text=extraction.text,
        signature=extraction.signature,
        unread=decode_page(response.body, content_type) if is_unread else None,
        canonical=extraction.canonical,
        exchange=exchange,
        redirected=any(url != response.url for url in response.meta.get("redirect_urls", ())),
        problem=problem,
        title=extraction.title or None,
        etag=etag,
        last_modified=last_modified,
    )
