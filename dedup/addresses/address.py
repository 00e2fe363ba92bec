"""Addresses in their parts, and in which part of its site one lies."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

_LONGEST = 1_000
# Digits of escapes are parts of letters.
_NUMBERS = re.compile("(?:%[0-9A-Fa-f]{2})+|[0-9]+")


class Address(NamedTuple):
    """An address in its parts.

    Attributes:
        origin: scheme, host and port.
        segments: of the path, with an empty one at the end where a slash is.
        parameters: of the query and of the path's end, names and values in their order.
    """

    origin: str
    segments: tuple[str, ...]
    parameters: tuple[tuple[str, str], ...]


@lru_cache(maxsize=10_000)
def parse(url: str) -> Address | None:
    """Return an address in its parts; None for one that is too long, or has no host."""
    if len(url) > _LONGEST:
        return None
    try:
        scheme, host, path, query, _ = urlsplit(url)
    except ValueError:
        return None
    if not host:
        return None
    path, *of_path = path.removeprefix("/").split(";")
    parameters = [(f";{name}", value) for each in of_path for name, _, value in [each.partition("=")]]
    parameters += parse_qsl(query, keep_blank_values=True, errors="backslashreplace")
    return Address(f"{scheme}://{host}", tuple(path.split("/")), tuple(parameters))


def scope_of(form: Address) -> str:
    """Return in which part of its host a form lies: the first folder of its path, or a program such as index.php."""
    first = form.segments[0]
    return first if len(form.segments) > 1 or "." in first else "/"


def as_path(scope: str) -> str:
    """Return a scope as the part of an address that it is."""
    return "/" if scope == "/" else f"/{scope}" if "." in scope else f"/{scope}/"


@lru_cache(maxsize=10_000)
def pattern_of(url: str) -> str | None:
    """Return what many addresses have in common: a URL with # for the numbers behind its host; None without any."""
    origin, _, rest = url.partition("://")
    host, _, address = rest.partition("/")
    pattern = _NUMBERS.sub(lambda found: found[0] if found[0][0] == "%" else "#", address)
    return None if pattern == address else f"{origin}://{host}/{pattern}"
