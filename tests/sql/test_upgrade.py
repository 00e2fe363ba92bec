"""Databases of every version of the schema that there has been: upgraded, opened as they are, or refused."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event, func, inspect, select, text

from crawler.frontier.store import FrontierStore
from crawler.pages.store import PageStore
from crawler.pages.tables import page_versions, pages
from crawler.pages.visits import visits
from dedup.errors import DatabaseError, IncompatibleDatabaseError
from dedup.ledger.runs.cancelling import cancel_run
from dedup.rules.decision import Verdict
from dedup.sql import schema, versions
from dedup.sql.database import Database, open_existing_database
from dedup.sql.migrating import upgrade
from dedup.sql.outages import Outages
from tests.commands import run_dedup, run_python
from tests.consistency import inconsistencies
from tests.deciding import Crawl
from tests.sql.earlier import LATEST, UPGRADABLE, load
from tests.waiting import HANG

SITE = "http://127.0.0.1:8899"


@pytest.fixture(params=UPGRADABLE)
def earlier_url(request: pytest.FixtureRequest, database_url: str) -> str:
    """The URL of a database of each version that can be upgraded, on each kind of database."""
    load(database_url, request.param)
    return database_url


@pytest.fixture
def new_url(request: pytest.FixtureRequest, database_url: str, tmp_path: Path) -> Iterator[str]:
    """The URL of another empty database, of the same kind."""
    if database_url.startswith("sqlite"):
        yield f"sqlite:///{tmp_path / 'new.db'}"
        return
    with request.getfixturevalue("postgresql_server")().lend_database() as url:
        yield url


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


def everything(url: str) -> dict[str, list[str]]:
    """Return the rows of all tables, by their columns, as they lie there."""
    with closing(Database(url)) as database, database.read() as connection:
        looked_at = inspect(connection)
        return {
            f"{table} {sorted(column['name'] for column in looked_at.get_columns(table))}": sorted(
                str(tuple(row)) for row in connection.execute(text(f'SELECT * FROM "{table}"'))
            )
            for table in looked_at.get_table_names()
        }


def structure(connection: Connection, names: set[str]) -> dict[str, Any]:
    """Return what tables are made of: columns, keys and indexes, in no order."""
    looked_at = inspect(connection)
    found: dict[str, Any] = {}
    for table in looked_at.get_table_names():
        if table not in names:
            continue
        found[table] = {
            "columns": {
                each["name"]: (str(each["type"]), each["nullable"], str(each["default"]))
                for each in looked_at.get_columns(table)
            },
            "primary key": looked_at.get_pk_constraint(table)["constrained_columns"],
            "foreign keys": {
                (*each["constrained_columns"], each["referred_table"]) for each in looked_at.get_foreign_keys(table)
            },
            "unique": {tuple(each["column_names"]) for each in looked_at.get_unique_constraints(table)},
            "indexes": {
                each["name"]: (
                    tuple(each["column_names"]),
                    bool(each["unique"]),
                    str(each.get("dialect_options", {}).get(f"{connection.dialect.name}_where")).strip("()").lower(),
                )
                for each in looked_at.get_indexes(table)
            },
        }
    return found


def made_of(url: str, names: set[str]) -> dict[str, Any]:
    with closing(Database(url)) as database, database.read() as connection:
        return structure(connection, names)


def test_an_upgraded_database_is_made_of_the_same_as_a_new_one(earlier_url: str, new_url: str) -> None:
    upgrade(earlier_url)
    names = set(schema.metadata.tables)
    Crawl(new_url).database.close()
    assert made_of(earlier_url, names) == made_of(new_url, names)


def test_nothing_is_lost_and_all_that_must_hold_does(earlier_url: str) -> None:
    kept = ("dedup_runs", "dedup_words", "dedup_fingerprints", "pages", "frontier_runs")
    before = {name: rows for name, rows in everything(earlier_url).items() if name.split()[0] in kept}
    verdicts = Counter(ask(earlier_url, text("SELECT run_id, verdict FROM dedup_verdicts")))
    upgrade(earlier_url)
    after = everything(earlier_url)
    assert {name: after[name] for name in before} == before
    assert Counter(ask(earlier_url, text("SELECT run_id, verdict FROM dedup_verdicts"))) == verdicts
    crawl = Crawl(earlier_url)
    with closing(crawl.database):
        crawl.assert_consistent()


def test_its_documents_are_known_again(earlier_url: str) -> None:
    upgrade(earlier_url)
    stored = ask(earlier_url, select(pages.c.url, pages.c.text))
    crawl = Crawl(earlier_url)
    with closing(crawl.database):
        known = {key for key, row in crawl.stored().items() if row.text_digest is not None and row.leader_id is None}
        verdicts = {url: crawl.see(url, content).verdict for url, content in stored}
        assert len(known) >= 6
        assert {url: verdict for url, verdict in verdicts.items() if url in known} == dict.fromkeys(
            known & set(verdicts), Verdict.UNCHANGED
        )
        (story,) = [content for url, content in stored if url == f"{SITE}/c"]
        assert crawl.see(f"{SITE}/another", story).verdict is Verdict.EXACT_DUPLICATE
        crawl.assert_consistent()


def test_its_documents_name_the_runs_that_brought_them(earlier_url: str) -> None:
    upgrade(earlier_url)
    runs = {row.id: row.name for row in ask(earlier_url, select(schema.runs))}
    named = {
        row.key.removeprefix(SITE): [runs[each] for each in (row.first_run_id, row.content_run_id, row.last_run_id)]
        for row in ask(earlier_url, select(schema.documents))
    }
    assert named["/c"] == ["run1", "run1", "run2"]
    assert named["/b"] == ["run1", "run2", "run2"]
    assert named["/d"] == ["run2", "run2", "run2"]


@pytest.mark.parametrize("run", ["run1", "run2"])
def test_its_runs_can_be_taken_back(earlier_url: str, run: str) -> None:
    upgrade(earlier_url)
    with closing(Database(earlier_url)) as database:
        cancel_run(database, run)
    crawl = Crawl(earlier_url)
    with closing(crawl.database):
        crawl.assert_consistent()
        assert [row.name for row in crawl.query(select(schema.runs.c.name))] == [
            *({"run1", "run2"} - {run}),
            "test",
        ]


def test_it_is_refused_with_the_command_that_upgrades_it(tmp_path: Path) -> None:
    load(f"sqlite:///{tmp_path / 'crawl.db'}", "4")
    refused = run_dedup("runs", folder=tmp_path)
    assert refused.returncode == 1
    (line,) = refused.stderr.splitlines()
    assert line.endswith("this command upgrades it: dedup upgrade 'sqlite:///crawl.db'")
    with pytest.raises(IncompatibleDatabaseError, match="dedup upgrade"):
        Crawl(f"sqlite:///{tmp_path / 'crawl.db'}")
    done = run_dedup("upgrade", "sqlite:///crawl.db", folder=tmp_path)
    assert done.stdout == f"database sqlite:///crawl.db is upgraded from schema version 4 to {versions.CURRENT}\n"
    again = run_dedup("upgrade", "crawl.db", folder=tmp_path)
    assert (again.returncode, "nothing to do" in again.stdout) == (0, True)
    assert run_dedup("runs", folder=tmp_path).returncode == 0


def test_the_first_version_is_refused_with_the_reason(database_url: str) -> None:
    load(database_url, "1")
    before = everything(database_url)
    for attempt in (upgrade, open_existing_database, Crawl):
        with pytest.raises(IncompatibleDatabaseError, match="are not stored in it: crawl anew into a new database"):
            attempt(database_url)
    assert everything(database_url) == before


def test_what_holds_nothing_is_not_upgraded(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="there is no database"):
        upgrade(f"sqlite:///{tmp_path / 'missing.db'}")
    assert not (tmp_path / "missing.db").exists()
    (tmp_path / "empty.db").touch()
    with pytest.raises(DatabaseError, match="nothing to upgrade"):
        upgrade(f"sqlite:///{tmp_path / 'empty.db'}")


def test_an_interrupted_upgrade_leaves_it_as_it_was(earlier_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = everything(earlier_url)

    def interrupted(_: Connection) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(versions, "store", interrupted)
        with pytest.raises(KeyboardInterrupt):
            upgrade(earlier_url)
    assert everything(earlier_url) == before
    upgrade(earlier_url)
    assert everything(earlier_url) != before


@pytest.mark.slow
def test_an_upgrade_that_is_killed_leaves_it_as_it_was(earlier_url: str) -> None:
    before = everything(earlier_url)
    code = """
