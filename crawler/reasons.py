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
NOTHING_NEW = "nothing_new"
ONLY_COPIES = "only_copies"
OTHER_HOST = "other_host"
INNER_ADDRESS = "inner_address"
HOST_LIMIT = "host_limit"
OVER_HOST_LIMIT = "over_host_limit"
REDIRECT_LOOP = "redirect_loop"
REDIRECTED_AWAY = "redirected_to_other_host"

NOT_FETCHED = frozenset((ROBOTS_TXT, NOTHING_NEW, ONLY_COPIES, OTHER_HOST, INNER_ADDRESS, HOST_LIMIT))
"""The reasons for which an address is not even asked for."""

UNANSWERED = frozenset(
    (
        *("timed_out", "host_not_found", "connection_refused", "connection_failed", "bad_certificate", "failed"),
        *("ignored", REDIRECT_LOOP, REDIRECTED_AWAY),
    )
)
"""The reasons for which nothing came of an address."""


class Refused(IgnoreRequest):
    """A request that is not made, or whose answer is not taken.

    Attributes:
        reason: why, in one word.
        detail: more of it, or "".
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(detail or reason.replace("_", " "))
        self.reason = reason
        self.detail = detail


_REASONS: dict[type[Exception], str] = {
    StopDownload: "not_html",
    DownloadTimeoutError: "timed_out",
    CannotResolveHostError: "host_not_found",
    DownloadConnectionRefusedError: "connection_refused",
    DownloadCancelledError: "too_large",
    ResponseDataLossError: "incomplete",
    DownloadFailedError: "connection_failed",
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

# A list of those that Twisted has, of which the messages are for people.
_FAILURES = re.compile(r"\[?<twisted\.python\.failure\.Failure [\w.]+: ([^>]*?)\.?>\]?")


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
    if isinstance(error, Refused):
        return error.reason, error.detail
    if isinstance(error, IgnoreRequest):  # of a middleware that is not ours
        return "ignored", str(error)
    if has_bad_certificate(error):
        return "bad_certificate", ""
    for kind, reason in _REASONS.items():
        if isinstance(error, kind):
            return reason, _FAILURES.sub(r"\1", str(error))
    return "failed", f"{type(error).__name__}: {error}"
