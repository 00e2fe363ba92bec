"""Databases of each version: dumps in `versions/`, each of two crawls of nine pages by the code of that time.

`3_early` is of the first day of version 3, when some of its tables and columns were not there yet. Texts are the same
in all: a story, a copy of it, a near copy, two copies of which the second crawl found one changed, a short text and
its copy, and one that the second crawl found first.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import make_url

from dedup.sql.database import Database

VERSIONS = Path(__file__).with_name("versions")
UPGRADABLE = ("2", "3_early", "3", "4")
LATEST = "5"
"""The dump of the version that there is now, for the next one to be tested with."""


def load(url: str, version: str) -> None:
    """Fill an empty database with the dump of a version."""
    database = make_url(url)
    backend = database.get_backend_name()
    script = (VERSIONS / f"{backend}_{version}.sql").read_text(encoding="utf-8")
    if backend == "sqlite":
        with closing(sqlite3.connect(str(database.database))) as connection:
            connection.executescript(script)
        return
    with closing(Database(url)) as opened, closing(opened.engine.raw_connection()) as connection:
        connection.cursor().execute(script)
        connection.commit()
