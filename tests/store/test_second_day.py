"""What an earlier run has seen: corrections at a page's own address, sites that move."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dedup import Verdict
from dedup.rules.documents import Document
from dedup.rules.table import Rule
from dedup.signature.signing import make_signature
from tests.deciding import Crawl
from tests.texts import words

STORY, AMP, PHONE = (f"https://news.example/{path}" for path in ("story", "amp/story", "m/story"))
BEFORE = words(300)
CORRECTED = [*BEFORE[:150], "3.9", *BEFORE[151:]]
WITH_NOTE = [*BEFORE, *words(12, "correction")]


def text(tokens: list[str]) -> str:
    return " ".join(tokens)


@pytest.fixture
def crawl(start: Callable[..., Crawl]) -> Crawl:
    return start()


@pytest.mark.parametrize("after", [CORRECTED, WITH_NOTE], ids=["a number", "a note"])
@pytest.mark.parametrize("amp", [BEFORE, [*words(3, "frame"), *BEFORE]], ids=["same", "near"])
def test_a_correction_at_its_own_address_is_an_update_whoever_came_first(
    crawl: Crawl, amp: list[str], after: list[str]
) -> None:
    crawl.see(AMP, text(amp))
    assert crawl.see(STORY, text(BEFORE)).is_dropped
    crawl.next_run()
    corrected = crawl.see(STORY, text(after))
    assert (corrected.verdict, corrected.original, corrected.is_dropped) == (Verdict.UPDATED, AMP, False)
    assert corrected.rule is Rule.UPDATED
    # What follows it is a copy of it, and nobody is an update for ever.
    assert crawl.see(AMP, text(after)).is_dropped
    assert crawl.see(PHONE, text(after)).is_dropped
    crawl.next_run("third")
    assert crawl.see(STORY, text(after)).verdict is Verdict.UNCHANGED


def test_a_copy_that_changes_less_than_it_differed_stays_one(crawl: Crawl) -> None:
    crawl.see(STORY, text(BEFORE))
    assert crawl.see(AMP, text([*words(20, "frame"), *BEFORE])).is_dropped
    crawl.next_run()
    assert crawl.see(AMP, text([*words(19, "frame"), *BEFORE])).is_dropped


def see(crawl: Crawl, key: str, tokens: list[str]) -> tuple[Verdict, bool, bool]:
    document = Document(key, make_signature(text(tokens)), separate=True)
    [decision] = crawl.see_all([document])
    assert decision is not None
    return decision.verdict, decision.rule is Rule.MOVED, decision.details.is_of_earlier_run


def next_day(crawl: Crawl, name: str = "next") -> None:
    crawl.deduplicator.close_run(crawl.run, "finished")
    crawl.next_run(name)


MOVES = [
    ("http://old.news.example/a/17", "https://news.example/a/17"),
    ("https://news.example/a/17", "https://news.example/b/17"),
    ("http://news.example/17?id=1", "https://www.news.example/17?id=1"),
]


@pytest.mark.parametrize(("old", "new"), MOVES)
def test_what_has_another_address_in_the_next_run_has_moved_and_is_passed_on_once(
    crawl: Crawl, old: str, new: str
) -> None:
    assert see(crawl, old, BEFORE) == (Verdict.NEW, False, False)
    next_day(crawl)
    assert see(crawl, new, BEFORE) == (Verdict.UPDATED, True, False)
    assert see(crawl, f"{new}/print", BEFORE) == (Verdict.EXACT_DUPLICATE, False, True)
    next_day(crawl, "third")
    assert see(crawl, new, BEFORE)[:2] == (Verdict.UNCHANGED, False)
    assert see(crawl, f"{new}/print", BEFORE)[:2] == (Verdict.EXACT_DUPLICATE, False)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("https://one.example/story", "https://two.example/other"),
        ("https://one.example/story", "https://two.example/story"),
        ("https://old.one.example/story", "https://one.example/other"),
        ("https://one.example/", "https://two.example/"),
        ("spider:1", "spider:2"),
    ],
)
def test_a_copy_somewhere_else_has_not_moved(crawl: Crawl, old: str, new: str) -> None:
    see(crawl, old, BEFORE)
    next_day(crawl)
    assert see(crawl, new, BEFORE) == (Verdict.EXACT_DUPLICATE, False, True)


def test_what_is_still_at_its_old_address_has_not_moved(crawl: Crawl) -> None:
    see(crawl, STORY, BEFORE)
    next_day(crawl)
    assert see(crawl, STORY, BEFORE)[0] is Verdict.UNCHANGED
    assert see(crawl, f"{STORY}?print", BEFORE) == (Verdict.EXACT_DUPLICATE, False, False)
