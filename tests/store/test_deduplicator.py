from __future__ import annotations

import socket
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select, text

from dedup.errors import DatabaseError, DedupError, IncompatibleDatabaseError, LockedError, SettingsError
from dedup.keys import RADIUS
from dedup.rules.documents import Decision, Document, Rule, Verdict
from dedup.rules.settings import Caution, DedupSettings, Mode
from dedup.rules.verification import (
    check,
    is_near_leader,
)
from dedup.signature.schemes import DEFAULT
from dedup.signature.signature import Signature, Similarity, compare, digest, distance
from dedup.store import schema
from dedup.store.database import Database, open_dedup_database, open_existing_database
from dedup.store.deduplicator import Deduplicator
from tests.deciding import Crawl, empty, signature_of
from tests.texts import ENGLISH, all_pairs, chinese, chinese_words, document, edited, extended, filled_in, form, jaccard
from tests.waiting import HANG

NEW, SIMILAR, UNCHANGED, UPDATED = Verdict.NEW, Verdict.SIMILAR, Verdict.UNCHANGED, Verdict.UPDATED
EXACT, NEAR = Verdict.EXACT_DUPLICATE, Verdict.NEAR_DUPLICATE

TEXT = document(300, "text")
NEAR_TEXT = edited(TEXT, 5)
OTHER_TEXT = document(300, "other")
PAIRS = all_pairs(20, 1), all_pairs(20, 2)


def similarity(a: str, b: str) -> float:
    return compare(signature_of(a).sketch, signature_of(b).sketch).jaccard


def is_near(a: str, b: str) -> bool:
    ours, theirs = signature_of(a), signature_of(b)
    return check(ours.words, theirs.words, DedupSettings()).rule.is_duplicate


def bits_apart(a: str, b: str) -> int:
    return distance(signature_of(a).fingerprint, signature_of(b).fingerprint)


def text_at(bits: Callable[[int], bool], edits: int) -> str:
    """Return an edited text whose distance from the original is as asked."""
    for seed in range(1000):
        changed = edited(TEXT, edits, seed)
        if bits(bits_apart(TEXT, changed)):
            return changed
    raise AssertionError("no such text")


# Verdicts


class Story(NamedTuple):
    """Documents that are seen one after the other.

    Attributes:
        seen: key, text, what is decided (None: whatever), and perhaps the page's bytes; without text it is known by
            them. Of a duplicate the verdict or its original may be named, of another document the verdict is all.
        indexed: the keys of the documents that are in the tables in the end; None: whatever.
    """

    seen: list[tuple[Any, ...]]
    indexed: set[str] | None = None


FORM = form(400, 25, "form")
FILLED = filled_in(FORM)
CHINESE = chinese_words(300)
CHINESE_COPY = [{50: "河流", 150: "比赛", 250: "牛奶"}.get(place, word) for place, word in enumerate(CHINESE)]
SHORT, LONG = document(40), document(90)
COPY_OF_A = Decision(EXACT, "a", "a", 0, 1.0, Rule.SAME_TEXT)


