"""Documents that a person has found to be no copies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dedup.rules.documents import Verdict
from dedup.rules.settings import Mode
from dedup.rules.table import Rule
from dedup.store.writing import release, undo_release
from tests.crawls import text_of
from tests.deciding import Crawl
from tests.texts import document, edited

FERRY, COPY, OTHER = "https://news.example/ferry", "https://news.example/copy", "https://news.example/other"

CHANGED, BETWEEN = text_of(1, changed=2), text_of(1, changed=1)


@pytest.fixture
def crawl(database_url: str) -> Iterator[Crawl]:
    crawl = Crawl(database_url)
    crawl.see(FERRY, text_of(1))
    crawl.see(COPY, CHANGED, b"bytes")
    yield crawl
    crawl.database.close()


@pytest.mark.parametrize(
    ("before", "released", "after"),
    [
        ([], [], [(COPY, CHANGED, FERRY)]),
        ([], [COPY], [(COPY, CHANGED, None)]),
        # An exact copy.
        ([(OTHER, text_of(1))], [OTHER], [(OTHER, text_of(1), None)]),
        # With another text it is decided anew.
        ([], [COPY], [(COPY, text_of(1), FERRY)]),
        # Another copy of both joins them no more.
        ([], [COPY], [(COPY, CHANGED, None), (OTHER, BETWEEN, ...), (COPY, CHANGED, None)]),
        # Other copies stay copies.
        ([(OTHER, BETWEEN)], [COPY], [(OTHER, BETWEEN, FERRY)]),
    ],
    ids=["not released", "near copy", "exact copy", "changed since", "a copy of both", "other copies"],
)
def test_what_is_released_is_kept_when_it_is_seen_again(
    crawl: Crawl, before: list[tuple[str, str]], released: list[str], after: list[tuple[str, str, Any]]
) -> None:
    for key, text in before:
        crawl.see(key, text)
    assert release(crawl.database, [(FERRY, key) for key in released]).released == released
    assert release(crawl.database, [(FERRY, key) for key in released]).kept == released
    crawl.next_run()
    for key, text, original in after:
        assert crawl.see(key, text, b"bytes" if key == COPY else None).original == original or original is ...


def test_what_is_released_stays_so_until_it_is_stored(crawl: Crawl) -> None:
    assert release(crawl.database, [(None, COPY)]).released == [COPY]
    for _ in range(2):
        crawl.next_run()
        [decision] = crawl.deduplicator.decide([crawl.document(COPY, CHANGED)], crawl.run, is_stored=False)
        assert decision is not None
        assert (decision.verdict, decision.is_under_way) == (Verdict.NEW, True)
        # A later pipeline fails.
        crawl.deduplicator.refuse([decision.details.document_id])
    crawl.next_run()
    assert [crawl.see(COPY, CHANGED).verdict for _ in range(2)] == [Verdict.NEW, Verdict.UNCHANGED]
    crawl.next_run()
    assert crawl.see(COPY, CHANGED).verdict is Verdict.UNCHANGED


def test_what_is_released_is_new_once(crawl: Crawl) -> None:
    release(crawl.database, [(None, COPY)])
    verdicts = []
    for _ in range(2):
        crawl.next_run()
        verdicts.append(crawl.show(COPY, CHANGED).verdict)
    assert verdicts == [Verdict.NEW, Verdict.UNCHANGED]


def test_what_is_released_while_its_run_goes_on_is_new_in_it(crawl: Crawl) -> None:
    release(crawl.database, [(FERRY, COPY)])
    assert crawl.see(COPY, CHANGED).verdict is Verdict.NEW


def test_page_is_released_from_whichever_original_it_is_a_copy_of(crawl: Crawl) -> None:
    crawl.see(OTHER, CHANGED)
    outcome = release(crawl.database, [(None, OTHER), (None, FERRY), (None, "https://news.example/none")])
    assert (outcome.released, outcome.kept) == ([OTHER], [FERRY])
    assert (outcome.moved, outcome.unknown) == ([], ["https://news.example/none"])


def test_its_bytes_are_not_taken_for_seen(crawl: Crawl) -> None:
    body = crawl.document(COPY, None, b"bytes").body_digest
    assert body is not None
    assert crawl.deduplicator.stored_bodies([body])
    release(crawl.database, [(FERRY, COPY)])
    assert not crawl.deduplicator.stored_bodies([body])


def test_what_cannot_be_released_is_told(crawl: Crawl) -> None:
    outcome = release(crawl.database, [(FERRY, OTHER), (COPY, FERRY), (OTHER, COPY), (FERRY, COPY), (FERRY, COPY)])
    assert (outcome.unknown, outcome.kept, outcome.moved, outcome.released) == ([OTHER], [FERRY], [COPY], [COPY])


def test_release_that_is_taken_back_leaves_a_copy(crawl: Crawl) -> None:
    release(crawl.database, [(FERRY, COPY)])
    assert undo_release(crawl.database, [(FERRY, COPY), (FERRY, OTHER), (COPY, FERRY)]) == [COPY]
    assert undo_release(crawl.database, [(FERRY, COPY)]) == []
    crawl.next_run()
    assert crawl.see(COPY, CHANGED, b"bytes").original == FERRY
    assert crawl.see(FERRY, text_of(1)).original is None


def test_item_that_came_again_under_its_key_is_no_copy_to_undo_release(crawl: Crawl) -> None:
    verdicts = [crawl.show(OTHER, text_of(2), separate=True).verdict for _ in range(2)]
    assert verdicts == [Verdict.NEW, Verdict.EXACT_DUPLICATE]
    assert undo_release(crawl.database, [(OTHER, OTHER)]) == []
    crawl.assert_consistent()


def test_what_was_seen_since_its_release_is_not_taken_back(crawl: Crawl) -> None:
    release(crawl.database, [(FERRY, COPY)])
    crawl.next_run()
    crawl.see(COPY, CHANGED)
    assert undo_release(crawl.database, [(FERRY, COPY)]) == []
    assert crawl.see(COPY, CHANGED).original is None


def test_what_others_are_copies_of_since_its_release_is_not_taken_back(crawl: Crawl) -> None:
    release(crawl.database, [(FERRY, COPY)])
    assert crawl.see(OTHER, CHANGED).original == COPY
    assert undo_release(crawl.database, [(FERRY, COPY)]) == []


def test_other_copies_of_a_keeper_that_is_released_are_decided(start: Callable[..., Crawl]) -> None:
    """Without swaps, where a copy that says more is the keeper."""
    crawl = start(max_lost=10)
    longer = f"{text_of(1)} {' '.join(text_of(5).split()[:20])}"
    crawl.see(FERRY, text_of(1))
    crawl.see(OTHER, BETWEEN)
    longest = crawl.see("https://news.example/longer", longer)
    assert longest.rule is Rule.NEW_TEXT
    release(crawl.database, [(FERRY, "https://news.example/longer")])
    crawl.next_run()
    assert crawl.see(OTHER, BETWEEN).original == FERRY


@pytest.mark.parametrize("is_taken_back", [False, True])
def test_in_paper_mode_what_is_released_has_copies(is_taken_back: bool, start: Callable[..., Crawl]) -> None:
    crawl = start(mode=Mode.PAPER)
    text = document(300, "text")
    # Of four bits the third differs from the first, and of two each from the second.
    near, further = edited(text, 1, 1), edited(text, 2, 4)
    assert [crawl.see(FERRY, text).original, crawl.see(COPY, near).original] == [None, FERRY]
    release(crawl.database, [(FERRY, COPY)])
    if is_taken_back:
        assert undo_release(crawl.database, [(FERRY, COPY)]) == [COPY]
    assert crawl.see(OTHER, further).original == (None if is_taken_back else COPY)
