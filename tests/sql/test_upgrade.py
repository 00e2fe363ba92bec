"""Databases of earlier, later and unreleased versions: upgraded wholly or not at all, opened as they are, or refused.

The first version is the only one so far. The next one is made up: `UPGRADE` leads to it.
"""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event, inspect, select, text

from crawler.frontier import table as frontier
from crawler.frontier.store import FrontierStore
from crawler.pages import visits
from crawler.pages.store import PageStore
from dedup.errors import DatabaseError, IncompatibleDatabaseError
from dedup.rules.decision import Verdict
from dedup.sql import schema, versions
from dedup.sql.database import Database, open_existing_database
from dedup.sql.migrating import upgrade
from dedup.sql.outages import Outages
from dedup.sql.table_sets import TableSet, open_tables
from tests.commands import run_dedup, run_python
from tests.deciding import Crawl
from tests.texts import document, edited
from tests.waiting import HANG

# On SQLite documents, which others name, are made anew.
UPGRADE = """
import sqlalchemy as sa
from alembic import op

revision, down_revision = "2", None

def upgrade():
    op.add_column("dedup_documents", sa.Column("letters", sa.Integer))
    op.execute("UPDATE dedup_documents SET letters = length(key)")
    with op.batch_alter_table("dedup_documents") as documents:
        documents.alter_column("letters", existing_type=sa.Integer, nullable=False, server_default="0")
"""
UPGRADE_OF_SET = """
import sqlalchemy as sa
from alembic import op

revision, down_revision = "2", None

def upgrade():
    op.add_column("{table}", sa.Column("note", sa.Text))
"""
FAILS = """    raise RuntimeError("interrupted")
"""

STORY = document(200, "story")
TEXTS = {"a": STORY, "b": edited(STORY, 1, "copy"), "c": document(100, "another"), "d": "a short text"}
SETS = (visits.TABLES, frontier.TABLES)


def fill(url: str) -> None:
    """Make a database that has decided some texts."""
    crawl = Crawl(url)
    with closing(crawl.database):
        verdicts = [crawl.see(key, content).verdict for key, content in TEXTS.items()]
    assert verdicts == [Verdict.NEW, Verdict.NEAR_DUPLICATE, Verdict.NEW, Verdict.NEW]


def become_second(migrations: Path, patch: pytest.MonkeyPatch) -> None:
    """Let this program be of the second version."""
    patch.setattr(versions, "CURRENT", 2)
    patch.setattr(versions, "MIGRATIONS", migrations)


@pytest.fixture
def filled_url(database_url: str) -> str:
    """The URL of a database of the first version."""
    fill(database_url)
    return database_url


@pytest.fixture
def migrations(tmp_path: Path) -> Path:
    """The folder of the migration to a second version."""
    folder = tmp_path / "migrations"
    folder.mkdir()
    (folder / "version_2.py").write_text(UPGRADE, encoding="utf-8")
    return folder