def near(original: str, copy: str, *, by: str = "a", verdict: Verdict = NEAR, rule: Rule = Rule.JACCARD) -> Decision:
    """Return the decision on a copy of the text of document a."""
    return Decision(verdict, "a", by, bits_apart(original, copy), similarity(original, copy), rule)


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
    "the same URL is never a duplicate of itself": Story(
        [
            ("a", TEXT, NEW),
            ("a", TEXT, UNCHANGED),
            ("a", NEAR_TEXT, UPDATED),
            ("a", NEAR_TEXT, UNCHANGED),
            ("a", OTHER_TEXT, UPDATED),
            ("a", TEXT, UPDATED),
        ]
    ),
    "a form that was filled in anew is similar and no duplicate": Story(
        [
            ("a", FORM, NEW),
            ("b", FILLED, near(FORM, FILLED, verdict=SIMILAR, rule=Rule.REPLACED)),
            ("c", FORM, EXACT),
        ]
    ),
    "what is similar stands for itself": Story(
        [("a", FORM, NEW), ("b", FILLED, SIMILAR), ("b", FILLED, UNCHANGED), ("c", FILLED, "b")]
    ),
    "of other signs beside the same words is similar": Story(
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
    "a short text is none when its original changes": Story(
        [("a", SHORT, NEW), ("b", SHORT, EXACT), ("a", edited(SHORT, 1), UPDATED), ("b", SHORT, SIMILAR)]
    ),
    "no words, other bytes": Story([("a", "", NEW, b"1"), ("b", "", EXACT, b"1"), ("b", "", UPDATED, b"2")]),
    "no words, seen again": Story([("a", "", NEW, b"1"), ("a", "", UNCHANGED, b"1"), ("a", "", UNCHANGED, b"2")]),
    "neither few words nor none are in the tables": Story([("a", "", NEW, b"1"), ("b", document(19), NEW)], set()),
    # Known bytes
    "known bytes need no signature": Story(
        [("a", TEXT, NEW, b"1"), ("b", None, COPY_OF_A, b"1"), ("a", None, UNCHANGED, b"1")], {"a"}
    ),
    "a document that changes to known bytes": Story(
        [("a", TEXT, NEW, b"1"), ("b", OTHER_TEXT, NEW, b"2"), ("b", None, COPY_OF_A, b"1")], {"a"}
    ),
    "a leader that changes to the known bytes of its duplicate": Story(
        [
            ("a", TEXT, NEW, b"1"),
            ("b", NEAR_TEXT, NEAR, b"2"),
            ("a", None, UPDATED, b"2"),
            ("b", None, COPY_OF_A, b"2"),
        ]
    ),
    "other bytes of an unchanged text": Story(
        [("a", TEXT, NEW, b"1"), ("a", TEXT, UNCHANGED, b"2"), ("a", None, UNCHANGED, b"2")]
    ),
    # Clusters
    "an exact copy of a member is a near-duplicate of the leader, and adds nothing to the tables": Story(
        [
            ("a", TEXT, NEW),
            ("exact", TEXT, EXACT),
            ("b", NEAR_TEXT, NEAR),
            ("c", NEAR_TEXT, near(TEXT, NEAR_TEXT, by="b", rule=Rule.SAME_TEXT)),
        ],
        {"a", "b"},
    ),
    # Updates
    "a document that becomes short": Story([("a", TEXT, NEW), ("a", document(10), UPDATED)], set()),
    "a short document that becomes long": Story(
        [("a", document(10), NEW), ("a", TEXT, UPDATED), ("b", NEAR_TEXT, "a")]
    ),
    "a document that becomes a copy of another": Story(
        [("a", TEXT, NEW), ("b", OTHER_TEXT, NEW), ("b", NEAR_TEXT, "a"), ("b", TEXT, COPY_OF_A)], {"a"}
    ),
    "a duplicate that changes to a text of its own": Story(
        [("a", TEXT, NEW), ("b", NEAR_TEXT, NEAR), ("b", OTHER_TEXT, UPDATED), ("c", OTHER_TEXT, "b")]
    ),
    "members that an updated leader is still like stay": Story(
        [
            ("a", TEXT, NEW),
            ("exact", TEXT, EXACT),
            ("near", NEAR_TEXT, NEAR),
            ("a", edited(TEXT, 3, "changed"), UPDATED),
            ("exact", TEXT, "a"),
            ("near", NEAR_TEXT, "a"),
            ("exact", TEXT, NEAR),
        ]
    ),
    "nothing is dropped because of what is to be decided anew": Story(
        [
            ("a", TEXT, NEW),
            ("exact", TEXT, EXACT),
            ("near", NEAR_TEXT, NEAR),
            ("a", OTHER_TEXT, UPDATED),
            ("b", TEXT, NEW),
            ("exact", TEXT, "b"),
        ]
    ),
    "members of a leader that becomes a duplicate": Story(
        [("other", OTHER_TEXT, NEW), ("a", TEXT, NEW), ("b", TEXT, EXACT), ("a", OTHER_TEXT, "other"), ("b", TEXT, NEW)]
    ),
    "a leader may change to the text of its duplicate, and on from there": Story(
        [
            ("a", TEXT, NEW),
            ("b", NEAR_TEXT, NEAR),
            ("a", NEAR_TEXT, UPDATED),
            ("b", NEAR_TEXT, COPY_OF_A),
            ("c", NEAR_TEXT, "a"),
            ("a", edited(NEAR_TEXT, 3, "on"), UPDATED),
            ("b", NEAR_TEXT, "a"),
        ]
    ),
    "a leader may change to and fro": Story(
        [
            ("a", TEXT, NEW),
            ("b", TEXT, EXACT),
            *(
                (key, *step)
                for text in (NEAR_TEXT, TEXT) * 2
                for key, step in (("a", (text, UPDATED)), ("b", (TEXT, "a")))
            ),
        ]
    ),
    # What is seen again moves its row to the end of the table on PostgreSQL.
    "of equal members the earliest stands in for a changed leader": Story(
        [*((key, TEXT, None) for key in "abcb"), ("a", NEAR_TEXT, UPDATED)], {"a", "b"}
    ),
}
IN_PAPER_MODE = {
    "equal fingerprints": Story([("a", PAIRS[0], NEW), ("b", PAIRS[1], near(*PAIRS, rule=Rule.PAPER))]),
    "three bits apart": Story([("a", TEXT, NEW), ("b", text_at(lambda bits: bits == 3, 2), "a")]),
    "four bits apart": Story([("a", TEXT, NEW), ("b", text_at(lambda bits: bits == 4, 2), NEW)]),
    # Their fingerprints are equal.
    "short texts are compared exactly": Story(
        [("a", all_pairs(6, 1), NEW), ("b", all_pairs(6, 2), NEW), ("c", all_pairs(6, 1), EXACT)]
    ),
    "members beyond three bits of an updated leader are decided anew": Story(
        [("a", TEXT, NEW), ("b", TEXT, EXACT), ("a", text_at(lambda bits: bits > 3, 10), UPDATED), ("b", TEXT, NEW)]
    ),
}


