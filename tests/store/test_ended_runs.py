"""What only a killed run has decided may never have been stored: it is unchanged, and told apart."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dedup.rules.decisions import Decision
from dedup.rules.documents import Verdict
from tests.deciding import Crawl
from tests.texts import document

TEXT = document(60, "page")


@pytest.fixture
def crawl(start: Callable[..., Crawl]) -> Crawl:
    return start()


def see(crawl: Crawl, text: str = TEXT) -> Decision:
    return crawl.show("https://a.example/", text, separate=True)


def is_doubtful(crawl: Crawl) -> bool:
    decision = see(crawl)
    assert decision.verdict is Verdict.UNCHANGED
    return decision.may_be_unstored


@pytest.mark.parametrize("run", ["test", "next"])
def test_what_only_a_killed_run_has_seen_may_be_unstored_until_one_has_ended(crawl: Crawl, run: str) -> None:
    assert see(crawl).may_be_unstored  # it is new
    crawl.reopen(run)
    assert is_doubtful(crawl)
    crawl.reopen("third")
    assert is_doubtful(crawl)
    crawl.reopen("fourth", after="shutdown")
    assert not is_doubtful(crawl)
    # Both that are remembered, the first run and the last, were killed: better twice than never.
    crawl.reopen("fifth")
    assert is_doubtful(crawl)


@pytest.mark.parametrize("run", ["test", "next"])
def test_what_a_run_has_brought_that_has_ended_is_stored(crawl: Crawl, run: str) -> None:
    see(crawl)
    crawl.reopen(run, after="finished")
    assert not is_doubtful(crawl)


def test_what_a_run_sees_twice_is_a_copy_and_in_no_doubt(crawl: Crawl) -> None:
    see(crawl)
    crawl.reopen("next")
    assert is_doubtful(crawl)
    again = see(crawl)
    assert (again.verdict, again.may_be_unstored) == (Verdict.EXACT_DUPLICATE, False)


def test_new_text_after_a_killed_run_is_an_update(crawl: Crawl) -> None:
    see(crawl)
    crawl.reopen("next", after="finished")
    see(crawl, document(60, "changed"))
    crawl.reopen("third")
    changed = see(crawl, document(60, "changed"))
    # The first run had ended, but with another text.
    assert (changed.verdict, changed.may_be_unstored) == (Verdict.UNCHANGED, True)
