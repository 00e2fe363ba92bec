"""DEDUP_MARK_ONLY: duplicates are told of, and nothing is dropped."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from dedup.rules.documents import Kept, Verdict
from tests.deciding import Crawl
from tests.texts import document, edited

NEW, UNCHANGED = Verdict.NEW, Verdict.UNCHANGED
EXACT, NEAR = Verdict.EXACT_DUPLICATE, Verdict.NEAR_DUPLICATE
TEXT = document(120, "marks")
A, B, C, D = (f"http://news.example/{name}" for name in "abcd")


@pytest.fixture
def start(start: Callable[..., Crawl]) -> Callable[..., Crawl]:
    return partial(start, mark_only=True)


def reasons(crawl: Crawl) -> list[str | None]:
    return [row.kept for row in crawl.verdicts()]


def test_duplicates_are_marked_and_kept(start: Callable[..., Crawl]) -> None:
    crawl = start()
    crawl.show(A, TEXT)
    decisions = [crawl.show(B, TEXT), crawl.show(C, edited(TEXT, 3)), crawl.show(A, TEXT, separate=True)]
    assert [each.verdict for each in decisions] == [EXACT, NEAR, EXACT]
    assert {(each.original, each.kept) for each in decisions} == {(A, Kept.MARKED)}
    assert reasons(crawl) == [None, "marked", "marked", "marked"]
