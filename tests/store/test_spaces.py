"""Documents that never meet: of other spiders, of other runs; and keys of other item classes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from dedup.report.explanation import explain_dropped, find_page
from dedup.rules.decisions import Decision
from dedup.rules.documents import Document, Verdict
from dedup.signature.signature import digest
from dedup.store.cancelling import cancel_run
from dedup.store.database import open_existing_database
from tests.deciding import Crawl, signature_of
from tests.texts import document, edited

NEW, UNCHANGED, UPDATED = Verdict.NEW, Verdict.UNCHANGED, Verdict.UPDATED
EXACT, NEAR = Verdict.EXACT_DUPLICATE, Verdict.NEAR_DUPLICATE
TEXT = document(120, "spaces")
COPY = edited(TEXT, 3)
OTHER = document(120, "something else")
SHORT = document(5, "short")
KEY = "http://news.example/1"


def see(crawl: Crawl, key: str, text: str, **values: Any) -> Decision:
    decision = crawl.show(key, text, **values)
    crawl.assert_consistent()
    return decision


# Spiders


@pytest.mark.parametrize(("key", "text"), [("a", TEXT), ("b", TEXT), ("b", COPY), ("b", SHORT)])
def test_documents_of_two_spiders_never_meet(start: Callable[..., Crawl], key: str, text: str) -> None:
    crawl = start(scope="spider")
    for known in (TEXT, SHORT):
        see(crawl, f"a {len(known)}" if known is SHORT else "a", known, spider="one")
    assert see(crawl, key, text, spider="two").verdict is NEW
    # And those of the same spider do.
    assert see(crawl, "c", text, spider="two").verdict is EXACT
    assert see(crawl, key, OTHER, spider="two").verdict is UPDATED
    assert see(crawl, "a", TEXT, spider="one").verdict is UNCHANGED


def test_without_that_scope_the_spider_makes_no_difference(start: Callable[..., Crawl]) -> None:
    crawl = start()
    see(crawl, "a", TEXT, spider="one")
    assert see(crawl, "a", TEXT, spider="two").verdict is UNCHANGED
    assert see(crawl, "b", COPY, spider="two").verdict is NEAR


def test_bytes_that_another_spider_knows_are_not_known(start: Callable[..., Crawl]) -> None:
    crawl = start(scope="spider")
    see(crawl, "a", TEXT, spider="one", body_digest=digest(b"page"))
    deduplicator = crawl.deduplicator
    ours, theirs = (deduplicator.scoped_bytes("b", digest(b"page"), crawl.run, spider) for spider in ("one", "two"))
    assert deduplicator.stored_bodies([ours, theirs]) == {ours}


# Runs


def test_documents_of_two_runs_never_meet_where_memory_is_that_of_a_run(start: Callable[..., Crawl]) -> None:
    crawl = start(memory="run")
    see(crawl, KEY, TEXT)
    crawl.next_run("second")
    assert see(crawl, "b", COPY).verdict is NEW
    assert see(crawl, KEY, TEXT).verdict is NEAR
    assert see(crawl, KEY, TEXT).verdict is NEAR
    crawl.next_run("test")
    assert see(crawl, KEY, TEXT).verdict is UNCHANGED
    crawl.deduplicator.close_run(crawl.run, "finished")
    cancel_run(crawl.database, "test")
    crawl.next_run("second")
    assert [see(crawl, key, text).verdict for key, text in (("b", COPY), (KEY, TEXT))] == [UNCHANGED, NEAR]
    crawl.next_run("test")
    assert see(crawl, KEY, TEXT).verdict is NEW


def test_for_ever_does_not_meet_what_runs_kept_to_themselves(start: Callable[..., Crawl]) -> None:
    see(start(memory="run"), KEY, TEXT)
    crawl = start()
    assert see(crawl, "b", COPY).verdict is NEW
    assert see(crawl, KEY, TEXT).verdict is NEAR


def test_a_page_that_is_gone_is_let_go_in_all_spaces(start: Callable[..., Crawl]) -> None:
    crawl = start(scope="spider")
    for spider in ("one", "two"):
        see(crawl, KEY, TEXT, spider=spider)
    crawl.deduplicator.forget([KEY])
    assert [see(crawl, KEY, TEXT, spider=spider).verdict for spider in ("one", "two")] == [NEW, NEW]


# Classes


def test_keys_of_two_item_classes_do_not_meet_and_their_texts_do(start: Callable[..., Crawl]) -> None:
    crawl = start()
    see(crawl, "7", TEXT, item_class="Article")
    review = see(crawl, "7", OTHER, item_class="Review")
    assert (review.verdict, review.key, review.details.is_separate) == (NEW, "7", False)
    assert see(crawl, "7", OTHER, item_class="Review").verdict is UNCHANGED
    assert see(crawl, "7", TEXT, item_class="Article").verdict is UNCHANGED
    assert see(crawl, "8", COPY, item_class="Review").verdict is NEAR
    assert see(crawl, "7", SHORT, item_class="").verdict is NEW


@pytest.mark.parametrize("names", [("Article", "Review"), ("Review", "Article"), ("", "Article"), ("Article", "")])
def test_a_class_that_was_renamed_is_found_unchanged(start: Callable[..., Crawl], names: tuple[str, str]) -> None:
    for crawl, name, verdict in zip((start(), start(run="next")), names, (NEW, UNCHANGED), strict=True):
        for key, text in (("7", TEXT), ("9", OTHER)):
            assert see(crawl, key, text, item_class=name).verdict is verdict


# Looking for a document by its key


@pytest.mark.parametrize("values", [{"item_class": "Review"}, {"spider": "one"}])
def test_documents_are_found_by_their_plain_key(start: Callable[..., Crawl], values: dict[str, str]) -> None:
    crawl = start(scope="spider" if "spider" in values else "all")
    see(crawl, "first", OTHER, item_class="Article")
    see(crawl, KEY, TEXT, **values)
    see(crawl, KEY, document(120, "separate"), separate=True, **values)
    dropped = see(crawl, KEY, COPY, separate=True, **values)
    assert (dropped.verdict, dropped.details.is_separate) == (NEAR, True)
    with closing(open_existing_database(crawl.settings.database_url)) as database:
        found = find_page(database, KEY)
        assert found is not None
        assert found.signature.fingerprint == signature_of(TEXT).fingerprint
        explained = explain_dropped(database, dropped.key, crawl.settings).record
        assert explained is not None
        assert explained.original == KEY
        assert find_page(database, "http://news.example/2") is None
        assert find_page(database, f"{KEY} (text 000000000000)") is None


def test_pages_of_others_stay_with_a_document_that_stands_in_another_space(start: Callable[..., Crawl]) -> None:
    crawl = start(scope="spider")
    see(crawl, KEY, TEXT, spider="one")
    stays = crawl.deduplicator.open_run("stays")
    crawl.deduplicator.decide([Document(KEY, signature_of(TEXT), spider="two")], stays)
    crawl.deduplicator.close_run(crawl.run, "finished")
    taken = cancel_run(crawl.database, "test")
    assert (taken.removed, taken.kept) == (1, 0)
    crawl.next_run()
    assert [see(crawl, KEY, TEXT, spider=spider).verdict for spider in ("one", "two")] == [NEW, UNCHANGED]
