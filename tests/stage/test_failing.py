"""A database that cannot be used: items pass or the crawl stops, and one line says so."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from scrapy.crawler import Crawler

from dedup.errors import DatabaseError
from dedup.rules.settings import DedupSettings
from dedup.stage import pipelines
from dedup.stage.pending import document_kept
from dedup.store import engines
from dedup.store.deduplicator import Deduplicator
from tests.crawling import NO_NETWORK, ExitedError, Outcome, crawl_here
from tests.passing import ADDONS, ItemsSpider, url
from tests.texts import document

pytestmark = pytest.mark.slow

PassOn = Callable[..., Outcome]
STOP = {"DEDUP_ON_ERROR": "stop", **NO_NETWORK}


def texts(count: int) -> list[dict[str, Any]]:
    return [{"url": url(number), "text": document(200, f"text {number}")} for number in range(count)]


def pass_undecided(outcome: Outcome, cause: str, undecided: int, items: int) -> None:
    """Expect that so many items have passed, some of them undecided, and that one line says why."""
    assert (len(outcome.items), outcome.count("dedup/not_decided")) == (items, undecided)
    assert (outcome.failed, outcome.tracebacks) == (0, [])
    assert (outcome.stats["dedup/failed"], outcome.stats["finish_reason"]) == ("database_error", "finished")
    [line] = [record.getMessage() for record in outcome.log if record.levelname == "ERROR"]
    assert cause in line
    assert "items pass undecided" in line
    assert "DEDUP_ON_ERROR = 'stop'" in line


def hold(path: Path) -> sqlite3.Connection:
    """Lock a database as another process would that never ends its transaction."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    return connection


# At the start


@pytest.mark.parametrize("is_in_the_way", [True, False], ids=["a file in its place", "a path below a file"])
def test_folder_that_cannot_be_made(
    is_in_the_way: bool, pass_on: PassOn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / (".scrapy" if is_in_the_way else "file")).touch()
    datadir = "" if is_in_the_way else "[datadir]\ndefault = file/data\n"
    (tmp_path / "scrapy.cfg").write_text(f"[settings]\n{datadir}")
    monkeypatch.chdir(tmp_path)
    settings = {"DEDUP_DATABASE_URL": None}
    pass_undecided(pass_on(texts(3), settings), "the folder of the database cannot be made", 3, 3)
    with pytest.raises(ExitedError) as ended:
        pass_on(texts(3), settings | STOP)
    assert ended.value.status == 1


def test_database_that_is_locked_at_the_start(pass_on: PassOn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DedupSettings, "lock_timeout", 0.2)
    with closing(hold(tmp_path / "dedup.db")):
        pass_undecided(pass_on(texts(3)), "database is locked", 3, 3)
        with pytest.raises(ExitedError) as ended:
            pass_on(texts(3), STOP)
    assert ended.value.status == 1


def test_wrong_setting_refuses_the_start_though_items_would_pass(pass_on: PassOn) -> None:
    pass_on(texts(1))
    for wrong in ({"DEDUP_SCOPE": "host"}, {"DEDUP_DATABASE_URL": "mysql://host/name"}):
        with pytest.raises(ExitedError):
            pass_on(texts(1), wrong | NO_NETWORK)


# In the midst


class Locking:
    """An extension that locks the database once the first item is decided."""

    lock: sqlite3.Connection
    path: Path

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Locking:
        extension = cls()
        extension.path = Path(crawler.settings["DEDUP_DATABASE_URL"].removeprefix("sqlite:///"))
        crawler.signals.connect(extension.lock_it, document_kept)
        return extension

    def lock_it(self) -> None:
        type(self).lock = hold(self.path)


