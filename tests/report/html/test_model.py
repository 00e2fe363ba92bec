"""What a page holds of a report, before any browser sees it."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from dedup.report.contents import SkippedPage
from dedup.report.html import model
from dedup.report.html.model import page_of
from tests.report.html.reports import EXACT, FERRY, NOON, SIMILAR, differing_by, many, report_of, row, write

ROWS = (
    row("https://news.example/a", similarity=0.95),
    row("https://news.example/b", similarity=0.56, places=3, matched="https://news.example/a"),
    row("https://www.example/c", verdict=EXACT, similarity=1.0, distance=0, rule="same_text"),
    row("https://news.example/d", verdict=SIMILAR, similarity=0.6, rule="replaced", kept="similar"),
    row("https://news.example/e", similarity=0.99, kept="marked"),
    row("https://news.example/f", similarity=0.97, rule="short_alike"),
)

COMPARED = differing_by(FERRY)


def data_in(page: Path) -> Any:
    packed = re.search('id="data">([^<]*)<', page.read_text(encoding="utf-8"))
    assert packed is not None
    return json.loads(gzip.decompress(base64.b64decode(packed[1])))


def keys_of(data: Any, column: str = "dropped") -> list[str]:
    return [data["keys"][number][-1] for number in data["rows"][column]]


def test_doubtful_drops_come_first_and_exact_ones_last() -> None:
    assert keys_of(page_of(report_of(*ROWS), COMPARED)) == list("bfdaec")


def test_head_counts_what_was_dropped_and_what_is_worth_a_look() -> None:
    counts = page_of(report_of(*ROWS, new=4), COMPARED)["counts"]
    expected = {"documents": 9, "dropped": 4, "exact": 1, "near": 3, "doubtful": 2, "similar": 1, "marked": 1}
    assert counts == {**expected, "text_bytes": 900, "saved_bytes": 400, "are_pages": True}


def test_column_of_each_kind_says_what_the_row_says() -> None:
    data = page_of(report_of(*ROWS), COMPARED)
    rows = data["rows"]
    assert [rows["verdicts"][each] for each in rows["verdict"]].count("near duplicate") == 4
    assert rows["rules"][rows["rule"][-1]] == "same_text"
    assert data["keys"][rows["matched"][0]] == "https://news.example/a"
    assert rows["hosts"][rows["host"][-1]] == "www.example"
    assert rows["decided"] == [NOON] * 6


def test_each_key_stands_once() -> None:
    data = page_of(report_of(*ROWS), COMPARED)
    assert len(data["keys"]) == len(set(data["keys"])) == 7


def test_escaped_letters_are_shown_as_letters_and_kept_as_they_are() -> None:
    data = page_of(report_of(row("https://news.example/%E6%B8%AF")), COMPARED)
    assert data["keys"][0] == "https://news.example/%E6%B8%AF"
    assert data["shown"][0] == "https://news.example/港"


def test_most_doubtful_rows_stay_where_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "MOST_ROWS", 10)
    page = page_of(report_of(*many(30), row("https://news.example/x", similarity=0.5, places=3)), COMPARED)
    assert len(page["rows"]["dropped"]) == 10
    assert page["rows_cut"] == 21
    assert keys_of(page)[0] == "x"
    assert page["counts"]["dropped"] == 31


def test_only_the_most_doubtful_pairs_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "MOST_COMPARED", 2)
    data = page_of(report_of(*ROWS), COMPARED)
    assert list(data["differences"]) == [0, 1]
    assert data["differences"][0]["shown"] == [["at noon the", "ferry", "night bus", "leaves", 1, 2]]


def test_nothing_is_said_of_pairs_whose_words_are_not_stored() -> None:
    assert page_of(report_of(*ROWS), differing_by(None))["differences"] == {}


def test_long_keys_are_cut_and_told_apart() -> None:
    data = page_of(report_of(row("x" * 1_000_000), row("x" * 1_000_001)), COMPARED)
    assert len(data["keys"]) == 3
    assert data["keys_cut"] == [0, 1]
    assert sum(map(len, data["keys"])) < 10_000


def test_skipped_pages_are_in_it() -> None:
    skipped = SkippedPage("https://news.example/gone", "http 404", "", "https://news.example/", "monday")
    report = report_of(*ROWS, skip_counts={"http 404": 1}, skipped=iter([skipped]))
    assert page_of(report, COMPARED)["skipped"] == [
        ["https://news.example/gone", "http 404", "", "https://news.example/"]
    ]


def test_verdicts_are_counted_over_the_time_of_the_run() -> None:
    rows = [row(f"https://news.example/{number}", decided=NOON + number) for number in range(80)]
    timeline = page_of(report_of(*rows), COMPARED)["timeline"]
    assert timeline["start"] == NOON
    assert timeline["seconds"] == pytest.approx(2.0)
    assert sum(timeline["bars"]["near duplicate"]) == 80
    assert len(timeline["bars"]["near duplicate"]) == 40
    of_a_moment = page_of(report_of(row("https://news.example/a")), COMPARED)["timeline"]
    assert of_a_moment["bars"] == {"near duplicate": [1]}


def test_head_is_there_without_a_script_also_of_nothing(tmp_path: Path) -> None:
    page = write(tmp_path, report_of())
    assert "0 of 10 documents dropped" in page.read_text(encoding="utf-8")
    assert data_in(page)["rows"]["dropped"] == []
    html = write(tmp_path, report_of(*ROWS)).read_text(encoding="utf-8")
    head = re.sub(r"\s+", " ", html[html.index("<h1>") : html.index("</h1>")])
    assert head == '<h1>4 of 15 pages dropped; <span class="look">2 of them are worth a look</span>'


def test_names_of_runs_are_text_in_the_head(tmp_path: Path) -> None:
    html = write(tmp_path, report_of(*ROWS, runs=["<script>alert(1)</script>"])).read_text(encoding="utf-8")
    assert "<script>alert" not in html
    assert "run &lt;script&gt;alert(1)&lt;/script&gt;" in html


def test_page_is_the_same_for_the_same_report_and_names_no_address_to_load_from(tmp_path: Path) -> None:
    html = write(tmp_path, report_of(*ROWS)).read_text(encoding="utf-8")
    assert write(tmp_path, report_of(*ROWS)).read_text(encoding="utf-8") == html
    assert not re.search(r"<(link|img|iframe|object|embed)\b|<script[^>]*\bsrc|@import|url\(", html)
