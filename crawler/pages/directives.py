"""What a page asks of robots: not to be stored, from some day on, and that its links are not followed."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from datetime import UTC, datetime

from dateutil.parser import parse as parse_date

# Directives of robots that have a colon of their own.
_WITH_VALUES = ("max-snippet", "max-image-preview", "max-video-preview", "unavailable_after")
_UNAVAILABLE_AFTER = re.compile(
    r"unavailable_after\s*:\s*(.+?)(?=,\s*(?:no\w+|none|all|index|follow|max-[\w-]+:?|indexifembedded)\b|$)",
    re.IGNORECASE,
)


def read_directives(content: str) -> tuple[bool, bool]:
    """Read what a robots meta tag asks for.

    Args:
        content: directives between commas, such as "noindex, nofollow", "none" or "unavailable_after: 2026-01-31".

    Returns:
        Whether the page shall not be stored, and whether its links shall not be followed.
    """
    directives = {directive.strip().lower() for directive in content.split(",")}
    noindex = bool(directives & {"noindex", "none"}) or _is_unavailable(content)
    return noindex, bool(directives & {"nofollow", "none"})


def _is_unavailable(content: str) -> bool:
    """Return whether the time is over until which a page may be stored; what is no date says nothing."""
    found = _UNAVAILABLE_AFTER.search(content)
    if found is None:
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it knows few names of zones, and an hour does not matter
        try:
            moment = parse_date(found[1].strip(" ,"))
        except (ValueError, OverflowError):
            return False
    return bool(moment.replace(tzinfo=moment.tzinfo or UTC) < datetime.now(UTC))


def read_robots_header(values: Iterable[str], robot: str) -> tuple[bool, bool]:
    """Read what X-Robots-Tag headers ask a crawler for.

    Args:
        values: of each header; a name, such as "otherbot: noindex, nofollow", is for what follows it there.
        robot: the crawler's name, in lower case.

    Returns:
        As `read_directives`.
    """
    own = []
    for value in values:
        is_own = True
        for directive in value.split(","):
            name, colon, rest = directive.partition(":")
            # A date has colons, and spaces.
            if colon and name.strip().lower() not in _WITH_VALUES and " " not in name.strip():
                is_own, directive = name.strip().lower() == robot, rest  # noqa: PLW2901
            if is_own:
                own.append(directive)
    return read_directives(",".join(own))
