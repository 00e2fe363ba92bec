"""Ctrl-C in the middle of a crawl: it ends soon, in order, and everything that it says of itself agrees."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

from tests.crawling import Crawl, ask, crawl_command, crawl_site_here, finish, run, start
from tests.localsite import EndlessSite, LocalSite, Page, article
from tests.waiting import HANG, left_over, wait_until

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Interrupted:
    crawl: Crawl
    feed: list[dict[str, Any]]


def begin(database: Path, site: LocalSite, *options: str) -> Popen[str]:
    settings = {"CRAWLER_WORKERS": 2, "DEDUP_DATABASE_URL": f"sqlite:///{database}"}
    constants = {"crawler.runtime.EXTRACTION_SECONDS": HANG}
    return start(crawl_command({"url": f"{site.url}/"}, settings, options), constants=constants)


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> Interrupted:
    folder = tmp_path_factory.mktemp("interrupt")
    with EndlessSite() as site:
        process = begin(folder / "crawl.db", site, "-o", str(folder / "pages.jsonl"))
        wait_until(lambda: len(site.asked) > 40)
        os.killpg(process.pid, signal.SIGINT)
        result = finish(process, database_url=f"sqlite:///{folder / 'crawl.db'}", accidents=True)
    wait_until(lambda: left_over(process.pid) == [])
    feed = [json.loads(line) for line in (folder / "pages.jsonl").read_text(encoding="utf-8").splitlines()]
    return Interrupted(result, feed)


def test_stopped_crawl_ends_with_status_0_and_says_that_it_was_stopped(interrupted: Interrupted) -> None:
    assert interrupted.crawl.status == 0
    assert interrupted.crawl.summary["stopped"] == "shutdown"


def test_nothing_looks_like_an_accident(interrupted: Interrupted) -> None:
    assert interrupted.crawl.accidents == []
    assert interrupted.crawl.errors == []
    assert "KeyboardInterrupt" not in interrupted.crawl.stderr


def test_something_was_kept_and_something_dropped(interrupted: Interrupted) -> None:
    assert interrupted.crawl.summed_up("kept") >= 5
    assert interrupted.crawl.summed_up("dropped") >= 1


def test_summary_and_tables_agree(interrupted: Interrupted) -> None:
    crawl = interrupted.crawl
    verdicts = [row["verdict"] for row in crawl.verdicts]
    assert crawl.summed_up("kept") == len(crawl.pages) == verdicts.count("new") == crawl.stats["crawler/stored"]
    assert crawl.summed_up("dropped") == verdicts.count("exact duplicate") + verdicts.count("near duplicate")


def test_every_page_that_was_fetched_was_decided_too(interrupted: Interrupted) -> None:
    assert interrupted.crawl.stats["crawler/fetched"] == len(interrupted.crawl.verdicts)


def test_feed_is_complete(interrupted: Interrupted) -> None:
    assert sorted(item["url"] for item in interrupted.feed) == sorted(interrupted.crawl.pages)
    assert all(item["text"] for item in interrupted.feed)


def test_run_is_closed(interrupted: Interrupted) -> None:
    [row] = interrupted.crawl.rows("SELECT * FROM dedup_runs")
    assert (row["outcome"], row["finished"] is None) == ("shutdown", False)


def test_report_agrees_with_the_summary(interrupted: Interrupted) -> None:
    command = [sys.executable, "-m", "scrapy", "duplicates", "--format", "json"]
    report = json.loads(run([*command, "--database", interrupted.crawl.database_url]).stdout)
    totals = {verdict: total["documents"] for verdict, total in report["totals"].items()}
    assert totals["new"] == interrupted.crawl.summed_up("kept")
    assert totals["exact duplicate"] + totals["near duplicate"] == interrupted.crawl.summed_up("dropped")
    assert len(report["duplicates"]) == interrupted.crawl.summed_up("dropped")


def stored(database: Path) -> int:
    try:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            return int(connection.execute("SELECT count(*) FROM pages").fetchone()[0])
    except sqlite3.OperationalError:  # its tables are not there yet
        return 0


def test_second_signal_ends_a_crawl_that_waits_for_a_page_at_once(tmp_path: Path) -> None:
    slow: Page = article("slow", text="<span>word</span> " * 60_000)
    with LocalSite({"/": article("front", ["/slow"]), "/slow": slow}) as site:
        log = tmp_path / "log"
        process = begin(tmp_path / "crawl.db", site, "--logfile", str(log))
        wait_until(lambda: site.hits["/slow"] == 1 and stored(tmp_path / "crawl.db") == 1)
        os.killpg(process.pid, signal.SIGINT)
        wait_until(lambda: "shutting down gracefully" in log.read_text(encoding="utf-8"))
        os.killpg(process.pid, signal.SIGINT)
        result = finish(process, database_url=f"sqlite:///{tmp_path / 'crawl.db'}", accidents=True)
        wait_until(lambda: left_over(process.pid) == [])
    assert result.accidents == []
    assert Crawl(result.status, "", log.read_text(encoding="utf-8")).accidents == []
    assert result.paths(site.url) == ["/"]


def test_crawl_that_was_killed_leaves_no_process_and_the_next_one_completes(tmp_path: Path) -> None:
    with EndlessSite() as site:
        process = begin(tmp_path / "crawl.db", site)
        wait_until(lambda: len(site.asked) > 30)
        process.kill()
        process.communicate()
        wait_until(lambda: left_over(process.pid) == [])
        outcome = crawl_site_here(tmp_path / "crawl.db", url=f"{site.url}/", max_depth=2)
    kept = {item.url.removeprefix(site.url) for item in outcome.items}
    assert {"/", "/1", "/4", "/5"} < kept
    assert all(item.text for item in outcome.items)
    assert outcome.count("dedup/unchanged") > 0
    rows = ask(f"sqlite:///{tmp_path / 'crawl.db'}", "SELECT url, text FROM pages")
    assert kept <= {row["url"].removeprefix(site.url) for row in rows}
    assert all(row["text"] for row in rows)
