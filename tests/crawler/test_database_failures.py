"""A database that fails ends a crawl in one clear line, and the next one completes; one that is away is waited for."""

from __future__ import annotations

import logging
import os
import resource
import shlex
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Barrier, Timer
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection, text
from sqlalchemy.engine import make_url

from crawler.pages.store import PageStore
from dedup import DedupSettings
from dedup.errors import DatabaseError, OutageError
from dedup.store import outages as outages_module
from dedup.store.database import Database, open_existing_database
from dedup.store.deduplicator import Deduplicator
from dedup.store.outages import Outages
from tests.consistency import inconsistencies
from tests.crawler.frontier.driving import unfinished
from tests.crawling import (
    NO_NETWORK,
    Crawl,
    ExitedError,
    Outcome,
    ask,
    crawl,
    crawl_command,
    crawl_site_here,
    finish,
    run,
    runs_in,
    start,
)
from tests.localsite import Asked, LocalSite, Page, article
from tests.texts import document
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

PAGES = 30


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outages_module, "FIRST_PAUSE", 0.001)


def seed_of(number: int) -> int:
    """Return what the text of a page depends on: each third page is a copy of the one before it."""
    return number - (number % 3 == 2)


TEXTS = [document(100, "front"), *(document(400, seed) for seed in sorted(set(map(seed_of, range(PAGES)))))]


@pytest.fixture
def site() -> Iterator[LocalSite]:
    pages: dict[str, Page] = {"/": article("front", [f"/{number}" for number in range(PAGES)], words=100)}
    pages |= {f"/{number}": article(seed_of(number), words=400) for number in range(PAGES)}
    with LocalSite(pages) as site:
        yield site


def errors_of(outcome: Outcome, least: int = logging.ERROR) -> list[str]:
    return [record.getMessage() for record in outcome.log if record.levelno >= least]


def fails(result: Crawl | ExitedError, *words: str, status: int = 1) -> None:
    """Check that a crawl has failed with one clear line."""
    [error] = result.errors if isinstance(result, Crawl) else errors_of(result.outcome, logging.WARNING)
    assert [word for word in words if word not in error] == []
    assert result.status == status


def completes(database: Path | str, site: LocalSite) -> None:
    """Check that another crawl stores every page of the site once, with its text."""
    outcome = crawl_site_here(database, url=f"{site.url}/")
    assert errors_of(outcome) == []
    is_complete(database)
    assert sorted(item.text.strip(".") for item in outcome.items) == sorted(TEXTS)


def is_complete(database: Path | str) -> None:
    url = database if isinstance(database, str) else f"sqlite:///{database}"
    assert sorted(row["text"].strip(".") for row in ask(url, "SELECT text FROM pages")) == sorted(TEXTS)
    assert inconsistencies(url) == []


# From the start

NOBODY = "http://127.0.0.1:1/"


def refused(settings: Mapping[str, object]) -> ExitedError:
    """Begin a crawl that must not begin, in this process."""
    with pytest.raises(ExitedError) as ended:
        crawl_site_here("sqlite:///unused.db", {**NO_NETWORK, **settings}, url=NOBODY)
    assert ended.value.outcome.tracebacks == []
    assert not Path("unused.db").exists()
    return ended.value


UNUSABLE = [
    ("sqlite:///FOLDER/missing/crawl.db", 1, ["missing/crawl.db", "check that the folder exists"]),
    ("sqlite:///FOLDER", 1, ["check that the folder exists"]),
    ("sqlite:///FOLDER/notes.txt", 1, ["notes.txt", "not a database"]),
    ("mysql://localhost/crawl", 2, ["'mysql'", "sqlite or postgresql"]),
    ("crawl.db", 2, ["'crawl.db'", "sqlite:///FILE"]),
    ("postgresql+nonsense://localhost/x", 2, ["nonsense"]),
    ("postgresql://me:open-sesame@127.0.0.1:1/crawl", 1, ["127.0.0.1:1/crawl", "check that the server runs"]),
]


