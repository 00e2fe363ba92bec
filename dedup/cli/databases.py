"""The database that a command reads: one way to name it everywhere."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path

from dedup.cli.settings_options import make_settings
from dedup.console import plain
from dedup.errors import InputError, SettingsError
from dedup.report.stored_texts import stored_settings
from dedup.rules.settings import RuleSettings
from dedup.signature.dictionaries import NO_OTHER_DICTIONARY
from dedup.signature.schemes import find_scheme
from dedup.store.database import Database, open_existing_database
from dedup.store.urls import parse_url, url_of

VARIABLE = "DEDUP_DATABASE_URL"
USUAL = "crawl.db"
_OF_PROJECT = ".scrapy/dedup/*.db"


def add_database_argument(parser: argparse.ArgumentParser, more: str = "", default: str | None = None) -> None:
    """Add `--database`; more: what else its help says."""
    about = f"a URL or an SQLite file; default: {VARIABLE} (setting of the Scrapy project here, or variable), {USUAL}"
    parser.add_argument("--database", default=default, metavar="URL", help=f"{about}{more}")


def database_url(given: str | None) -> str:
    """Return the URL of the database that a command reads.

    Args:
        given: what `--database` names; none: what the Scrapy project here is set to, else the variable, else crawl.db,
            else the one database that the stage has made here.

    Raises:
        SettingsError: the settings of the project cannot be loaded.
    """
    if given:
        return url_of(given)
    # One may be named that is not there: another project beside it is not meant.
    own, others = (_of_project(), iter([USUAL])) if _is_project() else (None, _of_folder())
    return next(url_of(name) for name in (own, os.environ.get(VARIABLE), *others) if name)


@contextmanager
def opened(options: argparse.Namespace, *, read_only: bool = True) -> Iterator[Database]:
    """Open the database that `--database` names, see `database_url`, as long as the block lasts."""
    with closing(open_existing_database(database_url(options.database), read_only=read_only)) as database:
        yield database


def settings_of(database: Database, given: Mapping[str, str]) -> RuleSettings:
    """Make settings of what a database was made with, and of given ones, which hold where both say something.

    Raises:
        InputError: another scheme is asked for.
    """
    with database.read() as connection:
        stored = stored_settings(connection, database.name)
    asked = make_settings(given)
    if given.keys() & {"scheme", "dictionary"} and find_scheme(asked.scheme) != find_scheme(stored["scheme"]):
        raise InputError(
            f"scheme {plain(given.get('scheme', asked.scheme))}: database {database.name} was made with "
            f"{stored['scheme']}, and signatures of two schemes cannot be compared: leave the scheme out, or give "
            "files or texts"
        )
    return make_settings({**stored, **given, "scheme": stored["scheme"], "dictionary": NO_OTHER_DICTIONARY})


def has_database(url: str) -> bool:
    """Return whether there may be such a database; a server is asked when it is opened."""
    parsed = parse_url(url)
    return parsed.get_backend_name() != "sqlite" or Path(parsed.database or "").is_file()


def _is_project() -> bool:
    here = any((folder / "scrapy.cfg").is_file() for folder in (Path.cwd(), *Path.cwd().parents))
    return here and find_spec("scrapy") is not None


def _of_project() -> str | None:
    """Return the URL of the database of the Scrapy project here; None: it names none, and has none of its own."""
    # Takes half a second.
    from scrapy.utils.project import ENVVAR, get_project_settings  # noqa: PLC0415

    from dedup.stage.project import known_database  # noqa: PLC0415

    before, path = os.environ.get(ENVVAR), list(sys.path)
    try:
        return known_database(get_project_settings())
    except ImportError as error:
        message = f"the settings of the Scrapy project here cannot be loaded ({error}): name a --database"
        raise SettingsError(message) from None
    finally:
        # Scrapy leaves both changed.
        sys.path[:] = path
        if before is None:
            os.environ.pop(ENVVAR, None)


def _of_folder() -> Iterator[str]:
    if not Path(USUAL).is_file():
        # Without a scrapy.cfg it is beside the settings.
        found = [*Path().glob(_OF_PROJECT)] or [*Path().glob(f"*/{_OF_PROJECT}")]
        yield from map(str, found[:1] if len(found) == 1 else ())
    yield USUAL
