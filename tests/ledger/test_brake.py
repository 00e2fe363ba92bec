"""Clusters that grow too large and hosts of which nearly all is dropped: told once, and dropped no more."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from dedup.ledger.brake import Alarm, Kind
from dedup.report.contents import Selection
from dedup.report.queries import open_report
from dedup.rules.documents import Kept
from dedup.rules.settings import DedupSettings
from dedup.sql import schema
from tests.crawling import crawl, run
from tests.deciding import Crawl
from tests.localsite import LocalSite, article
from tests.texts import document

pytestmark = pytest.mark.slow

TEXT = document(60, "brake")


class Shelf(Crawl):
    """A crawl that is shown copies of one text."""

    def copies(self, start: int, end: int, host: str = "trap.example") -> list[Kept | None]:
        """Say why each of some addresses of a host was kept."""
        return [self.show(f"http://{host}/{number}", TEXT).kept for number in range(start, end)]

    def counts(self) -> dict[str, tuple[int, int]]:
        rows = self.query(select(schema.hosts).where(schema.hosts.c.run_id == self.run))
        return {row.host: (row.documents, row.duplicates) for row in rows}


@pytest.fixture(autouse=True)
def judge_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dedup.ledger.brake.JUDGED_AFTER", 4)


@pytest.fixture
def start(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Shelf]]:
    shelves: list[Shelf] = []

    def starter(max_cluster: int = 1000, max_drop_share: float = 0.9, **values: Any) -> Shelf:
        monkeypatch.setattr(DedupSettings, "max_cluster", max_cluster)
        monkeypatch.setattr(DedupSettings, "max_drop_share", max_drop_share)
        shelves.append(Shelf(database_url, **values))
        return shelves[-1]

    yield starter
    for shelf in shelves:
        shelf.database.close()


CLUSTER: dict[str, Any] = {"max_cluster": 4, "max_drop_share": 1.0}
HOST: dict[str, Any] = {"max_cluster": 0, "max_drop_share": 0.75}
KEPT = Kept.BRAKE


def test_a_cluster_over_the_limit_is_told_once_and_dropping_goes_on(start: Callable[..., Shelf]) -> None:
    shelf = start(**CLUSTER)
    assert shelf.copies(0, 4) == [None] * 4
    assert shelf.deduplicator.pop_alarms() == []
    assert shelf.copies(4, 7) == [None] * 3
    assert shelf.deduplicator.pop_alarms() == [Alarm(Kind.CLUSTER, "http://trap.example/0", 5, 4)]
    assert shelf.deduplicator.pop_alarms() == []


def test_where_the_brake_stops_dropping_what_is_over_the_limit_is_kept_with_its_verdict(
    start: Callable[..., Shelf],
) -> None:
    shelf = start(**CLUSTER, brake="stop")
    assert shelf.copies(0, 6) == [None] * 4 + [KEPT] * 2
    decision = shelf.show("http://trap.example/6", TEXT)
    assert (decision.verdict.value, decision.original) == ("exact duplicate", "http://trap.example/0")
    other = document(60, "elsewhere")
    assert [shelf.show(f"http://trap.example/other{at}", other).kept for at in range(3)] == [None] * 3


def test_without_a_limit_or_with_the_brake_off_nothing_is_told(start: Callable[..., Shelf]) -> None:
    shelf = start(max_cluster=0, max_drop_share=1.0, brake="stop")
    assert shelf.copies(0, 6) == [None] * 6
    off = start(max_cluster=1, max_drop_share=0.0, brake="off")
    assert off.copies(6, 9) == [None] * 3
    assert shelf.deduplicator.pop_alarms() + off.deduplicator.pop_alarms() == []
    assert shelf.counts() == {"trap.example": (6, 5)}


@pytest.mark.parametrize("brake", ["warn", "stop"])
def test_a_host_whose_share_of_duplicates_exceeds_the_limit_is_told_once(
    brake: str, start: Callable[..., Shelf]
) -> None:
    shelf = start(**HOST, brake=brake)
    # 3 of 4 are no more than the limit, 4 of 5 are; the next one is kept.
    assert shelf.copies(0, 5) == [None] * 5
    assert shelf.deduplicator.pop_alarms() == [Alarm(Kind.HOST, "trap.example", 5, 4)]
    assert shelf.copies(5, 7) == [KEPT if brake == "stop" else None] * 2
    assert shelf.show("http://other.example/0", TEXT).kept is None
    assert shelf.deduplicator.pop_alarms() == []
    assert shelf.counts() == {"trap.example": (7, 6), "other.example": (1, 1)}


def test_counts_go_on_within_a_batch(start: Callable[..., Shelf]) -> None:
    shelf = start(**HOST, brake="stop")
    found = shelf.see_all([shelf.document(f"http://trap.example/{number}", TEXT) for number in range(8)])
    assert [decision and decision.kept for decision in found] == [None] * 5 + [KEPT] * 3


def test_counts_are_right_after_a_break_and_alarms_are_not_repeated(start: Callable[..., Shelf]) -> None:
    start(**HOST, brake="stop").copies(0, 5)
    again = start(**HOST, brake="stop")
    assert again.copies(5, 7) == [KEPT] * 2
    assert again.deduplicator.pop_alarms() == []


def test_another_run_is_counted_by_itself(start: Callable[..., Shelf]) -> None:
    shelf = start(**HOST, brake="stop")
    shelf.copies(0, 5)
    shelf.next_run()
    assert shelf.copies(5, 7) == [None] * 2
    assert shelf.counts() == {"trap.example": (2, 2)}


def test_two_processes_count_together(start: Callable[..., Shelf]) -> None:
    one, two = start(**CLUSTER, brake="stop"), start(**CLUSTER, brake="stop")
    kept = [shelf.copies(at, at + 1)[0] for at, shelf in enumerate([one, two] * 4)]
    assert kept == [None] * 4 + [KEPT] * 4
    assert one.counts() == {"trap.example": (8, 7)}
    alarms = one.deduplicator.pop_alarms() + two.deduplicator.pop_alarms()
    assert [alarm.kind for alarm in alarms] == [Kind.CLUSTER]


def test_a_page_that_comes_again_because_its_crawl_was_killed_is_counted_once(start: Callable[..., Shelf]) -> None:
    shelf = start()
    shelf.copies(0, 3)
    shelf.copies(0, 3)
    assert shelf.counts() == {"trap.example": (3, 2)}


def test_what_is_rolled_back_was_not_counted(start: Callable[..., Shelf], monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = start(**HOST, brake="stop")

    def fail(*_: object) -> None:
        raise OSError("the disk is gone")

    with monkeypatch.context() as patched:
        patched.setattr("dedup.ledger.brake.Brakes.write", fail)
        with pytest.raises(OSError, match="the disk is gone"):
            shelf.see_all([shelf.document(f"http://trap.example/{number}", TEXT) for number in range(8)])
    assert shelf.copies(0, 6) == [None] * 5 + [KEPT]
    assert shelf.counts() == {"trap.example": (6, 5)}


def test_the_report_names_what_is_over_a_limit_and_what_was_kept(start: Callable[..., Shelf]) -> None:
    shelf = start(max_cluster=4, max_drop_share=0.75, brake="stop")
    shelf.copies(0, 7)
    with open_report(shelf.database, Selection()) as report:
        assert {(each.kind, each.name) for each in report.over_limit} == {
            ("cluster", "http://trap.example/0"),
            ("host", "trap.example"),
        }
        assert [duplicate.kept for duplicate in report.duplicates] == [None] * 3 + ["brake"] * 3
        kept = {total.kept: total.kept_bytes for total in report.totals.values()}
        assert [(host.kept, host.dropped) for host in report.hosts] == [(4, 3)]
    assert kept == {0: 0, 3: 300}
    for host, count in (("trap.example", 2), ("other.example", 0), ("trap", 0)):
        with open_report(shelf.database, Selection(host=host)) as report:
            assert len(report.over_limit) == count


def test_a_crawl_says_it_in_log_stats_and_report_and_stores_what_is_over(tmp_path: Path) -> None:
    with LocalSite({"/": article("front", [f"/{number}" for number in range(6)])}) as site:
        site.pages |= {f"/{number}": article("trap", text=document(60, "trap")) for number in range(6)}
        constants = {"dedup.rules.settings.DedupSettings.max_cluster": 3}
        done = crawl(tmp_path / "crawl.db", {"DEDUP_BRAKE": "stop"}, constants=constants, url=f"{site.url}/")
        assert len(done.pages) == 1 + 1 + 3
        assert done.summed_up("kept") == 5
        assert done.summed_up("dropped") == 2
        assert done.stats["dedup/kept_by_brake"] == 3
        assert done.stats["dedup/clusters_over_limit"] == 1
        assert sum("has more than 3 members" in line for line in done.stderr.splitlines()) == 1
        report = run([sys.executable, "-m", "scrapy", "duplicates", "--database", done.database_url])
    assert "over a limit" in report.stdout
    assert "2 of 7 documents dropped: 2 exact\n" in report.stdout
    assert "* 3 duplicates were kept" in report.stdout
    assert report.stdout.count("exact* ") == 3
