"""An index in memory that follows a database finds what the tables in SQL hold, whoever wrote them."""

from __future__ import annotations

import logging
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from random import Random
from threading import Event
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, delete, func, select

from dedup.errors import DatabaseError, SettingsError
from dedup.index.design import TableDesign
from dedup.index.memory import index_file
from dedup.index.memory.index import MemoryIndex
from dedup.index.protocol import Index
from dedup.ledger.deduplicator import Deduplicator
from dedup.ledger.tables import following, journal, saved
from dedup.ledger.tables.following import FollowingIndex
from dedup.ledger.tables.permuted import SqlIndex
from dedup.rules.decision import Decision
from dedup.rules.documents import Document
from dedup.rules.settings import DedupSettings, IndexKind
from dedup.rules.verification import plan_of
from dedup.signature.signature import SCHEME, make_signature
from dedup.sql import schema
from dedup.sql.database import Database
from tests.index.test_memory_index import clustered, near
from tests.texts import document, edited
from tests.waiting import HANG, wait_until

PLAN = plan_of(DedupSettings())
NO_LIMIT = 10**6


class RolledBackError(Exception):
    """What ends a transaction of these tests that is not to be committed."""


class DiskError(Exception):
    """Stands for a disk that fails."""


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """An empty database of each kind, with its tables."""
    with closing(Database(database_url)) as database:
        database.create(schema.metadata)
        yield database


def following_index(database: Database, file: Path | None = None) -> FollowingIndex:
    return FollowingIndex(PLAN, SCHEME, database, file)


@contextmanager
def rolled_back(database: Database) -> Iterator[Connection]:
    with suppress(RolledBackError), database.write() as connection:
        yield connection
        raise RolledBackError


def assert_same(connection: Connection, index: Index, random: Random, stored: dict[int, int]) -> None:
    """Compare what an index finds with what the tables in SQL hold."""
    some = random.sample(sorted(stored.values()), min(3, len(stored)))
    for fingerprint in [*clustered(random, 2, 12), *(near(random, each, 8) for each in some)]:
        margins = np.array([random.randint(0, 1000) for _ in range(64)])
        limit = random.choice((NO_LIMIT, 64, 3, 1))
        wanted = SqlIndex(PLAN).query(connection, fingerprint, margins, limit)
        assert index.query(connection, fingerprint, margins, limit) == wanted


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["here", "here", "there", "by sql"]),
        st.sampled_from(["change", "change", "change", "roll back", "roll back", "look", "open again", "save"]),
    ),
    min_size=2,
    max_size=12,
)


class World:
    """A database, two indexes in memory that follow it, one in SQL, and what should be in it."""

    def __init__(self, database: Database, folder: Path, random: Random) -> None:
        self.database, self.random = database, random
        self.stored: dict[int, int] = {}
        self.documents = 0
        self.files = {"here": folder / "here.index", "there": folder / "there.index"}
        self.indexes: dict[str, Index] = {
            **{name: following_index(database, file) for name, file in self.files.items()},
            "by sql": SqlIndex(PLAN),
        }

    def step(self, actor: str, what: str) -> None:
        if what == "open again" and actor in self.files:
            self.indexes[actor] = following_index(self.database, self.files[actor])
        elif what == "save":
            self.indexes[actor].close()
        elif what == "look":
            with self.database.write() as connection:
                assert_same(connection, self.indexes[actor], self.random, self.stored)
        elif what == "roll back":
            with rolled_back(self.database) as connection:
                self.change(connection, self.indexes[actor])
        else:
            with self.database.write() as connection:
                self.stored = self.change(connection, self.indexes[actor])

    def change(self, connection: Connection, index: Index) -> dict[int, int]:
        """Add and remove, look in between, and return what should be in the database then."""
        random, stored = self.random, dict(self.stored)
        for _ in range(random.randint(1, 3)):
            if random.random() < 0.6:
                fresh = {}
                for fingerprint in clustered(random, random.randint(0, 6)):
                    self.documents += 1
                    fresh[self.documents] = fingerprint
                stored |= fresh
                index.add(connection, fresh.items())
            else:
                gone = random.sample(sorted(stored), random.randint(0, len(stored)))
                # One that was never there, and may be added yet: of an earlier transaction or none.
                absent = [(self.documents + random.randint(0, 3), 42)]
                index.remove(connection, [(each, stored.pop(each)) for each in gone] + absent)
                if random.random() < 0.5 and absent[0][0] not in stored:
                    stored |= dict(absent)
                    self.documents = max(self.documents, absent[0][0])
                    index.add(connection, absent)
            if random.random() < 0.7:
                assert_same(connection, index, random, stored)
        return stored


