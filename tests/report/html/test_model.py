"""What a page holds of a report, before any browser sees it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from dedup.report.contents import Row, SkippedPage
from dedup.report.html import model
from dedup.report.html.model import page_of
from dedup.report.words import WordDiff
from tests.report.html.reports import EXACT, FERRY, NOON, SIMILAR, differing_by, many, report_of, row, write
from tests.report.renderings import data_in, keys_of

ROWS = (
    row("https://news.example/a", similarity=0.95),
    row("https://news.example/b", similarity=0.56, places=3, matched="https://news.example/a"),
    row("https://www.example/c", verdict=EXACT, similarity=1.0, distance=0, rule="same_text"),
    row("https://news.example/d", verdict=SIMILAR, similarity=0.6, rule="replaced"),
    row("https://news.example/e", similarity=0.99, is_kept=True),
    row("https://news.example/f", similarity=0.97, rule="short_alike"),
)


def page_on(*rows: Row, difference: WordDiff | None = FERRY, **values: Any) -> dict[str, Any]:
    return page_of(report_of(*rows, compare=differing_by(difference), **values))


def test_rows_to_compare_come_first_and_what_adds_nothing_behind_what_was_kept() -> None:
    rows = [
        row("sure/e", similarity=0.8, lost=0, places=0),
        row("adds/c", similarity=0.8, lost=2, places=0),
        row("exact/f", verdict=EXACT, similarity=1.0),
        row("kept/d", verdict=SIMILAR, similarity=0.5),
        row("near/b", similarity=0.7, distance=2, places=3),
        row("far/a", similarity=0.7, distance=9, places=3),
    ]
    data = page_on(*rows, difference=None)
    assert (keys_of(data), data["differences"]) == (list("abcdef"), {})


def test_flagged_drops_come_first_exact_ones_last_and_what_was_kept_is_no_drop() -> None:
    data = page_on(*ROWS, new=4)
    assert keys_of(data) == list("bdafec")
    expected = {"seen": 9, "kept": 5, "skipped": 0, "dropped": 4, "exact": 1, "near": 3, "flagged": 1, "similar": 1}
    expected |= {"marked": 1, "text_bytes": 900, "saved_bytes": 400}
    assert data["counts"] == expected


def test_each_text_stands_once_and_each_column_says_what_the_row_says() -> None:
    data = page_on(*ROWS)
    assert len(data["texts"]) == len(set(data["texts"]))
    columns = {name: [data["texts"][each] for each in data["rows"][name]] for name in ("matched", "host")}
    assert columns["matched"][0] == "https://news.example/a"
    assert columns["host"][-1] == "www.example"
    assert data["rows"]["decided"] == [NOON] * 6


def test_escaped_letters_are_shown_as_letters_and_kept_as_they_are() -> None:
    data = page_on(row("https://news.example/%E6%B8%AF"))
    assert data["shown"] == {data["rows"]["dropped"][0]: "https://news.example/港"}
    assert data["texts"][data["rows"]["dropped"][0]] == "https://news.example/%E6%B8%AF"


def test_rows_that_may_be_flagged_stay_where_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "MOST_ROWS", 10)
    data = page_on(*many(30), row("https://news.example/x", similarity=0.5, places=3))
    assert len(data["rows"]["dropped"]) == 10
    assert data["rows_cut"] == 21
    assert keys_of(data)[0] == "x"
    assert data["counts"]["dropped"] == 31


def test_only_the_first_pairs_in_the_order_of_review_are_compared() -> None:
    data = page_on(*ROWS, most_compared=2)
    assert list(data["differences"]) == [0, 3]
    assert data["differences"][0]["shown"] == [["at noon the", "ferry", "night bus", "leaves", 1, 2, "name"]]


def test_long_keys_are_cut_and_told_apart() -> None:
    data = page_on(row("x" * 1_000_000), row("x" * 1_000_001))
    cut = [data["texts"][number] for number in data["rows"]["dropped"]]
    assert len(set(cut)) == 2
    assert all(data["longest_key"] < len(text) < 5_000 for text in cut)


def test_skipped_pages_are_in_it() -> None:
    skipped = SkippedPage("https://news.example/gone", "http 404", "", "https://news.example/", True, "monday")
    assert page_on(*ROWS, skip_counts={"http 404": 1}, skipped=iter([skipped]))["skipped"] == [
        ["https://news.example/gone", "http 404", "", "https://news.example/"]
    ]


def test_verdicts_are_counted_over_the_time_of_the_run() -> None:
    rows = [row(f"https://news.example/{number}", decided=NOON + number) for number in range(80)]
    timeline = page_on(*rows)["timeline"]
    assert timeline["start"] == NOON
    assert timeline["seconds"] == pytest.approx(2.0)
    assert sum(timeline["bars"]["near duplicate"]) == 80
    assert len(timeline["bars"]["near duplicate"]) == 40
    of_a_moment = page_on(row("https://news.example/a"))["timeline"]
    assert of_a_moment["bars"] == {"near duplicate": [1]}


def test_head_is_there_without_a_script_also_of_nothing(tmp_path: Path) -> None:
    page = write(tmp_path, report_of())
    assert "0 of 10 documents dropped" in page.read_text(encoding="utf-8")
    assert data_in(page)["rows"]["dropped"] == []
    html = write(tmp_path, report_of(*ROWS, is_crawl=True)).read_text(encoding="utf-8")
    head = re.sub(r"\s+", " ", html[html.index("<h1>") : html.index("</h1>")])
    assert head == '<h1>4 of 15 pages dropped; <span class="look">1 flagged for review</span>'


def test_names_of_runs_are_text_in_the_head(tmp_path: Path) -> None:
    html = write(tmp_path, report_of(*ROWS, runs=["<script>alert(1)</script>"])).read_text(encoding="utf-8")
    assert "<script>alert" not in html
    assert "run &lt;script&gt;alert(1)&lt;/script&gt;" in html


def test_page_is_the_same_for_the_same_report_and_names_no_address_to_load_from(tmp_path: Path) -> None:
    html = write(tmp_path, report_of(*ROWS)).read_text(encoding="utf-8")
    assert write(tmp_path, report_of(*ROWS)).read_text(encoding="utf-8") == html
    assert not re.search(r"<(link|img|iframe|object|embed)\b|<script[^>]*\bsrc|@import|url\(", html)
