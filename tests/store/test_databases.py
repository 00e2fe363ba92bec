"""The databases: transactions, several who write, those that cannot be used, and those that are away for a while."""

from __future__ import annotations

import re
import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection, text

from dedup.errors import DatabaseError, DedupError, IncompatibleDatabaseError, LockedError, OutageError, SettingsError
from dedup.rules.decisions import Decision
from dedup.rules.documents import Document, Verdict
from dedup.rules.settings import DedupSettings, Mode
from dedup.signature.schemes import DEFAULT
from dedup.signature.signature import digest
from dedup.store import outages as outages_module
from dedup.store.database import Database, open_dedup_database, open_existing_database
from dedup.store.deduplicator import Deduplicator
from dedup.store.outages import Outages
from tests.crawling import ask
from tests.deciding import Crawl
from tests.texts import document, edited
from tests.waiting import HANG

NEW, UNCHANGED, EXACT = Verdict.NEW, Verdict.UNCHANGED, Verdict.EXACT_DUPLICATE
TEXT, OTHER_TEXT = document(300, "text"), document(300, "other")
NEAR_TEXT = edited(TEXT, 5)


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outages_module, "FIRST_PAUSE", 0.001)


# Transactions


class Failure(Exception):
    """Something in the middle of a batch."""


class FailingDocument:
    def __getattr__(self, name: str) -> object:
        raise Failure


def test_an_exception_in_the_middle_of_a_batch_leaves_nothing_behind(crawl: Crawl) -> None:
    crawl.see("a", TEXT)
    documents: list[Any] = [crawl.document("b", OTHER_TEXT), crawl.document("a", NEAR_TEXT, b"a"), FailingDocument()]
    with pytest.raises(Failure):
        crawl.see_all(documents)
    assert crawl.deduplicator.stored_bodies([digest(b"a")]) == set()
    assert crawl.see("b", OTHER_TEXT).verdict is NEW
    assert crawl.see("a", TEXT).verdict is UNCHANGED


def test_a_verdict_that_cannot_be_written_leaves_nothing_behind(crawl: Crawl) -> None:
    with pytest.raises(DatabaseError) as caught:
        crawl.deduplicator.decide([crawl.document("a", TEXT)], run_id=999)
    assert "\n" not in str(caught.value)
    assert crawl.see("a", TEXT).verdict is NEW


