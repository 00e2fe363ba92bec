"""What a run could not decide: noted, reported, and taken back with the run."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dedup.report.contents import Selection
from dedup.report.queries import open_report
from dedup.report.render import Format, write_report
from dedup.store.cancelling import cancel_run
from dedup.store.database import open_existing_database
from dedup.store.notes import Skipped, note_skipped, note_unexamined, summarise
from dedup.store.runs import read_runs
from tests.commands import run_dedup
from tests.databases import few_at_once
from tests.deciding import Crawl
from tests.texts import document

GONE = Skipped("http://news.example/gone", "not found", "404", "http://news.example/")
NOTED = ("Quote", ("author",), "no text", 3)
SLOW = Skipped("http://other.example/slow", "timed out")
KEY, TEXT = "http://news.example/1", document(60, "notes")


@pytest.fixture
def crawl(start: Callable[..., Crawl]) -> Crawl:
    return start()


def written(crawl: Crawl, output_format: Format = Format.TABLE, *, is_whole: bool = False, **selection: Any) -> str:
    stream = io.StringIO()
    with (
        closing(open_existing_database(crawl.settings.database_url)) as database,
        open_report(database, Selection(**selection)) as report,
    ):
        write_report(report, output_format, stream, is_whole=is_whole)
    return stream.getvalue()


def skipped(crawl: Crawl, **selection: Any) -> list[tuple[str, str, str]]:
    found = json.loads(written(crawl, Format.JSON, **selection))["skipped"]
    return [(each["run"], each["key"], each["reason"]) for each in found]


def test_items_that_were_not_examined_are_counted_by_class_and_reason(crawl: Crawl) -> None:
    noted = [("Quote", ("author", "tags"), "no text", 20), ("Quote", ("author",), "no key", 1), ("", (), "no text", 2)]
    note_unexamined(crawl.database, crawl.run, noted)
    note_unexamined(crawl.database, crawl.run, [("Quote", ("author", "likes"), "no text", 5)] * 2)
    note_unexamined(crawl.database, crawl.run, [])
    noted = json.loads(written(crawl, Format.JSON))["not_examined"]
    assert [tuple(each[name] for name in ("item_class", "reason", "fields", "count")) for each in noted] == [
        ("Quote", "no text", "author, likes", 30),
        ("", "no text", "", 2),
        ("Quote", "no key", "author", 1),
    ]


def test_a_page_that_is_noted_again_is_one_page(crawl: Crawl) -> None:
    note_skipped(crawl.database, crawl.run, [GONE, SLOW, GONE])
    other = crawl.deduplicator.open_run("other")
    note_skipped(crawl.database, other, [GONE])
    note_skipped(crawl.database, crawl.run, [GONE._replace(reason="timed out", detail="")])
    assert skipped(crawl, run="test") == [("test", GONE.key, "timed out"), ("test", SLOW.key, "timed out")]
    assert skipped(crawl, run="other") == [("other", GONE.key, "not found")]


def test_what_sites_and_items_bring_cannot_upset_a_database(crawl: Crawl) -> None:
    hostile = "a\x00\x1b[2J\ud800" + "x" * 10_000
    note_unexamined(crawl.database, crawl.run, [(hostile, (hostile,), hostile, 1)])
    note_skipped(crawl.database, crawl.run, [Skipped(hostile, hostile, hostile, hostile)])
    assert "\x1b" not in written(crawl)


def test_what_a_database_remembers(crawl: Crawl) -> None:
    [run] = read_runs(crawl.database)
    assert summarise(crawl.database) == (0, 1, 0, run.started)
    crawl.show(KEY, TEXT)
    crawl.deduplicator.close_run(crawl.deduplicator.open_run("second"), "finished")
    assert summarise(crawl.database) == (1, 2, 1, run.started)


@pytest.mark.parametrize("at_once", [1, 1000])
def test_notes_go_with_their_run(crawl: Crawl, at_once: int) -> None:
    other = crawl.deduplicator.open_run("other")
    for run_id in (crawl.run, other):
        note_skipped(crawl.database, run_id, [GONE, SLOW])
        note_unexamined(crawl.database, run_id, [NOTED])
    crawl.deduplicator.close_run(crawl.run, "finished")
    with few_at_once(at_once):
        cancel_run(crawl.database, "test")
    assert {run for run, *_ in skipped(crawl, all_runs=True)} == {"other"}
    assert [each["count"] for each in json.loads(written(crawl, Format.JSON, all_runs=True))["not_examined"]] == [3]


# The report


def test_a_run_that_decided_nothing_says_what_it_did_not(crawl: Crawl) -> None:
    note_unexamined(crawl.database, crawl.run, [("Quote", ("author", "tags"), "no text", 2000)])
    note_skipped(crawl.database, crawl.run, [SLOW, GONE])
    title, *lines = written(crawl, is_whole=True).rstrip().splitlines()
    assert title.startswith("run test, ")
    assert lines == [
        "",
        "read          2,002 documents",
        "kept          2,000 documents   2,000 not examined",
        "dropped       0 documents",
        "skipped       2 documents   1 not found, 1 timed out",
        "",
        "items  not examined  why      fields        set",
        "2,000  Quote         no text  author, tags  DEDUP_TEXT_FIELD",
        "",
        "skipped          page                       linked from",
        "not found (404)  http://news.example/gone   /",
        "timed out        http://other.example/slow",
    ]


def test_json_has_all_of_it_and_the_table_where_all_is_wanted(crawl: Crawl) -> None:
    crawl.show(KEY, TEXT)
    note_skipped(crawl.database, crawl.run, [GONE, SLOW])
    note_unexamined(crawl.database, crawl.run, [NOTED])
    assert [(each in written(crawl), each in written(crawl, is_whole=True)) for each in ("/gone", "/slow")] == [
        (False, True)
    ] * 2
    facts = json.loads(written(crawl, Format.JSON))
    assert facts["skip_counts"] == {"not found": 1, "timed out": 1}
    assert facts["skipped"] == [
        {**GONE._asdict(), "run": "test"},
        {**SLOW._asdict(), "run": "test"},
    ]
    [noted] = facts["not_examined"]
    assert noted == {
        "item_class": "Quote",
        "count": 3,
        "reason": "no text",
        "fields": "author",
        "setting": "DEDUP_TEXT_FIELD",
    }
    assert "gone" not in written(crawl, Format.CSV)


def test_report_on_a_host_has_its_skipped_pages_and_one_on_all_runs_adds_them_up(crawl: Crawl) -> None:
    for run_id in (crawl.run, crawl.deduplicator.open_run("other")):
        note_skipped(crawl.database, run_id, [GONE, SLOW])
        note_unexamined(crawl.database, run_id, [NOTED])
    of_host = json.loads(written(crawl, Format.JSON, host="news.example"))
    assert ([page["key"] for page in of_host["skipped"]], of_host["not_examined"]) == ([GONE.key], [])
    of_all = json.loads(written(crawl, Format.JSON, all_runs=True))
    assert of_all["skip_counts"] == {"not found": 2, "timed out": 2}
    assert [each["count"] for each in of_all["not_examined"]] == [6]


@pytest.mark.parametrize("content", ["decided", "skipped", "unexamined", ""])
def test_an_empty_run_hides_no_run_with_content(crawl: Crawl, content: str) -> None:
    if content == "decided":
        crawl.show(KEY, TEXT)
    elif content == "skipped":
        note_skipped(crawl.database, crawl.run, [GONE])
    elif content == "unexamined":
        note_unexamined(crawl.database, crawl.run, [NOTED])
    crawl.deduplicator.open_run("empty")
    assert f"run {'test' if content else 'empty'}, " in written(crawl).partition("\n")[0]


def test_the_same_text_again_makes_no_cluster_and_is_told_of(crawl: Crawl) -> None:
    crawl.show(KEY, TEXT, separate=True)
    crawl.show(KEY, TEXT, separate=True)
    facts = json.loads(written(crawl, Format.JSON))
    assert (facts["clusters"], facts["cluster_count"]) == ([], 0)
    assert [row["dropped"] == row["original"] for row in facts["duplicates"]] == [True]
    assert "dropped       1 document   1 exact\n" in written(crawl)


def test_what_is_only_marked_is_kept_and_said_so(start: Callable[..., Crawl]) -> None:
    crawl = start(mark_only=True)
    crawl.show(KEY, TEXT)
    crawl.show("http://news.example/2", TEXT)
    assert "1 duplicate kept, as nothing is dropped (DEDUP_MARK_ONLY)" in written(crawl)
    assert "  exact kept 100%  /2  the same text" in written(crawl)
    facts = json.loads(written(crawl, Format.JSON))
    assert facts["totals"]["exact duplicate"]["kept"] == 1
    assert [row["is_kept"] for row in facts["duplicates"]] == [True]


@pytest.mark.parametrize(
    ("name", "status"), [("x.html", 0), ("x.xlsx", 2), ("x.txt", 0), ("x", 0), ("x.JSON", 0), ("x.csv", 0)]
)
def test_a_name_that_says_another_format_is_refused(tmp_path: Path, sqlite_url: str, name: str, status: int) -> None:
    with closing(Crawl(sqlite_url).database):
        done = run_dedup("duplicates", "--database", sqlite_url, "-o", name, folder=tmp_path)
    assert done.returncode == status, done.stderr
    assert (tmp_path / name).exists() == (status == 0)
    assert not status or (done.stderr.count("\n") == 1 and all(word in done.stderr for word in (name, *Format)))