def tell(crawl: Crawl, story: Story) -> None:
    for step, (key, content, expected, *body) in enumerate(story.seen):
        decision = crawl.see(key, content, *body)
        if isinstance(expected, Verdict):
            is_alone = expected in (NEW, UNCHANGED, UPDATED)
            assert (decision if is_alone else decision.verdict) == (Decision(expected) if is_alone else expected), step
        elif expected is not None:
            assert (decision if isinstance(expected, Decision) else decision.original) == expected, step
    assert story.indexed is None or crawl.indexed().keys() == story.indexed


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
    assert crawl.see("a", TEXT).matched == "similar"


def test_no_documents_give_no_decisions(crawl: Crawl) -> None:
    assert crawl.see_all([]) == []


# The check


@pytest.mark.parametrize(
    ("jaccard", "containment", "expected"),
    [(1.0, 1.0, True), (0.4, 0.0, True), (0.0, 0.7, True), (0.399, 0.699, False), (0.0, 0.0, False)],
)
def test_a_member_is_loosely_like_its_leader(jaccard: float, containment: float, expected: bool) -> None:
    assert is_near_leader(Similarity(jaccard, containment, 1.0), DedupSettings()) is expected


def test_an_updated_document_says_what_it_resembles(crawl: Crawl) -> None:
    crawl.see("a", FORM)
    crawl.see("b", OTHER_TEXT)
    decision = crawl.see("b", FILLED)
    assert (decision.verdict, decision.original, decision.rule) == (UPDATED, "a", Rule.REPLACED)
    assert decision.is_similar


def test_similar_verdict_is_stored_with_its_original_and_rule(crawl: Crawl) -> None:
    for key, content in (("a", FORM), ("b", extended(FORM, 3)), ("c", FILLED)):
        crawl.see(key, content)
    ids = {key: row.id for key, row in crawl.stored().items()}
    rows = crawl.verdicts()
    assert [(row.verdict, row.original_id, row.rule) for row in rows] == [
        ("new", None, None),
        ("near duplicate", ids["a"], "jaccard"),
        ("similar", ids["a"], "replaced"),
    ]
    assert rows[2].similarity == similarity(FORM, FILLED)


def test_a_member_stays_with_an_updated_leader_only_if_no_form_was_filled_in_anew(crawl: Crawl) -> None:
    crawl.see("a", FORM)
    crawl.see("b", FORM)
    crawl.see("c", extended(FORM, 3))
    assert crawl.see("a", FILLED).verdict is UPDATED
    assert [crawl.stored()[key].leader_id for key in "bc"] == [None, None]


def test_the_words_of_a_text_known_by_its_bytes_are_those_that_are_stored(crawl: Crawl) -> None:
    other = FILLED
    crawl.see("a", FORM)
    crawl.see("b", FORM)
    crawl.see("c", other, b"<html>")
    crawl.see("a", body=b"<html>")
    assert crawl.stored()["b"].leader_id is None


# Short and empty texts


@pytest.mark.parametrize("content", ["", "?!…", "😀 😀"], ids=["nothing", "punctuation", "emoji"])
def test_texts_without_words_are_duplicates_only_if_their_bytes_are_equal(crawl: Crawl, content: str) -> None:
    assert crawl.see("a", content).verdict is NEW
    assert crawl.see("b", content).verdict is NEW
    assert crawl.see("c", content, b"<html>").verdict is NEW
    assert crawl.see("d", content, b"<body>").verdict is NEW
    assert crawl.see("e", content, b"<html>") == Decision(EXACT, "c", "c", 0, 1.0, Rule.SAME_BYTES)


def test_a_text_without_a_shingle_is_in_no_table_whatever_the_setting(start: Callable[..., Crawl]) -> None:
    crawl = start(min_tokens=0)
    crawl.see("a", "two words")
    crawl.see("b", "other words")
    assert crawl.indexed() == {}
    crawl.see("c", "now three words")
    assert list(crawl.indexed()) == ["c"]


# Known bytes


def test_unknown_bytes_without_a_signature_get_no_decision_and_nothing_is_written(crawl: Crawl) -> None:
    assert crawl.see_all([crawl.document("a", None, b"<html>")]) == [None]
    assert crawl.see_all([Document("a", None)]) == [None]
    assert crawl.count(schema.documents) == crawl.count(schema.verdicts) == 0


