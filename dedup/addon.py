"""The Scrapy add-on: one line in a project's settings switches everything on."""

from __future__ import annotations

from scrapy.settings import BaseSettings

from dedup.pipelines import NearDuplicatePipeline
from dedup.spidermiddlewares import DuplicateLinksMiddleware

PIPELINE_ORDER = 300
# The lowest number is closest to the engine.
MIDDLEWARE_ORDER = 10


class DedupAddon:
    """Scrapy add-on: `ADDONS = {"dedup.DedupAddon": 500}`.

    - Puts the item pipeline at 300 and the spider middleware at 10, unless the project names them
      itself.
    - Everything else is `DEDUP_*` settings, see `dedup.settings.DedupSettings`.
    """

    def update_settings(self, settings: BaseSettings) -> None:
        settings.setdefault_in_component_priority_dict("ITEM_PIPELINES", NearDuplicatePipeline, PIPELINE_ORDER)
        settings.setdefault_in_component_priority_dict("SPIDER_MIDDLEWARES", DuplicateLinksMiddleware, MIDDLEWARE_ORDER)
