"""Engines of SQLAlchemy as the project needs them: what a connection is told before its first statement."""

from __future__ import annotations

import re
import sqlite3
import time
from typing import Any

from sqlalchemy import Connection, Engine, Table, create_engine, event
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from dedup.errors import SettingsError

_POLL_SECONDS = 0.05
# Keys lie anywhere in their table: pages are read again, and are written back less often the longer the log may be.
_CACHE_KIB, _LOGGED_PAGES = 1 << 16, 1 << 14
# In seconds; without these a server that lost its power would be waited for without end.
_NOTICE_A_DEAD_SERVER = {"connect_timeout": 10, "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
_USER_AND_PASSWORD = re.compile("//.*@")
_TORN_PASSWORD = re.compile("//[^:/]*:[^@]*@.*@")


def insert_into(table: Table, dialect: str) -> Any:
    """Return an INSERT that can say what is done on a conflict, which SQLAlchemy has for each database apart."""
    return {"sqlite": sqlite, "postgresql": postgresql}[dialect].insert(table)


def parse_url(url: str) -> URL:
    """Return a database URL, with the driver that is used for it.

    Raises:
        SettingsError: it is none, or names an engine that is not supported.
    """
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        shown = _USER_AND_PASSWORD.sub("//***@", url)
        raise SettingsError(
            f"{shown!r} is not a database URL: write sqlite:///FILE or postgresql://USER@HOST/NAME"
        ) from None
    if _TORN_PASSWORD.search(url):
        # What is behind the first @ would be taken for the host, and shown.
        shown = _USER_AND_PASSWORD.sub("//***@", url)
        raise SettingsError(f"{shown!r}: an @ that belongs to the password is written %40")
    if parsed.drivername in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.drivername not in ("sqlite", "sqlite+pysqlite", "postgresql+psycopg"):
        raise SettingsError(f"databases of the kind {parsed.drivername!r} are not supported: use sqlite or postgresql")
    has_server = any(each is not None for each in (parsed.username, parsed.password, parsed.host, parsed.port))
    if parsed.get_backend_name() == "sqlite" and (has_server or parsed.database in (None, "", ":memory:")):
        raise SettingsError("an SQLite database needs a file, since several threads share it: write sqlite:///FILE")
    return parsed


def shown_url(url: URL) -> str:
    """Return a database URL as it may be shown: without its password, which parameters can hold too."""
    shown = {name: value for name, value in url.query.items() if name == "host"}
    backend = url.set(drivername=url.get_backend_name(), query=shown)
    return (backend if url.password else backend.set(password=None)).render_as_string(hide_password=True)


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
            connect_args={name: value for name, value in _NOTICE_A_DEAD_SERVER.items() if name not in url.query},
        )
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"PostgreSQL needs a driver that is not installed ({error}): pip install 'scrapy-neardup[postgresql]'"
        ) from None

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _: object) -> None:
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
            _log_ahead(connection, time.monotonic() + lock_timeout)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_LOGGED_PAGES}")
        connection.execute("PRAGMA foreign_keys = ON")
        # SQLite has none of its own; a function in Python would take twice as long. Not for negative numbers.
        connection.create_function("bit_count", 1, int.bit_count, deterministic=True)

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        reads = read_only or connection.get_execution_options().get("read_only", False)
        connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")

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