def test_bytes_of_a_near_duplicate_lead_to_its_original(crawl: Crawl) -> None:
    crawl.see("a", TEXT, b"a")
    crawl.see("b", NEAR_TEXT, b"b")
    decision = crawl.see("c", body=b"b")
    assert (decision.verdict, decision.original, decision.matched) == (NEAR, "a", "b")


def test_bytes_are_known_as_long_as_some_document_has_them(crawl: Crawl) -> None:
    first, second, never = (digest(body) for body in (b"1", b"2", b"3"))
    crawl.see("a", TEXT, b"1")
    crawl.see("b", OTHER_TEXT, b"2")
    assert crawl.deduplicator.stored_bodies([first, second, never]) == {first, second}
    crawl.see("a", NEAR_TEXT, b"3")
    assert crawl.deduplicator.stored_bodies([first, second, never]) == {second, never}
    assert crawl.deduplicator.stored_bodies([]) == set()


def test_a_decision_tells_the_size_of_the_text_even_if_it_is_known_by_its_bytes(crawl: Crawl) -> None:
    documents = [crawl.document("a", TEXT, b"a"), crawl.document("b", None, b"a"), crawl.document("c", "", b"c")]
    decisions = crawl.deduplicator.decide(documents, crawl.run)
    assert [each and each.text_bytes for each in decisions] == [len(TEXT), len(TEXT), 0]


# Clusters


@cache
def chain(edits: int, condition: Callable[[str, str, str], bool]) -> tuple[str, str, str]:
    """Return a leader, a member and a third text, each edited from the one before, of which something holds."""
    for seed in range(200):
        leader = document(400, seed)
        member = extended(leader, edits, f"member {seed}")
        third = extended(member, edits, f"third {seed}")
        if is_near(leader, member) and is_near(member, third) and condition(leader, member, third):
            return leader, member, third
    raise AssertionError("no such texts")


def is_of_cluster(a: str, b: str) -> bool:
    return is_near_leader(compare(signature_of(a).sketch, signature_of(b).sketch), DedupSettings())


def within_reach(a: str, b: str) -> bool:
    """Say whether two texts are found by each other."""
    ours, theirs = signature_of(a), signature_of(b)
    return bits_apart(a, b) <= RADIUS or bool((ours.bands == theirs.bands).any())


def third_is_loosely_of_the_cluster(leader: str, member: str, third: str) -> bool:
    return within_reach(member, third) and not is_near(leader, third) and is_of_cluster(leader, third)


def third_is_not_of_the_cluster(leader: str, member: str, third: str) -> bool:
    return within_reach(member, third) and not is_of_cluster(leader, third)


def test_a_document_is_found_by_a_member_and_assigned_to_its_leader(crawl: Crawl) -> None:
    leader, member, third = chain(26, third_is_loosely_of_the_cluster)
    crawl.see("leader", leader)
    assert crawl.see("member", member).original == "leader"
    decision = crawl.see("third", third)
    assert decision == Decision(
        NEAR, "leader", "member", bits_apart(leader, third), similarity(leader, third), Rule.JACCARD
    )


def test_a_document_like_a_member_but_unlike_its_leader_is_not_in_the_cluster(crawl: Crawl) -> None:
    leader, member, third = chain(32, third_is_not_of_the_cluster)
    assert jaccard(member, third) > jaccard(leader, third)
    crawl.see("leader", leader)
    assert crawl.see("member", member).original == "leader"
    decision = crawl.see("third", third)
    assert (decision.verdict, decision.original, decision.rule) == (SIMILAR, "leader", Rule.FAR_FROM_LEADER)


def test_a_member_too_far_from_its_leader_does_not_hide_another_match(crawl: Crawl) -> None:
    leader, member, third = chain(32, third_is_not_of_the_cluster)
    cousin = next(
        each
        for each in (extended(third, 32, f"cousin {seed}") for seed in range(2000))
        if within_reach(third, each) and is_near(third, each) and not is_near(member, each)
        if similarity(third, each) < similarity(third, member)
    )
    crawl.see("leader", leader)
    crawl.see("member", member)
    assert crawl.see("cousin", cousin).verdict is NEW
    assert crawl.see("third", third).original == "cousin"


# Updates


def test_the_old_fingerprint_of_an_updated_document_leaves_every_table(crawl: Crawl) -> None:
    crawl.see("a", TEXT)
    crawl.see("a", OTHER_TEXT)
    assert crawl.indexed() == {"a": signature_of(OTHER_TEXT).fingerprint}
    assert crawl.see("b", edited(TEXT, 3)).verdict is NEW
    assert crawl.see("c", TEXT).verdict is NEAR  # of b
    assert crawl.see("d", OTHER_TEXT).original == "a"
    assert crawl.see("e", edited(OTHER_TEXT, 3)).original == "a"