def test_database_that_is_locked_in_the_midst_is_waited_for_once(
    pass_on: PassOn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DedupSettings, "lock_timeout", 0.2)
    monkeypatch.setattr(DedupSettings, "batch_size", 1)
    asked = []
    decide = Deduplicator.decide

    def noted(self: Deduplicator, *arguments: Any, **more: Any) -> Any:
        asked.append(arguments)
        return decide(self, *arguments, **more)

    monkeypatch.setattr(Deduplicator, "decide", noted)
    outcome = pass_on(texts(20), {"EXTENSIONS": {Locking: 1}})
    Locking.lock.close()
    pass_undecided(outcome, "database is locked", 19, 20)
    assert len(asked) == 2
    stopped = pass_on(texts(20), {"EXTENSIONS": {Locking: 1}, **STOP})
    Locking.lock.close()
    assert stopped.stats["finish_reason"] == "database_error"


class Twice(ItemsSpider):
    """Yields its first item twice."""

    def parse(self, response: Any) -> Iterator[Any]:
        yield self.items[0]
        yield from self.items


def test_a_database_that_fails_is_an_error_whatever_was_told_before(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DedupSettings, "lock_timeout", 0.2)
    monkeypatch.setattr(DedupSettings, "batch_size", 1)
    settings = {"ADDONS": ADDONS, "DEDUP_DATABASE_URL": sqlite_url, "EXTENSIONS": {Locking: 1}}
    outcome = crawl_here(Twice, settings, items=texts(5))
    Locking.lock.close()
    told = [(record.levelname, record.getMessage()) for record in outcome.log]
    assert [level for level, line in told if "yielded again while it was under way" in line] == ["WARNING"]
    assert [level for level, line in told if "items pass undecided" in line] == ["ERROR"]


def test_disk_that_is_full_in_the_midst(pass_on: PassOn, monkeypatch: pytest.MonkeyPatch) -> None:
    pass_on(texts(1))
    prepare = engines._log_ahead

    def leave_no_room(connection: sqlite3.Connection, deadline: float) -> None:
        prepare(connection, deadline)
        [pages] = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + 1}")

    monkeypatch.setattr(engines, "_log_ahead", leave_no_room)
    outcome = pass_on(texts(40))
    undecided = outcome.count("dedup/not_decided")
    assert undecided > 0
    pass_undecided(outcome, "free some space", undecided, 40)
    stopped = pass_on(texts(40), STOP)
    assert (stopped.stats["finish_reason"], stopped.stats["dedup/failed"]) == ("database_error", "database_error")


def test_database_that_works_again_is_used_again(pass_on: PassOn, monkeypatch: pytest.MonkeyPatch) -> None:
    failures = iter([DatabaseError("no room")] * 2)
    decide = Deduplicator.decide

    def fail_twice(self: Deduplicator, *arguments: Any, **more: Any) -> Any:
        if failure := next(failures, None):
            raise failure
        return decide(self, *arguments, **more)

    monkeypatch.setattr(Deduplicator, "decide", fail_twice)
    monkeypatch.setattr(DedupSettings, "batch_size", 1)
    monkeypatch.setattr(pipelines, "_RETRY_AFTER", 0.0)
    outcome = pass_on([*texts(4), texts(4)[3]])
    pass_undecided(outcome, "no room", 2, 4)
    assert outcome.kinds_of_drops == {"ExactDuplicate": 1}
    assert outcome.messages.count("the database works again: items are decided") == 1


def test_database_that_can_be_opened_later_is_opened_later(
    pass_on: PassOn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipelines, "_RETRY_AFTER", 0.0)
    open_it, failures = Deduplicator.__init__, iter([DatabaseError("no access")] * 3)

    def fail_at_first(self: Deduplicator, settings: DedupSettings) -> None:
        if failure := next(failures, None):
            raise failure
        open_it(self, settings)

    monkeypatch.setattr(Deduplicator, "__init__", fail_at_first)
    outcome = pass_on([*texts(4), texts(4)[3]])
    pass_undecided(outcome, "no access", 2, 4)
    assert outcome.kinds_of_drops == {"ExactDuplicate": 1}
