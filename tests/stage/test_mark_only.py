"""DEDUP_MARK_ONLY: duplicates are told of, and nothing is dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import select

from dedup.rules.documents import Decision, Document, Kept, Verdict
from dedup.rules.settings import Brake, DedupSettings
from dedup.sql import schema
from tests.deciding import Crawl, signature_of
from tests.texts import document, edited, extended

NEW, UNCHANGED = Verdict.NEW, Verdict.UNCHANGED
EXACT, NEAR = Verdict.EXACT_DUPLICATE, Verdict.NEAR_DUPLICATE
TEXT = document(120, "marks")
A, B, C, D = (f"http://news.example/{name}" for name in "abcd")


@pytest.fixture
def start(database_url: str) -> Iterator[Callable[..., Crawl]]:
    crawls: list[Crawl] = []

    def starter(**values: Any) -> Crawl:
        crawls.append(Crawl(database_url, mark_only=True, **values))
        return crawls[-1]

    yield starter
    for crawl in crawls:
        crawl.database.close()


def see(crawl: Crawl, key: str, text: str, size: int = 100, **values: Any) -> Decision:
    [decision] = crawl.deduplicator.decide([Document(key, signature_of(text), size, **values)], crawl.run)
    assert decision is not None
    return decision


def reasons(crawl: Crawl) -> list[str | None]:
    return [row.kept for row in crawl.query(select(schema.verdicts).order_by(schema.verdicts.c.id))]


def test_duplicates_are_marked_and_kept(start: Callable[..., Crawl]) -> None:
    crawl = start()
    see(crawl, A, TEXT)
    decisions = [see(crawl, B, TEXT), see(crawl, C, edited(TEXT, 3)), see(crawl, A, TEXT, separate=True)]
    assert [each.verdict for each in decisions] == [EXACT, NEAR, EXACT]
    assert {(each.original, each.outcome.kept) for each in decisions} == {(A, Kept.MARKED)}
    assert reasons(crawl) == [None, "marked", "marked", "marked"]


def test_nothing_is_replaced(start: Callable[..., Crawl]) -> None:
    crawl = start(swap_keeper=True)
    see(crawl, A, TEXT)
    better = see(crawl, B, TEXT, size=900, redirected=True)
    assert (better.outcome.kept, better.outcome.replaces, better.outcome.keeper) == (Kept.MARKED, (), A)
    again = see(crawl, A, TEXT)
    assert (again.verdict, again.outcome.is_replaced) == (UNCHANGED, False)


def test_the_brake_tells_and_the_reason_is_that_nothing_is_dropped(
    start: Callable[..., Crawl], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DedupSettings, "max_cluster", 2)
    crawl = start(brake=Brake.STOP)
    kept = [see(crawl, key, TEXT).outcome.kept for key in (A, B, C, D)]
    assert kept == [None, Kept.MARKED, Kept.MARKED, Kept.MARKED]
    assert [alarm.name for alarm in crawl.deduplicator.pop_alarms()] == [A]


def test_a_cluster_that_joins_another_was_passed_on_before(start: Callable[..., Crawl]) -> None:
    crawl = start()
    both = document(200, 0)
    for key, text in ((A, extended(both, 16, "a")), (B, extended(both, 16, "b")), (C, both)):
        decision = see(crawl, key, text)
    assert decision.outcome.joined == B
    assert reasons(crawl) == [None, "joined", "marked"]
