"""The engines of SQLAlchemy for the databases that are supported, as they are set up here."""

from __future__ import annotations

import sqlite3
import time
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL

from dedup.errors import IncompatibleDatabaseError, SettingsError
from dedup.store.urls import shown_url

_POLL_SECONDS = 0.05
# Keys lie anywhere in their table: pages are read again, and are written back less often the longer the log may be.
_CACHE_KIB, _MOST_LOGGED, _PAGE_BYTES = 1 << 16, 1 << 16, 1024
# But not longer than the file, which else would be empty beside it.
_LEAST_LOGGED = 4_000
# In seconds; without these a server that lost its power would be waited for without end.
_NOTICE_A_DEAD_SERVER = {"connect_timeout": 10, "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}


def postgresql_engine(url: URL, lock_timeout: float, read_only: bool) -> Engine:
    """Return the engine of a PostgreSQL database; a writer waits so many seconds for another one.

    Raises:
        SettingsError: the driver is not installed.
    """
    try:
        # Under a stricter isolation a writer would not see what the one before it has written
        # while it was waiting.
        engine = create_engine(
            url,
            pool_pre_ping=True,
            isolation_level="READ COMMITTED",
            connect_args={
                **{name: value for name, value in _NOTICE_A_DEAD_SERVER.items() if name not in url.query},
                "client_encoding": "utf8",
            },
        )
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"PostgreSQL needs a driver that is not installed ({error}): pip install 'scrapy-neardup[postgresql]'"
        ) from None

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _: object) -> None:
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            raise IncompatibleDatabaseError(
                f"database {shown_url(url)} has the encoding {encoding}, in which not every text can be stored: "
                "name one that was made by CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0"
            )
        with connection.cursor() as cursor:
            cursor.execute(f"SET lock_timeout = {round(lock_timeout * 1000)}")
            if read_only:
                cursor.execute("SET default_transaction_read_only = on")
            else:
                # A writer that was halted must not hold up the others for longer than they wait.
                cursor.execute(f"SET idle_in_transaction_session_timeout = {round(lock_timeout * 500)}")
        connection.commit()

    return engine


def sqlite_engine(url: URL, lock_timeout: float, read_only: bool) -> Engine:
    """Return the engine of an SQLite database; the functions that the queries need are made with each connection."""
    engine = create_engine(url, connect_args={"timeout": lock_timeout})

    @event.listens_for(engine, "connect")
    def _prepare(connection: sqlite3.Connection, _: object) -> None:
        # The driver would begin its transactions too late, at the first write.
        connection.isolation_level = None
        if read_only:
            connection.execute("PRAGMA query_only = ON")
        else:
            # Keys lie anywhere: of each page that is written little has changed. A file that is there keeps its own.
            connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
            _log_ahead(connection, time.monotonic() + lock_timeout)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        connection.execute("PRAGMA foreign_keys = ON")
        # SQLite has none of its own; a function in Python would take twice as long. Not for negative numbers.
        connection.create_function("bit_count", 1, int.bit_count, deterministic=True)

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        reads = read_only or connection.get_execution_options().get("read_only", False)
        connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")
        # Past SQLAlchemy, which takes ten times as long for each of these.
        if not reads and (driver := connection.connection.driver_connection):
            (pages,) = driver.execute("PRAGMA page_count").fetchone()
            driver.execute(f"PRAGMA wal_autocheckpoint = {min(max(pages, _LEAST_LOGGED), _MOST_LOGGED)}")

    return engine


def _log_ahead(connection: sqlite3.Connection, deadline: float) -> None:
    """Let readers read while a writer writes; SQLite does not wait for others by itself here."""
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(_POLL_SECONDS)
        else:
            return
