"""The settings of a Scrapy project: read and refused, the place of the stage among pipelines, the default database."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self, TypeVar

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.pipelines.files import FilesPipeline
from scrapy.pipelines.images import ImagesPipeline
from scrapy.pipelines.media import MediaPipeline
from scrapy.settings import BaseSettings
from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.misc import load_object
from scrapy.utils.project import ENVVAR, data_path
from twisted.internet.asyncioreactor import AsyncioSelectorReactor

from dedup.errors import DedupError, SettingsError
from dedup.rules.declared import Settings
from dedup.rules.settings import DedupSettings, meant_by
from dedup.stage.item_settings import ItemSettings
from dedup.stage.running import refuse_to_start

S = TypeVar("S", bound=Settings)

ITEMS_AT_ONCE = 32
"""How many items of a response are under way at once, where a project does not say (Scrapy: 100).

Scrapy makes so many tasks for each response, whatever it yields, and all of them live until its items are through.
"""

_ALONE = 300.0

_DATABASE = DedupSettings.full_name("database_url")
_FOLDER = "dedup"
_LONGEST_NAME = 200
# The lowest number is closest to the engine.
_MIDDLEWARE_ORDER = 10


def order_for(settings: BaseSettings) -> float:
    """Return the number in ITEM_PIPELINES by which the stage runs before all that may store items.

    That is before every pipeline of the project but those that `DEDUP_AFTER` names: by class, import path or name
    of the class. A number there is taken as it is. Those that fetch files stay before it, wherever they are: by the
    checksums of files items without text are compared. So do other media pipelines that come before all others: they
    store no items.

    Raises:
        SettingsError: `DEDUP_AFTER` is neither, or names a pipeline that there is not.
    """
    after, orders = ItemSettings.read(settings.get).after, _orders(settings)
    if isinstance(after, float):
        return after
    first = min((order for pipeline, order in orders.items() if not _is_media(pipeline)), default=math.inf)
    media = [pipeline for pipeline, order in orders.items() if _is_files(pipeline) or order < first]
    named = media if after is None else _named(after, orders)
    if not named:
        return _ALONE if first == math.inf else first - 1
    last = max(orders[pipeline] for pipeline in named)
    behind = [order for order in orders.values() if order > last]
    return (last + min(behind)) / 2 if behind else last + 1


def names_around(settings: BaseSettings, stage: type) -> tuple[list[str], list[str]]:
    """Return the names of the pipelines that run before the stage, and of those that run after it, in their order."""
    orders = _orders(settings)
    names = sorted(orders, key=orders.__getitem__)
    index = names.index(stage)
    before, behind = ([pipeline.__name__ for pipeline in part] for part in (names[:index], names[index + 1 :]))
    return before, behind


def neighbours(settings: BaseSettings, stage: type) -> str:
    """Return the line of the log that names what runs before the stage and what after it."""
    before, after = names_around(settings, stage)
    done = "marked, not dropped," if DedupSettings.read(settings.get).mark_only else "dropped"
    line = f"duplicates are {done} before {', '.join([*after, 'the feeds'])}"
    return f"{line}; after {', '.join(before)}" if before else line


def _orders(settings: BaseSettings) -> dict[type, float]:
    given = settings.getdict("ITEM_PIPELINES")
    return {load_object(pipeline): float(order) for pipeline, order in given.items() if order is not None}


def _is_media(pipeline: type) -> bool:
    return isinstance(pipeline, type) and issubclass(pipeline, MediaPipeline)


def _is_files(pipeline: type) -> bool:
    # Pictures are not compared unless a project wants it.
    return _is_media(pipeline) and issubclass(pipeline, FilesPipeline) and not issubclass(pipeline, ImagesPipeline)


def _named(after: tuple[str | type, ...], orders: Mapping[type, float]) -> list[type]:
    found = []
    for name in after:
        fitting = [
            pipeline
            for pipeline in orders
            if name in (pipeline, pipeline.__name__, f"{pipeline.__module__}.{pipeline.__qualname__}")
        ]
        if not fitting:
            named = ", ".join(pipeline.__name__ for pipeline in orders) or "none"
            raise SettingsError(
                f"{ItemSettings.full_name('after')} names {name!r}, which is not in ITEM_PIPELINES: there are {named}"
            )
        found += fitting
    return found


def read_project_settings(settings: BaseSettings) -> DedupSettings:
    """Read the settings of a project; its database is in a `.scrapy` folder, under its name, if it names none."""
    from dedup.store.urls import url_of  # noqa: PLC0415 -- every command of a project loads the add-on

    def get(name: str) -> Any:
        value = settings.get(name)
        if name != _DATABASE or value is not None:
            return value
        return os.environ.get(_DATABASE) or url_of(str(_database_file(settings)))

    return DedupSettings.read(get)


def _names_it(settings: BaseSettings) -> bool:
    return settings.get(_DATABASE) is not None or bool(os.environ.get(_DATABASE))


def known_database(settings: BaseSettings) -> str | None:
    """Return the URL of the database that the settings of a project name, or of its own, if that is there."""
    from dedup.store.urls import url_of  # noqa: PLC0415 -- as above

    if (url := settings.get(_DATABASE)) is not None:
        return str(url)
    path = _database_file(settings)
    return url_of(os.path.relpath(path)) if path.is_file() and not os.environ.get(_DATABASE) else None


def make_database_folder(settings: BaseSettings) -> None:
    """Make the folder of the database that a project has if it names none."""
    if not _names_it(settings):
        _database_file(settings).parent.mkdir(parents=True, exist_ok=True)


def unknown_settings(settings: BaseSettings) -> Iterator[str]:
    """Yield a line for each setting of a project that looks like one of this library and is none."""
    known = {kind.full_name(name): name for kind in (DedupSettings, ItemSettings) for name in kind.names()}
    for name in sorted(settings):
        if isinstance(name, str) and name.startswith(DedupSettings.prefix) and name not in known:
            meant = meant_by(name.removeprefix(DedupSettings.prefix).lower(), known.values())
            yield f"{name} is no setting of dedup" + (f": is {DedupSettings.full_name(meant)} meant?" if meant else "")


def _database_file(settings: BaseSettings) -> Path:
    """Return the default database, where Scrapy has data: beside the project's scrapy.cfg, or in the working folder.

    Where only a variable names the settings, as under scrapyd, in Celery and Django, Scrapy has no such place. There
    the data are beside the settings, unless these are in an archive. Scrapy makes its folder when it is asked for it;
    where it cannot, the database cannot either, and whoever makes its folder hears of it.
    """
    name = re.sub(r"[^\w.-]+", "_", str(settings.get("BOT_NAME") or "scrapy"))
    # File systems take 255 bytes, and SQLite has files of its own beside it.
    name = name.encode()[:_LONGEST_NAME].decode(errors="ignore")
    try:
        folder = Path(data_path(_FOLDER))
    except OSError as error:
        folder = Path(error.filename) / _FOLDER
    except NotConfigured:
        found = find_spec(os.environ[ENVVAR])
        beside = Path((found and found.origin) or "").parent
        folder = (beside if os.access(beside, os.W_OK) else Path()).resolve() / ".scrapy" / _FOLDER
    return folder / f"{name}.db"


def check_early(settings: BaseSettings) -> None:
    """Refuse settings that no crawl can do with before there is any.

    Once there is one, Scrapy reports what it fails of in its own way, which for a `CrawlerProcess` is a traceback, and
    status 0. See `refuse_to_start`.
    """
    try:
        dedup_settings = DedupSettings.read(settings.get)
        ItemSettings.read(settings.get)
        if dedup_settings.enabled:
            reactor = settings.get("TWISTED_REACTOR")
            has_reactor = bool(reactor) and settings.getbool("TWISTED_REACTOR_ENABLED", True)
            if has_reactor and not issubclass(load_object(reactor), AsyncioSelectorReactor):
                raise _needs_asyncio()
            require_report(dedup_settings)
    except DedupError as error:
        refuse_to_start(error)


def require_asyncio() -> None:
    """Refuse to start on a reactor of Twisted that is not asyncio's; see `refuse_to_start`."""
    if not is_asyncio_available():
        refuse_to_start(_needs_asyncio())


