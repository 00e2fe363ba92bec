"""Settings of the crawler that are on or off, or numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

from scrapy.crawler import Crawler

from dedup.errors import SettingsError
from dedup.stage.failures import refuse_to_start

N = TypeVar("N", int, float)


def read_switch(crawler: Crawler, name: str, *, default: bool) -> bool:
    """Return whether a setting is on; one that is neither ends the crawl before it begins, see `refuse_to_start`."""
    try:
        return crawler.settings.getbool(name, default)
    except ValueError:
        refuse_to_start(SettingsError(f"{name} = {crawler.settings.get(name)!r}: expected True or False"))


def read_above_0(name: str, value: Any, kind: Callable[[Any], N]) -> N:
    """Return a setting as a number above 0; one that is none ends the crawl before it begins, see `refuse_to_start`."""
    try:
        number = kind(value)
    except (TypeError, ValueError):
        number = kind(0)
    if not 0 < number < math.inf:
        refuse_to_start(SettingsError(f"{name} = {value!r}: expected a number above 0"))
    return number
