"""The keys of the meta of a crawl's requests, what kinds there are, and the flags of responses."""

from __future__ import annotations

ROW = "frontier_row"
"""Key of a request's meta: the id of the frontier's row that it was made from."""

KIND = "kind"
"""Key of a request's meta: what it leads to, one of the following."""

ROBOTS_TXT = "robots_txt"
"""Key of a request's meta: it is for the rules of a host; of its body so many bytes are read, and not more."""

RESOURCE = "resource"
"""Key of a request's meta: it is for what a page needs to be rendered, of this type."""

GIVEN = "given"
"""Key of a request's meta: no link led to it; a user, a sitemap or an earlier crawl has named its address."""

LAST_VISIT = "last_visit"
"""Key of a request's meta: the last visit to its page, where the answer may rely on it."""

RECORD = "place"
"""Key of a request's meta: where its page stands in a WARC file."""

FETCHED = "fetched"
"""Key of a request's meta: when its page was fetched, where that was not now."""

BY_RULE = "by_rule"
"""Key of a request's meta: it is passed over, since a rule says that it leads to a copy."""

NOT_MODIFIED = "not modified"
"""Flag of a response whose server has said that the page is the same as last time."""

PASSED_OVER = "passed over"
"""Flag of a response that was made without asking the server: the page was seen a short time ago."""

KNOWN = frozenset((NOT_MODIFIED, PASSED_OVER))
"""Flags of responses that stand for what was seen before."""

CUT_OFF = "cut off"
"""Flag of a response whose body has no end."""

STATIC = ("script", "stylesheet")
"""Types of resources that are asked for once in a crawl, and not at the pace of pages."""

PAGE = "page"
ARCHIVED = "archived page"
"""A page that stands in a WARC file, and is not asked for on the web."""

SITEMAP = "sitemap"
ROBOTS = "robots"
AGAIN = "page again"
"""A page that is fetched once more in the same run, though it was done."""


def is_page(kind: str | None) -> bool:
    """Return whether requests of a kind lead to pages."""
    return kind in (PAGE, ARCHIVED, AGAIN)