@pytest.fixture
def earlier_url(filled_url: str, migrations: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a database of the first version where this program is of the second."""
    become_second(migrations, monkeypatch)
    return filled_url


@pytest.fixture
def statements() -> Iterator[list[str]]:
    """What is sent to any database."""
    sent: list[str] = []

    def note(_: Any, __: Any, statement: str, *___: Any) -> None:
        sent.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    yield sent
    event.remove(Engine, "before_cursor_execute", note)


def ask(url: str, statement: Any) -> list[Any]:
    with closing(Database(url)) as database, database.read() as connection:
        return list(connection.execute(statement))


def change(url: str, *changes: str) -> None:
    with closing(Database(url)) as database, database.write() as connection:
        for each in changes:
            connection.exec_driver_sql(each)


def everything(url: str) -> dict[str, list[str]]:
    """Return the rows of all tables, by their columns, as they lie there."""
    with closing(Database(url)) as database, database.read() as connection:
        looked_at = inspect(connection)
        return {
            f"{table} {[column['name'] for column in looked_at.get_columns(table)]}": sorted(
                str(tuple(row)) for row in connection.execute(text(f'SELECT * FROM "{table}"'))
            )
            for table in looked_at.get_table_names()
        }


def version_of(url: str) -> str:
    [(version,)] = ask(url, select(schema.properties.c.value).where(schema.properties.c.name == versions.NAME))
    return str(version)


def open_set(url: str, tables: TableSet) -> None:
    with closing(Database(url)) as database:
        open_tables(database, tables)


# Upgraded


def test_nothing_is_lost_and_all_that_must_hold_does(earlier_url: str) -> None:
    before = everything(earlier_url)
    documents = ask(earlier_url, select(schema.documents))
    assert upgrade(earlier_url)[1:] == (1, 2)
    assert version_of(earlier_url) == "2"
    after = everything(earlier_url)
    differing = {name.split()[0] for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert differing == {"dedup_documents", "dedup_properties"}
    assert ask(earlier_url, select(schema.documents)) == documents
    assert ask(earlier_url, text("SELECT DISTINCT letters FROM dedup_documents")) == [(1,)]
    crawl = Crawl(earlier_url)
    with closing(crawl.database):
        seen_again = {key: crawl.see(key, content).verdict for key, content in TEXTS.items()}
        assert seen_again == {**dict.fromkeys(TEXTS, Verdict.UNCHANGED), "b": Verdict.NEAR_DUPLICATE}
        assert crawl.see("e", STORY).verdict is Verdict.EXACT_DUPLICATE
        crawl.assert_consistent()
        with pytest.raises(DatabaseError), crawl.database.write() as connection:
            # Documents that are made anew are still those that others name.
            connection.exec_driver_sql("DELETE FROM dedup_documents WHERE key = 'a'")


def test_an_earlier_one_is_refused_with_the_command_that_upgrades_it(earlier_url: str) -> None:
    before = everything(earlier_url)
    for attempt in (Crawl, open_existing_database):
        with pytest.raises(IncompatibleDatabaseError, match="this command upgrades it: dedup upgrade '"):
            attempt(earlier_url)
    assert everything(earlier_url) == before


def test_one_that_is_upgraded_already_is_left_as_it_is(earlier_url: str) -> None:
    upgrade(earlier_url)
    before = everything(earlier_url)
    assert upgrade(earlier_url)[1:] == (2, 2)
    assert everything(earlier_url) == before


def test_an_upgrade_that_fails_leaves_it_as_it_was(earlier_url: str, migrations: Path) -> None:
    before = everything(earlier_url)
    (migrations / "version_2.py").write_text(UPGRADE + FAILS, encoding="utf-8")
    with pytest.raises(RuntimeError, match="interrupted"):
        upgrade(earlier_url)
    assert everything(earlier_url) == before


def test_an_upgrade_that_is_interrupted_leaves_it_as_it_was(earlier_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = everything(earlier_url)

    def interrupted(_: Connection) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(versions, "store", interrupted)
        with pytest.raises(KeyboardInterrupt):
            upgrade(earlier_url)
    assert everything(earlier_url) == before
    upgrade(earlier_url)
    assert version_of(earlier_url) == "2"


@pytest.mark.slow
def test_an_upgrade_that_is_killed_leaves_it_as_it_was(filled_url: str, migrations: Path) -> None:
    before = everything(filled_url)
    code = """
import os, signal, sys
from pathlib import Path
from dedup.sql import migrating, versions
versions.CURRENT, versions.MIGRATIONS = 2, Path(sys.argv[2])
versions.store = lambda connection: os.kill(os.getpid(), signal.SIGKILL)
migrating.upgrade(sys.argv[1])
"""
    command = [sys.executable, "-c", code, filled_url, str(migrations)]
    assert subprocess.run(command, timeout=HANG, check=False).returncode == -signal.SIGKILL
    assert everything(filled_url) == before


def test_a_database_with_dangling_rows_is_left_as_it_was(
    sqlite_url: str, migrations: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(sqlite_url)
    become_second(migrations, monkeypatch)
    with closing(Database(sqlite_url)) as database, database.engine.connect() as connection:
        connection.exec_driver_sql("COMMIT")
        connection.exec_driver_sql("PRAGMA foreign_keys = OFF")
        connection.exec_driver_sql("UPDATE dedup_verdicts SET original_id = 999")
    before = everything(sqlite_url)
    with pytest.raises(DatabaseError, match="is not upgraded, and is as it was"):
        upgrade(sqlite_url)
    assert everything(sqlite_url) == before


def test_the_command_says_what_it_did(tmp_path: Path) -> None:
    Crawl(f"sqlite:///{tmp_path / 'crawl.db'}").deduplicator.close()
    done = run_dedup("upgrade", "crawl.db", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        f"database sqlite:///crawl.db has schema version {versions.CURRENT}, which is that of this program: "
        "nothing to do\n"
    )


def test_what_holds_nothing_is_not_upgraded(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="there is no database"):
        upgrade(f"sqlite:///{tmp_path / 'missing.db'}")
    assert not (tmp_path / "missing.db").exists()
    (tmp_path / "empty.db").touch()
    with pytest.raises(DatabaseError, match="nothing to upgrade"):
        upgrade(f"sqlite:///{tmp_path / 'empty.db'}")


# Of before the first release


@pytest.mark.parametrize("version", range(1, 6))
def test_an_unreleased_one_is_refused_and_left_alone(version: int, filled_url: str) -> None:
    # So it was written until then, whatever the schema.
    change(
        filled_url, f"UPDATE dedup_properties SET name = 'schema version', value = '{version}' WHERE name = 'schema'"
    )
    before = everything(filled_url)
    for attempt in (upgrade, open_existing_database, Crawl):
        with pytest.raises(IncompatibleDatabaseError) as refused:
            attempt(filled_url)
        with closing(Database(filled_url)) as database:
            assert str(refused.value) == (
                f"database {database.name} was not made by a released version of this program: begin anew, in a new "
                "database"
            )
    assert everything(filled_url) == before


def test_commands_refuse_an_unreleased_one_in_one_line(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'crawl.db'}"
    Crawl(url).deduplicator.close()
    change(url, "UPDATE dedup_properties SET name = 'schema version' WHERE name = 'schema'")
    for command in (("runs", "--database", "sqlite:///crawl.db"), ("upgrade", "crawl.db")):
        refused = run_dedup(*command, folder=tmp_path)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert refused.stderr == (
            "error: database sqlite:///crawl.db was not made by a released version of this program: begin anew, in a "
            "new database\n"
        )


# Tables of the crawler


@pytest.mark.parametrize("tables", SETS, ids=lambda tables: tables.name)
def test_a_set_of_before_is_upgraded_when_it_is_opened(
    tables: TableSet, database_url: str, migrations: Path, caplog: pytest.LogCaptureFixture
) -> None:
    name = next(iter(tables.metadata.tables))
    migration = migrations / "version_2.py"
    open_set(database_url, tables)
    before = everything(database_url)
    second = replace(tables, version=2, migrations=migrations)

    migration.write_text(UPGRADE_OF_SET.format(table=name) + FAILS, encoding="utf-8")
    with pytest.raises(RuntimeError, match="interrupted"):
        open_set(database_url, second)
    assert everything(database_url) == before

    migration.write_text(UPGRADE_OF_SET.format(table=name), encoding="utf-8")
    with caplog.at_level(logging.INFO):
        open_set(database_url, second)
    assert "are upgraded to version 2" in caplog.text
    assert ask(database_url, text(f"SELECT note FROM {name}")) == []
    caplog.clear()
    before = everything(database_url)
    open_set(database_url, second)
    assert (everything(database_url), caplog.text) == (before, "")
    with pytest.raises(IncompatibleDatabaseError, match="later version of this program"):
        open_set(database_url, tables)


@pytest.mark.parametrize("tables", SETS, ids=lambda tables: tables.name)
def test_an_unreleased_set_is_refused_and_left_alone(tables: TableSet, database_url: str) -> None:
    open_set(database_url, tables)
    # At first versions were not stored, then in a table of this name.
    for of_before in ("DROP TABLE dedup_table_sets", "CREATE TABLE dedup_table_versions (name TEXT, version INTEGER)"):
        change(database_url, of_before)
        before = everything(database_url)
        with pytest.raises(IncompatibleDatabaseError) as refused:
            open_set(database_url, tables)
        with closing(Database(database_url)) as database:
            assert database.name in str(refused.value)
        assert str(refused.value).endswith(
            "were not made by a released version of this program: begin anew, in a new database"
        )
        assert everything(database_url) == before


# Opened as they are


def open_pages(url: str) -> None:
    with closing(Database(url)) as database:
        PageStore(database, Outages(0))


def open_frontier(url: str) -> None:
    with closing(Database(url)) as database:
        FrontierStore(database, "run", 3, "worker")


@pytest.mark.parametrize("opened", [open_pages, open_frontier])
def test_opening_what_is_current_takes_few_statements(
    opened: Callable[[str], None], sqlite_url: str, statements: list[str]
) -> None:
    opened(sqlite_url)
    statements.clear()
    opened(sqlite_url)
    assert len([each for each in statements if not each.startswith(("BEGIN", "COMMIT"))]) <= 6, statements


@pytest.mark.slow
def test_opening_a_current_database_loads_no_alembic(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'crawl.db'}"
    code = """
import sys
from dedup import Deduplicator
from dedup.sql.database import Database
from dedup.sql.outages import Outages
from crawler.pages.store import PageStore
from crawler.frontier.store import FrontierStore
for _ in range(2):
    Deduplicator(sys.argv[1]).close()
    database = Database(sys.argv[1])
    PageStore(database, Outages(0))
    FrontierStore(database, "run", 3, "worker")
print("alembic" in sys.modules)
"""
    assert run_python(code, url) == "False\n"
