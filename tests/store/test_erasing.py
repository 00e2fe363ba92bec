"""What is erased leaves every table and does not come back; what is left holds together."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine, event

from dedup.errors import DedupError
from dedup.rules.decisions import erased
from dedup.rules.documents import Verdict
from dedup.store.cancelling import cancel_run
from dedup.store.erasing import Erasure, erase
from tests.databases import left_in
from tests.deciding import Crawl
from tests.store.test_cancel_run import BASE, KEYS, TEXTS, Seen, assert_whole, crawl, empty, law, pages, see  # noqa: F401
from tests.texts import document


@pytest.fixture
def checked(database_url: str) -> Iterator[Crawl]:
    made = Crawl(database_url)
    yield made
    made.database.close()


def erase_now(crawl: Crawl, key: str, **options: Any) -> Erasure:  # noqa: F811
    return erase(crawl.database, key, **{"with_copies": False, "is_tried": False, **options})


def is_empty(crawl: Crawl) -> bool:  # noqa: F811
    """Whether nothing is left but what must not come back."""
    return len(left_in(crawl.database)) <= 1


def verdict_of(crawl: Crawl, key: str, content: str) -> Verdict:  # noqa: F811
    return crawl.see(key, content).verdict


def test_a_document_goes_and_comes_back_neither_under_its_key_nor_as_its_text(checked: Crawl) -> None:
    see(checked, "test", [("ferry", BASE[0], b"1"), ("copy", TEXTS[1], b"2"), ("other", BASE[1], b"3")])
    tried = erase_now(checked, "ferry", is_tried=True)
    assert (tried.keys, tried.forgotten, tried.runs) == (["ferry"], ["copy"], ["test"])
    assert checked.there() == {"ferry", "copy", "other"}
    done = erase_now(checked, "ferry")
    assert done == tried
    assert checked.runs() == {"test": 1}
    assert_whole(checked)
    assert checked.there() == {"other"}
    for key, content in (("ferry", BASE[0]), ("ferry", document(100, "changed")), ("elsewhere", BASE[0])):
        assert checked.see(key, content) == erased("")
    assert checked.there() == {"other"}
    # What only resembles it is another document.
    assert verdict_of(checked, "copy", TEXTS[1]) is Verdict.NEW
    with pytest.raises(DedupError, match="has no document 'ferry'"):
        erase_now(checked, "ferry")


def test_a_key_stays_away_under_every_class_and_one_of_its_texts_can_be_erased(checked: Crawl) -> None:
    texts = [document(120, f"text {number}") for number in range(4)]
    for text in texts[:3]:
        own = checked.show("page", text, separate=True)
    checked.show("ferry", document(120, "ferry"), item_class="Article")
    assert erase_now(checked, own.key).keys == [own.key]
    verdicts = [checked.show("page", text, separate=True, item_class="Note").is_dropped for text in texts]
    assert verdicts == [True, True, True, False]
    assert erase_now(checked, "ferry").keys == ["ferry"]
    assert checked.show("ferry", document(120, "other"), item_class="Review") == erased("")


def test_copies_go_with_it(checked: Crawl) -> None:
    see(checked, "test", [("ferry", BASE[0], b"1"), ("copy", TEXTS[1], b"2"), ("other", BASE[1], b"3")])
    done = erase_now(checked, "copy", with_copies=True)
    assert (sorted(done.keys), done.forgotten) == (["copy", "ferry"], [])
    assert_whole(checked)
    assert checked.see("again", TEXTS[1]) == erased("")
    assert verdict_of(checked, "other", BASE[1]) is Verdict.UNCHANGED


def test_runs_can_be_removed_once_a_copy_leads_what_was_its_original(checked: Crawl) -> None:
    seen = [("ferry", BASE[0], b"1"), ("copy", BASE[0], b"1"), ("ferry", BASE[1], b"2"), ("ferry", BASE[0], b"1")]
    see(checked, "test", seen)
    erase_now(checked, "ferry")
    see(checked, "next", seen)
    for run in ("test", "next"):
        cancel_run(checked.database, run)
    assert is_empty(checked)


def test_short_texts_that_others_write_too_are_not_blocked(checked: Crawl) -> None:
    see(checked, "test", [("note", "thank you very much", b"1"), ("empty", "", b"2")])
    for key in ("note", "empty"):
        erase_now(checked, key)
    assert verdict_of(checked, "another", "thank you very much") is Verdict.NEW
    assert verdict_of(checked, "blank", "") is Verdict.NEW


def test_a_cluster_of_more_members_than_a_statement_takes_values(sqlite_url: str) -> None:
    def bound(connection: sqlite3.Connection, _: object) -> None:
        connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 1_100)

    event.listen(Engine, "connect", bound)
    try:
        checked = Crawl(sqlite_url)
        copies = [checked.document(f"copy{number}", BASE[0]) for number in range(1_200)]
        for start in range(0, len(copies), 100):
            checked.see_all(copies[start : start + 100])
        done = erase_now(checked, "copy0", with_copies=True)
        assert (len(done.keys), done.runs) == (1_200, ["test"])
        assert_whole(checked)
        assert (checked.there(), checked.runs()) == (set(), {"test": 0})
        assert checked.see("elsewhere", BASE[0]) == erased("")
        checked.database.close()
    finally:
        event.remove(Engine, "connect", bound)


@law
@given(seen=pages(KEYS), place=st.integers(0, 6), with_copies=st.booleans())
def test_what_is_left_holds_together(crawl: Crawl, seen: list[Seen], place: int, with_copies: bool) -> None:  # noqa: F811
    empty(crawl)
    see(crawl, "test", seen)
    if not seen:
        return
    key = seen[place % len(seen)][0]
    done = erase_now(crawl, key, with_copies=with_copies)
    assert_whole(crawl)
    assert crawl.there().isdisjoint(done.keys)
    assert crawl.there() | {*done.keys, *done.forgotten} == {each for each, *_ in seen}
    see(crawl, "next", seen)
    assert_whole(crawl)
    assert key not in crawl.there()
    for run in ("test", "next"):
        cancel_run(crawl.database, run)
    assert is_empty(crawl)
