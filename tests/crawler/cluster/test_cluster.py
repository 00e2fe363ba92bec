"""A crawl in parts: the command, the settings, and one summary that tells the truth."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from sqlalchemy.exc import DBAPIError

from tests.crawler.demo.truth import expected_totals
from tests.crawler.frontier.driving import unfinished
from tests.crawling import NO_NETWORK, ROOT, Crawl, ExitedError, crawl_site_here, environment, finish, pages_in, runs_in
from tests.report.renderings import data_in
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

_SETTINGS = ("-s", "AUTOTHROTTLE_ENABLED=False", "-s", "DEDUP_WORKERS=0")


def cluster(database_url: str, report: Path) -> Crawl:
    return finish(start_cluster(database_url, report), database_url=database_url)


def start_cluster(database_url: str, report: Path) -> subprocess.Popen[str]:
    """Crawl the demo site in two parts, as `make cluster` does."""
    return subprocess.Popen(
        [sys.executable, "-m", "crawler.cluster", "--parts", "2", *_SETTINGS, "-s", f"DEDUP_REPORT={report}"],
        cwd=ROOT,
        env={**environment(), "DEDUP_DATABASE_URL": database_url, "DEDUP_RUN": "x"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_two_parts_crawl_the_demo_site_as_one_process_does_and_one_of_them_tells(
    postgresql_url: str, tmp_path: Path
) -> None:
    report = tmp_path / "cluster.html"
    result = cluster(postgresql_url, report)
    assert (result.status, result.errors) == (0, [])
    truth = expected_totals()
    told = {label: result.summed_up(label) for label in ("kept", "dropped", "skipped", "parts")}
    dropped = truth["exact"] + truth["near"]
    assert told == {"kept": truth["kept"], "dropped": dropped, "skipped": truth["skipped"], "parts": 2}
    assert f"{truth['exact']} exact, {truth['near']} near" in result.stdout
    assert result.stdout.count("\nfetched") == 1
    assert [(run.name, run.outcome) for run in runs_in(result.database_url)] == [("x", "finished")]
    assert unfinished(postgresql_url) == {}
    # The URL of the database, with its password, is in no line.
    assert postgresql_url not in result.stdout
    assert len(result.verdicts) == truth["kept"] - 1 + dropped
    # The page needs no server, which has stopped by then.
    assert shlex.split(result.summary["next"])[1:] == ["-m", "webbrowser", str(report)]
    assert len(data_in(report)["rows"]["dropped"]) == dropped


def test_wrong_parts_are_refused_before_anything_begins() -> None:
    with pytest.raises(ExitedError) as ended:
        crawl_site_here("sqlite:///unused.db", {**NO_NETWORK, "CRAWLER_PART": "2/4"}, url="http://127.0.0.1:1/")
    assert ended.value.status == 2
    assert any("CRAWLER_PART needs DEDUP_RUN" in message for message in ended.value.outcome.messages)


@pytest.mark.thorough
def test_a_part_that_was_killed_is_started_again_and_nothing_is_lost(postgresql_url: str, tmp_path: Path) -> None:
    process = start_cluster(postgresql_url, tmp_path / "cluster.html")
    wait_until(lambda: count_pages(postgresql_url) > 5 or process.poll() is not None)
    psutil.Process(process.pid).children()[0].kill()
    result = finish(process, database_url=postgresql_url, accidents=True)
    assert result.status == 0
    assert len(result.pages) == expected_totals()["kept"]


def count_pages(database_url: str) -> int:
    try:
        return len(pages_in(database_url))
    except DBAPIError:  # its tables are not there yet
        return 0