def test_members_that_an_updated_leader_is_unlike_are_decided_anew(crawl: Crawl) -> None:
    crawl.see("a", TEXT, b"a")
    crawl.see("exact", TEXT, b"exact")
    crawl.see("near", NEAR_TEXT, b"near")
    assert crawl.see("a", OTHER_TEXT, b"other") == Decision(UPDATED)
    assert crawl.indexed().keys() == {"a"}
    assert crawl.deduplicator.stored_bodies([digest(b"exact"), digest(b"near")]) == set()
    assert crawl.see("exact", TEXT, b"exact") == Decision(NEW)
    assert crawl.see("near", NEAR_TEXT, b"near").original == "exact"


def test_the_text_of_a_member_is_still_found_by_its_copy_when_the_member_changes(crawl: Crawl) -> None:
    leader, member, third = chain(26, third_is_loosely_of_the_cluster)
    crawl.see("leader", leader)
    crawl.see("member", member)
    assert crawl.see("copy", member).matched == "member"
    crawl.see("member", OTHER_TEXT)
    decision = crawl.see("third", third)
    assert (decision.original, decision.matched) == ("leader", "copy")


# The paper's mode


@pytest.fixture
def paper(start: Callable[..., Crawl]) -> Crawl:
    return start(mode=Mode.PAPER)


def test_in_paper_mode_duplicates_are_not_indexed(paper: Crawl) -> None:
    paper.see("a", TEXT)
    near = text_at(lambda bits: bits == 3, 2)
    assert paper.see("b", near).verdict is NEAR
    assert paper.indexed().keys() == {"a"}
    beyond = next(
        each
        for each in (edited(near, 1, seed) for seed in range(1000))
        if bits_apart(near, each) <= 3 < bits_apart(TEXT, each)
    )
    assert paper.see("c", beyond).verdict is NEW


def test_in_paper_mode_members_within_three_bits_of_an_updated_leader_stay(paper: Crawl) -> None:
    first, reordered = PAIRS
    paper.see("a", first)
    paper.see("b", first, b"b")
    assert paper.see("a", reordered).verdict is UPDATED
    assert paper.deduplicator.stored_bodies([digest(b"b")]) == {digest(b"b")}
    assert paper.see("b", first).original == "a"


# Settings


# Law: whatever is seen in whatever order


POOL = [
    TEXT,
    NEAR_TEXT,
    edited(TEXT, 20, 1),
    edited(edited(TEXT, 20, 1), 20, 2),
    edited(edited(edited(TEXT, 20, 1), 20, 2), 20, 3),
    OTHER_TEXT,
    document(40),
    edited(document(40), 1),
    "",
]
SIGNATURES = [signature_of(each) for each in POOL]
SIGHTS = st.tuples(st.sampled_from("abcd"), st.sampled_from(range(len(POOL))), st.sampled_from([-1, 0, 0, 1, 2]))
"""A key, a text, and bytes: none, or one of two of that text; 2: the bytes of the last page that had any, alone."""


class Sight(NamedTuple):
    document: Document
    signature: Signature
    """Of the text of the page, whether the document has it or not."""


def sighted(sights: list[tuple[str, int, int]]) -> list[Sight]:
    result = []
    last = 0, 0
    for key, place, version in sights:
        page = last if version == 2 else (place, version)
        if page[1] >= 0:
            last = page
        body_digest = None if page[1] < 0 else digest("{} {}".format(*page).encode())
        signature = SIGNATURES[page[0]]
        sight = Document(key, None if version == 2 else signature, len(POOL[page[0]]), body_digest)
        result.append(Sight(sight, signature))
    return result


def runs_of(crawl: Crawl, on_sqlite: int, on_postgresql: int) -> settings:
    # To explain a failure, hypothesis would take longer than to find it.
    phases = (Phase.explicit, Phase.generate, Phase.shrink)
    return settings(max_examples=on_sqlite if crawl.database.is_sqlite else on_postgresql, phases=phases)


def assert_means_what_it_says(sight: Sight, decision: Decision, before: dict[str, Any], after: dict[str, Any]) -> None:
    """Check a verdict against what was stored before it and after it."""
    (key, signature), tokens = (sight.document.key, sight.signature), sight.signature.sketch.tokens
    assert key not in (decision.original, decision.matched)
    if decision.verdict is EXACT:
        assert after[decision.original or ""].text_digest == signature.text_digest
    if tokens < 64:
        assert decision.verdict is not NEAR
    if decision.rule is not None:
        assert decision.rule.is_duplicate == decision.verdict.is_duplicate
    if decision.is_similar:
        assert decision.rule is not None
        assert decision.rule.is_similar
        assert decision.original in before
        assert after[key].leader_id is None
    own = before.get(key)
    twins = [
        row
        for row in before.values()
        if row.text_digest == signature.text_digest and row.key != key and (own is None or row.leader_id != own.id)
    ]
    if twins and tokens and decision.verdict is not UNCHANGED:
        assert decision.verdict.is_duplicate


