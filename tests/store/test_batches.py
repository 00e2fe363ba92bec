"""Documents in one transaction: what is decided and stored is the same as where each has its own."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import accumulate, cycle, pairwise, product
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import dedup.keys
from dedup.rules.decisions import Decision
from dedup.rules.documents import Document, Verdict
from dedup.rules.settings import DedupSettings, Mode
from dedup.signature.signature import digest
from tests.databases import sizes
from tests.deciding import Crawl, FailingDocument, empty, few_examples, signature_of
from tests.texts import all_pairs, document, edited, extended, filled_in, form

NEAR = Verdict.NEAR_DUPLICATE
TEXT, OTHER = document(120, "text"), document(120, "other")
FORM = form(200, 14, "form")
TEXTS = [
    *(TEXT, OTHER, edited(OTHER, 4), FORM, filled_in(FORM), all_pairs(12, 1), all_pairs(12, 2)),
    # They share nearly all their keys.
    *(edited(TEXT, 2, seed) for seed in range(6)),
    *(extended(TEXT, 10, "a"), extended(TEXT, 10, "b"), extended(TEXT, 20, "c")),
    *(document(40), edited(document(40), 1), document(5), ""),
]
URLS = [f"http://{host}.example/{number}" for host in "ab" for number in range(4)]


@st.composite
def documents(draw: Callable[[Any], Any]) -> Document:
    text, body = draw(st.sampled_from(TEXTS)), draw(st.sampled_from([None, b"1", b"2"]))
    body_digest = body and digest(text.encode() + body)
    return Document(
        draw(st.sampled_from(URLS)),
        # Of known bytes there is no signature.
        None if body and draw(st.booleans()) else signature_of(text),
        len(text),
        body_digest,
        separate=draw(st.sampled_from([False, False, True])),
        item_class=draw(st.sampled_from(["", "", "Review"])),
        spider=draw(st.sampled_from(["one", "two"])),
    )


def decided(crawl: Crawl, some: list[Document], cuts: list[int], *, with_failures: bool = False) -> list[Any]:
    """Decide documents in batches that end at some places; a batch that fails is repeated, as in an outage."""
    empty(crawl)
    found: list[Decision | None] = []
    for start, end in pairwise([0, *cuts]):
        if with_failures:
            with pytest.raises(InterruptedError):
                crawl.see_all([*some[start:end], FailingDocument("", None)])
        found += crawl.see_all(some[start:end])
    return found


def written(crawl: Crawl) -> list[Any]:
    """Return what is known of all that was seen, and how much the database holds."""
    places = zip(TEXTS, cycle(product(("a", "b"), ("one", "two"))), strict=False)
    copies = [Document(f"http://{host}.example/", signature_of(text), spider=name) for text, (host, name) in places]
    found = [crawl.deduplicator.find(each, crawl.run) for each in copies]
    bodies = crawl.deduplicator.stored_bodies([digest(text.encode() + body) for text in TEXTS for body in (b"1", b"2")])
    return [crawl.told(), found, bodies, crawl.undecided(), sizes(crawl.database)]


@pytest.mark.parametrize("most_read", [2, dedup.keys.MOST_READ])
@pytest.mark.parametrize("values", [{}, {"scope": "host"}, {"scope": "spider"}, {"mode": Mode.PAPER}], ids=str)
@pytest.mark.slow
def test_batches_decide_and_write_what_single_documents_do(
    start: Callable[..., Crawl], monkeypatch: pytest.MonkeyPatch, values: dict[str, Any], most_read: int
) -> None:
    # So a few documents make a key crowded.
    monkeypatch.setattr(dedup.keys, "MOST_READ", most_read)
    crawl = start(**values)
    examples = few_examples(crawl.database)

    @settings(max_examples=examples, phases=(Phase.explicit, Phase.generate, Phase.shrink))
    @given(st.lists(documents(), min_size=4, max_size=40), st.lists(st.integers(1, 30), min_size=40, max_size=40))
    def law(some: list[Document], sizes: list[int]) -> None:
        singly, one_by_one = decided(crawl, some, list(range(1, len(some) + 1))), written(crawl)
        cuts = [*(each for each in accumulate(sizes) if each < len(some)), len(some)]
        for with_failures in (False, True):
            assert decided(crawl, some, cuts, with_failures=with_failures) == singly
            assert written(crawl) == one_by_one
        crawl.assert_consistent()

    law()


def keys(text: str) -> set[tuple[int, int]]:
    signature = signature_of(text)
    found = DedupSettings().keys.of(np.array([signature.fingerprint], np.uint64), signature.bands[np.newaxis])
    return set(enumerate(found[0].tolist()))


@pytest.mark.parametrize("at_once", [True, False])
def test_who_leaves_a_crowded_key_makes_room_in_the_same_batch(
    start: Callable[..., Crawl], monkeypatch: pytest.MonkeyPatch, at_once: bool
) -> None:
    monkeypatch.setattr(dedup.keys, "MOST_READ", 1)
    crawl = start()
    first = form(200, 6, "crowded")
    second = filled_in(first)
    copy = next(
        each
        for each in (edited(second, 15, seed) for seed in range(1000))
        if keys(second) & keys(each) and keys(second) & keys(each) <= keys(first)
    )
    shown = [("first", first), ("second", second), ("first", OTHER), ("copy", copy)]
    documents_ = [crawl.document(key, text) for key, text in shown]
    batches = [documents_] if at_once else [[each] for each in documents_]
    decisions = [decision for batch in batches for decision in crawl.see_all(batch)]
    assert decisions[-1] is not None
    assert (decisions[-1].verdict, decisions[-1].original) == (NEAR, "second")


def test_to_forget_a_document_takes_as_long_however_many_there_are(sqlite_url: str) -> None:
    with closing(Crawl(sqlite_url)) as crawl:

        def steps_to_forget(key: str) -> int:
            # SQLite has one connection, which is lent again.
            with closing(crawl.database.engine.raw_connection()) as connection:
                driver = cast("sqlite3.Connection", connection.driver_connection)
            steps = []
            driver.set_progress_handler(lambda: steps.append(key), 10)
            crawl.deduplicator.forget([key])
            driver.set_progress_handler(None, 0)
            return len(steps)

        def add(first: int, last: int) -> None:
            crawl.see_all([crawl.document(str(number), document(40, number)) for number in range(first, last)])

        add(0, 50)
        among_few = steps_to_forget("1")
        add(50, 400)
        assert 0 < steps_to_forget("2") < 2 * among_few


def test_in_paper_mode_what_takes_the_text_of_its_copy_by_its_bytes_has_copies(start: Callable[..., Crawl]) -> None:
    crawl = start(mode=Mode.PAPER)
    text = document(300, "text")
    near, further = edited(text, 1, 1), edited(text, 2, 4)
    crawl.see("a", text)
    assert crawl.see("b", near, b"bytes").original == "a"
    assert crawl.see("a", None, b"bytes").verdict is Verdict.UPDATED
    assert crawl.see("c", further).original == "a"


PAGE, COPY = "http://news.example/1", "http://news.example/2"
LONG, SHORT = document(120, "long"), document(40, "short")
BODY = digest(b"1")
_Verdicts = list[Verdict | None]


@pytest.mark.parametrize(
    ("before", "batch", "verdicts"),
    [
        (
            [Document(PAGE, signature_of(LONG), body_digest=BODY)],
            [Document(PAGE, signature_of(LONG), body_digest=digest(b"2")), Document(COPY, None, body_digest=BODY)],
            [Verdict.UNCHANGED, None],
        ),
        (
            [Document(PAGE, signature_of(SHORT), body_digest=BODY, title="Bread")],
            [Document(PAGE, None, body_digest=BODY, title="Ferry"), Document(COPY, signature_of(SHORT), title="Bread")],
            [Verdict.UNCHANGED, Verdict.SIMILAR],
        ),
        (
            [Document(PAGE, signature_of(text), separate=True) for text in (SHORT, LONG)],
            [Document(PAGE, signature_of(LONG), item_class="Note"), Document(COPY, signature_of(LONG), separate=True)],
            [Verdict.EXACT_DUPLICATE, Verdict.EXACT_DUPLICATE],
        ),
    ],
    ids=["other bytes", "another title", "another class"],
)
def test_in_a_batch_what_is_stored_is_as_those_before_have_left_it(
    start: Callable[..., Crawl], before: list[Document], batch: list[Document], verdicts: _Verdicts
) -> None:
    crawl = start()
    crawl.see_all(before)
    crawl.next_run()
    assert [each and each.verdict for each in crawl.see_all(batch)] == verdicts
