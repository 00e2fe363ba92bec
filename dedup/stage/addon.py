"""The Scrapy add-on: one line in a project's settings switches everything on."""

from __future__ import annotations

import logging
import re
from typing import cast

import scrapy
from scrapy.settings import BaseSettings

OLDEST_SCRAPY = (2, 14)


def _require_scrapy() -> None:
    """End the process if its Scrapy is too old, with one line that says what to do."""
    numbers = re.match(r"(\d+)\.(\d+)", scrapy.__version__)
    if numbers and (int(numbers[1]), int(numbers[2])) < OLDEST_SCRAPY:
        oldest = ".".join(map(str, OLDEST_SCRAPY))
        raise SystemExit(
            f"error: dedup needs Scrapy {oldest} or newer, and this is {scrapy.__version__}:"
            f" pip install 'scrapy>={oldest}', or take dedup.DedupAddon out of ADDONS"
        )


_require_scrapy()

from dedup.errors import SettingsError  # noqa: E402 -- an old Scrapy lacks what these import
from dedup.stage.failures import check_early, refuse_to_start  # noqa: E402
from dedup.stage.pipelines import NearDuplicatePipeline  # noqa: E402
from dedup.stage.project import order_for, unknown_settings  # noqa: E402
from dedup.stage.spidermiddlewares import DuplicateLinksMiddleware  # noqa: E402

logger = logging.getLogger(__name__)

# The lowest number is closest to the engine.
MIDDLEWARE_ORDER = 10


class DedupAddon:
    """Scrapy add-on: `ADDONS = {"dedup.DedupAddon": 500}`.

    - Puts the item pipeline before all that may store items (see `dedup.stage.project`) and the spider middleware at
      10, unless the project names them itself.
    - Everything else is `DEDUP_*` settings: `dedup.rules.settings.DedupSettings` and
      `dedup.stage.item_settings.ItemSettings`.
    """

    @classmethod
    def update_pre_crawler_settings(cls, settings: BaseSettings) -> None:
        check_early(settings)

    def update_settings(self, settings: BaseSettings) -> None:
        for line in unknown_settings(settings):
            logger.warning("%s", line)
        try:
            order = order_for(settings)
        except SettingsError as error:
            refuse_to_start(error)
        # Any real number is a place, whatever the annotation says.
        settings.setdefault_in_component_priority_dict("ITEM_PIPELINES", NearDuplicatePipeline, cast("int", order))
        settings.setdefault_in_component_priority_dict("SPIDER_MIDDLEWARES", DuplicateLinksMiddleware, MIDDLEWARE_ORDER)
