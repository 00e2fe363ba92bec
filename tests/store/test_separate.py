"""Several items under one key: each text is a document of its own, and none is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedup.errors import OutageError
from dedup.rules.decisions import Decision
from dedup.rules.documents import Document, Verdict
from dedup.rules.other_fields import ItemFields
from dedup.rules.scope import host_of
from dedup.signature.signature import digest
from dedup.store.cancelling import cancel_run
from tests.databases import left_in
from tests.deciding import Crawl, empty, signature_of
from tests.texts import document, extended

NEW, UNCHANGED, UPDATED = Verdict.NEW, Verdict.UNCHANGED, Verdict.UPDATED
EXACT, NEAR = Verdict.EXACT_DUPLICATE, Verdict.NEAR_DUPLICATE

PAGE, ELSEWHERE = "http://quotes.example/page/1", "http://quotes.example"
# Short texts, and long ones that stand in the tables.
TEXTS = {
    PAGE: [document(length, f"page {length}") for length in (60, 70, 5, 6)],
    ELSEWHERE: [document(length, f"elsewhere {length}") for length in (65, 7)],
}


def item(text: str, key: str = PAGE, **values: Any) -> Document:
    return Document(key, signature_of(text), len(text), separate=True, **values)


def own_key(text: str, key: str = PAGE) -> str:
    return f"{key} (text {signature_of(text).text_digest.hex()[:12]})"


@pytest.fixture
def crawl(start: Callable[..., Crawl]) -> Crawl:
    return start()


def decide(crawl: Crawl, *documents: Document) -> list[Decision]:
    decisions = [decision for decision in crawl.deduplicator.decide(documents, crawl.run) if decision]
    assert len(decisions) == len(documents)
    crawl.assert_consistent()
    return decisions


A, B, SHORT_A, SHORT_B = TEXTS[PAGE]


@pytest.mark.parametrize("at_once", [True, False])
def test_another_text_under_a_key_gets_a_key_of_its_own(crawl: Crawl, at_once: bool) -> None:
    documents = [item(text) for text in (A, B, SHORT_A)]
    decisions = decide(crawl, *documents) if at_once else [decide(crawl, each)[0] for each in documents]
    assert [each.verdict for each in decisions] == [NEW, NEW, NEW]
    assert [each.key for each in decisions] == [PAGE, own_key(B), own_key(SHORT_A)]
    assert [each.details.is_separate for each in decisions] == [False, True, True]
    assert host_of(own_key(B, ELSEWHERE)) == "quotes.example"


def test_the_same_text_again_is_a_duplicate_of_itself_and_not_led_by_itself(crawl: Crawl) -> None:
    decide(crawl, item(A), item(B))
    [again, other] = decide(crawl, item(A), item(B))
    assert (again.verdict, again.original, again.details.matched, again.similarity) == (EXACT, PAGE, PAGE, 1)
    assert (other.verdict, other.original) == (EXACT, own_key(B))
    assert [(row.verdict, row.dropped == row.original) for row in crawl.told()] == [(EXACT, True)] * 2
    assert crawl.runs() == {"test": 4}


def test_a_text_that_was_a_duplicate_is_that_duplicate_again(crawl: Crawl) -> None:
    decide(crawl, item(A, ELSEWHERE), item(B))
    [first] = decide(crawl, item(A))
    [again] = decide(crawl, item(A))
    assert (first.verdict, first.original, first.key) == (EXACT, ELSEWHERE, own_key(A))
    assert (again.verdict, again.original, again.details.matched) == (EXACT, ELSEWHERE, own_key(A))
    crawl.reopen("next")
    assert [each.verdict for each in decide(crawl, item(A), item(B))] == [EXACT, UNCHANGED]


def test_in_the_next_run_all_are_unchanged_whatever_comes_first(crawl: Crawl) -> None:
    decide(crawl, item(A), item(B), item(SHORT_A))
    crawl.reopen("next")
    decisions = decide(crawl, item(SHORT_A), item(B), item(A))
    assert [each.verdict for each in decisions] == [UNCHANGED] * 3
    assert [each.key for each in decisions] == [own_key(SHORT_A), own_key(B), PAGE]


def test_a_text_that_changes_is_an_update_where_nothing_else_has_its_key(crawl: Crawl) -> None:
    decide(crawl, item(A), item(B))
    crawl.reopen("next")
    [changed, other] = decide(crawl, item(SHORT_B), item(B))
    assert (changed.verdict, changed.key, other.verdict) == (UPDATED, PAGE, UNCHANGED)


def test_another_process_of_the_run_passes_on_once_more_what_was_under_way(crawl: Crawl) -> None:
    decide(crawl, item(A), item(B))
    crawl.reopen()
    assert [each.verdict for each in decide(crawl, item(B), item(A))] == [UNCHANGED, UNCHANGED]
    assert crawl.runs() == {"test": 2}
    # And from then on this process has decided them, too.
    assert [each.verdict for each in decide(crawl, item(A), item(SHORT_A))] == [EXACT, NEW]


@pytest.mark.parametrize("is_written", [True, False])
def test_a_batch_that_is_repeated_after_an_outage_loses_nothing(
    crawl: Crawl, is_written: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = [item(A), item(B), item(SHORT_A, ELSEWHERE)]
    deduplicator = crawl.deduplicator
    real, calls = deduplicator.database.write, iter([True, False])

    class Lost:
        """A connection that breaks as its transaction is committed."""

        def __enter__(self) -> Any:
            self._transaction = real()
            return self._transaction.__enter__()

        def __exit__(self, *_: object) -> None:
            if not next(calls):
                self._transaction.__exit__(None, None, None)
                return
            error = OutageError("the server is away", "test")
            if is_written:
                self._transaction.__exit__(None, None, None)
                raise error
            self._transaction.__exit__(OutageError, error, None)
            raise error

    monkeypatch.setattr(deduplicator.database, "write", Lost)
    with pytest.raises(OutageError):
        deduplicator.decide(documents, crawl.run)
    decisions = deduplicator.decide(documents, crawl.run)
    assert [each and each.verdict for each in decisions] == [UNCHANGED if is_written else NEW] * 3
    monkeypatch.undo()
    assert crawl.runs() == {"test": 3}
    assert [each.verdict for each in decide(crawl, *documents)] == [EXACT] * 3


def test_documents_without_text_are_told_apart_by_their_bytes(crawl: Crawl) -> None:
    first, second = (replace(item("..."), body_digest=digest(body)) for body in (b"1", b"2"))
    decisions = decide(crawl, first, second, first, second)
    assert [each.verdict for each in decisions] == [NEW, NEW, EXACT, EXACT]
    assert decisions[1].key == f"{PAGE} (bytes {digest(b'2').hex()[:12]})"
    unknown = item("...")
    assert [each.verdict for each in decide(crawl, unknown, unknown)] == [NEW, UNCHANGED]


def test_bytes_that_are_known_are_the_same_document_as_their_text(crawl: Crawl) -> None:
    first, second = (replace(item(text), body_digest=digest(text.encode())) for text in (A, B))
    decide(crawl, first, second)
    crawl.reopen("next")
    known = [replace(each, signature=None) for each in (second, first)]
    decisions = decide(crawl, *known)
    assert [(each.verdict, each.key) for each in decisions] == [(UNCHANGED, own_key(B)), (UNCHANGED, PAGE)]
    assert [each.verdict for each in decide(crawl, *known)] == [EXACT, EXACT]


def test_a_page_that_is_gone_takes_all_its_items_along(crawl: Crawl) -> None:
    decide(crawl, item(A), item(B), item(extended(B, 2, "more")))
    crawl.deduplicator.forget([PAGE])
    crawl.assert_consistent()
    assert len(crawl.undecided()) == 3
    assert crawl.undecided() == crawl.there()
    assert [each.verdict for each in decide(crawl, item(B), item(A))] == [NEW, NEW]


def test_a_run_with_items_of_one_key_is_taken_back(crawl: Crawl) -> None:
    decide(crawl, item(A), item(B), item(A), item(B))
    crawl.deduplicator.close_run(crawl.run, "finished")
    cancel_run(crawl.database, "test")
    assert left_in(crawl.database) == {}


# Whatever comes

shown = st.lists(
    st.tuples(st.sampled_from([PAGE, PAGE, ELSEWHERE]), st.integers(0, 3), st.booleans()), min_size=1, max_size=8
)
segments = st.lists(st.tuples(st.booleans(), shown, st.integers(1, 4)), min_size=1, max_size=5)


@pytest.fixture(scope="module")
def make_crawl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Crawl]]:
    crawl = Crawl(f"sqlite:///{tmp_path_factory.mktemp('separate') / 'test.db'}")
    yield lambda: crawl
    crawl.database.close()


@given(processes=segments)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.slow
def test_in_any_order_no_text_is_lost_and_none_is_passed_on_twice(
    make_crawl: Callable[[], Crawl], processes: list[tuple[bool, list[tuple[str, int, bool]], int]]
) -> None:
    crawl = make_crawl()
    empty(crawl)
    passed_in_run: set[str] = set()
    for number, (is_new_run, items, at_once) in enumerate(processes):
        if is_new_run or number == 0:
            run = f"run {number}"
            passed_in_run = set()
        crawl.reopen(run)
        passed: list[str] = []
        texts = [(TEXTS[key][at % len(TEXTS[key])], key, by_bytes) for key, at, by_bytes in items]
        for start in range(0, len(texts), at_once):
            some = texts[start : start + at_once]
            for (text, *_), decision in zip(some, _decide(crawl, some), strict=True):
                passed += [] if decision.verdict.is_duplicate else [text]
        crawl.assert_consistent()
        assert len(passed) == len(set(passed)), "a text was passed on twice"
        passed_in_run |= set(passed)
        assert passed_in_run >= {text for text, *_ in texts}, "a text was lost"


def _decide(crawl: Crawl, some: list[tuple[str, str, bool]]) -> list[Decision]:
    """Decide texts; some by their bytes alone, where these are known, as a crawl does."""
    documents = []
    for text, key, by_bytes in some:
        full = item(text, key, body_digest=digest(text.encode()))
        assert full.body_digest is not None
        is_known = by_bytes and crawl.deduplicator.stored_bodies([full.body_digest])
        documents.append(replace(full, signature=None) if is_known else full)
    decisions = crawl.deduplicator.decide(documents, crawl.run)
    for at, (decision, (text, key, _)) in enumerate(zip(decisions, some, strict=True)):
        if decision is None:
            decisions[at] = crawl.deduplicator.decide([item(text, key, body_digest=digest(text.encode()))], crawl.run)[
                0
            ]
    return [decision for decision in decisions if decision]


def test_renamed_item_class_is_no_copy_of_what_came_before(crawl: Crawl) -> None:
    texts = TEXTS[PAGE]
    # Each under a key of its own, and all under one.
    shown = [(text, f"{PAGE}{n}") for n, text in enumerate(texts)] + [(text, ELSEWHERE) for text in TEXTS[ELSEWHERE]]
    decide(crawl, *(item(text, key, item_class="Article") for text, key in shown))
    for run, name in enumerate(("Story", "Tale", "Story", "", "Article")):
        crawl.reopen(f"run {run}")
        again = decide(crawl, *(item(text, key, item_class=name) for text, key in reversed(shown)))
        assert [decision.verdict for decision in again] == [UNCHANGED] * len(shown)
        # In one run they are two things of the same text, one of which is passed on.
        assert decide(crawl, item(texts[0], f"{PAGE}0", item_class="Other"))[0].verdict is EXACT


def test_item_of_a_renamed_class_that_was_under_way_at_a_crash_passes(crawl: Crawl) -> None:
    text = TEXTS[PAGE][0]
    decide(crawl, item(text, item_class="Article"))
    for _ in range(3):
        crawl.reopen("later")
        assert decide(crawl, item(text, item_class="Story"))[0].verdict is UNCHANGED
    assert decide(crawl, item(text, item_class="Story"))[0].verdict is EXACT


def fields(date: str) -> str:
    return ItemFields("a.example", {"date": [date]}).packed()


def test_known_bytes_of_an_item_with_other_fields_are_another_item_of_that_text(crawl: Crawl) -> None:
    first = replace(item(A), body_digest=digest(b"page"), fields=fields("1 May"))
    second = replace(item(A, f"{PAGE}2"), signature=None, body_digest=digest(b"page"), fields=fields("8 May"))
    [original, similar] = decide(crawl, first, second)
    assert (similar.verdict, similar.original) == (Verdict.SIMILAR, original.key)


def test_two_items_of_one_text_that_are_refused_at_once_can_come_again(crawl: Crawl) -> None:
    items = [item(A, fields=fields("1 May")), item(A, f"{PAGE}2", fields=fields("8 May"))]
    decided = crawl.deduplicator.decide(items, crawl.run, is_stored=False)
    crawl.deduplicator.refuse([each.details.document_id for each in decided if each is not None])
    crawl.assert_consistent()
    assert [each.verdict for each in decide(crawl, *reversed(items))] == [NEW, Verdict.SIMILAR]


def test_of_very_many_items_of_one_text_the_one_with_the_same_fields_is_found(crawl: Crawl) -> None:
    items = [item(A, f"{PAGE}{number}", fields=fields(f"{number} May 2021")) for number in range(200)]
    verdicts = [each.verdict for each in decide(crawl, *items)]
    assert verdicts == [NEW] + [Verdict.SIMILAR] * 199
    [found] = decide(crawl, item(A, f"{PAGE}/again", fields=fields("150 May 2021")))
    assert (found.verdict, found.original) == (EXACT, f"{PAGE}150")
    # One that says less may be any of them.
    [bare] = decide(crawl, item(A, f"{PAGE}/bare"))
    assert (bare.verdict, bare.original) == (Verdict.SIMILAR, f"{PAGE}0")
    assert decide(crawl, item(A, f"{PAGE}/bare again"))[0].original == f"{PAGE}/bare"
