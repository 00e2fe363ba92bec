"""A page that was read, and what is stored of it."""

from __future__ import annotations

from datetime import UTC, datetime
from http.client import responses
from typing import NamedTuple

from scrapy.http import Response
from scrapy.http.headers import Headers

from crawler.page import Page, UnexaminedPage
from crawler.pages.directives import read_robots_header
from crawler.pages.extraction import Extraction, LinkRules, content_type_of
from crawler.request_meta import FETCHED
from dedup.signature.charsets import decode_declared
from dedup.signature.pdf import is_pdf
from dedup.stage.addresses import referrer_of

_MAX_VALIDATOR = 256


class ReadPage(NamedTuple):
    """A page that was read.

    Attributes:
        response: the response that holds it.
        body_digest: the digest of its bytes.
        extraction: what was found in it.
    """

    response: Response
    body_digest: bytes
    extraction: Extraction

    def directives(self, rules: LinkRules) -> tuple[bool, bool]:
        """Return whether the page asks not to be stored, and that its links are not followed."""
        if not rules.obey_robots:
            return False, False
        headers = [value.decode("latin-1") for value in self.response.headers.getlist("X-Robots-Tag")]
        noindex, nofollow = read_robots_header(headers, rules.robot)
        return self.extraction.noindex or noindex, self.extraction.nofollow or nofollow

    def as_page(self, depth: int) -> Page:
        """Return the page as it is stored, so many links from the start."""
        response, body_digest, extraction = self
        etag, last_modified = read_validators(response.headers)
        content_type = content_type_of(response)
        problem = extraction.problem
        is_unread = extraction.signature is None and problem is None
        declared = decode_declared(response.body, content_type) if is_unread and not is_pdf(response.body) else None
        page = (UnexaminedPage if problem else Page)(
            url=response.url,
            html=response.body,
            content_type=content_type,
            body_digest=None if problem else body_digest,
            fetched=response.meta.get(FETCHED) or datetime.now(UTC),
            depth=depth,
            referrer=referrer_of(response.request),
            signature=extraction.signature,
            unread=(declared.text if declared else response.body) if is_unread else None,
            canonical=extraction.canonical,
            head=head_of(response),
            problem=problem,
            title=extraction.title or None,
            etag=etag,
            last_modified=last_modified,
        )
        if extraction.main is not None:
            page.take(extraction.main)
        return page


def head_of(response: Response) -> bytes:
    """Return status and headers of a response as HTTP/1.1 has them, without what could end a line."""
    status = f"HTTP/1.1 {response.status} {responses.get(response.status, '')}".rstrip().encode()
    pairs = [(name, value) for name, values in response.headers.items() for value in values]
    return b"\r\n".join([status, *(b": ".join((name, b" ".join(value.splitlines()))) for name, value in pairs)])


def read_validators(headers: Headers) -> tuple[str | None, str | None]:
    """Return ETag and Last-Modified of a response, where they can be sent back.

    A page whose headers tell robots what to do has none: an answer of 304 would not repeat them.
    """
    if b"X-Robots-Tag" in headers:
        return None, None
    return _read(headers, "ETag"), _read(headers, "Last-Modified")


def _read(headers: Headers, name: str) -> str | None:
    value = (headers.get(name) or b"").decode("latin-1").strip()
    return value if value and value.isascii() and value.isprintable() and len(value) <= _MAX_VALIDATOR else None