@pytest.mark.parametrize("kept", [journal.KEPT, 4], ids="{} kept".format)
def test_it_finds_what_the_tables_in_sql_hold_whoever_wrote_them(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    monkeypatch.setattr(journal, "KEPT", kept)
    monkeypatch.setattr(journal, "PRUNED_EVERY", min(kept, journal.PRUNED_EVERY))

    @settings(max_examples=20 if database.is_sqlite else 8)
    @given(STEPS, st.integers(0, 10**9))
    def law(steps: list[tuple[str, str]], seed: int) -> None:
        with database.write() as connection:
            connection.execute(delete(schema.fingerprints))
            connection.execute(delete(schema.index_changes))
        world = World(database, tmp_path, Random(seed))
        for actor, what in steps:
            world.step(actor, what)
        for index in world.indexes.values():
            with database.write() as connection:
                assert_same(connection, index, world.random, world.stored)
        for actor in world.files:
            world.step(actor, "open again")
            with database.write() as connection:
                assert_same(connection, world.indexes[actor], world.random, world.stored)

    law()


def add(database: Database, index: Index, entries: dict[int, int]) -> None:
    with database.write() as connection:
        index.add(connection, entries.items())


def find(database: Database, index: Index, fingerprint: int) -> list[int]:
    with database.write() as connection:
        return [each.document_id for each in index.query(connection, fingerprint, np.arange(64), NO_LIMIT)]


def test_a_commit_that_failed_but_was_done_is_noticed(database: Database) -> None:
    index, other = following_index(database), following_index(database)
    add(database, index, {1: 42})

    original = database.engine.dialect.do_commit

    def commit_and_fail(connection: Any) -> None:
        original(connection)
        raise DiskError

    database.engine.dialect.do_commit = commit_and_fail  # type: ignore[method-assign, assignment]
    try:
        with pytest.raises(DiskError):
            add(database, index, {2: 42})
    finally:
        database.engine.dialect.do_commit = original  # type: ignore[method-assign]
    assert find(database, index, 42) == find(database, other, 42) == find(database, SqlIndex(PLAN), 42)


def test_what_fails_in_sql_is_in_no_index(database: Database) -> None:
    index = following_index(database)
    add(database, index, {1: 42})
    with pytest.raises(DatabaseError):
        add(database, index, {2: 43, 1: 42})
    assert find(database, index, 42) == [1]


def test_the_journal_keeps_the_latest_changes(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "KEPT", 10)
    monkeypatch.setattr(journal, "PRUNED_EVERY", 5)
    index = SqlIndex(PLAN)
    for number in range(40):
        add(database, index, {number: number})
    with database.read() as connection:
        count = connection.execute(select(func.count()).select_from(schema.index_changes)).scalar_one()
        last = journal.find_last(connection)
        assert last is not None
        assert journal.read_since(connection, last) == []
        assert journal.read_since(connection, journal.Position(last.sequence, last.stamp + 1)) is None
        assert journal.read_since(connection, journal.Position(last.sequence + 1, last.stamp)) is None
    assert 10 <= count <= 16


@pytest.fixture
def no_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no index read the tables in SQL as a whole."""
    monkeypatch.setattr(following, "read_entries", None)


def filled(database: Database, file: Path) -> dict[int, int]:
    """Save an index of 300 documents, then add some more by SQL; return all."""
    random = Random(5)
    stored = dict(enumerate(clustered(random, 300), 1))
    index = following_index(database, file)
    add(database, index, stored)
    index.close()
    more = dict(enumerate(clustered(random, 20), 1000))
    add(database, SqlIndex(PLAN), more)
    with database.write() as connection:
        SqlIndex(PLAN).remove(connection, [(7, stored.pop(7))])
    return stored | more


def assert_complete(database: Database, index: Index, stored: dict[int, int]) -> None:
    with database.write() as connection:
        assert_same(connection, index, Random(1), stored)
        for fingerprint in list(stored.values())[::25]:
            wanted = SqlIndex(PLAN).query(connection, fingerprint, np.arange(64), NO_LIMIT)
            assert wanted
            assert index.query(connection, fingerprint, np.arange(64), NO_LIMIT) == wanted


def test_a_saved_index_needs_only_what_came_since(
    database: Database, tmp_path: Path, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> None:
    stored = filled(database, tmp_path / "saved.index")
    request.getfixturevalue("no_reading")
    index = following_index(database, tmp_path / "saved.index")
    assert_complete(database, index, stored)
    index.close()
    opened = MemoryIndex.open(tmp_path / "saved.index", PLAN)
    assert len(opened) == len(stored)
    assert caplog.text == ""


def _flipped(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[4096 + 100] ^= 4
    file.write_bytes(bytes(data))


def _without_origin(file: Path) -> None:
    MemoryIndex.open(file, PLAN).save(file)


def _of_another_scheme(file: Path) -> None:
    index = MemoryIndex.open(file, PLAN)
    index.scheme = "another"
    index.save(file, index.origin)


def _of_another_database(file: Path) -> None:
    sequence = MemoryIndex.open(file, PLAN).origin.split()[1]
    MemoryIndex(PLAN, SCHEME).save(file, f"journal {sequence} 12345")


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "damaged": (_flipped, "are damaged"),
    "cut off": (lambda file: file.write_bytes(file.read_bytes()[:-1]), "bytes instead of"),
    "no index": (lambda file: file.write_bytes(b"something else"), "not an index file"),
    "a folder": (lambda file: (file.unlink(), file.mkdir()), "Is a directory"),
    "not of a crawl": (_without_origin, "not saved by a crawl"),
    "another scheme": (_of_another_scheme, "made with scheme 'another'"),
    "another database": (_of_another_database, "not in the journal of database"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_cannot_be_trusted_is_built_again_from_the_database(
    sqlite_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    file = tmp_path / "saved.index"
    harm, reason = BROKEN[name]
    with closing(Database(sqlite_url)) as database:
        database.create(schema.metadata)
        stored = filled(database, file)
        harm(file)
        index = following_index(database, file)
        assert_complete(database, index, stored)
        assert [each.levelno for each in caplog.records] == [logging.WARNING]
        line = caplog.records[0].getMessage()
        assert line.startswith(str(file))
        assert reason in line
        assert "\n" not in line
        if name != "a folder":
            index.close()
            assert_complete(database, following_index(database, file), stored)
            assert len(caplog.records) == 1


def test_a_database_that_lost_its_latest_transactions_is_noticed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url = f"sqlite:///{tmp_path / 'test.db'}"
    file = tmp_path / "saved.index"
    with closing(Database(url)) as database:
        database.create(schema.metadata)
        add(database, SqlIndex(PLAN), {1: 42})
    shutil.copy(tmp_path / "test.db", tmp_path / "backup.db")
    with closing(Database(url)) as database:
        index = following_index(database, file)
        add(database, index, {2: 42})
        index.close()
    shutil.copy(tmp_path / "backup.db", tmp_path / "test.db")
    with closing(Database(url)) as database:
        # The same number in the journal, but another change.
        add(database, SqlIndex(PLAN), {3: 42})
        assert find(database, following_index(database, file), 42) == [1, 3]
    assert "not in the journal" in caplog.text


def test_it_is_saved_now_and_then_while_it_goes_on(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved, "LEAST_CHANGES", 50)
    begun, may_end = Event(), Event()
    write = index_file.write

    def slow(*arguments: object) -> None:
        begun.set()
        assert may_end.wait(HANG)
        write(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(index_file, "write", slow)
    file = tmp_path / "saved.index"
    index = following_index(database, file)
    add(database, index, dict(enumerate(clustered(Random(3), 60), 1)))
    assert not begun.is_set()
    # The first transaction after so many changes begins to save them, and does not wait for it.
    add(database, index, {1000: 42})
    assert begun.wait(HANG)
    add(database, index, {1001: 42})
    assert {1000, 1001} <= set(find(database, index, 42))
    assert not file.exists()
    may_end.set()
    wait_until(file.exists)
    assert len(MemoryIndex.open(file, PLAN)) == 60
    index.close()
    assert len(MemoryIndex.open(file, PLAN)) == 62


def test_a_file_that_cannot_be_written_stops_nothing(
    database: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    index = following_index(database, tmp_path / "no such folder" / "saved.index")
    add(database, index, {1: 42})
    index.close()
    assert "cannot be saved" in caplog.text
    assert find(database, following_index(database), 42) == [1]


KILLED = """
import os, signal, sys
from dedup import DedupSettings, make_signature
from dedup.ledger.deduplicator import Deduplicator
from dedup.rules.documents import Document
from dedup.ledger.tables import saved
from dedup.index.memory import index_file
from tests.ledger.test_following_index import pages
url, file, where = sys.argv[1:]
saved.LEAST_CHANGES = 30
def kill(*_):
    os.kill(os.getpid(), signal.SIGKILL)
deduplicator = Deduplicator(DedupSettings(database_url=url, index="memory", index_file=file))
run = deduplicator.open_run("killed")
for number, batch in enumerate(pages()):
    if number == 8:
        if where == "before a commit":
            deduplicator.database.engine.dialect.do_commit = kill
        elif where == "after a commit":
            kill()
        else:
            os.fsync = kill
    deduplicator.decide(batch, run)
"""


def pages() -> list[list[Document]]:
    """Return twelve batches of ten documents; every third is nearly an earlier one."""
    texts: list[str] = []
    for number in range(120):
        texts.append(edited(texts[number // 2], 3, number) if number % 3 == 2 else document(150, number))
    documents = [Document(f"page {number}", make_signature(text), len(text)) for number, text in enumerate(texts)]
    return [documents[start : start + 10] for start in range(0, 120, 10)]


def decided(url: str, batches: list[list[Document]], **values: object) -> list[Decision | None]:
    with closing(Deduplicator(DedupSettings(database_url=url, **values))) as deduplicator:  # type: ignore[arg-type]
        run = deduplicator.open_run("test")
        return [decision for batch in batches for decision in deduplicator.decide(batch, run)]


@pytest.mark.parametrize("where", ["before a commit", "after a commit", "while it is saved"])
@pytest.mark.slow
def test_after_kill_9_the_verdicts_are_those_of_the_index_in_sql(tmp_path: Path, where: str) -> None:
    url, file = f"sqlite:///{tmp_path / 'killed.db'}", tmp_path / "killed.index"
    killed = subprocess.run([sys.executable, "-c", KILLED, url, str(file), where], timeout=HANG, check=False)
    assert killed.returncode == -signal.SIGKILL
    batches = pages()
    # A transaction that was not committed has left nothing; one that was is all there.
    with closing(Database(url)) as database, database.read() as connection:
        before, part = divmod(connection.execute(select(func.count()).select_from(schema.documents)).scalar_one(), 10)
    assert part == 0
    # A thread saves it, while this batch and the next ones are decided.
    assert before in (range(8, 13) if where == "while it is saved" else (8,))
    found = decided(url, batches, index="memory", index_file=str(file))
    other = f"sqlite:///{tmp_path / 'other.db'}"
    decided(other, batches[:before])
    wanted = decided(other, batches)
    assert found == wanted
    with closing(Database(url)) as database:
        index = following_index(database, file)
        with database.read() as connection:
            stored = dict(
                connection.execute(
                    select(schema.fingerprints.c.document_id, schema.fingerprints.c.permuted).where(
                        schema.fingerprints.c.table_number == 0
                    )
                ).all()
            )
        assert_complete(database, index, {each: schema.to_unsigned(value) for each, value in stored.items()})


def test_the_verdicts_are_those_of_the_index_in_sql_when_both_write_in_turn(database_url: str, tmp_path: Path) -> None:
    batches = pages()
    with ExitStack() as stack:
        both = [
            stack.enter_context(
                closing(
                    Deduplicator(DedupSettings(database_url=database_url, index=kind, index_file=str(tmp_path / "f")))
                )
            )
            for kind in IndexKind
        ]
        runs = [each.open_run("test") for each in both]
        found = [
            decision
            for number, batch in enumerate(batches)
            for decision in both[number % 2].decide(batch, runs[number % 2])
        ]
    assert found == decided(f"sqlite:///{tmp_path / 'other.db'}", batches)
    assert {decision.verdict.value for decision in found if decision} == {"new", "near duplicate"}


def test_other_tables_than_those_in_memory_are_refused() -> None:
    with pytest.raises(SettingsError, match=re.escape("DEDUP_TABLES = '3 choose 1': expected '4 choose 1'")):
        DedupSettings(index=IndexKind.MEMORY, tables=TableDesign(3, 1))
    with pytest.raises(SettingsError, match="DEDUP_INDEX = 'ram': expected one of sql, memory"):
        DedupSettings.read({"DEDUP_INDEX": "ram"}.get)
