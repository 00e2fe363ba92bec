"""robots.txt by RFC 9309: what its bytes say to one crawler, and what its absence means."""

from __future__ import annotations

import codecs
import re

MOST_BYTES = 512 * 1024
"""More of a robots.txt is not read."""

MOST_CRAWL_DELAY = 30.0
"""Seconds; a host that asks for more between two requests gets so many."""

_TOKEN = re.compile("[a-z0-9_-]+", re.IGNORECASE)
_COMPATIBLE = re.compile(r"compatible;\s*([a-z0-9_-]+)", re.IGNORECASE)
_AGENT = re.compile(r"^([ \t]*user[- ]?agent[ \t]*:[ \t]*)([^\s#]*)[^\r\n]*", re.IGNORECASE | re.MULTILINE)
# No name of a crawler has it in it.
_NOBODY = "?"
_TOO_MANY_REQUESTS = 429


def own_name(user_agent: str) -> str:
    """Return the name by which a robots.txt knows a crawler: "neardup" of "neardup/0.1 (+mail@example.com)"."""
    found = _COMPATIBLE.search(user_agent)
    token = _TOKEN.search(user_agent)
    return (found[1] if found else token[0] if token else "").lower()


def decode(body: bytes) -> str:
    """Return a robots.txt as text: UTF-8, as it should be, or UTF-16, as some are saved."""
    body = body[:MOST_BYTES]
    if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return body.decode("utf-16", errors="ignore")
    head = body[:64]
    if head[1::2].count(0) > len(head) // 4:
        return body.decode("utf-16-le", errors="ignore")
    if head[::2].count(0) > len(head) // 4:
        return body.decode("utf-16-be", errors="ignore")
    return body.decode("utf-8-sig", errors="ignore")


def rules_for(text: str, name: str) -> str:
    """Return a robots.txt whose groups for other crawlers are nobody's.

    A parser would take "near", or an address in the user agent, for the name of this one.

    Args:
        text: of the robots.txt.
        name: see `own_name`.
    """

    def rename(line: re.Match[str]) -> str:
        token = _TOKEN.match(line[2])
        is_own = token is not None and token[0].lower() == name
        return line[1] + (name if is_own else "*" if line[2] == "*" else _NOBODY)

    return _AGENT.sub(rename, text)


def forbids_for_now(status: int) -> bool:
    """Say whether an answer of this status leaves open what a robots.txt says; other errors mean that there is none."""
    return status == _TOO_MANY_REQUESTS or status >= 500


def crawl_delay(asked_for: float | None) -> float:
    """Return the seconds between two requests that a host gets of those that it asks for."""
    # What is no number is not less than anything.
    return min(asked_for, MOST_CRAWL_DELAY) if asked_for is not None and asked_for > 0 else 0.0
