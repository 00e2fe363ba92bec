"""Databases of other versions are refused, and left as they are; those of this one open at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from crawler.frontier import schema as frontier
from crawler.frontier.store import FrontierStore
from crawler.pages import store as pages
from crawler.pages.store import PageStore
from dedup.errors import IncompatibleDatabaseError
from dedup.rules.documents import Verdict
from dedup.store.database import Database, TableSet, open_existing_database, open_tables
from dedup.store.outages import Outages
from dedup.store.schema import SCHEMA_VERSION
from tests.commands import run_dedup
from tests.databases import change_version, everything
from tests.deciding import Crawl
from tests.texts import document, edited

STORY = document(200, "story")
TEXTS = {"a": STORY, "b": edited(STORY, 1, "copy"), "c": document(100, "another"), "d": "a short text"}
SETS = (pages.TABLES, frontier.TABLES)


def fill(url: str) -> None:
    """Make a database that has decided some texts."""
    crawl = Crawl(url)
    with closing(crawl.database):
        verdicts = [crawl.see(key, content).verdict for key, content in TEXTS.items()]
    assert verdicts == [Verdict.NEW, Verdict.NEAR_DUPLICATE, Verdict.NEW, Verdict.NEW]


@pytest.fixture
def filled_url(database_url: str) -> str:
    """The URL of a database of this version."""
    fill(database_url)
    return database_url


@pytest.fixture
def statements() -> Iterator[list[str]]:
    """What is sent to any database."""
    sent: list[str] = []

    def note(_: Any, __: Any, statement: str, *___: Any) -> None:
        sent.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    yield sent
    event.remove(Engine, "before_cursor_execute", note)


def open_set(url: str, tables: TableSet) -> None:
    with closing(Database(url)) as database:
        open_tables(database, tables)


MADE = "made by another version of this program"
OTHER = f"{MADE} (this one has tables of version {SCHEMA_VERSION}): begin anew, in a new database, or "


@pytest.mark.parametrize(
    "version",
    ["value = '99'", "value = '2'", "value = 'x'", "name = 'schema version'"],
    ids=["later", "earlier", "x", "none"],
)
def test_a_database_of_another_version_is_refused_and_left_alone(version: str, filled_url: str) -> None:
    change_version(filled_url, version)
    before = everything(filled_url)
    for attempt in (open_existing_database, Crawl):
        with pytest.raises(IncompatibleDatabaseError) as refused:
            attempt(filled_url)
        with closing(Database(filled_url)) as database:
            assert str(refused.value).startswith(f"database {database.name} was {OTHER}")
    assert everything(filled_url) == before


def test_commands_refuse_it_in_one_line(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'crawl.db'}"
    Crawl(url).deduplicator.close()
    change_version(url, "value = '99'")
    refused = run_dedup("runs", "--database", "sqlite:///crawl.db", folder=tmp_path)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == f"error: database sqlite:///crawl.db was {OTHER}install that one\n"


@pytest.mark.parametrize("tables", SETS, ids=lambda tables: tables.name)
def test_a_set_of_tables_of_another_version_is_refused_and_left_alone(tables: TableSet, database_url: str) -> None:
    open_set(database_url, tables)
    for version in ("value = '[3, []]'", ""):
        change_version(database_url, version, of_all=True)
        before = everything(database_url)
        with pytest.raises(IncompatibleDatabaseError) as refused:
            open_set(database_url, tables)
        with closing(Database(database_url)) as database:
            told = f"the tables of the {tables.name} in database {database.name} were {OTHER}"
            assert str(refused.value).startswith(told)
        assert everything(database_url) == before


def open_pages(url: str) -> None:
    with closing(Database(url)) as database:
        PageStore(database, Outages(0))


def open_frontier(url: str) -> None:
    with closing(Database(url)) as database:
        FrontierStore(database, "run", "worker")


@pytest.mark.parametrize("opened", [open_pages, open_frontier])
def test_opening_what_is_current_takes_few_statements(
    opened: Callable[[str], None], sqlite_url: str, statements: list[str]
) -> None:
    opened(sqlite_url)
    statements.clear()
    opened(sqlite_url)
    assert len([each for each in statements if not each.startswith(("BEGIN", "COMMIT"))]) <= 6, statements
