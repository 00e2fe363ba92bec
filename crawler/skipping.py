"""Pages that are not stored, and why: one count and one line each."""

from __future__ import annotations

import logging

from scrapy.crawler import Crawler
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    IgnoreRequest,
    ResponseDataLossError,
    StopDownload,
)
from scrapy.spidermiddlewares.httperror import HttpError

from dedup.fingerprint.normalise import clean

logger = logging.getLogger(__name__)

PREFIX = "crawler/skipped/"

_REASONS: dict[type[Exception], str] = {
    StopDownload: "not_html",
    DownloadTimeoutError: "timed_out",
    CannotResolveHostError: "host_not_found",
    DownloadConnectionRefusedError: "connection_refused",
    DownloadCancelledError: "too_large",
    ResponseDataLossError: "incomplete",
    DownloadFailedError: "connection_failed",
}
# Words of the messages of the middlewares that refuse a request.
_IGNORED = {
    "robots.txt": "robots_txt",
    "redirections": "redirect_loop",
    "offsite": "other_host",
    "exceeded": "too_large",
}


def skip(crawler: Crawler, url: str, reason: str, detail: str = "") -> None:
    """Count a page that is not stored, and name it in the log.

    Args:
        crawler: the crawl.
        url: the page's address.
        reason: why, in one word, as in the stats: `crawler/skipped/REASON`.
        detail: what else is known of it.
    """
    crawler.stats.inc_value(PREFIX + reason)
    told = f"skipped {clean(url)}: {reason.replace('_', ' ')}"
    logger.info("%s", f"{told} ({' '.join(clean(detail).split())})" if detail else told)


def keep_log_lines_short() -> None:
    """Take the traceback from Scrapy's line about a robots.txt that cannot be fetched.

    The page that it was fetched for is named with its own reason.
    """
    logging.getLogger("scrapy.downloadermiddlewares.robotstxt").addFilter(_without_traceback)


def _without_traceback(record: logging.LogRecord) -> bool:
    record.exc_info = None
    return True


def reason_of(error: BaseException) -> tuple[str, str]:
    """Return the reason for which a request brought no page, and a detail or ""."""
    if isinstance(error, HttpError):
        return f"http_{error.response.status}", ""
    if isinstance(error, IgnoreRequest):
        message = str(error)
        return next((reason for word, reason in _IGNORED.items() if word in message), "ignored"), message
    for kind, reason in _REASONS.items():
        if isinstance(error, kind):
            return reason, str(error)
    return "failed", f"{type(error).__name__}: {error}"
