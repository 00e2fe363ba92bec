"""What only a killed run has decided may never have been stored: it is unchanged, and told apart."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dedup.ledger.deduplicator import Deduplicator
from dedup.rules.documents import Decision, Document, Verdict
from tests.deciding import Crawl, signature_of
from tests.texts import document

TEXT = document(60, "page")


@pytest.fixture
def crawl(database_url: str) -> Iterator[Crawl]:
    crawl = Crawl(database_url)
    yield crawl
    crawl.database.close()


def see(crawl: Crawl, text: str = TEXT) -> Decision:
    seen = Document("https://a.example/", signature_of(text), len(text), separate=True)
    [decision] = crawl.deduplicator.decide([seen], crawl.run)
    assert decision is not None
    return decision


def go_on(crawl: Crawl, run: str, *, after: str | None) -> None:
    """Go on in another process, after the run has ended in order, or (None) was killed."""
    if after is not None:
        crawl.deduplicator.close_run(crawl.run, after)
    crawl.deduplicator.close()
    crawl.deduplicator = Deduplicator(crawl.settings)
    crawl.database = crawl.deduplicator.database
    crawl.run = crawl.deduplicator.open_run(run)


def is_doubtful(crawl: Crawl) -> bool:
    decision = see(crawl)
    assert decision.verdict is Verdict.UNCHANGED
    return decision.may_be_unstored


@pytest.mark.parametrize("run", ["test", "next"])
def test_what_only_a_killed_run_has_seen_may_be_unstored_until_one_has_ended(crawl: Crawl, run: str) -> None:
    assert see(crawl).may_be_unstored  # it is new
    go_on(crawl, run, after=None)
    assert is_doubtful(crawl)
    go_on(crawl, "third", after=None)
    assert is_doubtful(crawl)
    go_on(crawl, "fourth", after="shutdown")
    assert not is_doubtful(crawl)
    # Both that are remembered, the first run and the last, were killed: better twice than never.
    go_on(crawl, "fifth", after=None)
    assert is_doubtful(crawl)


@pytest.mark.parametrize("run", ["test", "next"])
def test_what_a_run_has_brought_that_has_ended_is_stored(crawl: Crawl, run: str) -> None:
    see(crawl)
    go_on(crawl, run, after="finished")
    assert not is_doubtful(crawl)


def test_what_a_run_sees_twice_is_a_copy_and_in_no_doubt(crawl: Crawl) -> None:
    see(crawl)
    go_on(crawl, "next", after=None)
    assert is_doubtful(crawl)
    again = see(crawl)
    assert (again.verdict, again.may_be_unstored) == (Verdict.EXACT_DUPLICATE, False)


def test_new_text_after_a_killed_run_is_an_update(crawl: Crawl) -> None:
    see(crawl)
    go_on(crawl, "next", after="finished")
    see(crawl, document(60, "changed"))
    go_on(crawl, "third", after=None)
    changed = see(crawl, document(60, "changed"))
    # The first run had ended, but with another text.
    assert (changed.verdict, changed.may_be_unstored) == (Verdict.UNCHANGED, True)
