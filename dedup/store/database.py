"""Databases: opening one, checking what it was made with, one writer at a time; the tables of others in it."""

from __future__ import annotations

import json
import logging
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, MetaData, Table, insert, select
from sqlalchemy.exc import SQLAlchemyError

from dedup.errors import DatabaseError, IncompatibleDatabaseError, LockedError, OutageError
from dedup.store import schema
from dedup.store.engines import postgresql_engine, sqlite_engine
from dedup.store.outages import is_outage
from dedup.store.urls import option_naming, parse_url, shown_url

logger = logging.getLogger(__name__)

DEDUP_WRITERS = 0x6E656172
"""The lock of those who write verdicts and index. Any number serves, as long as it is always the same one."""

LOADING = "loading"
"""What the index is called, among the properties of a database, of which only a part has been loaded."""

# What a scheme says of the word lists that it depends on; the version is another where there are any.
_WORD_LISTS = re.compile(r"^\d+:|:(only|dict)=[0-9a-f]+")

# The settings that other properties are taken from.
_SETTINGS = {"radius": "DEDUP_RADIUS", "table design": "DEDUP_TABLES", "scope": "DEDUP_SCOPE", "mode": "DEDUP_MODE"}

# What the version of the tables is called among the properties of a database.
_VERSION = "schema"
# What only a database with verdicts has.
_SCHEME = "scheme"
_OTHER_VERSION = (
    f"made by another version of this program (this one has tables of version {schema.SCHEMA_VERSION}): begin anew, in "
    "a new database, or install that one"
)

# What drivers raise, beside errors of the database, of values that no database can have.
_UNFIT = (UnicodeError, OverflowError)

# Codes of SQLite and states of PostgreSQL, and what a user can do; messages may hold what a stranger has written.
_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, "55P03")
_WAYS_OUT = {
    _LOCKED: "another process is writing to it: wait for it to end, or stop it",
    (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, "53100", "58030"): "free some space and run again",
    (sqlite3.SQLITE_CANTOPEN,): "check that the folder exists and may be written to",
    (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, "25006", "42501"): "check its access rights",
    (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT): "the file is damaged or no SQLite database: name another",
}
_NO_SERVER = "check that the server runs and that the URL is right"

# What tables of others are called among the properties of a database: their version, and which rows belong to runs.
_TABLES = "tables of the "

# A transaction may take so much. On a disk that is full the memory that SQLite's processes share can end them.
_LEAST_FREE = 16 * 1024 * 1024


class Database:
    """A database by its URL, with transactions that fail in one clear line.

    Args:
        url: a SQLAlchemy URL, `sqlite:///FILE` or `postgresql://...`.
        lock_timeout: seconds to wait for another writer.
        read_only: whether nothing at all may be changed, not even how an SQLite file is written.
        writers: number of the lock on PostgreSQL by which writers wait for each other; tables that no other
            writers touch can have one of their own.

    Raises:
        SettingsError: the URL is none, or names an engine that is not supported.
    """

    def __init__(
        self, url: str, lock_timeout: float = 60.0, *, read_only: bool = False, writers: int = DEDUP_WRITERS
    ) -> None:
        self.url = parse_url(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self.name = shown_url(self.url)
        self.option = option_naming(url)
        self._writers = writers
        self._folder = Path(self.url.database or "").absolute().parent
        make_engine = sqlite_engine if self.is_sqlite else postgresql_engine
        self.engine = make_engine(self.url, lock_timeout, read_only)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Open a transaction as the only writer of this database (of its tables, see `writers`); commit it at the end.

        What is read here includes what every earlier writer has written, in this process and in
        any other: so there is no moment between a look-up and the insert that follows from it.

        Raises:
            OutageError: the server is away; whether anything was written is not known.
            LockedError: another process has been writing for too long.
            DatabaseError: the database cannot be reached or written.
        """
        if self.is_sqlite:
            self._require_space()
        with self._explained("write"), self.engine.begin() as connection:
            if not self.is_sqlite:
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({self._writers})")
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a transaction that only reads and disturbs no writer.

        Raises:
            DatabaseError: the database cannot be reached or read.
        """
        with (
            self._explained("read"),
            self.engine.connect().execution_options(read_only=True) as connection,
            connection.begin(),
        ):
            yield connection

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def _require_space(self) -> None:
        try:
            free = shutil.disk_usage(self._folder).free
        except OSError:
            return  # SQLite says itself what is wrong
        if free < _LEAST_FREE:
            left = f"{free >> 20} MB of its disk are left"
            raise DatabaseError(f"cannot write database {self.name}: {left}; free some space and run again")

    @contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, *_UNFIT) as error:
            cause = " ".join(str(getattr(error, "orig", None) or error).split())
            # What SQLite says of a damaged schema need not be UTF-8.
            code = sqlite3.SQLITE_CORRUPT if isinstance(error, UnicodeDecodeError) else _code_of(error)
            way_out = next((way_out for codes, way_out in _WAYS_OUT.items() if code in codes), "")
            if code is None and not self.is_sqlite and "connect" in cause:
                way_out = _NO_SERVER
            message = f"cannot {what} database {self.name}: {cause}" + (f"; {way_out}" if way_out else "")
            if not self.is_sqlite and is_outage(error):
                raise OutageError(message, self.name) from error
            if code in _LOCKED:
                raise LockedError(message) from error
            raise DatabaseError(message) from error


