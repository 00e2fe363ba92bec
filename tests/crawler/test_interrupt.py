"""Ctrl-C in the middle of a crawl: it ends soon, in order, and everything that it says of itself agrees."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from subprocess import Popen

import pytest

from tests.crawler.conftest import count_pages
from tests.crawling import Crawl, crawl_command, finish, run, runs_in, start
from tests.feeds import read_feed
from tests.localsite import EndlessSite, LocalSite, Page, article
from tests.waiting import HANG, left_over, wait_until

pytestmark = pytest.mark.slow


def begin(database: Path, site: LocalSite, *options: str) -> Popen[str]:
    settings = {"DEDUP_WORKERS": 2, "DEDUP_DATABASE_URL": f"sqlite:///{database}"}
    constants = {"crawler.runtime.EXTRACTION_SECONDS": HANG}
    return start(crawl_command({"url": f"{site.url}/"}, settings, options), constants=constants)


def test_crawl_that_is_stopped_ends_in_order_and_all_that_it_says_agrees(tmp_path: Path) -> None:
    database_url, feed = f"sqlite:///{tmp_path / 'crawl.db'}", tmp_path / "pages.jsonl"
    with EndlessSite() as site:
        process = begin(tmp_path / "crawl.db", site, "-o", str(feed))
        wait_until(lambda: len(site.asked) > 40)
        os.killpg(process.pid, signal.SIGINT)
        crawl = finish(process, database_url=database_url)
    wait_until(lambda: left_over(process.pid) == [])
    assert (crawl.status, crawl.errors) == (0, [])
    assert crawl.summary["stopped"].endswith(" left")
    assert "KeyboardInterrupt" not in crawl.stderr
    kept, dropped = crawl.summed_up("kept"), crawl.summed_up("dropped")
    assert (kept >= 5, dropped >= 1) == (True, True)
    verdicts = [row["verdict"] for row in crawl.verdicts]
    assert kept == len(crawl.pages) == verdicts.count("new") == crawl.stats["crawler/stored"]
    assert dropped == verdicts.count("exact duplicate") + verdicts.count("near duplicate")
    assert crawl.stats["crawler/fetched"] == len(verdicts), "what was fetched was decided too"
    items = read_feed(feed)
    assert sorted(item["url"] for item in items) == sorted(crawl.pages)
    assert all(item["text"] for item in items)
    [interrupted] = runs_in(crawl.database_url)
    assert (interrupted.outcome, interrupted.finished is None) == ("shutdown", False)
    command = [sys.executable, "-m", "dedup", "duplicates", "--format", "json", "--database", database_url]
    report = json.loads(run(command).stdout)
    totals = {verdict: total["documents"] for verdict, total in report["totals"].items()}
    assert (totals["new"], totals["exact duplicate"] + totals["near duplicate"]) == (kept, dropped)
    assert len(report["duplicates"]) == dropped


def test_second_signal_ends_a_crawl_that_waits_for_a_page_at_once(tmp_path: Path) -> None:
    slow: Page = article("slow", text="<span>word</span> " * 60_000)
    with LocalSite({"/": article("front", ["/slow"]), "/slow": slow}) as site:
        log = tmp_path / "log"
        process = begin(tmp_path / "crawl.db", site, "--logfile", str(log))
        wait_until(lambda: site.hits["/slow"] == 1 and count_pages(tmp_path / "crawl.db") == 1)
        os.killpg(process.pid, signal.SIGINT)
        wait_until(lambda: "shutting down gracefully" in log.read_text(encoding="utf-8"))
        os.killpg(process.pid, signal.SIGINT)
        result = finish(process, database_url=f"sqlite:///{tmp_path / 'crawl.db'}", accidents=True)
        wait_until(lambda: left_over(process.pid) == [])
    assert result.accidents == []
    assert Crawl(result.status, "", log.read_text(encoding="utf-8")).accidents == []
    assert result.paths(site.url) == ["/"]
