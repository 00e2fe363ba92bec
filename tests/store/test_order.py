"""The same documents in another order of arrival: what must hold each time, and what must not move."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import combinations
from random import Random

import pytest

from dedup import similarity
from dedup.rules.measures import is_near_leader
from dedup.signature.signature import compare
from tests.deciding import Crawl, empty, signature_of
from tests.texts import document, edited, extended, filled_in, form

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

ORDERS, STORIES, AT_ONCE = 10, 20, 50
# By how much precision and recall of the pairs may differ from order to order.
LARGEST_MOVE = 0.01


def texts() -> Iterator[tuple[str, str]]:
    """Give texts by their keys, of which those of a story are copies of each other: the key begins with its name."""
    for story in range(STORIES):
        text = document(260, f"story {story}")
        copies = [text, f"{text}\n", edited(text, 2, 1), edited(text, 4, 2), extended(text, 12, "frame")]
        copies.append(extended(copies[2], 12, "another"))
        yield from ((f"story {story}/{place}", each) for place, each in enumerate(copies))
        blank = form(150, 11, f"form {story}")
        yield f"form {story}/", blank
        yield f"filled form {story}/", filled_in(blank)


def assert_verified(crawl: Crawl, shown: dict[str, str]) -> int:
    """Check each duplicate against those because of which it is one; return how many there are."""
    rows = [row for row in crawl.told() if row.verdict.is_duplicate]
    for row in rows:
        own, member, leader = shown[row.dropped], shown[row.matched], shown[row.original]
        assert similarity(own, member).is_duplicate, f"{row.dropped} is no copy of {row.matched}"
        like = compare(signature_of(own).sketch, signature_of(leader).sketch)
        assert similarity(own, leader).is_duplicate or is_near_leader(like, crawl.settings), row
    return len(rows)


def quality(crawl: Crawl, shown: dict[str, str]) -> tuple[float, float]:
    """Return precision and recall of the pairs of documents that were found to be copies of one."""
    clusters = {key: {key} for key in shown}
    for row in crawl.told():
        if row.verdict.is_duplicate:
            for other in (row.original, row.second or row.original):
                joined = clusters[row.dropped] | clusters[other]
                clusters.update(dict.fromkeys(joined, joined))
    pairs = list(combinations(shown, 2))
    found = [b in clusters[a] for a, b in pairs]
    true = [a.partition("/")[0] == b.partition("/")[0] for a, b in pairs]
    both = sum(is_found and is_true for is_found, is_true in zip(found, true, strict=True))
    return both / sum(found), both / sum(true)


@pytest.fixture
def crawl(sqlite_url: str) -> Iterator[Crawl]:
    with closing(Crawl(sqlite_url)) as crawl:
        yield crawl


def test_in_any_order_duplicates_are_verified_and_quality_does_not_move(crawl: Crawl) -> None:
    shown, random, found = dict(texts()), Random(1), []
    for _ in range(ORDERS):
        empty(crawl)
        documents = [crawl.document(key, text) for key, text in random.sample(sorted(shown.items()), len(shown))]
        for begin in range(0, len(documents), AT_ONCE):
            crawl.see_all(documents[begin : begin + AT_ONCE])
        assert assert_verified(crawl, shown) >= STORIES
        found.append(quality(crawl, shown))
    for values in zip(*found, strict=True):
        assert min(values) > 0.95, found
        assert max(values) - min(values) <= LARGEST_MOVE, found