def open_dedup_database(  # noqa: PLR0917
    url: str,
    scheme: str,
    design: str,
    lock_timeout: float = 60.0,
    scope: str = "all",
    loading: str = "",
    mode: str = "checked",
    radius: int = 3,
) -> Database:
    """Open a database for deduplication; make its tables if it has none.

    Args:
        url: a SQLAlchemy URL.
        scheme: the scheme of the signatures that will be stored.
        design: the table design, as `str(TableDesign)`.
        lock_timeout: seconds to wait for another writer.
        scope: where duplicates are looked for.
        loading: a saved index that it is made of: only whoever loads it opens it until that is done.
        mode: how documents are decided, which says what is stored of them.
        radius: within which fingerprints are near in the paper's mode.

    Raises:
        DatabaseError: the database cannot be reached, read or written.
        IncompatibleDatabaseError: it was made with another scheme, design, scope, mode or schema.
    """
    database = Database(url, lock_timeout)
    # Tables follow the radius, which is named first.
    wanted = {_SCHEME: scheme, "radius": str(radius), "table design": design, "scope": scope, "mode": mode}
    wanted |= {LOADING: loading} if loading else {}
    try:
        with database.write() as connection:
            found = read_properties(connection)
            if _SCHEME not in found:
                schema.metadata.create_all(connection)
                found = {_VERSION: str(schema.SCHEMA_VERSION), schema.LAST_REMOVED: "0", **wanted}
                rows = [{"name": name, "value": value} for name, value in found.items()]
                connection.execute(insert(schema.properties), rows)
        _require_same(database.name, found, wanted)
    except DatabaseError:
        database.close()
        raise
    return database


def open_existing_database(url: str, *, read_only: bool = True) -> Database:
    """Open a database that was made before: to read it, for reports, or to change what is in it.

    Raises:
        DatabaseError: there is none, it cannot be read, or nothing was ever stored in it.
        IncompatibleDatabaseError: its schema is not of the version that this program uses.
    """
    database = Database(url, read_only=read_only)
    try:
        require_file(database)
        with database.read() as connection:
            found = read_properties(connection)
        _require_same(database.name, found, {})
    except DatabaseError:
        database.close()
        raise
    return database


def has_file(database: Database) -> bool:
    """Return whether a database may be there: connecting to one of SQLite makes an empty file."""
    path = database.url.database
    return not (database.is_sqlite and path) or Path(path).is_file()


def require_file(database: Database) -> None:
    """Refuse an SQLite database that is not there."""
    if not has_file(database):
        raise DatabaseError(f"there is no database {database.name}: run a crawl first, or name another")


def read_properties(connection: Connection) -> dict[str, str]:
    """Return what a database was made with, by the names of the properties."""
    if not connection.dialect.has_table(connection, schema.properties.name):
        return {}
    rows = connection.execute(select(schema.properties.c.name, schema.properties.c.value))
    return {row.name: row.value for row in rows}


