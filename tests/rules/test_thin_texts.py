"""Pages whose text is a small share of them: equal texts alone make no duplicate."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dedup.rules.documents import Verdict
from dedup.rules.settings import DedupSettings
from dedup.rules.table import Rule
from dedup.rules.two_texts import PairDecider
from dedup.signature.extraction import MainText, sign_page
from dedup.signature.signature import Signature
from tests.deciding import Crawl
from tests.texts import document, edited, words

NOTE = document(250, "note")
STORY = document(250, "story")


def page(text: str, *besides: str) -> Signature:
    """The signature of a page whose text is thin where there is much besides."""
    own = "\n".join([text, *besides])
    is_thin = len(text) < len(own) / 5
    return sign_page(MainText(text, "fast", len(own), own if is_thin else ""))


def other(seed: str) -> str:
    return document(1500, seed)


@pytest.mark.parametrize(
    ("first", "second", "rule"),
    [
        # The same note in two pages that hold something else.
        (page(NOTE, other("a")), page(NOTE, other("b")), Rule.THIN_TEXT),
        # Copies of all the page.
        (page(NOTE, other("a")), page(NOTE, other("a")), Rule.SAME_TEXT),
        (page(STORY, other("a")), page(edited(STORY, 3), edited(other("a"), 4)), Rule.JACCARD),
        # A story by itself, and beside many comments.
        (page(STORY), page(edited(STORY, 2), other("comments")), Rule.WITHIN_PAGE),
        (page(STORY, other("a")), page(STORY), Rule.WITHIN_PAGE),
        # Pages of which all but the story is the same: what was found of one is no copy of what was found of the other.
        (page(STORY, other("a")), page(edited(STORY, 26), other("a")), Rule.THIN_TEXT),
        # Another story there.
        (page(STORY), page(document(250, "else"), other("comments")), Rule.NO_KEY),
        (page(STORY), page(STORY), Rule.SAME_TEXT),
    ],
)
def test_pages_are_compared_by_their_own_text(first: Signature, second: Signature, rule: Rule) -> None:
    decider = PairDecider(DedupSettings())
    assert decider.decide(first, second).rule is rule
    assert decider.decide(second, first).rule is rule


def test_numbers_that_gave_way_in_a_page_within_another_are_told() -> None:
    numbers = [f"{each} costs {number * 37} crowns" for number, each in enumerate(words(60, "thing"), 3)]
    prices = [f"{each} costs {number * 41} crowns" for number, each in enumerate(words(60, "thing"), 3)]
    first, second = page(" ".join(numbers)), page(" ".join(prices), other("comments"))
    assert not PairDecider(DedupSettings()).decide(first, second).is_duplicate


@pytest.mark.parametrize(
    ("title", "is_dropped"),
    [("", True), (f"{' '.join(STORY.split()[:6])} - The Gazette", True), ("Ferry strike called off late", False)],
)
def test_in_a_crawl_the_title_of_a_page_says_whether_its_thin_text_is_its_own(
    start: Callable[..., Crawl], title: str, is_dropped: bool
) -> None:
    crawl = start()
    seen = crawl.see_signed("https://gazette.example/story", page(STORY, other("story")), title=title)
    assert seen.verdict is Verdict.NEW
    decision = crawl.see_signed("https://gazette.example/privacy", page(STORY), title="Privacy")
    assert decision.verdict.is_duplicate is is_dropped
    assert decision.rule is (Rule.WITHIN_PAGE if is_dropped else Rule.THIN_TEXT)


def test_what_a_page_has_besides_one_that_stands_in_it_is_not_lost(start: Callable[..., Crawl]) -> None:
    crawl = start()
    crawl.see_signed("https://gazette.example/story", page(STORY))
    decision = crawl.see_signed("https://gazette.example/comments", page(STORY, other("comments")))
    assert (decision.verdict, decision.rule) == (Verdict.SIMILAR, Rule.NEW_TEXT)


def test_many_pages_of_one_note_are_all_kept(start: Callable[..., Crawl]) -> None:
    crawl = start()
    made = [
        crawl.see_signed(f"https://radio.example/{at}", page(NOTE, other(str(at))), title=f"Story {at}")
        for at in range(24)
    ]
    assert [each.verdict for each in made] == [Verdict.NEW, *[Verdict.SIMILAR] * 23]


SHORT = document(60, "maker")


@pytest.mark.parametrize(
    ("texts", "titles", "is_dropped"),
    [
        # A note on cookies of a few sentences, where pages have little besides.
        ((SHORT, SHORT), ("Ferry strike", "Bread prices"), False),
        ((SHORT, SHORT), ("Ferry strike", "Ferry strike - Gazette"), True),
        ((SHORT, SHORT), ("Ferry strike", ""), True),
        # Two words of a notice that gave way.
        ((f"{SHORT} harbour monday {SHORT[::-1]}", f"{SHORT} school friday {SHORT[::-1]}"), ("Water", "Power"), False),
        ((document(300, "long"), document(300, "long")), ("Ferry strike", "Bread prices"), True),
        ((document(300, "long"), edited(document(300, "long"), 3)), ("Ferry strike", "Bread prices"), True),
    ],
)
def test_under_another_title_of_one_site_a_short_text_is_another_one(
    start: Callable[..., Crawl], texts: tuple[str, str], titles: tuple[str, str], is_dropped: bool
) -> None:
    crawl = start()
    for place, site in enumerate(("gazette.example", "gazette.example", "press.example")):
        at = min(place, 1)
        decision = crawl.see_signed(f"https://{site}/{place}", page(texts[at]), title=titles[at])
        if place == 1:
            assert decision.is_dropped is is_dropped
    # At another site it is a copy all the same.
    assert decision.is_dropped