class WaitingDocument:
    """A document that is decided no sooner than it may be."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.is_reached, self.may_go_on = threading.Event(), threading.Event()

    def __getattr__(self, name: str) -> object:
        self.is_reached.set()
        assert self.may_go_on.wait(HANG)
        return getattr(self.document, name)


@contextmanager
def in_the_middle_of_a_batch(crawl: Crawl) -> Iterator[WaitingDocument]:
    """Be in a transaction that has decided one document, with the key "first", and waits with the other."""
    waiting = WaitingDocument(crawl.document("second", OTHER_TEXT))
    documents: list[Any] = [crawl.document("first", TEXT, b"first"), waiting]
    writer = threading.Thread(target=lambda: crawl.see_all(documents))
    writer.start()
    try:
        assert waiting.is_reached.wait(HANG)
        yield waiting
    finally:
        waiting.may_go_on.set()
        writer.join(HANG)


def assert_second_writer_sees_first(url: str) -> None:
    first, second = Crawl(url), Crawl(url)
    seen: list[Decision] = []
    with closing(first.database), closing(second.database):
        with in_the_middle_of_a_batch(first):
            other = threading.Thread(target=lambda: seen.append(second.see("copy", TEXT)))
            other.start()
            other.join(0.3)
            assert other.is_alive(), "the second writer did not wait"
        other.join(HANG)
    assert [(each.verdict, each.original) for each in seen] == [(EXACT, "first")]


def test_a_writer_sees_what_every_writer_before_it_has_written(database_url: str) -> None:
    assert_second_writer_sees_first(database_url)


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
@pytest.mark.slow
def test_writer_sees_what_earlier_writers_wrote_whatever_the_server_defaults_to(
    postgresql_url: str, level: str
) -> None:
    with psycopg.connect(postgresql_url, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = '{level}'")
    assert_second_writer_sees_first(postgresql_url)


def test_readers_wait_for_no_writer_and_see_only_what_is_committed(crawl: Crawl) -> None:
    reader = Crawl(crawl.settings.database_url)
    with closing(reader.database):
        with in_the_middle_of_a_batch(crawl):
            assert reader.deduplicator.stored_bodies([digest(b"first")]) == set()
        assert reader.deduplicator.stored_bodies([digest(b"first")]) == {digest(b"first")}


def test_a_deduplicator_can_be_used_from_any_thread(crawl: Crawl) -> None:
    decisions: list[Decision] = []
    for _ in range(2):
        thread = threading.Thread(target=lambda: decisions.append(crawl.see("a", TEXT)))
        thread.start()
        thread.join(HANG)
    assert [each.verdict for each in decisions] == [NEW, UNCHANGED]


# Databases that cannot be used


def one_line(error: pytest.ExceptionInfo[DedupError]) -> str:
    message = str(error.value)
    assert "\n" not in message
    assert "secret" not in message
    return message


@pytest.mark.parametrize(
    ("made", "told"),
    [
        # Signatures of another version of a scheme.
        ({"scheme": "2:other"}, ["'2:other'", repr(DEFAULT.name), "name another database"]),
        ({"design": "4 choose 1"}, ["DEDUP_TABLES = '4 choose 1'"]),
        # In the paper's mode neither words nor bands are stored.
        ({"mode": "paper"}, ["DEDUP_MODE = 'paper'"]),
        ({"scope": "spider"}, ["DEDUP_SCOPE = 'spider'"]),
    ],
    ids=lambda made: next(iter(made)),
)
def test_what_was_made_otherwise_is_refused_with_the_setting_that_fits(
    database_url: str, made: dict[str, Any], told: list[str]
) -> None:
    usual = DedupSettings()
    values: dict[str, Any] = {"scheme": DEFAULT.name, "design": str(usual.tables)}
    for _ in range(2):
        open_dedup_database(database_url, **(values | made)).close()
    with pytest.raises(IncompatibleDatabaseError) as caught:
        Deduplicator(DedupSettings(database_url=database_url))
    assert all(each in one_line(caught) for each in told)


def test_a_database_of_the_papers_mode_is_no_other(database_url: str) -> None:
    open_dedup_database(database_url, DEFAULT.name, str(DedupSettings().tables)).close()
    with pytest.raises(IncompatibleDatabaseError, match="DEDUP_MODE = 'checked'"):
        Deduplicator(DedupSettings(database_url=database_url, mode=Mode.PAPER))


def test_a_locked_sqlite_database_is_an_error_after_the_time_allowed(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DedupSettings, "lock_timeout", 0.2)
    crawl = Crawl(sqlite_url)
    with closing(sqlite3.connect(tmp_path / "test.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        started = time.monotonic()
        with pytest.raises(LockedError) as caught:
            crawl.see("a", TEXT)
        assert time.monotonic() - started > 0.15
        assert "locked; another process is writing to it" in one_line(caught)
        other.execute("ROLLBACK")
    assert crawl.see("a", TEXT).verdict is NEW
    crawl.database.close()


@pytest.mark.parametrize("is_new", [False, True])
def test_a_locked_sqlite_database_is_waited_for(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_new: bool
) -> None:
    """A new one is switched to WAL by the first process that comes; the second one must wait for that, not fail."""
    monkeypatch.setattr(DedupSettings, "lock_timeout", HANG)
    if not is_new:
        Crawl(sqlite_url).database.close()
    with closing(sqlite3.connect(tmp_path / "test.db", isolation_level=None, check_same_thread=False)) as other:
        if is_new:
            other.execute("CREATE TABLE t (c)")
        other.execute("BEGIN IMMEDIATE")
        timer = threading.Timer(0.5, other.execute, ["COMMIT"])
        timer.start()
        try:
            crawl = Crawl(sqlite_url)
            assert crawl.see("a", TEXT).verdict is NEW
            crawl.database.close()
        finally:
            timer.join()


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.mark.parametrize(
    "url",
    ["postgresql://user:secret@127.0.0.1:{port}/crawl", "postgresql://user@127.0.0.1:{port}/crawl?password=secret"],
    ids=["before the host", "as a parameter"],
)
def test_an_unreachable_server_is_one_line_without_the_password(closed_port: int, url: str) -> None:
    with pytest.raises(DatabaseError, match="check that the server runs") as caught:
        Deduplicator(DedupSettings(database_url=url.format(port=closed_port)))
    assert f"127.0.0.1:{closed_port}" in one_line(caught)


@pytest.mark.slow
def test_a_database_that_the_server_does_not_have_is_one_line(postgresql_url: str) -> None:
    url = postgresql_url.replace("postgres:@/test_", "postgres:secret@/missing_")
    assert url != postgresql_url
    with pytest.raises(DatabaseError, match=r'database "missing_\d+" does not exist') as caught:
        Deduplicator(DedupSettings(database_url=url))
    one_line(caught)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "crawl.db",
        "postgresql//user:secret@host/crawl",
        "postgresql://user:secret@host:port/crawl",
        "postgresql://user:top/secret@host:port/crawl",
        "postgresql//user:top:secret@host/crawl",
        "mysql://h/db",
        "sqlite://",
        "sqlite://user:secret@host/crawl.db",
        "postgresql://user:top@secret@host/crawl",
        "postgresql://user:top@secret/of@host/crawl",
        "postgresql://user:top@secret?of@host/crawl",
    ],
)
def test_a_url_that_is_none_is_refused_in_one_line_without_the_password(url: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Deduplicator(DedupSettings(database_url=url))
    one_line(caught)


@pytest.mark.slow
def test_a_refused_database_shows_no_password_and_keeps_no_connection(postgresql_url: str) -> None:
    url = postgresql_url.replace("postgres:@", "postgres:secret@")
    open_dedup_database(url, "2:other", "3 choose 1").close()
    with pytest.raises(IncompatibleDatabaseError) as caught:
        Deduplicator(DedupSettings(database_url=url))
    assert "postgres:***@" in one_line(caught)
    others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid != pg_backend_pid()"
    with psycopg.connect(postgresql_url) as connection:
        assert connection.execute(others).fetchone() == (0,)


def test_the_database_of_another_program_is_no_report_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "bookmarks.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE bookmarks (url TEXT)")
    before = path.read_bytes()
    with pytest.raises(DatabaseError, match="holds no verdicts") as caught:
        open_existing_database(f"sqlite:///{path}")
    one_line(caught)
    assert path.read_bytes() == before


# Outages


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


@pytest.mark.parametrize(("limit", "is_stopped", "tried"), [(60, False, 7), (0, False, 1), (60, True, 1)])
def test_outage_is_final_after_its_time_without_patience_or_once_stopped_by_force(
    limit: float, is_stopped: bool, tried: int
) -> None:
    work = Work(failures=100, seconds=10)
    outages = outages_for(work, limit)
    if is_stopped:
        outages.abandon()
    # Nobody else waits for it.
    for times in (tried, tried + 1):
        with pytest.raises(OutageError):
            outages.survive(work)
        assert work.tried == times


# Which errors are outages


def end_connections(database_url: str) -> None:
    with closing(psycopg.connect(re.sub("[+]psycopg", "", database_url), autocommit=True)) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.mark.slow
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
    other = Database(str(connection.engine.url.render_as_string(hide_password=False)), lock_timeout=0.5)
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
