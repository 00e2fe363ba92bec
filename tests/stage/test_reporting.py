"""DEDUP_REPORT: the report that a crawl writes at its end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dedup import DedupSettings
from dedup.errors import DedupError, SettingsError
from dedup.stage.crawl_run import write_report_of_run
from dedup.stage.project import require_report
from dedup.stage.summary import database_line
from tests.crawling import ExitedError, crawl_here
from tests.crawls import Crawls, crawl_twice, text_of
from tests.passing import ADDONS, ItemsSpider

ITEMS = [{"url": f"https://news.example/{number}", "text": text_of(1)} for number in range(3)]


def crawl(folder: Path, report: str, items: object = ITEMS, **settings: object) -> list[str]:
    database = f"sqlite:///{folder / 'crawl.db'}"
    values = {"ADDONS": ADDONS, "DEDUP_DATABASE_URL": database, "DEDUP_REPORT": report, **settings}
    return crawl_here(ItemsSpider, values, items=items).messages


def test_crawl_writes_its_report(tmp_path: Path) -> None:
    messages = crawl(tmp_path, str(tmp_path / "report.html"), DEDUP_RUN="first")
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "2 of 3 documents dropped" in html
    assert "run first" in html
    assert f"report written: {tmp_path / 'report.html'}" in messages


def test_report_is_that_of_this_run(tmp_path: Path) -> None:
    crawl(tmp_path, "", DEDUP_RUN="first")
    other = [{"url": "https://news.example/other", "text": text_of(2)}]
    crawl(tmp_path, str(tmp_path / "report.json"), other, DEDUP_RUN="second")
    found = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert (found["runs"], found["duplicates"]) == (["second"], [])


def test_crawl_without_items_writes_none(tmp_path: Path) -> None:
    messages = crawl(tmp_path, str(tmp_path / "report.html"), [])
    assert not (tmp_path / "report.html").exists()
    assert not any(message.startswith("duplicates:") for message in messages)


def test_project_is_told_at_the_end_what_was_kept_and_dropped(tmp_path: Path) -> None:
    report = tmp_path / "report.txt"
    [summary] = [message for message in crawl(tmp_path, str(report)) if message.startswith("duplicates:\n")]
    lines = dict(line.split(maxsplit=1) for line in summary.splitlines()[1:])
    assert (lines["kept"], lines["dropped"]) == ("1 item   1 new", "2 items   2 exact")
    assert f"\nsaved         {lines['saved']}\n" in report.read_text(encoding="utf-8")
    assert lines["next"] == "dedup duplicates"


def test_what_is_unchanged_and_dropped_is_not_among_the_kept(tmp_path: Path) -> None:
    crawl(tmp_path, "", ITEMS[:1])
    items = [*ITEMS[:1], {"url": "https://news.example/other", "text": text_of(2)}]
    messages = crawl(tmp_path, "", items, DEDUP_DROP_UNCHANGED=True)
    [summary] = [message for message in messages if message.startswith("duplicates:\n")]
    lines = [line.split(maxsplit=1) for line in summary.splitlines()[1:4]]
    assert lines == [["kept", "1 item   1 new"], ["dropped", "0 items"], ["not", "passed on  1 unchanged"]]


def test_size_of_a_database_is_that_of_its_journal_too(tmp_path: Path) -> None:
    for name, size in (("crawl.db", 4_000), ("crawl.db-wal", 9_000)):
        (tmp_path / name).write_bytes(bytes(size))
    assert database_line(f"sqlite:///{tmp_path / 'crawl.db'}") == f"{tmp_path / 'crawl.db'}, 13 kB"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("report.pdf", r"DEDUP_REPORT = report.pdf: there is no format 'pdf' of a report: name it \.html"),
        ("none/report.html", "DEDUP_REPORT = 'none/report.html': its folder is not there; make it first"),
    ],
)
def test_report_that_cannot_be_written_is_refused_before_the_crawl(tmp_path: Path, name: str, told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        require_report(DedupSettings(report=name))
    with pytest.raises(ExitedError) as ended:
        crawl(tmp_path, name)
    assert ended.value.status == 2


def test_report_that_fails_leaves_the_crawl_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "report.html").mkdir()
    messages = crawl(tmp_path, str(tmp_path / "report.html"))
    assert any(message.startswith("no report: cannot write") for message in messages)


def test_failure_is_raised(sqlite_url: str, tmp_path: Path) -> None:
    crawls = Crawls(sqlite_url)
    crawl_twice(crawls)
    crawls.deduplicator.close()
    settings = DedupSettings(database_url=sqlite_url, report=str(tmp_path / "report.html"))
    write_report_of_run(settings, "tuesday")
    with pytest.raises(DedupError, match="holds no run 'sunday'"):
        write_report_of_run(settings, "sunday")