def assert_consistent_whatever_is_seen(crawl: Crawl, on_sqlite: int, on_postgresql: int) -> None:
    @runs_of(crawl, on_sqlite, on_postgresql)
    @given(st.lists(SIGHTS, min_size=8, max_size=16))
    def law(sights: list[tuple[str, int, int]]) -> None:
        empty(crawl)
        keys_with: dict[bytes | None, set[str]] = {None: set()}
        before: dict[str, Any] = {}
        last: tuple[Document, Decision] | None = None
        for sight in sighted(sights):
            key, body_digest = sight.document.key, sight.document.body_digest
            (decision,) = crawl.see_all([sight.document])
            if decision is None:
                assert sight.document.signature is None
                assert body_digest not in {row.body_digest for row in before.values()}
                continue
            after = crawl.stored()
            assert_means_what_it_says(sight, decision, before, after)
            crawl.assert_consistent()
            if body_digest is not None:
                keys_with.setdefault(body_digest, set()).add(key)
            if not sight.signature.sketch.tokens and decision.verdict.is_duplicate:
                assert keys_with[body_digest] - {key}
            before = after
            last = sight.document, decision
        if last is None:
            return
        document, decision = last
        (again,) = crawl.see_all([document])
        assert again is not None
        if decision.verdict.is_duplicate:
            # What is known is not compared again; who matched, and a second original, stand in its first verdict.
            assert replace(again, matched=None, second=None) == replace(decision, matched=None, second=None)
        else:
            assert again == Decision(UNCHANGED)

    law()


@pytest.mark.slow
def test_database_stays_consistent_and_verdicts_keep_their_meaning(crawl: Crawl) -> None:
    assert_consistent_whatever_is_seen(crawl, on_sqlite=120, on_postgresql=15)


@pytest.mark.slow
def test_whatever_is_seen_in_paper_mode_the_database_stays_consistent(paper: Crawl) -> None:
    assert_consistent_whatever_is_seen(paper, on_sqlite=50, on_postgresql=8)


@pytest.mark.slow
def test_verdicts_are_the_same_on_both_databases(sqlite_url: str, postgresql_url: str) -> None:
    crawls = [Crawl(sqlite_url), Crawl(postgresql_url)]
    try:

        @settings(max_examples=10)
        @given(st.lists(SIGHTS, min_size=10, max_size=30))
        def law(sights: list[tuple[str, int, int]]) -> None:
            for crawl in crawls:
                empty(crawl)
            on_sqlite, on_postgresql = (
                crawl.see_all([sight.document for sight in sighted(sights)]) for crawl in crawls
            )
            assert on_sqlite == on_postgresql

        law()
    finally:
        for crawl in crawls:
            crawl.database.close()


# The database


def test_what_comes_again_unchanged_in_the_same_run_is_written_once(crawl: Crawl) -> None:
    """A page that was under way when its crawl was killed is fetched and decided again."""
    decisions = [crawl.see("a", TEXT), crawl.see("b", NEAR_TEXT), crawl.see("c", TEXT)]
    assert [crawl.see("a", TEXT).verdict, crawl.see("b", NEAR_TEXT), crawl.see("c", TEXT)] == [
        UNCHANGED,
        *decisions[1:],
    ]
    assert [row.verdict for row in crawl.verdicts()] == ["new", "near duplicate", "exact duplicate"]
    crawl.see("a", OTHER_TEXT)
    assert crawl.count(schema.verdicts) == 4


def test_every_decision_is_written_with_its_run_and_its_reason(crawl: Crawl) -> None:
    crawl.see("a", TEXT)
    crawl.see("b", NEAR_TEXT)
    first, crawl.run = crawl.run, crawl.deduplicator.open_run("again")
    crawl.see("a", TEXT)
    ids = {row.id: key for key, row in crawl.stored().items()}
    rows = crawl.verdicts()
    assert [(ids[row.document_id], row.verdict, ids.get(row.original_id), ids.get(row.matched_id)) for row in rows] == [
        ("a", "new", None, None),
        ("b", "near duplicate", "a", "a"),
        ("a", "unchanged", None, None),
    ]
    assert [row.run_id for row in rows] == [first, first, crawl.run]
    assert rows[1].distance == bits_apart(TEXT, NEAR_TEXT)
    assert rows[1].similarity == pytest.approx(similarity(TEXT, NEAR_TEXT))
    assert all(abs(row.decided - time.time()) < 60 for row in rows)


