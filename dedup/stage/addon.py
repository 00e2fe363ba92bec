"""The Scrapy add-on: one line in a project's settings switches everything on."""

from __future__ import annotations

import logging
import re

import scrapy
from scrapy.settings import BaseSettings

from dedup.errors import DedupError
from dedup.stage.running import is_command

# What is loaded with an add-on is loaded before there is a reactor, and what the stage consists of needs more of Scrapy
# than an old one has.
# ruff: noqa: PLC0415

logger = logging.getLogger(__name__)

OLDEST_SCRAPY = (2, 14)

# Extensions are made once the reactor is installed, and before any pipeline or middleware is.
_COMPONENTS = "dedup.stage.project.StageComponents"


class DedupAddon:
    """Scrapy add-on: `ADDONS = {"dedup.DedupAddon": 500}`.

    - Puts the item pipeline before all that may store items, and the spider middleware closest to the engine, unless
      the project names them itself: see `dedup.stage.project`.
    - Everything else is `DEDUP_*` settings: `dedup.rules.settings.DedupSettings` and
      `dedup.stage.item_settings.ItemSettings`.
    """

    @classmethod
    def update_pre_crawler_settings(cls, settings: BaseSettings) -> None:
        _require_scrapy()
        from dedup.stage.project import check_early

        check_early(settings)

    def update_settings(self, settings: BaseSettings) -> None:
        _require_scrapy()
        from dedup.stage.project import unknown_settings

        for line in unknown_settings(settings):
            logger.warning("%s", line)
        priority = settings.getpriority("EXTENSIONS") or 0
        settings.set("EXTENSIONS", {**settings.getdict("EXTENSIONS"), _COMPONENTS: 0}, priority)


def _require_scrapy() -> None:
    """Refuse a Scrapy that is too old, with one line that says what to do."""
    numbers = re.match(r"(\d+)\.(\d+)", scrapy.__version__)
    if numbers and (int(numbers[1]), int(numbers[2])) < OLDEST_SCRAPY:
        oldest = ".".join(map(str, OLDEST_SCRAPY))
        line = (
            f"dedup needs Scrapy {oldest} or newer, and this is {scrapy.__version__}:"
            f" pip install 'scrapy>={oldest}', or take dedup.DedupAddon out of ADDONS"
        )
        if is_command():
            raise SystemExit(f"error: {line}")
        raise DedupError(line)
