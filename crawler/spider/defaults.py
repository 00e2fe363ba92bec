"""Settings that a spider brings along."""

from __future__ import annotations

from importlib import import_module

from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings
from scrapy.utils.misc import load_object


def add_defaults(settings: BaseSettings, module: str) -> None:
    """Add the settings of a module to those of a crawl; what the project or the command line says holds.

    Components are added one by one: a project can have others beside them, move one, or switch it off.

    Args:
        settings: those of the crawl.
        module: import path of the module; its names in capitals are settings.
    """
    for name, value in vars(import_module(module)).items():
        if not name.isupper():
            continue
        if isinstance(value, dict):
            _add_components(settings, name, value)
        else:
            settings.set(name, value, priority="addon")


def _add_components(settings: BaseSettings, name: str, components: dict[str, int | None]) -> None:
    if (settings.getpriority(name) or 0) > SETTINGS_PRIORITIES["spider"]:
        return  # the command line says them all
    before = settings.getdict(name)
    classes = {load_object(each) for each in before}
    new = {path: order for path, order in components.items() if load_object(path) not in classes}
    # Above the project's: Scrapy applies those of the project once more, and they are all in here.
    settings.set(name, {**before, **new}, priority="spider")