def test_a_run_of_the_same_name_is_gone_on_with(crawl: Crawl) -> None:
    crawl.deduplicator.close_run(crawl.run, "shutdown")
    ((outcome, finished),) = crawl.query(select(schema.runs.c.outcome, schema.runs.c.finished))
    assert outcome == "shutdown"
    assert finished is not None
    assert crawl.deduplicator.open_run("test") == crawl.run
    assert crawl.deduplicator.open_run("another") != crawl.run
    rows = crawl.query(select(schema.runs.c.name, schema.runs.c.outcome, schema.runs.c.finished))
    assert sorted(rows) == [("another", None, None), ("test", None, None)]


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


# Transactions


class Failure(Exception):
    """Something in the middle of a batch."""


class FailingDocument:
    def __getattr__(self, name: str) -> object:
        raise Failure


def test_an_exception_in_the_middle_of_a_batch_leaves_nothing_behind(crawl: Crawl) -> None:
    crawl.see("a", TEXT)
    tables = (schema.documents, schema.fingerprints, schema.verdicts)
    before = [crawl.query(select(table)) for table in tables]
    documents: list[Any] = [crawl.document("b", OTHER_TEXT), crawl.document("a", NEAR_TEXT), FailingDocument()]
    with pytest.raises(Failure):
        crawl.see_all(documents)
    assert [crawl.query(select(table)) for table in tables] == before
    assert crawl.see("b", OTHER_TEXT).verdict is NEW


def test_a_verdict_that_cannot_be_written_leaves_nothing_behind(crawl: Crawl) -> None:
    with pytest.raises(DatabaseError) as caught:
        crawl.deduplicator.decide([crawl.document("a", TEXT)], run_id=999)
    assert "\n" not in str(caught.value)
    assert crawl.count(schema.documents) == crawl.count(schema.fingerprints) == 0


def test_a_writer_sees_what_every_writer_before_it_has_written(database_url: str) -> None:
    assert_second_writer_sees_first(database_url)


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_writer_sees_what_earlier_writers_wrote_whatever_the_server_defaults_to(
    postgresql_url: str, level: str
) -> None:
    database = Database(postgresql_url)
    with database.write() as connection:
        connection.execute(
            text(f"ALTER DATABASE {database.url.database} SET default_transaction_isolation = '{level}'")
        )
    database.close()
    assert_second_writer_sees_first(postgresql_url)


def assert_second_writer_sees_first(url: str) -> None:
    first, second = Database(url), Database(url)
    with first.write() as connection:
        schema.metadata.create_all(connection)
    seen: list[int] = []

    def count_runs() -> None:
        with second.write() as connection:
            seen.append(connection.execute(select(func.count()).select_from(schema.runs)).scalar_one())

    try:
        with second.read() as connection:  # a connection is ready
            connection.execute(select(schema.runs.c.id))
        with first.write() as connection:
            thread = threading.Thread(target=count_runs)
            thread.start()
            thread.join(0.3)
            assert thread.is_alive(), "the second writer did not wait"
            connection.execute(schema.runs.insert().values(name="first", started=0))
        thread.join(HANG)
        assert seen == [1]
    finally:
        first.close()
        second.close()


def test_readers_wait_for_no_writer_and_see_only_what_is_committed(crawl: Crawl) -> None:
    other = Database(crawl.settings.database_url)
    try:
        with other.write() as connection:
            connection.execute(schema.runs.insert().values(name="uncommitted", started=0))
            assert crawl.count(schema.runs) == 1
    finally:
        other.close()


def test_a_deduplicator_can_be_used_from_any_thread(crawl: Crawl) -> None:
    decisions: list[Decision] = []
    for _ in range(2):
        thread = threading.Thread(target=lambda: decisions.append(crawl.see("a", TEXT)))
        thread.start()
        thread.join(HANG)
    assert [each.verdict for each in decisions] == [NEW, UNCHANGED]


# Databases that cannot be used


def one_line(error: pytest.ExceptionInfo[DedupError]) -> str:
    message = str(error.value)
    assert "\n" not in message
    assert "secret" not in message
    return message


@pytest.mark.parametrize(
    ("made", "told"),
    [
        # Signatures of another version of a scheme.
        ({"scheme": "2:other"}, ["'2:other'", repr(DEFAULT.name), "name another database"]),
        ({"design": "4 choose 1"}, ["DEDUP_TABLES = '4 choose 1'"]),
        # In the paper's mode neither words nor bands are stored.
        ({"mode": "paper"}, ["DEDUP_MODE = 'paper'"]),
        ({"scope": "spider"}, ["DEDUP_SCOPE = 'spider'"]),
    ],
    ids=lambda made: next(iter(made)),
)
def test_what_was_made_otherwise_is_refused_with_the_setting_that_fits(
    database_url: str, made: dict[str, Any], told: list[str]
) -> None:
    usual = DedupSettings()
    values: dict[str, Any] = {"scheme": DEFAULT.name, "design": str(usual.tables)}
    for _ in range(2):
        open_dedup_database(database_url, **(values | made)).close()
    with pytest.raises(IncompatibleDatabaseError) as caught:
        Deduplicator(DedupSettings(database_url=database_url))
    assert all(each in one_line(caught) for each in told)


