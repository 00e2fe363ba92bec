"""A database server that goes away for a while: the crawl waits, tries again, and counts nothing twice."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from threading import Timer
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection, text

from crawler.frontier.store import FrontierStore
from dedup.errors import DatabaseError, OutageError
from dedup.sql import database as outages_module
from dedup.sql.database import Database, Outages
from tests.crawling import ask, crawl_site_here
from tests.localsite import Asked, LocalSite, Page, article

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outages_module, "FIRST_PAUSE", 0.001)


class Work:
    """Work that fails so many times, while time goes by."""

    def __init__(self, failures: int, seconds: float = 1.0) -> None:
        self.failures = failures
        self.tried = 0
        self.now = 0.0
        self._seconds = seconds

    def __call__(self) -> str:
        self.tried += 1
        if self.tried <= self.failures:
            self.now += self._seconds
            raise OutageError("cannot write database x: gone", "x")
        return "done"


def outages_for(work: Work, limit: float) -> Outages:
    return Outages(limit, clock=lambda: work.now)


def test_work_is_repeated_until_it_succeeds(caplog: pytest.LogCaptureFixture) -> None:
    work = Work(failures=5)
    assert outages_for(work, 60).survive(work) == "done"
    assert work.tried == 6
    assert [record.getMessage() for record in caplog.records] == [
        "cannot write database x: gone; trying again for 60 seconds",
        "database x is back after 4.0 seconds",
    ]


def test_what_is_tried_again_may_differ_from_what_was_tried_first() -> None:
    work = Work(failures=1)
    assert outages_for(work, 60).survive(work, lambda: "again") == "again"
    assert work.tried == 1


def test_outage_that_takes_too_long_is_final_and_nobody_else_waits_for_it() -> None:
    work = Work(failures=100, seconds=10)
    outages = outages_for(work, 60)
    for tried in (7, 8):
        with pytest.raises(OutageError):
            outages.survive(work)
        assert work.tried == tried


@pytest.mark.parametrize("limit", [0, 60])
def test_without_patience_or_when_a_crawl_is_stopped_by_force_nothing_is_repeated(limit: float) -> None:
    work = Work(failures=3)
    outages = outages_for(work, limit)
    if limit:
        outages.abandon()
    with pytest.raises(OutageError):
        outages.survive(work)
    assert work.tried == 1


# Which errors are outages


def end_connections(database_url: str) -> None:
    with closing(psycopg.connect(re.sub("[+]psycopg", "", database_url), autocommit=True)) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def test_lost_connection_is_an_outage_and_what_was_not_committed_is_not_there(postgresql_url: str) -> None:
    tried = []
    with closing(Database(postgresql_url)) as database:
        with database.write() as connection:
            connection.execute(text("CREATE TABLE numbers (number integer)"))

        def insert() -> None:
            tried.append(1)
            with database.write() as connection:
                connection.execute(text("INSERT INTO numbers VALUES (7)"))
                if len(tried) == 1:
                    end_connections(postgresql_url)

        Outages(60).survive(insert)
    assert len(tried) == 2
    assert ask(postgresql_url, "SELECT number FROM numbers") == [{"number": 7}]


def fail_by_syntax(connection: Connection) -> None:
    connection.execute(text("SELECT nonsense"))


def fail_by_lock(connection: Connection) -> None:
    other = Database(str(connection.engine.url.render_as_string(hide_password=False)), lock_timeout=0.05)
    with closing(other), other.write():
        pass


@pytest.mark.parametrize("fail", [fail_by_syntax, fail_by_lock])
def test_errors_that_would_come_again_are_not_outages_and_not_repeated(
    fail: Callable[[Connection], None], database_url: str
) -> None:
    tried = []
    with closing(Database(database_url)) as database:

        def work() -> None:
            tried.append(1)
            with database.write() as connection:
                fail(connection)

        with pytest.raises(DatabaseError) as failed:
            Outages(60).survive(work)
    assert (isinstance(failed.value, OutageError), len(tried)) == (False, 1)


# Whole crawls

PAGES = 12


@pytest.fixture
def site() -> Iterator[LocalSite]:
    links = [f"/{number}" for number in range(PAGES)]
    pages: dict[str, Page] = {link: article(number, links) for number, link in enumerate(links)}
    with LocalSite({"/": article("front", links), "/copy": article(3), **pages}) as site:
        site.pages["/5"] = article(5, ["/copy"])
        yield site


def is_complete(database_url: str, site: LocalSite) -> None:
    """Check that every page was stored or dropped once, and decided once."""
    stored = {row["url"].removeprefix(site.url) for row in ask(database_url, "SELECT url FROM pages")}
    assert len(stored & {"/3", "/copy"}) == 1
    assert stored | {"/3", "/copy"} == {"/", "/copy", *(f"/{number}" for number in range(PAGES))}
    verdicts = ask(database_url, "SELECT verdict, count(*) AS n FROM dedup_verdicts GROUP BY verdict ORDER BY verdict")
    assert verdicts == [{"verdict": "exact duplicate", "n": 1}, {"verdict": "new", "n": PAGES + 1}]


@pytest.mark.parametrize("is_shared", [False, True])
def test_server_that_comes_back_only_slows_the_crawl_down(
    is_shared: bool, postgresql_server: Callable[[], Any], site: LocalSite
) -> None:
    server = postgresql_server()
    url = server.create_database()
    name = url.partition("?")[0].rpartition("/")[2]
    page = site.pages["/7"]
    asked: list[Asked] = []

    def go_away(request: Asked) -> Page:
        asked.append(request)
        if len(asked) == 1:
            server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
            server.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
            Timer(0.5, server.execute, [f"ALTER DATABASE {name} ALLOW_CONNECTIONS true"]).start()
        return page  # type: ignore[return-value]

    site.pages["/7"] = go_away  # type: ignore[assignment]
    settings = {"CRAWLER_SHARED_RUN": is_shared, "DEDUP_RUN": "x"}
    outcome = crawl_site_here(url, settings, url=f"{site.url}/")
    assert outcome.stats["finish_reason"] == "finished"
    assert any("trying again for 300 seconds" in message for message in outcome.messages)
    assert any("is back" in message for message in outcome.messages)
    is_complete(url, site)


@pytest.mark.parametrize("is_shared", [False, True])
def test_commits_of_which_nothing_is_heard_count_once(
    is_shared: bool, sqlite_url: str, site: LocalSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Database.write
    writes: list[str] = []
    broken: list[str] = []

    @contextmanager
    def write_and_break(self: Database) -> Iterator[Connection]:
        with write(self) as connection:
            yield connection
        writes.append(self.name)
        # Six make the tables and begin the run; before that an outage ends the crawl.
        if len(writes) > 6 and len(writes) % 2 and len(broken) < 8:
            broken.append(self.name)
            raise OutageError("the connection broke after the commit", self.name)

    monkeypatch.setattr(Database, "write", write_and_break)
    settings = {"CRAWLER_SHARED_RUN": is_shared, "DEDUP_RUN": "x"}
    outcome = crawl_site_here(sqlite_url, settings, url=f"{site.url}/")
    assert outcome.stats["finish_reason"] == "finished"
    assert len(broken) >= 4
    monkeypatch.undo()
    is_complete(sqlite_url, site)
    assert {path: hits for path, hits in site.hits.items() if hits > 1} == {}
    assert ask(sqlite_url, "SELECT url FROM frontier") == []
    assert ask(sqlite_url, "SELECT outcome FROM dedup_runs") == [{"outcome": "finished"}]
    if is_shared:
        with closing(Database(sqlite_url)) as database:
            assert FrontierStore(database, "x", 5, "late", is_shared=True).is_over()
