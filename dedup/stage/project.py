"""The settings of a Scrapy project: where its database is by default, and names that nobody knows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import fields
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from scrapy.exceptions import NotConfigured
from scrapy.settings import BaseSettings
from scrapy.utils.project import ENVVAR, data_path, inside_project

from dedup.rules.settings import DedupSettings
from dedup.stage.items.settings import ItemSettings
from dedup.stage.placement import AFTER

_PREFIX = "DEDUP_"
_DATABASE = "DEDUP_DATABASE_URL"
_FOLDER = "dedup"


def read_project_settings(settings: BaseSettings) -> DedupSettings:
    """Read the settings of a project; its database is in a `.scrapy` folder, under its name, if it names none."""

    def get(name: str) -> Any:
        value = settings.get(name)
        return f"sqlite:///{_database_file(settings)}" if name == _DATABASE and value is None else value

    return DedupSettings.read(get)


def names_database(settings: BaseSettings) -> bool:
    """Say whether settings or a project tell where the database is; else a script may have been given them."""
    return settings.get(_DATABASE) is not None or inside_project()


def make_database_folder(settings: BaseSettings) -> None:
    """Make the folder of the database that a project has if it names none."""
    if settings.get(_DATABASE) is None:
        _database_file(settings).parent.mkdir(parents=True, exist_ok=True)


def unknown_settings(settings: BaseSettings) -> Iterator[str]:
    """Yield a line for each setting of a project that looks like one of this library and is none."""
    known = [_PREFIX + each.name.upper() for kind in (DedupSettings, ItemSettings) for each in fields(kind)]
    known.append(AFTER)
    for name in sorted(settings):
        if isinstance(name, str) and name.startswith(_PREFIX) and name not in known:
            nearest = get_close_matches(name.removeprefix(_PREFIX), [each.removeprefix(_PREFIX) for each in known], 1)
            yield f"{name} is no setting of dedup" + (f": is {_PREFIX}{nearest[0]} meant?" if nearest else "")


def _database_file(settings: BaseSettings) -> Path:
    name = re.sub(r"[^\w.-]+", "_", str(settings.get("BOT_NAME") or "scrapy"))
    return _data_folder() / f"{name}.db"


def _data_folder() -> Path:
    """Return where Scrapy itself would have data of the project: beside its scrapy.cfg, or in the working folder.

    Where only a variable names the settings, as under scrapyd, in Celery and Django, Scrapy has no such place, and
    whatever asks for it is switched off. There the data stand beside the settings, unless these are in an archive.
    """
    try:
        return Path(data_path(_FOLDER))
    except NotConfigured:
        found = find_spec(os.environ[ENVVAR])
        beside = Path((found and found.origin) or "").parent
        return (beside if os.access(beside, os.W_OK) else Path()).resolve() / ".scrapy" / _FOLDER