@pytest.mark.parametrize(("url", "status", "words"), [*UNUSABLE, ("", 2, ["sqlite:///FILE"])])
def test_database_that_cannot_be_used_is_refused_in_one_line(
    url: str, status: int, words: list[str], tmp_path: Path
) -> None:
    notes = "These are my notes. " * 100
    (tmp_path / "notes.txt").write_text(notes)
    ended = refused({"DEDUP_DATABASE_URL": url.replace("FOLDER", str(tmp_path))})
    fails(ended, *words, status=status)
    assert "open-sesame" not in "".join(ended.outcome.messages)
    assert (tmp_path / "notes.txt").read_text() == notes
    assert not (tmp_path / "missing").exists()


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_server_that_cannot_store_every_text_is_refused(encoding: str, postgresql_url: str) -> None:
    name = f"in_{encoding.lower()}"
    url = make_url(postgresql_url).set(database=name).render_as_string(hide_password=False)
    with psycopg.connect(postgresql_url, autocommit=True) as connection:
        connection.execute(
            f"CREATE DATABASE {name} ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
        )
        try:
            fails(refused({"DEDUP_DATABASE_URL": url}), f"the encoding {encoding}", "ENCODING 'UTF8'")
            with pytest.raises(DatabaseError, match=encoding):
                open_existing_database(url)
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.parametrize(("value", "kind"), [("\ud800", "text"), (2**64, "bigint")])
def test_values_that_no_database_can_have_are_errors_of_the_database(
    value: object, kind: str, database_url: str
) -> None:
    with (
        closing(Database(database_url)) as database,
        pytest.raises(DatabaseError, match="cannot write"),
        database.write() as connection,
    ):
        connection.execute(text(f"SELECT CAST(:value AS {kind})"), {"value": value})