import os, signal, sys
from dedup.sql import migrating, versions
versions.store = lambda connection: os.kill(os.getpid(), signal.SIGKILL)
migrating.upgrade(sys.argv[1])
"""
    done = subprocess.run([sys.executable, "-c", code, earlier_url], timeout=HANG, check=False)
    assert done.returncode == -signal.SIGKILL
    assert everything(earlier_url) == before
    upgrade(earlier_url)


def test_a_database_of_this_version_is_opened_as_it_is(database_url: str, new_url: str) -> None:
    load(database_url, LATEST)
    before = everything(database_url)
    assert upgrade(database_url)[1:] == (versions.CURRENT, versions.CURRENT)
    assert everything(database_url) == before
    names = set(schema.metadata.tables)
    for url in (database_url, new_url):
        crawl = Crawl(url)
        crawl.assert_consistent()
        crawl.database.close()
    assert made_of(database_url, names) == made_of(new_url, names)


def test_a_database_with_dangling_rows_is_left_as_it_was(sqlite_url: str) -> None:
    load(sqlite_url, "2")
    with closing(Database(sqlite_url)) as database, database.engine.connect() as connection:
        connection.exec_driver_sql("COMMIT")
        connection.exec_driver_sql("PRAGMA foreign_keys = OFF")
        connection.exec_driver_sql("UPDATE dedup_verdicts SET original_id = 999 WHERE id = 3")
    before = everything(sqlite_url)
    with pytest.raises(DatabaseError, match="is not upgraded, and is as it was"):
        upgrade(sqlite_url)
    assert everything(sqlite_url) == before


@pytest.mark.parametrize("version", ["2", "3_early"])
def test_pages_of_before_the_visits_are_upgraded_when_they_are_opened(
    version: str, database_url: str, new_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    load(database_url, version)
    with caplog.at_level(logging.INFO):
        open_pages(database_url)
    assert "are upgraded to version 2" in caplog.text
    caplog.clear()
    open_pages(new_url)
    open_pages(database_url)
    assert caplog.text == ""
    names = {table.name for table in (pages, page_versions, visits)}
    assert made_of(database_url, names) == made_of(new_url, names)
    of_pages = [pages.c.url, pages.c.run, pages.c.depth]
    of_visits = [visits.c.url, visits.c.run, visits.c.depth]
    assert ask(database_url, select(*of_pages).order_by(pages.c.id)) == ask(
        database_url, select(*of_visits).order_by(visits.c.id)
    )
    (fetched,) = ask(database_url, select(func.min(pages.c.fetched)))
    (seen,) = ask(database_url, select(func.min(visits.c.seen)))
    assert abs(fetched[0].replace(tzinfo=fetched[0].tzinfo or UTC).timestamp() - seen[0]) < 0.01


def test_pages_of_a_later_version_are_refused(sqlite_url: str) -> None:
    open_pages(sqlite_url)
    with closing(Database(sqlite_url)) as database, database.write() as connection:
        connection.exec_driver_sql("UPDATE dedup_table_versions SET version = 9 WHERE name = 'pages'")
    with pytest.raises(IncompatibleDatabaseError, match="later version of this program"):
        open_pages(sqlite_url)


def test_tables_of_before_versions_were_stored_are_opened_as_they_are(sqlite_url: str) -> None:
    load(sqlite_url, "4")
    open_pages(sqlite_url)
    open_frontier(sqlite_url)
    assert ask(sqlite_url, text("SELECT name, version FROM dedup_table_versions ORDER BY name")) == [
        ("frontier", 1),
        ("pages", 2),
    ]


def open_pages(url: str) -> None:
    with closing(Database(url)) as database:
        PageStore(database, Outages(0))


def open_frontier(url: str) -> None:
    with closing(Database(url)) as database:
        FrontierStore(database, "run", 3, "worker")


def test_after_an_upgrade_the_pages_agree_with_the_documents(sqlite_url: str) -> None:
    load(sqlite_url, "4")
    upgrade(sqlite_url)
    open_pages(sqlite_url)
    assert inconsistencies(sqlite_url) == []


@pytest.mark.parametrize(("opened", "most"), [(open_pages, 6), (open_frontier, 6)])
def test_opening_what_is_current_takes_few_statements(
    opened: Any, most: int, sqlite_url: str, statements: list[str]
) -> None:
    opened(sqlite_url)
    statements.clear()
    opened(sqlite_url)
    assert len([each for each in statements if not each.startswith(("BEGIN", "COMMIT"))]) <= most, statements


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
