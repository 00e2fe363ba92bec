"""Where the stage stands among the item pipelines of a project: in front of everything that may store items."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from scrapy.pipelines.media import MediaPipeline
from scrapy.settings import BaseSettings
from scrapy.utils.misc import load_object

from dedup.errors import SettingsError
from dedup.rules.setting_values import from_json

AFTER = "DEDUP_AFTER"
_ALONE = 300.0


def order_for(settings: BaseSettings) -> float:
    """Return the number in ITEM_PIPELINES at which the stage stands before all that may store items.

    That is before every pipeline of the project but those that `DEDUP_AFTER` names: by class, import path or name
    of the class. A number there is taken as it is. Media pipelines that come before all others stay before it: they
    store files and no items, and by the checksums of files items without text are compared.

    Raises:
        SettingsError: `DEDUP_AFTER` is neither, or names a pipeline that there is not.
    """
    after, orders = from_json(AFTER, settings.get(AFTER)), _orders(settings)
    if (number := _number(after)) is not None:
        return number
    first = min((order for pipeline, order in orders.items() if not _is_media(pipeline)), default=None)
    named = _leading_media(orders, first) if after is None else _named(after, orders)
    if not named:
        return _ALONE if first is None else first - 1
    last = max(orders[pipeline] for pipeline in named)
    behind = [order for order in orders.values() if order > last]
    return (last + min(behind)) / 2 if behind else last + 1


def names_around(settings: BaseSettings, stage: type) -> tuple[list[str], list[str]]:
    """Return the names of the pipelines that run before the stage, and of those that run after it, in their order."""
    orders = _orders(settings)
    names = sorted(orders, key=orders.__getitem__)
    place = names.index(stage)
    before, behind = ([pipeline.__name__ for pipeline in part] for part in (names[:place], names[place + 1 :]))
    return before, behind


def neighbours(settings: BaseSettings, stage: type) -> str:
    """Say in a line what runs before the stage and what after it."""
    before, after = names_around(settings, stage)
    done = "marked, not dropped," if settings.getbool("DEDUP_MARK_ONLY") else "dropped"
    told = f"duplicates are {done} before {', '.join([*after, 'the feeds'])}"
    return f"{told}; after {', '.join(before)}" if before else told


def _orders(settings: BaseSettings) -> dict[type, float]:
    given = settings.getdict("ITEM_PIPELINES")
    return {load_object(pipeline): float(order) for pipeline, order in given.items() if order is not None}


def _is_media(pipeline: type) -> bool:
    return isinstance(pipeline, type) and issubclass(pipeline, MediaPipeline)


def _leading_media(orders: Mapping[type, float], first: float | None) -> list[type]:
    return [pipeline for pipeline, order in orders.items() if _is_media(pipeline) and (first is None or order < first)]


def _number(after: Any) -> float | None:
    if isinstance(after, bool) or not isinstance(after, (int, float, str)):
        return None
    try:
        number = float(after)
    except ValueError:
        return None
    if math.isnan(number):  # a place before none and after none
        raise SettingsError(f"{AFTER} = {after!r}: expected pipelines (classes, import paths or names), or a number")
    return number


def _named(after: Any, orders: Iterable[type]) -> list[type]:
    wanted = after.split(",") if isinstance(after, str) else [after] if isinstance(after, type) else after
    if not isinstance(wanted, Iterable):
        raise SettingsError(f"{AFTER} = {after!r}: expected pipelines (classes, import paths or names), or a number")
    found = []
    for each in wanted:
        name = each.strip() if isinstance(each, str) else each
        fitting = [pipeline for pipeline in orders if name in (pipeline, pipeline.__name__, _path(pipeline))]
        if name and not fitting:
            known = ", ".join(pipeline.__name__ for pipeline in orders) or "none"
            raise SettingsError(f"{AFTER} names {name!r}, which is not in ITEM_PIPELINES: there are {known}")
        found += fitting
    return found


def _path(pipeline: type) -> str:
    return f"{pipeline.__module__}.{pipeline.__qualname__}"