def _require_same(name: str, found: dict[str, str], wanted: dict[str, str]) -> None:
    if _SCHEME not in found:
        raise DatabaseError(f"database {name} holds no verdicts: run a crawl first, or name another")
    if found.get(_VERSION) != str(schema.SCHEMA_VERSION):
        raise IncompatibleDatabaseError(f"database {name} was {_OTHER_VERSION}")
    if LOADING in found and LOADING not in wanted:
        raise IncompatibleDatabaseError(
            f"database {name} holds a part of an index: repeat `dedup index load`, which goes on, or name another one"
        )
    if found.get(LOADING) != wanted.get(LOADING):
        raise IncompatibleDatabaseError(f"database {name} already exists: an index is loaded into a new one")
    for key, value in wanted.items():
        if found.get(key) == value:
            continue
        if key in _SETTINGS:
            way_out = f"set {_SETTINGS[key]} = {found.get(key)!r}, or name another database"
        elif _WORD_LISTS.sub("", value) == _WORD_LISTS.sub("", str(found.get(key))):
            way_out = "set DEDUP_DICTIONARY to that which it was made with, or name another database"
        else:
            way_out = "fingerprints of two schemes cannot be compared: name another database"
        raise IncompatibleDatabaseError(
            f"database {name} was made with {key} {found.get(key)!r}, this program uses {value!r}; {way_out}"
        )


def _code_of(error: Exception) -> int | str | None:
    """Return SQLite's code of an error, without what it says more exactly, or PostgreSQL's state."""
    driver_error = getattr(error, "orig", None)
    code: int | None = getattr(driver_error, "sqlite_errorcode", None)
    return getattr(driver_error, "sqlstate", None) if code is None else code & 0xFF


class RowsOfRuns(NamedTuple):
    """A table whose rows belong to runs, and go when their run is cancelled.

    Attributes:
        table: its name.
        run_column: the column that says which run: its name, or where `runs_table` is given the id of its row there.
        runs_table: a table with the columns `id` and `name`, where runs have numbers of the table's own; empty: none.
        key_column: a column with `dedup.store.document_rows.key_digest` of the document that the row is about, with
            which it is erased; empty: none.
        stays: whether the row of a document that is still an original stays.
    """

    table: str
    run_column: str
    runs_table: str = ""
    key_column: str = ""
    stays: bool = False


class TableSet(NamedTuple):
    """Tables of others in a database, such as those of a crawler.

    Attributes:
        name: what they are called together.
        metadata: the tables.
        rows_of_runs: those whose rows belong to runs; one that others refer to comes behind them.
    """

    name: str
    metadata: MetaData
    rows_of_runs: tuple[RowsOfRuns, ...] = ()


def open_tables(database: Database, tables: TableSet) -> None:
    """Make the tables of a set if they are not there.

    Raises:
        DatabaseError: the database cannot be reached or written.
        IncompatibleDatabaseError: another version of this program has made them.
    """
    with database.write() as connection:
        if has_tables(database, connection, tables):
            return
        schema.properties.create(connection, checkfirst=True)
        tables.metadata.create_all(connection)
        connection.execute(insert(schema.properties).values(name=_TABLES + tables.name, value=_made_with(tables)))


def has_tables(database: Database, connection: Connection, tables: TableSet) -> bool:
    """Return whether the tables of a set are there.

    Raises:
        IncompatibleDatabaseError: another version of this program has made them.
    """
    # First: another process may make both meanwhile, in one transaction.
    has_any = any(connection.dialect.has_table(connection, each) for each in tables.metadata.tables)
    found = read_properties(connection).get(_TABLES + tables.name)
    if found == _made_with(tables):
        return True
    if found is not None or has_any:
        told = f"the tables of the {tables.name} in database {database.name} were {_OTHER_VERSION}"
        raise IncompatibleDatabaseError(told)
    return False


def _made_with(tables: TableSet) -> str:
    return json.dumps([schema.SCHEMA_VERSION, tables.rows_of_runs])


def read_rows_of_runs(connection: Connection) -> list[RowsOfRuns]:
    """Return the tables of others whose rows belong to runs."""
    found = read_properties(connection)
    return [
        RowsOfRuns(*each) for name, value in found.items() if name.startswith(_TABLES) for each in json.loads(value)[1]
    ]


def insert_into(table: Table, dialect: str) -> Any:
    """Return an INSERT that can say what is done on a conflict, which SQLAlchemy has for each database apart."""
    # That of the other database takes a tenth of the time in which a crawl starts.
    return import_module(f"sqlalchemy.dialects.{dialect}").insert(table)
