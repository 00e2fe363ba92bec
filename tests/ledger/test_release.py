"""Documents that a person has found to be no copies."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from dedup import Verdict
from dedup.ledger.store import release, take_back
from dedup.rules.documents import Kept
from tests.crawls import text_of
from tests.deciding import Crawl

FERRY, COPY, OTHER = "https://news.example/ferry", "https://news.example/copy", "https://news.example/other"


@pytest.fixture
def crawl(database_url: str) -> Iterator[Crawl]:
    crawl = Crawl(database_url)
    crawl.see(FERRY, text_of(1))
    crawl.see(COPY, text_of(1, changed=2), b"bytes")
    yield crawl
    crawl.database.close()


def test_released_document_is_kept_when_it_is_seen_again(crawl: Crawl) -> None:
    assert release(crawl.database, [(FERRY, COPY)]).released == [COPY]
    crawl.next_run()
    decision = crawl.see(COPY, text_of(1, changed=2), b"bytes")
    assert (decision.verdict, decision.original) == (Verdict.UNCHANGED, None)


def test_without_release_it_stays_a_copy(crawl: Crawl) -> None:
    crawl.next_run()
    assert crawl.see(COPY, text_of(1, changed=2), b"bytes").original == FERRY


def test_released_exact_copy_is_kept_too(crawl: Crawl) -> None:
    crawl.see(OTHER, text_of(1))
    release(crawl.database, [(FERRY, OTHER)])
    crawl.next_run()
    assert crawl.see(OTHER, text_of(1)).original is None


def test_its_bytes_are_not_taken_for_seen(crawl: Crawl) -> None:
    body = crawl.document(COPY, None, b"bytes").body_digest
    assert body is not None
    assert crawl.deduplicator.stored_bodies([body])
    release(crawl.database, [(FERRY, COPY)])
    assert not crawl.deduplicator.stored_bodies([body])


def test_with_another_text_it_is_decided_anew(crawl: Crawl) -> None:
    release(crawl.database, [(FERRY, COPY)])
    crawl.next_run()
    assert crawl.see(COPY, text_of(1)).original == FERRY


def test_another_copy_of_both_joins_them_no_more(crawl: Crawl) -> None:
    release(crawl.database, [(FERRY, COPY)])
    crawl.next_run()
    crawl.see(COPY, text_of(1, changed=2))
    crawl.see(OTHER, text_of(1, changed=1))
    assert crawl.see(COPY, text_of(1, changed=2)).original is None


def test_other_copies_stay_copies(crawl: Crawl) -> None:
    crawl.see(OTHER, text_of(1, changed=1))
    release(crawl.database, [(FERRY, COPY)])
    crawl.next_run()
    assert crawl.see(OTHER, text_of(1, changed=1)).original == FERRY


def test_what_cannot_be_released_is_told(crawl: Crawl) -> None:
    outcome = release(crawl.database, [(FERRY, OTHER), (COPY, FERRY), (OTHER, COPY), (FERRY, COPY), (FERRY, COPY)])
    assert (outcome.unknown, outcome.kept, outcome.moved, outcome.released) == ([OTHER], [FERRY], [COPY], [COPY])


def test_release_twice_does_nothing_more(crawl: Crawl) -> None:
    release(crawl.database, [(FERRY, COPY)])
    assert release(crawl.database, [(FERRY, COPY)]).kept == [COPY]


def test_keeper_that_is_released_leaves_its_place(start: Callable[..., Crawl]) -> None:
    crawl = start(swap_keeper=True, keeper="longest")
    crawl.see(FERRY, text_of(1))
    crawl.see(COPY, f"{text_of(1, changed=2)} and some words more")
    assert crawl.stored()[FERRY].keeper_id == crawl.stored()[COPY].id
    release(crawl.database, [(FERRY, COPY)])
    assert crawl.stored()[FERRY].keeper_id is None
    crawl.next_run()
    assert not crawl.see(FERRY, text_of(1)).outcome.is_replaced


def test_release_that_is_taken_back_leaves_a_copy(crawl: Crawl) -> None:
    release(crawl.database, [(FERRY, COPY)])
    assert take_back(crawl.database, [(FERRY, COPY), (FERRY, OTHER), (COPY, FERRY)]) == [COPY]
    assert take_back(crawl.database, [(FERRY, COPY)]) == []
    crawl.next_run()
    assert crawl.see(COPY, text_of(1, changed=2), b"bytes").original == FERRY
    assert crawl.see(FERRY, text_of(1)).original is None


def test_what_was_seen_since_its_release_is_not_taken_back(crawl: Crawl) -> None:
    release(crawl.database, [(FERRY, COPY)])
    crawl.next_run()
    crawl.see(COPY, text_of(1, changed=2))
    assert take_back(crawl.database, [(FERRY, COPY)]) == []
    assert crawl.see(COPY, text_of(1, changed=2)).original is None


def test_what_others_are_copies_of_since_its_release_is_not_taken_back(crawl: Crawl) -> None:
    release(crawl.database, [(FERRY, COPY)])
    assert crawl.see(OTHER, text_of(1, changed=2)).original == COPY
    assert take_back(crawl.database, [(FERRY, COPY)]) == []


def test_keeper_that_is_taken_back_is_elected_again(start: Callable[..., Crawl]) -> None:
    crawl = start(swap_keeper=True, keeper="longest")
    longer = f"{text_of(1, changed=2)} and some words more"
    crawl.see(FERRY, text_of(1))
    crawl.see(COPY, longer)
    release(crawl.database, [(FERRY, COPY)])
    assert take_back(crawl.database, [(FERRY, COPY)]) == [COPY]
    crawl.next_run()
    crawl.see(COPY, longer)
    assert crawl.stored()[FERRY].keeper_id == crawl.stored()[COPY].id


def test_other_copies_of_a_keeper_that_is_released_are_decided(start: Callable[..., Crawl]) -> None:
    """Without swaps, where a copy that says more is the keeper."""
    crawl = start(max_lost=10)
    longer = f"{text_of(1)} {' '.join(text_of(5).split()[:20])}"
    crawl.see(FERRY, text_of(1))
    crawl.see(OTHER, text_of(1, changed=1))
    longest = crawl.see("https://news.example/longer", longer)
    assert longest.outcome.kept is Kept.SAYS_MORE
    release(crawl.database, [(FERRY, "https://news.example/longer")])
    crawl.next_run()
    assert crawl.see(OTHER, text_of(1, changed=1)).original == FERRY