def _needs_asyncio() -> DedupError:
    return DedupError(
        "the dedup stage needs asyncio: take TWISTED_REACTOR out of the settings, or set it to"
        " 'twisted.internet.asyncioreactor.AsyncioSelectorReactor', and let nothing install another reactor"
    )


def read_settings(crawler: Crawler) -> DedupSettings:
    """Read the settings of a crawl; see `refuse_to_start`."""
    try:
        return read_project_settings(crawler.settings)
    except SettingsError as error:
        refuse_to_start(error)


def read_item_settings(crawler: Crawler) -> ItemSettings:
    """Read the settings of a crawl's items; see `refuse_to_start`."""
    return settings_of(crawler, ItemSettings)


def settings_of(crawler: Crawler, kind: type[S]) -> S:
    """Read the settings of a kind, whose defaults no project changes; see `refuse_to_start`."""
    try:
        return kind.read(crawler.settings.get)
    except SettingsError as error:
        refuse_to_start(error)


def require_report(settings: DedupSettings) -> None:
    """Refuse a report that could not be written, before anything is crawled for it.

    Raises:
        SettingsError: the name of the file says no known format, or its folder is not there.
    """
    if not settings.report:
        return
    from dedup.report.render import format_of  # noqa: PLC0415 -- most projects have no report written

    try:
        format_of(settings.report)
    except SettingsError as error:
        raise SettingsError(f"DEDUP_REPORT = {error}") from None
    if not Path(settings.report).absolute().parent.is_dir():
        raise SettingsError(f"DEDUP_REPORT = {settings.report!r}: its folder is not there; make it first")


class StageComponents:
    """Extension that names pipeline and spider middleware in the settings, sets `ITEMS_AT_ONCE`, and is gone.

    Their places depend on the classes of a project's pipelines. To load these is to run its modules, of which some
    import the reactor: so not before Scrapy has installed the one that the project wants, as add-ons would.
    """

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Set them.

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
        if read_settings(crawler).enabled:
            settings.set("CONCURRENT_ITEMS", ITEMS_AT_ONCE, "addon")
        raise NotConfigured


def _name(settings: BaseSettings, setting: str, path: str, order: float) -> None:
    """Name a component in a setting, if it is not there under whatever name, nor a class that is made of it."""
    given, component = settings.getdict(setting), load_object(path)
    named = map(load_object, given)
    if not any(isinstance(each, type) and issubclass(each, component) for each in named):
        settings.set(setting, {**given, path: order}, settings.getpriority(setting) or 0)