def test_a_database_of_the_papers_mode_is_no_other(database_url: str) -> None:
    open_dedup_database(database_url, DEFAULT.name, str(DedupSettings().tables)).close()
    with pytest.raises(IncompatibleDatabaseError, match="DEDUP_MODE = 'checked'"):
        Deduplicator(DedupSettings(database_url=database_url, mode=Mode.PAPER))


def test_a_locked_sqlite_database_is_an_error_after_the_time_allowed(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DedupSettings, "lock_timeout", 0.2)
    crawl = Crawl(sqlite_url)
    with closing(sqlite3.connect(tmp_path / "test.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        started = time.monotonic()
        with pytest.raises(LockedError) as caught:
            crawl.see("a", TEXT)
        assert time.monotonic() - started > 0.15
        assert "locked; another process is writing to it" in one_line(caught)
        other.execute("ROLLBACK")
    assert crawl.see("a", TEXT).verdict is NEW
    crawl.database.close()


@pytest.mark.parametrize("is_new", [False, True])
def test_a_locked_sqlite_database_is_waited_for(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_new: bool
) -> None:
    """A new one is switched to WAL by the first process that comes; the second one must wait for that, not fail."""
    monkeypatch.setattr(DedupSettings, "lock_timeout", HANG)
    if not is_new:
        Crawl(sqlite_url).database.close()
    with closing(sqlite3.connect(tmp_path / "test.db", isolation_level=None, check_same_thread=False)) as other:
        if is_new:
            other.execute("CREATE TABLE t (c)")
        other.execute("BEGIN IMMEDIATE")
        timer = threading.Timer(0.5, other.execute, ["COMMIT"])
        timer.start()
        try:
            crawl = Crawl(sqlite_url)
            assert crawl.see("a", TEXT).verdict is NEW
            crawl.database.close()
        finally:
            timer.join()


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.mark.parametrize(
    "url",
    ["postgresql://user:secret@127.0.0.1:{port}/crawl", "postgresql://user@127.0.0.1:{port}/crawl?password=secret"],
    ids=["before the host", "as a parameter"],
)
def test_an_unreachable_server_is_one_line_without_the_password(closed_port: int, url: str) -> None:
    with pytest.raises(DatabaseError, match="check that the server runs") as caught:
        Deduplicator(DedupSettings(database_url=url.format(port=closed_port)))
    assert f"127.0.0.1:{closed_port}" in one_line(caught)


@pytest.mark.slow
def test_a_database_that_the_server_does_not_have_is_one_line(postgresql_url: str) -> None:
    url = postgresql_url.replace("postgres:@/test_", "postgres:secret@/missing_")
    assert url != postgresql_url
    with pytest.raises(DatabaseError, match=r'database "missing_\d+" does not exist') as caught:
        Deduplicator(DedupSettings(database_url=url))
    one_line(caught)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "crawl.db",
        "postgresql//user:secret@host/crawl",
        "postgresql://user:secret@host:port/crawl",
        "postgresql://user:top/secret@host:port/crawl",
        "postgresql//user:top:secret@host/crawl",
        "mysql://h/db",
        "sqlite://",
        "sqlite://user:secret@host/crawl.db",
        "postgresql://user:top@secret@host/crawl",
        "postgresql://user:top@secret/of@host/crawl",
        "postgresql://user:top@secret?of@host/crawl",
    ],
)
def test_a_url_that_is_none_is_refused_in_one_line_without_the_password(url: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Deduplicator(DedupSettings(database_url=url))
    one_line(caught)


@pytest.mark.slow
def test_a_refused_database_shows_no_password_and_keeps_no_connection(postgresql_url: str) -> None:
    url = postgresql_url.replace("postgres:@", "postgres:secret@")
    open_dedup_database(url, "2:other", "3 choose 1").close()
    with pytest.raises(IncompatibleDatabaseError) as caught:
        Deduplicator(DedupSettings(database_url=url))
    assert "postgres:***@" in one_line(caught)
    others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid != pg_backend_pid()"
    with closing(Database(postgresql_url)) as database, database.read() as connection:
        assert connection.execute(text(others)).scalar_one() == 0


# Databases that are only read


def test_the_database_of_another_program_is_no_report_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "bookmarks.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE bookmarks (url TEXT)")
    before = path.read_bytes()
    with pytest.raises(DatabaseError, match="holds no verdicts") as caught:
        open_existing_database(f"sqlite:///{path}")
    one_line(caught)
    assert path.read_bytes() == before


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
