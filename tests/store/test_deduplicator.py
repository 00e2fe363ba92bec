"""What is a copy of what: stories of documents that are seen one after the other.

That the deduplicator remembers and forgets as it should is held by the laws of `tests.store.test_laws`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from dedup.errors import IncompatibleDatabaseError
from dedup.keys import RADIUS
from dedup.report.contents import Selection
from dedup.report.queries import open_report
from dedup.rules.decisions import Decision
from dedup.rules.documents import Verdict
from dedup.rules.measures import is_near_leader
from dedup.rules.settings import Caution, DedupSettings, Mode
from dedup.rules.table import Rule, decide
from dedup.signature.signature import Similarity, compare, distance
from dedup.store.deduplicator import Deduplicator
from dedup.store.runs import read_runs
from tests.deciding import Crawl, empty, signature_of
from tests.pairs import pair_of
from tests.store.test_laws import LIKE, UNLIKE
from tests.texts import ENGLISH, all_pairs, chinese, chinese_words, document, edited, filled_in, form, jaccard

NEW, SIMILAR, UNCHANGED, UPDATED = Verdict.NEW, Verdict.SIMILAR, Verdict.UNCHANGED, Verdict.UPDATED
EXACT, NEAR = Verdict.EXACT_DUPLICATE, Verdict.NEAR_DUPLICATE

TEXT = document(300, "text")
NEAR_TEXT = edited(TEXT, 5)
OTHER_TEXT = document(300, "other")
PAIRS = all_pairs(20, 1), all_pairs(20, 2)


def similarity(a: str, b: str) -> float:
    return compare(signature_of(a).sketch, signature_of(b).sketch).jaccard


def is_near(a: str, b: str) -> bool:
    return decide(pair_of(signature_of(a), signature_of(b), DedupSettings())).is_duplicate


def bits_apart(a: str, b: str) -> int:
    return distance(signature_of(a).fingerprint, signature_of(b).fingerprint)


def text_at(bits: Callable[[int], bool], edits: int) -> str:
    """Return an edited text whose distance from the original is as asked."""
    for seed in range(1000):
        changed = edited(TEXT, edits, seed)
        if bits(bits_apart(TEXT, changed)):
            return changed
    raise AssertionError("no such text")


class Story(NamedTuple):
    """Documents that are seen one after the other.

    Attributes:
        seen: key, text, and what is decided. Of a duplicate the verdict or its original may be named, of another
            document the verdict is all.
    """

    seen: list[tuple[str, str, Any]]


FORM = form(400, 25, "form")
FILLED = filled_in(FORM)
CHINESE = chinese_words(300)
CHINESE_COPY = [{50: "河流", 150: "比赛", 250: "牛奶"}.get(place, word) for place, word in enumerate(CHINESE)]
SHORT, LONG = document(40), document(90)
COPY_OF_A = Decision("b", EXACT, "a", 1.0, Rule.SAME_TEXT)


def near(original: str, copy: str, *, verdict: Verdict = NEAR, rule: Rule = Rule.JACCARD) -> Decision:
    """Return the decision on a copy of the text of document a."""
    return Decision("b", verdict, "a", similarity(original, copy), rule)


def shorter(text: str) -> str:
    return text.rsplit(" ", 1)[0]


STORIES = {
    "the first document is new, and another one unlike it": Story([("a", TEXT, NEW), ("b", OTHER_TEXT, NEW)]),
    "an equal text is an exact duplicate": Story([("a", TEXT, NEW), ("b", TEXT, COPY_OF_A)]),
    "a text that is equal once normalised is one": Story([("a", TEXT, NEW), ("b", f"  {TEXT.upper()}\n", EXACT)]),
    "few words changed": Story([("a", TEXT, NEW), ("b", NEAR_TEXT, near(TEXT, NEAR_TEXT))]),
    "few Chinese words changed": Story(
        [
            ("a", chinese(CHINESE), NEW),
            ("b", chinese(CHINESE_COPY), NEAR),
            ("c", chinese(chinese_words(300, "other")), NEW),
        ]
    ),
    # The same pairs of words in another order: an equal fingerprint and hardly a word triple in common.
    "a near fingerprint with other shingles is new": Story([("a", PAIRS[0], NEW), ("b", PAIRS[1], NEW)]),
    "a form that was filled in anew is similar and no duplicate": Story(
        [
            ("a", FORM, NEW),
            ("b", FILLED, near(FORM, FILLED, verdict=SIMILAR, rule=Rule.REPLACED)),
            ("c", FORM, EXACT),
        ]
    ),
    "of same words, different signs is similar": Story(
        [
            ("a", f"{TEXT} for $5", NEW),
            ("b", f"{TEXT} for €5", SIMILAR),
            ("c", f"{TEXT}: for €5", "b"),
            ("d", f"{SHORT} at +5", NEW),
            ("e", f"{SHORT} at -5", SIMILAR),
        ]
    ),
    # Short texts, and those without words
    "of less than 20 tokens": Story([("a", document(20), NEW), ("b", document(20), EXACT), ("c", document(19), NEW)]),
    "of 20 tokens": Story([("a", document(21), NEW), ("b", document(21), EXACT), ("c", shorter(document(21)), NEAR)]),
    "of less than 64 tokens no word may be another": Story(
        [("a", document(63), NEW), ("b", edited(document(63), 1), SIMILAR)]
    ),
    "of 64 tokens one word may be another": Story([("a", document(64), NEW), ("b", edited(document(64), 1), NEAR)]),
    "a short text is a near-duplicate only of one with the same numbers": Story(
        [
            ("a", ENGLISH, NEW),
            ("b", f"{ENGLISH} Read more.", NEAR),
            ("c", f"{ENGLISH} Read 2 more.", SIMILAR),
            ("d", ENGLISH.replace("waits", "wait"), NEAR),
        ]
    ),
    "a short text is none of a long one": Story([("a", LONG, NEW), ("b", " ".join(LONG.split()[:63]), NEW)]),
}
IN_PAPER_MODE = {
    "equal fingerprints": Story([("a", PAIRS[0], NEW), ("b", PAIRS[1], near(*PAIRS, rule=Rule.PAPER))]),
    "three bits apart": Story([("a", TEXT, NEW), ("b", text_at(lambda bits: bits == 3, 2), "a")]),
    "four bits apart": Story([("a", TEXT, NEW), ("b", text_at(lambda bits: bits == 4, 2), NEW)]),
    # Their fingerprints are equal.
    "short texts are compared exactly": Story(
        [("a", all_pairs(6, 1), NEW), ("b", all_pairs(6, 2), NEW), ("c", all_pairs(6, 1), EXACT)]
    ),
}


def tell(crawl: Crawl, story: Story) -> None:
    for step, (key, content, expected) in enumerate(story.seen):
        decision = crawl.see(key, content)
        if isinstance(expected, Verdict):
            is_alone = expected in (NEW, UNCHANGED, UPDATED)
            assert (decision if is_alone else decision.verdict) == (Decision("", expected) if is_alone else expected), (
                step
            )
        else:
            assert (decision if isinstance(expected, Decision) else decision.original) == expected, step


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_documents_are_what_those_before_them_make_of_them(crawl: Crawl, story: Story) -> None:
    tell(crawl, story)


@pytest.mark.parametrize("story", IN_PAPER_MODE.values(), ids=IN_PAPER_MODE)
def test_in_paper_mode_three_bits_decide_and_nothing_else(start: Callable[..., Crawl], story: Story) -> None:
    tell(start(mode=Mode.PAPER), story)


def test_a_copy_without_its_second_half_is_a_near_duplicate_by_caution(start: Callable[..., Crawl]) -> None:
    original = document(400, 2)
    copy = " ".join(original.split()[:190])
    assert jaccard(original, copy) < DedupSettings().min_jaccard
    for caution, verdict in ((Caution.EAGER, NEAR), (Caution.BALANCED, SIMILAR)):
        crawl = start(caution=caution)
        empty(crawl)
        crawl.see("a", original)
        assert crawl.see("b", copy).verdict is verdict


def test_most_similar_near_duplicate_is_matched_and_not_the_closest_fingerprint(crawl: Crawl) -> None:
    close = text_at(lambda bits: bits <= 8, 22)
    similar = text_at(lambda bits: bits >= 10, 12)
    assert bits_apart(TEXT, close) < bits_apart(TEXT, similar)
    assert similarity(TEXT, similar) > similarity(TEXT, close)
    assert not is_near(close, similar)
    crawl.see("close", close)
    crawl.see("similar", similar)
    # What earlier runs have decided joins nothing.
    crawl.next_run()
    assert crawl.see("a", TEXT).details.matched == "similar"


def test_no_documents_give_no_decisions(crawl: Crawl) -> None:
    assert crawl.see_all([]) == []


@pytest.mark.parametrize(
    ("jaccard", "containment", "expected"),
    [(1.0, 1.0, True), (0.4, 0.0, True), (0.0, 0.7, True), (0.399, 0.699, False), (0.0, 0.0, False)],
)
def test_a_member_is_loosely_like_its_leader(jaccard: float, containment: float, expected: bool) -> None:
    assert is_near_leader(Similarity(jaccard, containment, 1.0), DedupSettings()) is expected


def test_a_text_without_a_shingle_is_like_no_other_whatever_the_setting(start: Callable[..., Crawl]) -> None:
    crawl = start(min_tokens=0)
    assert [crawl.see(key, text).verdict for key, text in (("a", "two words"), ("b", "other words"))] == [NEW, NEW]
    crawl.see("c", "now three words")
    assert crawl.see("d", "Now: three words!").original == "c"


# Clusters


def within_reach(a: str, b: str) -> bool:
    """Say whether two texts are found by each other."""
    ours, theirs = signature_of(a), signature_of(b)
    return bits_apart(a, b) <= RADIUS or bool((ours.bands == theirs.bands).any())


def is_like_its_leader(a: str, b: str) -> bool:
    return is_near_leader(compare(signature_of(a).sketch, signature_of(b).sketch), DedupSettings())


def test_a_document_is_found_by_a_member_and_assigned_to_its_leader(crawl: Crawl) -> None:
    leader, member, third = LIKE
    assert not is_near(leader, third)
    assert is_like_its_leader(leader, third)
    crawl.see("leader", leader)
    assert crawl.see("member", member).original == "leader"
    decision = crawl.see("third", third)
    assert decision == Decision("third", NEAR, "leader", similarity(leader, third), Rule.JACCARD)
    assert (decision.details.matched, decision.details.distance) == ("member", bits_apart(leader, third))


def test_a_document_like_a_member_but_unlike_its_leader_is_not_in_the_cluster(crawl: Crawl) -> None:
    leader, member, third, _ = UNLIKE
    assert is_near(member, third)
    assert not is_like_its_leader(leader, third)
    crawl.see("leader", leader)
    assert crawl.see("member", member).original == "leader"
    decision = crawl.see("third", third)
    assert (decision.verdict, decision.original, decision.rule) == (SIMILAR, "leader", Rule.FAR_FROM_LEADER)


def test_a_member_too_far_from_its_leader_does_not_hide_another_match(crawl: Crawl) -> None:
    leader, member, third, cousin = UNLIKE
    assert within_reach(third, cousin)
    assert similarity(third, cousin) < similarity(third, member)
    crawl.see("leader", leader)
    crawl.see("member", member)
    assert crawl.see("cousin", cousin).verdict is NEW
    assert crawl.see("third", third).original == "cousin"


# What is written


def test_what_comes_again_unchanged_in_the_same_run_counts_once(crawl: Crawl) -> None:
    """A page that was under way when its crawl was killed is fetched and decided again."""
    decisions = [crawl.see("a", TEXT), crawl.see("b", NEAR_TEXT), crawl.see("c", TEXT)]
    again = [crawl.see("a", TEXT).verdict, crawl.see("b", NEAR_TEXT), crawl.see("c", TEXT)]
    assert again == [UNCHANGED, *decisions[1:]]
    assert counted(crawl) == {NEW: 1, NEAR: 1, EXACT: 1}
    crawl.see("a", OTHER_TEXT)
    assert counted(crawl) == {NEW: 1, NEAR: 1, EXACT: 1, UPDATED: 1}


def counted(crawl: Crawl, **selection: Any) -> dict[Verdict, int]:
    with open_report(crawl.database, Selection(**selection)) as report:
        return {verdict: total.documents for verdict, total in report.totals.items() if total.documents}


def test_every_decision_is_of_its_run_and_has_its_reason(crawl: Crawl) -> None:
    crawl.see("a", TEXT)
    crawl.see("b", NEAR_TEXT)
    crawl.next_run("again")
    crawl.see("a", TEXT)
    assert (counted(crawl, run="test"), counted(crawl, run="again")) == ({NEW: 1, NEAR: 1}, {UNCHANGED: 1})
    with open_report(crawl.database, Selection(run="test")) as report:
        [row] = report.duplicates
    assert (row.run, row.dropped, row.original, row.matched) == ("test", "b", "a", "a")
    assert (row.distance, row.rule) == (bits_apart(TEXT, NEAR_TEXT), "jaccard")
    assert row.similarity == pytest.approx(similarity(TEXT, NEAR_TEXT))
    assert abs(row.decided - time.time()) < 600


def test_a_run_of_the_same_name_is_gone_on_with(crawl: Crawl) -> None:
    crawl.see("a", TEXT)
    crawl.deduplicator.close_run(crawl.run, "shutdown")
    assert [(run.name, run.outcome) for run in read_runs(crawl.database)] == [("test", "shutdown")]
    assert crawl.deduplicator.open_run("test") == crawl.run
    assert crawl.deduplicator.open_run("another") != crawl.run
    assert sorted((run.name, run.outcome) for run in read_runs(crawl.database)) == [("another", None), ("test", None)]


def test_a_run_that_has_dropped_its_duplicates_does_not_mark_them_from_then_on(
    crawl: Crawl,
) -> None:
    crawl.see("a", TEXT)
    with closing(Deduplicator(replace(crawl.settings, mark_only=True))) as marking:
        with pytest.raises(IncompatibleDatabaseError, match="run 'test' was begun with DEDUP_MARK_ONLY = False"):
            marking.open_run("test")
        assert marking.open_run("another") != crawl.run


# Keys


@pytest.mark.parametrize("key", ["x" * 100_000, "http://example.org/港口?q=ü#'\";--", "%s %(a)s :b ?"])
def test_any_url_can_be_a_key(crawl: Crawl, key: str) -> None:
    assert crawl.see(key, TEXT).verdict is NEW
    assert crawl.see("b", TEXT).original == key
    assert crawl.see(key, TEXT).verdict is UNCHANGED


@pytest.mark.parametrize("key", ["a\0b", "caf\udce9.txt"], ids=["NUL", "surrogate"])
def test_a_key_that_no_database_takes_does_no_harm(crawl: Crawl, key: str) -> None:
    # A file name that is not UTF-8 comes from the file system with a lone surrogate.
    assert crawl.see(key, TEXT).verdict is NEW
    assert crawl.see(key, TEXT).verdict is UNCHANGED


def test_pages_with_one_text_under_other_titles_are_not_dropped(
    start: Callable[..., Crawl],
) -> None:
    crawl = start()
    verdicts = [
        crawl.show(f"https://radio.example/{number}", TEXT, title=f"Story {number} | Radio").verdict
        for number in range(8)
    ]
    assert verdicts[4:] == [Verdict.SIMILAR] * 4
    # The same page under many addresses has one title, and another site has its own pages.
    assert crawl.show("https://radio.example/7?sid=1", TEXT, title="Story 0 - Radio").verdict is EXACT
    assert crawl.show("https://mirror.example/7", TEXT, title="Story 7 | Mirror").verdict is EXACT


def test_a_decision_tells_the_size_of_the_text_even_if_it_is_known_by_its_bytes(crawl: Crawl) -> None:
    documents = [crawl.document("a", TEXT, b"a"), crawl.document("b", None, b"a"), crawl.document("c", "", b"c")]
    decisions = crawl.deduplicator.decide(documents, crawl.run)
    assert [each and each.details.text_bytes for each in decisions] == [len(TEXT), len(TEXT), 0]
