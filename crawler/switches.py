"""Settings of the crawler that are on or off, or numbers."""

from __future__ import annotations

import math
from typing import TypeVar

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


def read_number(crawler: Crawler, name: str, default: N, *, least: int | None = None) -> N:
    """Return a setting as a number; one that is none ends the crawl before it begins, see `refuse_to_start`.

    Args:
        crawler: the crawl.
        name: the setting.
        default: where it is not given; an int: it is a whole number.
        least: what it is at least; None: above 0.
    """
    value = crawler.settings.get(name)
    kind = type(default)
    try:
        number = default if value is None else kind(value)
    except (TypeError, ValueError):
        number = kind(-1)
    if not (0 < number < math.inf if least is None else number >= least):
        what = f"{'whole ' if kind is int else ''}number {'above 0' if least is None else f'from {least} up'}"
        refuse_to_start(SettingsError(f"{name} = {value!r}: expected a {what}"))
    return number
