"""Why a request led to no page, in a word, as the summary and the report count it."""

from __future__ import annotations

import re
from http import HTTPStatus

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

ROBOTS_TXT = "robots_txt"

_REASONS: dict[type[Exception], str] = {
    StopDownload: "not_html",
    DownloadTimeoutError: "timed_out",
    CannotResolveHostError: "host_not_found",
    DownloadConnectionRefusedError: "connection_refused",
    DownloadCancelledError: "too_large",
    ResponseDataLossError: "incomplete",
    DownloadFailedError: "connection_failed",
}
ROBOTS_UNKNOWN = "robots.txt cannot"
"""How the message of an exception begins where a robots.txt could not be fetched, which is its cause."""

# Words of the messages of the middlewares that refuse a request.
_IGNORED = {
    "robots.txt": ROBOTS_TXT,
    "redirections": "redirect_loop",
    "offsite": "other_host",
    "inner address": "inner_address",
    "exceeded": "too_large",
    "nothing new": "nothing_new",
    "damaged record": "damaged_record",
    "damaged body": "damaged_body",
}

_AWAY = (
    CannotResolveHostError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    ResponseDataLossError,
)
# As OpenSSL and Python say it of those that nobody vouches for, and Twisted of those of another host.
_BAD_CERTIFICATE = re.compile("certificate.verify.failed|VerificationError", re.IGNORECASE)


def has_bad_certificate(error: BaseException) -> bool:
    """Return whether a request was not made because the host could not show a certificate that holds."""
    return isinstance(error, DownloadFailedError) and _BAD_CERTIFICATE.search(str(error)) is not None


def is_away(error: BaseException) -> bool:
    """Return whether a request failed since its host is away, as far as anybody can know."""
    return isinstance(error, _AWAY) and not has_bad_certificate(error)


def is_mended_by_time(status: int) -> bool:
    """Return whether another answer may come later in the place of one with this status."""
    return status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR


def reason_of(error: BaseException) -> tuple[str, str]:
    """Return why a request led to no page, and a detail or ""."""
    if isinstance(error, HttpError):
        return f"http_{error.response.status}", ""
    if isinstance(error, IgnoreRequest):
        message = str(error)
        if error.__cause__ is not None and message.startswith(ROBOTS_UNKNOWN):
            return reason_of(error.__cause__)
        return next((reason for word, reason in _IGNORED.items() if word in message), "ignored"), message
    if has_bad_certificate(error):
        return "bad_certificate", ""
    for kind, reason in _REASONS.items():
        if isinstance(error, kind):
            return reason, str(error)
    return "failed", f"{type(error).__name__}: {error}"
