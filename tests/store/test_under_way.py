"""Originals that are under way: nothing is dropped because of what nobody has stored, whoever shares the database."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from contextlib import closing

from dedup.rules.documents import Document, Verdict
from dedup.rules.settings import DedupSettings
from dedup.store.deduplicator import Deduplicator
from dedup.store.erasing import erase
from tests.deciding import Crawl, signature_of
from tests.texts import document


def shown(key: str) -> Document:
    return Document(key, signature_of(document(60, key)), 300)


def elsewhere(job: Callable[[Deduplicator, int], None], url: str) -> None:
    """Do something with a deduplicator in a process that ends with it."""
    process = multiprocessing.get_context("spawn").Process(target=_do, args=(job, url))
    process.start()
    process.join()
    assert process.exitcode == 0


def _do(job: Callable[[Deduplicator, int], None], url: str) -> None:
    with closing(Deduplicator(DedupSettings(database_url=url))) as deduplicator:
        job(deduplicator, deduplicator.open_run("elsewhere"))


def _store_what_was_erased_meanwhile(deduplicator: Deduplicator, run: int) -> None:
    [first] = deduplicator.decide([shown("first")], run, is_stored=False)
    assert first is not None
    erase(deduplicator.database, "first", with_copies=False, is_tried=False)
    deduplicator.decide([shown("second")], run, is_stored=False)
    deduplicator.note_stored(first.details.document_id)
    deduplicator.write_stored()


def test_what_was_erased_is_not_taken_for_what_came_next(database_url: str) -> None:
    elsewhere(_store_what_was_erased_meanwhile, database_url)
    with closing(Crawl(database_url)) as crawl:
        assert not crawl.show("copy", document(60, "second")).is_dropped


def _refuse_what_was_decided(deduplicator: Deduplicator, run: int) -> None:
    [again] = deduplicator.decide([shown("first")], run, is_stored=False)
    assert again is not None
    deduplicator.refuse([again.details.document_id])


def _store(deduplicator: Deduplicator, run: int) -> None:
    [first] = deduplicator.decide([shown("first")], run, is_stored=False)
    assert first is not None
    deduplicator.note_stored(first.details.document_id)
    deduplicator.write_stored()


def test_what_a_killed_process_has_stored_is_not_forgotten_where_it_is_refused(database_url: str) -> None:
    elsewhere(_store, database_url)
    elsewhere(_refuse_what_was_decided, database_url)
    with closing(Crawl(database_url)) as crawl:
        assert crawl.show("copy", document(60, "first")).is_dropped


def test_what_another_process_has_under_way_is_unstored_until_it_is_stored(database_url: str) -> None:
    with closing(Crawl(database_url)) as other, closing(Crawl(database_url)) as crawl:
        [first] = other.deduplicator.decide([shown("first")], other.run, is_stored=False)
        assert first is not None
        assert first.details.is_unstored
        crawl.show("copy", document(60, "first"))
        for is_unstored in (True, False):
            again = crawl.show("first", document(60, "first"))
            assert (again.verdict, again.details.is_unstored) == (Verdict.UNCHANGED, is_unstored)
            other.deduplicator.note_stored(first.details.document_id)
            other.deduplicator.write_stored()
            crawl.reopen("next")
