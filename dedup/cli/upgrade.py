"""`dedup upgrade URL`: a database of an earlier version becomes one of this program's."""

from __future__ import annotations

import argparse

from dedup.sql.database import url_of
from dedup.sql.migrating import upgrade

_ABOUT = (
    "Upgrade a database that an earlier version of this program made. It is upgraded wholly or, if anything is in the "
    "way, not at all. Let crawls end first, and keep a copy: earlier versions refuse it then."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.description = _ABOUT
    parser.add_argument("database", metavar="URL", help="a URL or an SQLite file")


def run(options: argparse.Namespace) -> int:
    """Upgrade, and say from which version to which."""
    name, before, now = upgrade(url_of(options.database))
    if before == now:
        print(f"database {name} has schema version {now}, which is that of this program: nothing to do")
    else:
        print(f"database {name} is upgraded from schema version {before} to {now}")
    return 0