def test_pages_on_which_a_pipeline_fails_are_fetched_by_the_next_crawl(
    tmp_path: Path, site: LocalSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle, failed = PageStore.settle, []

    def fail_once(store: PageStore, settled: Any) -> Any:
        if len(settled) < PAGES and not failed:
            failed.extend(settled)
            raise ValueError("whatever it is")
        return settle(store, settled)

    monkeypatch.setattr(PageStore, "settle", fail_once)
    outcome = crawl_site_here(tmp_path / "crawl.db", url=f"{site.url}/")
    assert failed
    assert (outcome.stats["dedup/failed"], outcome.count("frontier/left")) == ("page_error", len(failed))
    completes(tmp_path / "crawl.db", site)


OTHER = "made by another version of this program (this one has tables of version "


def test_database_of_another_make_is_refused_and_left_alone(tmp_path: Path) -> None:
    database = tmp_path / "crawl.db"
    Deduplicator(DedupSettings(database_url=f"sqlite:///{database}")).database.close()
    with closing(sqlite3.connect(database)) as connection:
        change = "UPDATE dedup_properties SET name = 'schema version' WHERE name = 'schema'"
        assert connection.execute(change).rowcount == 1
        connection.commit()
    fails(refused({"DEDUP_DATABASE_URL": f"sqlite:///{database}"}), str(database), OTHER)
    assert ask(f"sqlite:///{database}", "SELECT * FROM dedup_runs") == []


def test_new_database_can_be_opened_by_many_at_once(tmp_path: Path) -> None:
    def open_for_pages(url: str) -> None:
        PageStore(Database(url), Outages(0)).close()

    def open_for_verdicts(url: str) -> None:
        Deduplicator(DedupSettings(database_url=url)).database.close()

    def open_it(opener: Callable[[str], None], url: str, barrier: Barrier) -> None:
        barrier.wait()
        opener(url)

    with ThreadPoolExecutor(4) as threads:
        for number in range(40):
            url, barrier = f"sqlite:///{tmp_path / f'{number}.db'}", Barrier(4)
            openers = [open_for_pages, open_for_verdicts] * 2
            for opened in [threads.submit(open_it, opener, url, barrier) for opener in openers]:
                opened.result()


# In the middle of a crawl


class Lock:
    """Another process's transaction that keeps everybody else from writing."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._connection: sqlite3.Connection | None = None

    def take(self) -> None:
        self._connection = sqlite3.connect(self._database, isolation_level=None, check_same_thread=False)
        self._connection.execute("BEGIN IMMEDIATE")

    def release(self) -> None:
        assert self._connection is not None
        self._connection.execute("ROLLBACK")
        self._connection.close()


LOCK_TIMEOUT = "dedup.rules.settings.DedupSettings.lock_timeout"


def when_asked(site: LocalSite, path: str, action: Callable[[], None]) -> None:
    """Do something when a page of the site is fetched for the first time."""
    page = site.pages[path]
    done: list[bool] = []

    def answer(asked: Asked) -> Page:
        if not done:
            done.append(True)
            action()
        return page

    site.pages[path] = answer  # type: ignore[assignment]


def test_database_that_stays_locked_ends_a_crawl_and_the_next_one_completes(tmp_path: Path, site: LocalSite) -> None:
    database = tmp_path / "crawl.db"
    Deduplicator(DedupSettings(database_url=f"sqlite:///{database}")).database.close()
    lock = Lock(database)
    lock.take()
    fails(crawl(database, constants={LOCK_TIMEOUT: 0.5}, url=NOBODY), str(database), "locked", "another process")
    lock.release()
    when_asked(site, "/15", lock.take)
    result = crawl(database, constants={LOCK_TIMEOUT: 0.5}, url=f"{site.url}/")
    lock.release()
    fails(result, str(database), "locked", "another process")
    assert result.summary["stopped"] == "database error"
    assert len(result.pages) < len(TEXTS)
    completes(database, site)


@pytest.mark.parametrize("kilobytes", [180, 280])
def test_full_disk_ends_the_crawl_and_the_next_one_completes(kilobytes: int, tmp_path: Path, site: LocalSite) -> None:
    def limit_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes * 1000, kilobytes * 1000))

    database = tmp_path / "crawl.db"
    feed = tmp_path / "pages.jsonl"
    result = crawl(database, options=["-o", str(feed)], before=limit_files, url=f"{site.url}/")
    fails(result, str(database))
    # Nothing is said of feeds where the crawl has not begun.
    assert result.says(f"feed {feed} is not written", "export") == bool(result.summary)
    assert not feed.exists()
    assert len(result.pages) < len(TEXTS)
    assert all(page["text"] for page in result.pages.values())
    completes(database, site)


def test_disk_that_is_nearly_full_ends_the_crawl_and_the_next_one_completes(
    tmp_path: Path, site: LocalSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=1 << 20)
    when_asked(site, "/5", lambda: monkeypatch.setattr(shutil, "disk_usage", lambda _: usage))
    outcome = crawl_site_here(tmp_path / "crawl.db", url=f"{site.url}/")
    assert outcome.stats["dedup/failed"] == "database_error"
    [error] = errors_of(outcome)
    assert "1 MB of its disk are left; free some space" in error
    monkeypatch.undo()
    completes(tmp_path / "crawl.db", site)


def test_file_holds_most_of_what_was_written_while_it_is_open(tmp_path: Path) -> None:
    with closing(Database(f"sqlite:///{tmp_path / 'a.db'}")) as database:
        for number in range(8):
            with database.write() as connection:
                connection.execute(text("CREATE TABLE IF NOT EXISTS blobs (number int, bytes blob)"))
                connection.execute(text("INSERT INTO blobs VALUES (:n, zeroblob(1000000))"), {"n": number})
        shutil.copy(tmp_path / "a.db", tmp_path / "b.db")
    with closing(sqlite3.connect(tmp_path / "b.db")) as copy:
        assert copy.execute("SELECT count(*) FROM blobs").fetchone()[0] >= 4


def test_what_could_not_be_stored_does_not_count_as_kept(tmp_path: Path, site: LocalSite) -> None:
    pages = f"sqlite:///{tmp_path / 'crawl.db'}"
    PageStore(Database(pages), Outages(0)).close()
    full = "WHEN (SELECT count(*) FROM pages) >= 5 BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END"
    with closing(sqlite3.connect(tmp_path / "crawl.db")) as connection:
        connection.execute(f"CREATE TRIGGER full BEFORE INSERT ON pages {full}")
    result = crawl(tmp_path / "crawl.db", url=f"{site.url}/")
    fails(result, "full")
    [stored] = ask(pages, "SELECT count(*) AS count FROM pages")
    assert result.summed_up("kept") == stored["count"] < len(TEXTS)
    assert "not stored" in result.summary["kept"]


# A busy machine can write the feed before the stage has its say, and then both wait for each other.
@pytest.mark.thorough
def test_run_whose_end_could_not_be_written_is_ended_by_the_command_that_is_named(
    tmp_path: Path, site: LocalSite
) -> None:
    database, pipe = tmp_path / "crawl.db", tmp_path / "pages.jsonl"
    os.mkfifo(pipe)  # whoever writes it waits for a reader
    command = crawl_command({"url": f"{site.url}/"}, {"DEDUP_DATABASE_URL": f"sqlite:///{database}"}, ["-O", str(pipe)])
    process = start(command, constants={LOCK_TIMEOUT: 0.5})
    with pipe.open("rb") as feed:
        # What the stage has to say is written: the crawl alone has something left.
        wait_until(lambda: [run.finished for run in runs_in(f"sqlite:///{database}")] != [None])
        lock = Lock(database)
        lock.take()
        assert feed.read().count(b"\n") == len(TEXTS)
    result = finish(process, database_url=f"sqlite:///{database}")
    lock.release()
    fails(result, "locked", "the end of the run is not written: ")
    assert len(unfinished(f"sqlite:///{database}")) == 1
    pipe.unlink()
    words = shlex.split(result.errors[0].partition("is not written: ")[2])
    assert run(words).status == 0
    assert unfinished(f"sqlite:///{database}") == {}


class Server:
    """A new database of a server that can be away."""

    def __init__(self, server: Any) -> None:
        self._server = server
        self.url = server.create_database()
        self.name = self.url.partition("?")[0].rpartition("/")[2]

    def go_away(self) -> None:
        self._server.execute(f"ALTER DATABASE {self.name} ALLOW_CONNECTIONS false")
        self._server.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{self.name}'")

    def come_back(self) -> None:
        self._server.execute(f"ALTER DATABASE {self.name} ALLOW_CONNECTIONS true")


@pytest.fixture
def server(postgresql_server: Callable[[], Any]) -> Server:
    return Server(postgresql_server())


def test_server_that_goes_away_ends_the_crawl_and_the_next_one_completes(server: Server, site: LocalSite) -> None:
    when_asked(site, "/15", server.go_away)
    result = crawl(server.url, {"DEDUP_OUTAGE_TIMEOUT": 1}, url=f"{site.url}/")
    server.come_back()
    fails(result, server.name)
    assert len(result.pages) < len(TEXTS)
    completes(server.url, site)


def is_decided_once(database_url: str) -> None:
    """Check that every page was stored or dropped once, and decided once."""
    is_complete(database_url)
    verdicts = ask(database_url, "SELECT verdict, count(*) AS n FROM dedup_verdicts GROUP BY verdict ORDER BY verdict")
    copies = PAGES + 1 - len(TEXTS)
    assert verdicts == [{"verdict": "exact duplicate", "n": copies}, {"verdict": "new", "n": len(TEXTS)}]


def test_server_that_comes_back_only_slows_the_crawl_down(server: Server, site: LocalSite) -> None:
    def go_away_for_a_while() -> None:
        server.go_away()
        Timer(0.5, server.come_back).start()

    when_asked(site, "/7", go_away_for_a_while)
    outcome = crawl_site_here(server.url, {"DEDUP_RUN": "x"}, url=f"{site.url}/")
    assert outcome.stats["finish_reason"] == "finished"
    assert any("trying again for 300 seconds" in message for message in outcome.messages)
    assert any("is back" in message for message in outcome.messages)
    is_decided_once(server.url)


def test_commits_of_which_nothing_is_heard_count_once(
    sqlite_url: str, site: LocalSite, monkeypatch: pytest.MonkeyPatch
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
    outcome = crawl_site_here(sqlite_url, {"DEDUP_RUN": "x"}, url=f"{site.url}/")
    assert outcome.stats["finish_reason"] == "finished"
    assert len(broken) >= 4
    monkeypatch.undo()
    is_decided_once(sqlite_url)
    assert {path: hits for path, hits in site.hits.items() if hits > 1} == {}
    assert unfinished(sqlite_url) == {}
    assert ask(sqlite_url, "SELECT outcome FROM dedup_runs") == [{"outcome": "finished"}]


def test_pages_that_were_decided_but_not_stored_are_stored_by_the_next_crawl(tmp_path: Path, site: LocalSite) -> None:
    database = tmp_path / "crawl.db"
    crawl_site_here(database, url=f"{site.url}/")
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("DELETE FROM pages WHERE id % 2 = 0")
        connection.commit()
    crawl_site_here(database, url=f"{site.url}/")
    stored = ask(f"sqlite:///{database}", "SELECT text FROM pages")
    assert sorted(row["text"].strip(".") for row in stored) == sorted(TEXTS)


def test_two_crawls_of_mirrors_into_one_database_at_once_keep_each_text_once(tmp_path: Path, site: LocalSite) -> None:
    database = tmp_path / "crawl.db"
    settings = {"DEDUP_DATABASE_URL": f"sqlite:///{database}"}
    with LocalSite(site.pages) as mirror:
        both = [start(crawl_command({"url": f"{each.url}/"}, settings)) for each in (site, mirror)]
        results = [finish(process) for process in both]
    assert [(result.status, result.errors) for result in results] == [(0, [])] * 2
    is_complete(database)
    kept = [result.summed_up("kept") for result in results]
    assert sum(kept) == len(TEXTS)
    assert [result.summed_up("dropped") for result in results] == [PAGES + 1 - number for number in kept]
