"""Near-duplicates that say more than their originals, in a database."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace

import pytest

from dedup import Verdict
from dedup.report.contents import Selection
from dedup.report.queries import open_report
from dedup.report.render import Format, write_report
from dedup.rules.table import Rule
from tests.deciding import Crawl
from tests.texts import words

FERRY, UPDATE, COPY, LATER = (f"https://news.example/{name}" for name in ("ferry", "update", "copy", "later"))
STORY = words(300)
UPDATED = [*STORY, *words(80, "update")]


def text(tokens: list[str]) -> str:
    return " ".join(tokens)


@pytest.fixture
def crawl(start: Callable[..., Crawl]) -> Crawl:
    crawl = start()
    crawl.see(FERRY, text(STORY))
    return crawl


def test_it_is_similar_and_leads_from_then_on(crawl: Crawl) -> None:
    decision = crawl.see(UPDATE, text(UPDATED))
    assert (decision.verdict, decision.rule, decision.original) == (Verdict.SIMILAR, Rule.NEW_TEXT, FERRY)
    assert decision.lost == 80
    assert crawl.see(COPY, text(STORY[2:])).original == FERRY
    assert crawl.see(LATER, text(UPDATED[2:])).original == UPDATE
    told = [(row.dropped, row.is_kept, row.lost) for row in crawl.told()]
    assert told == [(COPY, False, 0), (LATER, False, 0), (UPDATE, True, 80)]


def test_a_copy_of_it_is_dropped_in_the_same_batch_too(crawl: Crawl) -> None:
    found = crawl.see_all([crawl.document(UPDATE, text(UPDATED)), crawl.document(COPY, text(UPDATED[2:]))])
    assert found[0] is not None
    assert found[1] is not None
    assert found[0].rule is Rule.NEW_TEXT
    assert found[1].is_dropped
    assert found[1].lost == 0


def test_what_says_more_still_is_passed_on_too(crawl: Crawl) -> None:
    crawl.see(UPDATE, text(UPDATED))
    assert crawl.see(LATER, text([*UPDATED, *words(60, "later")])).lost == 60
    assert crawl.see(COPY, text([*STORY, *words(60, "later")])).is_dropped


def test_what_said_more_in_an_earlier_run_is_unchanged(crawl: Crawl) -> None:
    crawl.see(UPDATE, text(UPDATED), b"bytes")
    crawl.see(COPY, text(UPDATED[2:]), b"others")
    crawl.next_run()
    for content in (text(UPDATED), None):
        again = crawl.see(UPDATE, content, b"bytes")
        assert (again.verdict, again.is_dropped) == (Verdict.UNCHANGED, False)
        crawl.next_run(f"after {again.details.document_id} {content is None}")
    assert crawl.see(COPY, None, b"others").is_dropped


def test_once_it_is_gone_its_copy_is_passed_on(crawl: Crawl) -> None:
    crawl.see(UPDATE, text(UPDATED))
    crawl.deduplicator.forget([UPDATE])
    crawl.next_run()
    assert crawl.see(COPY, text(UPDATED[2:])).rule is Rule.NEW_TEXT


def test_what_one_says_that_showed_two_clusters_to_be_one_is_looked_for_in_both(crawl: Crawl) -> None:
    other = [*words(40, "frame"), *STORY[:150], *words(40, "end")]
    crawl.see(UPDATE, text(other))
    decision = crawl.see(COPY, text(UPDATED))
    assert crawl.runs() == {"test": 3}
    assert decision.lost == 80


def test_the_report_says_so(crawl: Crawl) -> None:
    crawl.see(UPDATE, text(UPDATED))
    crawl.see(COPY, text([*STORY, *words(9, "few")]))
    with open_report(crawl.database, Selection()) as report:
        rows, similar = list(report.duplicates), list(report.similar)
        stream = io.StringIO()
        shown = replace(report, duplicates=iter(rows), similar=iter(similar), skipped=iter([]))
        write_report(shown, Format.TABLE, stream, is_whole=True)
    assert [(row.rule, row.lost) for row in (*similar, *rows)] == [("new_text", 80), ("jaccard", 9)]
    lost = report.totals[Verdict.NEAR_DUPLICATE].lost_bytes
    assert lost == len("".join(words(9, "few")))
    assert "has a passage found nowhere else (+80 words)" in stream.getvalue()
    assert f"lost          {lost} B of text that is in no kept document" in stream.getvalue()


@pytest.mark.parametrize(
    ("title", "key", "says_more"),
    [
        ("Ferry strike called off after late deal | The Gazette", UPDATE, True),
        # The names of site and section tell nothing, nor does what has no title, or stands on another site.
        ("Ferry strike - Transport - The Gazette", UPDATE, False),
        ("", UPDATE, False),
        ("Ferry strike called off after late deal", "https://other.example/ferry", False),
    ],
)
def test_on_one_site_what_has_another_title_is_passed_on_with_half_as_many_words(
    start: Callable[..., Crawl], title: str, key: str, says_more: bool
) -> None:
    crawl = start()
    crawl.show(FERRY, text(STORY), title="Ferry strike | The Gazette")
    follow_up = crawl.show(key, text([*words(39, "deal"), *STORY]), title=title)
    assert (follow_up.is_dropped, follow_up.lost) == (not says_more, 39)
    assert (follow_up.rule is Rule.NEW_TEXT) is says_more
    # Another headline alone makes no other story.
    copy = crawl.show(COPY, text([*words(9, "headline"), *STORY]), title="Boats stand still as crews walk out")
    assert copy.is_dropped


@pytest.mark.parametrize(
    ("title", "is_kept"), [("Ferry strike called off", True), ("Boats stand still - The Gazette", False)]
)
def test_a_follow_up_found_by_the_copy_in_another_paper_is_kept(
    start: Callable[..., Crawl], title: str, is_kept: bool
) -> None:
    crawl = start()
    copied = [*words(9, "headline"), *STORY]
    crawl.show(FERRY, text(STORY), title="Ferry strike | The Gazette")
    assert crawl.show("https://tribune.example/boats", text(copied), title="Boats stand still").is_dropped
    follow_up = crawl.show(UPDATE, text([*words(39, "deal"), *copied]), title=title)
    assert (follow_up.details.matched, follow_up.lost) == ("https://tribune.example/boats", 48)
    assert (follow_up.rule is Rule.NEW_TEXT) is is_kept
