"""Settings of the crawler that are on or off."""

from __future__ import annotations

from scrapy.crawler import Crawler

from dedup.errors import SettingsError
from dedup.stage.failures import refuse_to_start


def read_switch(crawler: Crawler, name: str, *, default: bool) -> bool:
    """Return whether a setting is on; one that is neither ends the crawl before it begins, see `refuse_to_start`."""
    try:
        return crawler.settings.getbool(name, default)
    except ValueError:
        refuse_to_start(SettingsError(f"{name} = {crawler.settings.get(name)!r}: expected True or False"))
