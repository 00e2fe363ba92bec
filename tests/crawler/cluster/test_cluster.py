"""A crawl in parts: the command, the settings, and one summary that tells the truth."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Sequence

import psutil
import pytest
from sqlalchemy.exc import DBAPIError

from tests.crawler.demo.truth import expected_totals
from tests.crawler.frontier.driving import unfinished
from tests.crawling import NO_NETWORK, ROOT, Crawl, ExitedError, crawl_site_here, environment, finish, pages_in, runs_in
from tests.waiting import HANG, wait_until

pytestmark = pytest.mark.slow

_SETTINGS = ("-s", "AUTOTHROTTLE_ENABLED=False", "-s", "DEDUP_WORKERS=0")


def cluster(database_url: str) -> Crawl:
    return finish(start_cluster(database_url), database_url=database_url)


def start_cluster(database_url: str) -> subprocess.Popen[str]:
    """Crawl the demo site in two parts, as `make cluster` does."""
    return subprocess.Popen(
        [sys.executable, "-m", "crawler.cluster", "crawl", "--parts", "2", *_SETTINGS],
        cwd=ROOT,
        env={**environment(), "DEDUP_DATABASE_URL": database_url, "DEDUP_RUN": "x"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run_here(command: Sequence[str], database_url: str) -> subprocess.CompletedProcess[str]:
    variables = {**environment(), "DEDUP_DATABASE_URL": database_url}
    return subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False, timeout=HANG)


def test_two_parts_crawl_the_demo_site_as_one_process_does_and_one_of_them_tells(postgresql_url: str) -> None:
    result = cluster(postgresql_url)
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
    assert result.stdout.startswith("while it runs, too: make cluster-report\n")
    assert result.summary["next"] == "make cluster-report"
    assert len(result.verdicts) == truth["kept"] - 1 + dropped
    report = run_here([sys.executable, "-m", "crawler.cluster", "report"], postgresql_url)
    explained = run_here(shlex.split(report.stdout.splitlines()[-1])[1:], postgresql_url)
    assert (explained.returncode, explained.stdout.startswith("verdict")) == (0, True)


def test_wrong_parts_are_refused_before_anything_begins() -> None:
    with pytest.raises(ExitedError) as ended:
        crawl_site_here("sqlite:///unused.db", {**NO_NETWORK, "CRAWLER_PART": "2/4"}, url="http://127.0.0.1:1/")
    assert ended.value.status == 2
    assert any("CRAWLER_PART needs DEDUP_RUN" in message for message in ended.value.outcome.messages)


@pytest.mark.thorough
def test_a_part_that_was_killed_is_started_again_and_nothing_is_lost(postgresql_url: str) -> None:
    process = start_cluster(postgresql_url)
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
