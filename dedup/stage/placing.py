"""The parts of the stage in the settings of a project."""

from __future__ import annotations

from typing import Self

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.settings import BaseSettings
from scrapy.utils.misc import load_object

from dedup.errors import SettingsError
from dedup.stage.project import order_for
from dedup.stage.running import refuse_to_start

# The lowest number is closest to the engine.
_MIDDLEWARE_ORDER = 10


class StagePlacing:
    """Extension that names pipeline and spider middleware in the settings, and is gone.

    Their places depend on the classes of a project's pipelines. To load these is to run its modules, of which some
    import the reactor: so not before Scrapy has installed the one that the project wants, as add-ons would.
    """

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Name them.

        Raises:
            NotConfigured: that is all that there was to do.
        """
        settings = crawler.settings
        try:
            order = order_for(settings)
        except SettingsError as error:
            refuse_to_start(error)
        _name(settings, "ITEM_PIPELINES", "dedup.stage.pipelines.NearDuplicatePipeline", order)
        _name(
            settings, "SPIDER_MIDDLEWARES", "dedup.stage.spidermiddlewares.DuplicateLinksMiddleware", _MIDDLEWARE_ORDER
        )
        raise NotConfigured


def _name(settings: BaseSettings, setting: str, path: str, order: float) -> None:
    """Name a component in a setting, if it is not there under whatever name."""
    given, component = settings.getdict(setting), load_object(path)
    if not any(load_object(each) is component for each in given):
        settings.set(setting, {**given, path: order}, settings.getpriority(setting) or 0)
