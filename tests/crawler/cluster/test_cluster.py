"""Many workers, one crawl: the command, the settings, and one summary that tells the truth."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping

import pytest

from tests.crawler.demo.truth import expected_totals
from tests.crawling import NO_NETWORK, ROOT, Crawl, ExitedError, ask, crawl_site_here, environment, finish
from tests.localsite import LocalSite, Page, article

pytestmark = pytest.mark.slow


def cluster(database_url: str, *arguments: str) -> Crawl:
    """Crawl the demo site with two workers, as `make cluster` does."""
    process = subprocess.Popen(
        [sys.executable, "-m", "crawler.cluster", "crawl", "--workers", "2", *arguments],
        cwd=ROOT,
        env={**environment(), "DEDUP_DATABASE_URL": database_url, "DEDUP_RUN": "x"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    return finish(process, database_url=database_url)


def test_two_workers_crawl_the_demo_site_as_one_does_and_one_of_them_tells(postgresql_url: str) -> None:
    result = cluster(postgresql_url, "-s", "AUTOTHROTTLE_ENABLED=False", "-s", "DEDUP_WORKERS=0")
    assert (result.status, result.errors) == (0, [])
    truth = expected_totals()
    told = {label: result.summed_up(label) for label in ("kept", "dropped", "skipped", "workers")}
    dropped = truth["exact"] + truth["near"]
    assert told == {"kept": truth["kept"], "dropped": dropped, "skipped": truth["skipped"], "workers": 2}
    assert f"{truth['exact']} exact, {truth['near']} near" in result.stdout
    assert result.stdout.count("fetched") == 1
    assert result.rows("SELECT name, outcome FROM dedup_runs") == [{"name": "x", "outcome": "finished"}]
    assert result.rows("SELECT count(*) AS n FROM frontier") == [{"n": 0}]
    late = cluster(postgresql_url)
    assert (late.status, late.stdout, late.errors) == (0, "", [])
    assert result.rows("SELECT count(*) AS n FROM dedup_verdicts") == [{"n": truth["kept"] - 1 + dropped}]


def shared(settings: Mapping[str, object] | None = None) -> dict[str, object]:
    return {"CRAWLER_SHARED_RUN": True, "DEDUP_RUN": "x", **(settings or {})}


def two_hosts(site: LocalSite) -> dict[str, Page]:
    """Pages that lead from one host to the other and back."""
    hosts = (site.url, site.other_url)
    links = {
        number: [f"{hosts[number % 2]}/{child}" for child in (2 * number + 1, 2 * number + 2)] for number in range(15)
    }
    return {f"/{number}": article(number, links.get(number, [])) for number in range(31)}


def test_one_worker_of_a_shared_run_crawls_all_hosts(database_url: str) -> None:
    with LocalSite() as site:
        site.pages.update(two_hosts(site))
        outcome = crawl_site_here(database_url, shared(), url=f"{site.url}/0", allowed_domains="127.0.0.1,localhost")
        assert set(site.hits) == {*(f"/{number}" for number in range(31)), "/robots.txt"}
    assert outcome.stats["finish_reason"] == "finished"
    assert (outcome.stats["frontier/workers"], outcome.stats["frontier/left"]) == (1, 0)
    assert ask(database_url, "SELECT outcome FROM dedup_runs") == [{"outcome": "finished"}]
    assert len(ask(database_url, "SELECT url FROM pages")) == 31


def test_shared_run_that_was_stopped_goes_on_and_one_that_has_finished_ends_a_worker_at_once(sqlite_url: str) -> None:
    pages = {f"/{number}": article(number, [f"/{number + 1}"]) for number in range(12)}
    with LocalSite(pages) as site:
        outcome = crawl_site_here(sqlite_url, shared(), url=f"{site.url}/0", max_pages=4)
        assert (outcome.stats["finish_reason"], outcome.stats["frontier/left"] > 0) == ("max_pages", True)
        assert ask(sqlite_url, "SELECT outcome FROM dedup_runs") == [{"outcome": "max_pages"}]
        crawl_site_here(sqlite_url, shared(), url=f"{site.url}/0")
        asked = len(site.asked)
        with pytest.raises(ExitedError) as ended:
            crawl_site_here(sqlite_url, shared(NO_NETWORK), url=f"{site.url}/")
        assert len(site.asked) == asked
    assert len(ask(sqlite_url, "SELECT url FROM pages")) == 12
    assert ended.value.status == 0
    assert any("run x has finished already" in message for message in ended.value.outcome.messages)
    assert ask(sqlite_url, "SELECT outcome FROM dedup_runs") == [{"outcome": "finished"}]


@pytest.mark.parametrize(
    ("url", "name", "status", "told"),
    [
        ("sqlite:///unused.db", "", 2, "CRAWLER_SHARED_RUN needs DEDUP_RUN"),
        ("postgresql://127.0.0.1:1/crawl", "x", 1, "check that the server runs"),
    ],
)
def test_what_cannot_be_shared_is_refused_before_anything_begins(url: str, name: str, status: int, told: str) -> None:
    with pytest.raises(ExitedError) as ended:
        crawl_site_here(url, shared({**NO_NETWORK, "DEDUP_RUN": name}), url="http://127.0.0.1:1/")
    assert ended.value.status == status
    assert any(told in message for message in ended.value.outcome.messages)
