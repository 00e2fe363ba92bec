"""A run that is interrupted, also by kill -9, and continued: its feeds hold each of its pages once, in every format."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

from dedup.ledger.runs.cancelling import cancel_run
from dedup.sql.database import Database
from tests.conftest import PostgresqlServer
from tests.crawling import Crawl, ExitedError, ask, crawl, crawl_command, crawl_site_here, finish, run, start
from tests.feeds import READERS, read_feed, urls_of
from tests.localsite import LocalSite, Reply, article
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

PAGES = 60
KINDS = tuple(sorted(READERS))
RUN = "monday"


@pytest.fixture
def site() -> Iterator[LocalSite]:
    """A chain of pages in tens; every tenth one is a copy of the one before."""
    pages: dict[str, Any] = {"/": article("front", [f"/{number}" for number in range(0, PAGES, 10)])}
    for number in range(PAGES):
        links = [f"/{number + step}" for step in range(1, 4) if (number + step) % 10]
        seed = number - (number % 10 == 9)
        pages[f"/{number}"] = Reply(article(seed, links).encode(), stall=0.02)
    with LocalSite(pages) as site:
        yield site


def expected(site: LocalSite) -> set[str]:
    """The addresses of the pages that are kept, of two copies the first one's."""
    return {f"{site.url}/"} | {f"{site.url}/{number}" for number in range(PAGES) if number % 10 != 9}


def clusters(site: LocalSite, urls: list[str]) -> list[str]:
    """The URLs, with that of the first copy for each."""
    first = {f"{site.url}/{number}": f"{site.url}/{number - 1}" for number in range(9, PAGES, 10)}
    return sorted(first.get(url, url) for url in urls)


def begin(database: Path, site: LocalSite, *options: str, **settings: object) -> Popen[str]:
    settings = {"DEDUP_DATABASE_URL": f"sqlite:///{database}", "DEDUP_RUN": RUN, **settings}
    return start(crawl_command({"url": f"{site.url}/"}, settings, options))


def kill(process: Popen[str]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def files(tmp_path: Path) -> list[Path]:
    return [tmp_path / f"pages.{kind}" for kind in KINDS]


def outputs(tmp_path: Path, option: str = "-o") -> list[str]:
    return [part for path in files(tmp_path) for part in (option, str(path))]


def go_on(tmp_path: Path, site: LocalSite, options: list[str], **settings: object) -> Crawl:
    result = crawl(tmp_path / "crawl.db", {"DEDUP_RUN": RUN, **settings}, options, url=f"{site.url}/")
    assert (result.status, result.errors) == (0, [])
    return result


def assert_complete(tmp_path: Path, site: LocalSite, result: Crawl) -> None:
    stored = sorted(result.pages)
    assert clusters(site, stored) == sorted(expected(site))
    for path in files(tmp_path):
        rows = {row["url"]: row for row in read_feed(path)}
        assert urls_of(path) == stored, path
        assert {row["verdict"] for row in rows.values()} == {"new"}, path
        assert all(row["text"] == result.pages[url]["text"] for url, row in rows.items()), path


@pytest.mark.parametrize("option", ["-o", "-O"])
def test_feeds_of_a_run_that_was_killed_again_and_again_are_complete(
    option: str, tmp_path: Path, site: LocalSite
) -> None:
    options = outputs(tmp_path, option)
    site.answers = 20
    process = begin(tmp_path / "crawl.db", site, *options)
    wait_until(lambda: len(site.asked) > 20 and (tmp_path / "pages.json").exists())
    kill(process)
    with pytest.raises(json.JSONDecodeError):
        read_feed(tmp_path / "pages.json")
    already = len(site.asked)
    site.answers = already + 20
    process = begin(tmp_path / "crawl.db", site, *options)
    wait_until(lambda: len(site.asked) > already + 20)
    kill(process)
    site.answers = None
    result = go_on(tmp_path, site, options)
    assert_complete(tmp_path, site, result)
    assert result.rows("SELECT * FROM feed_parts") == []


def test_feeds_of_a_run_that_was_interrupted_are_complete(tmp_path: Path, site: LocalSite) -> None:
    site.answers = 20
    process = begin(tmp_path / "crawl.db", site, *outputs(tmp_path))
    wait_until(lambda: len(site.asked) > 20)
    os.killpg(process.pid, signal.SIGINT)
    site.answers = None
    first = finish(process, database_url=f"sqlite:///{tmp_path / 'crawl.db'}")
    for path in files(tmp_path):
        assert urls_of(path) == sorted(first.pages), path
    assert 0 < len(first.pages) < PAGES // 2
    assert_complete(tmp_path, site, go_on(tmp_path, site, outputs(tmp_path)))


def test_scrapy_continue_completes_the_feeds_that_were_overwritten(tmp_path: Path, site: LocalSite) -> None:
    site.answers = 20
    process = begin(tmp_path / "crawl.db", site, *outputs(tmp_path, "-O"))
    wait_until(lambda: len(site.asked) > 20 and (tmp_path / "pages.json").exists())
    kill(process)
    site.answers = None
    database = f"sqlite:///{tmp_path / 'crawl.db'}"
    command = [sys.executable, "-m", "scrapy", "continue", "-s", f"DEDUP_DATABASE_URL={database}"]
    result = run(command, database_url=database)
    assert (result.status, result.errors) == (0, [])
    assert_complete(tmp_path, site, result)


def crawl_some(tmp_path: Path, site: LocalSite, feeds: dict[str, Any], run: str = RUN, **arguments: object) -> Any:
    given = {"FEEDS": feeds, "DEDUP_RUN": run}
    return crawl_site_here(tmp_path / "crawl.db", given, url=f"{site.url}/", **arguments)


def as_feed(path: Path, **options: Any) -> dict[str, Any]:
    return {str(path): {"format": path.suffix.removeprefix("."), **options}}


def test_torn_line_and_what_was_never_written_are_made_good(tmp_path: Path, site: LocalSite) -> None:
    feed = tmp_path / "pages.jsonl"
    crawl_some(tmp_path, site, as_feed(feed), max_pages=10)
    lines = feed.read_bytes().splitlines(keepends=True)
    feed.write_bytes(b"".join(lines[2:]) + lines[2][:50])
    ask_to_write(tmp_path, "UPDATE feed_parts SET ends = NULL")  # as a kill leaves it
    crawl_some(tmp_path, site, as_feed(feed))
    assert clusters(site, urls_of(feed)) == sorted(expected(site))


def ask_to_write(tmp_path: Path, statement: str) -> None:
    with closing(sqlite3.connect(tmp_path / "crawl.db")) as connection:
        connection.execute(statement)
        connection.commit()


@pytest.mark.parametrize("kind", ["jsonl", "csv", "pickle"])
def test_what_stood_in_the_file_before_the_run_stays(kind: str, tmp_path: Path, site: LocalSite) -> None:
    feed = tmp_path / f"pages.{kind}"
    crawl_some(tmp_path, site, as_feed(feed), run="sunday", max_pages=5)
    ask_to_write(tmp_path, "DELETE FROM feed_parts")
    before = feed.read_bytes()
    for pages in (10, PAGES * 2):
        crawl_some(tmp_path, site, as_feed(feed), max_pages=pages)
    assert feed.read_bytes().startswith(before)
    rows = read_feed(feed)
    stored = ask(f"sqlite:///{tmp_path / 'crawl.db'}", "SELECT url FROM pages")
    assert sorted(row["url"] for row in rows[5:]) == sorted(row["url"] for row in stored)


def test_pages_that_are_unchanged_are_in_the_feed_of_a_run_that_goes_on(tmp_path: Path, site: LocalSite) -> None:
    crawl_some(tmp_path, site, {}, run="sunday")
    feed = tmp_path / "pages.parquet"
    crawl_some(tmp_path, site, as_feed(feed), max_pages=10)
    crawl_some(tmp_path, site, {}, run="tuesday")
    crawl_some(tmp_path, site, as_feed(feed))
    rows = read_feed(feed)
    assert clusters(site, [row["url"] for row in rows]) == sorted(expected(site))
    assert {row["verdict"] for row in rows} == {"unchanged"}
    assert {row["run"] for row in rows} == {"sunday"}


def test_what_a_finished_run_of_the_same_name_has_kept_is_not_in_the_feed(tmp_path: Path, site: LocalSite) -> None:
    crawl_some(tmp_path, site, {})
    feed = tmp_path / "pages.json"
    for pages in (3, 6):
        crawl_some(tmp_path, site, as_feed(feed), max_pages=pages)
        assert len(urls_of(feed)) == pages
    assert {row["verdict"] for row in read_feed(feed)} == {"unchanged"}


def test_unchanged_pages_that_are_dropped_are_in_no_feed(tmp_path: Path, site: LocalSite) -> None:
    crawl_some(tmp_path, site, {}, run="sunday")
    site.pages["/0"] = article("anew", ["/1", "/2", "/3"])
    feed = tmp_path / "pages.jsonl"
    given = {"FEEDS": as_feed(feed), "DEDUP_RUN": RUN, "DEDUP_DROP_UNCHANGED": True}
    crawl_site_here(tmp_path / "crawl.db", given | {"CLOSESPIDER_PAGECOUNT": 5}, url=f"{site.url}/")
    outcome = crawl_site_here(tmp_path / "crawl.db", given, url=f"{site.url}/")
    assert outcome.count("frontier/done_before") > 0
    assert urls_of(feed) == [f"{site.url}/0"]


def test_page_without_a_verdict_is_in_the_feed(tmp_path: Path, site: LocalSite) -> None:
    feed = tmp_path / "pages.jsonl"
    crawl_some(tmp_path, site, as_feed(feed), max_pages=5)
    # As of one that could not be analysed.
    ask_to_write(tmp_path, "DELETE FROM dedup_verdicts WHERE id = 2")
    crawl_some(tmp_path, site, as_feed(feed))
    assert clusters(site, urls_of(feed)) == sorted(expected(site))
    assert [row["verdict"] for row in read_feed(feed)].count(None) == 1


def test_run_of_a_crawl_without_the_dedup_stage_is_completed_too(tmp_path: Path, site: LocalSite) -> None:
    feed = tmp_path / "pages.json"
    given = {"FEEDS": as_feed(feed), "DEDUP_ENABLED": False}
    outcome = crawl_site_here(tmp_path / "crawl.db", given, url=f"{site.url}/", max_pages=7)
    run = outcome.stats["dedup/run"]
    assert len(urls_of(feed)) == 7
    crawl_site_here(tmp_path / "crawl.db", given | {"DEDUP_RUN": run}, url=f"{site.url}/")
    assert urls_of(feed) == sorted(f"{site.url}{path}" for path in site.pages)


def test_pages_in_a_database_of_their_own_are_completed_too(tmp_path: Path, site: LocalSite) -> None:
    feed = tmp_path / "pages.json"
    given = {"FEEDS": as_feed(feed), "DEDUP_RUN": RUN, "CRAWLER_DATABASE_URL": f"sqlite:///{tmp_path / 'pages.db'}"}
    for pages in (7, PAGES * 2):
        crawl_site_here(tmp_path / "crawl.db", given, url=f"{site.url}/", max_pages=pages)
    assert clusters(site, urls_of(feed)) == sorted(expected(site))


def test_feed_with_a_name_that_changes_holds_the_whole_run(tmp_path: Path, site: LocalSite) -> None:
    for pages in (7, PAGES * 2):
        crawl_some(tmp_path, site, {f"{tmp_path}/%(batch_time)s.json": {"format": "json"}}, max_pages=pages)
    sizes = sorted(len(urls_of(path)) for path in tmp_path.glob("*.json"))
    assert sizes == [7, len(expected(site))]


def test_standard_output_of_a_run_that_goes_on_holds_the_whole_run(tmp_path: Path, site: LocalSite) -> None:
    options = ["-o", "-:jsonl", "-a", "max_pages=7"]
    assert go_on(tmp_path, site, options).stdout.count("\n") == 7
    result = go_on(tmp_path, site, options[:2])
    assert sorted(json.loads(line)["url"] for line in result.stdout.splitlines()) == sorted(result.pages)


def test_batches_of_a_run_that_goes_on_are_written_anew_where_they_may(tmp_path: Path, site: LocalSite) -> None:
    name = f"{tmp_path}/%(batch_id)02d.jsonl"
    feed = {name: {"format": "jsonl", "batch_item_count": 5}}
    crawl_some(tmp_path, site, feed, max_pages=7)
    assert "batches" in refused(tmp_path, site, feed)
    feed[name]["overwrite"] = True
    crawl_some(tmp_path, site, feed)
    rows = [urls_of(path) for path in sorted(tmp_path.glob("*.jsonl"))]
    assert clusters(site, [url for each in rows for url in each]) == sorted(expected(site))
    assert {len(each) for each in rows[:-1]} == {5}


def test_bytes_of_pages_are_in_a_feed_that_asks_for_them(tmp_path: Path, site: LocalSite) -> None:
    feed = tmp_path / "pages.pickle"
    for pages in (7, PAGES * 2):
        crawl_some(tmp_path, site, as_feed(feed, fields=["url", "html", "body_digest"]), max_pages=pages)
    rows = read_feed(feed)
    assert len(rows) == len(expected(site))
    assert all(row["html"].startswith(b"<!DOCTYPE") and len(row["body_digest"]) == 16 for row in rows)


# What is refused


def refused(tmp_path: Path, site: LocalSite, feed: dict[str, Any], run: str = RUN) -> str:
    """The one line with which a feed is refused, before anything is fetched."""
    asked = len(site.asked)
    with pytest.raises(ExitedError) as ended:
        crawl_some(tmp_path, site, feed, run=run)
    assert ended.value.status == 2
    assert len(site.asked) == asked
    [line] = [record.getMessage() for record in ended.value.outcome.log if record.levelname == "ERROR"]
    return line


def test_file_that_others_have_changed_is_not_written_to(tmp_path: Path, site: LocalSite) -> None:
    feed = tmp_path / "pages.jsonl"
    crawl_some(tmp_path, site, as_feed(feed), max_pages=5)
    first = feed.read_bytes()
    crawl_some(tmp_path, site, as_feed(feed), run="tuesday", max_pages=5)
    before = feed.read_bytes()
    assert RUN in refused(tmp_path, site, as_feed(feed))
    assert feed.read_bytes() == before
    crawl_some(tmp_path, site, as_feed(feed), run="tuesday")
    assert feed.read_bytes().startswith(first)
    crawl_some(tmp_path, site, as_feed(feed, overwrite=True))
    assert clusters(site, urls_of(feed)) == sorted(expected(site))


def test_file_that_a_killed_run_was_writing_waits_for_that_run(tmp_path: Path, site: LocalSite) -> None:
    feed = tmp_path / "pages.jsonl"
    site.answers = 20
    process = begin(tmp_path / "crawl.db", site, "-o", str(feed))
    wait_until(lambda: feed.exists() and feed.stat().st_size > 0)
    kill(process)
    site.answers = None
    assert f"-s DEDUP_RUN={RUN}" in refused(tmp_path, site, as_feed(feed), run="tuesday")
    # It is in nobody's way elsewhere, and once the file is gone.
    crawl_some(tmp_path, site, as_feed(tmp_path / "others.jsonl"), run="tuesday", max_pages=2)
    feed.unlink()
    crawl_some(tmp_path, site, as_feed(feed), run="wednesday")
    crawl_some(tmp_path, site, as_feed(feed), run="thursday")


def test_fields_that_are_not_stored_are_refused_where_a_run_goes_on(tmp_path: Path, site: LocalSite) -> None:
    feed = as_feed(tmp_path / "pages.jsonl", fields=["url", "redirected"])
    crawl_some(tmp_path, site, feed, max_pages=5)
    assert "redirected" in refused(tmp_path, site, feed)


def test_cancelled_run_leaves_nothing_of_its_feeds_in_the_database(tmp_path: Path, site: LocalSite) -> None:
    crawl_some(tmp_path, site, as_feed(tmp_path / "pages.jsonl"), max_pages=5)
    database = f"sqlite:///{tmp_path / 'crawl.db'}"
    assert [row["run"] for row in ask(database, "SELECT * FROM feed_parts")] == [RUN]
    with closing(Database(database)) as opened:
        cancel_run(opened, RUN)
    assert ask(database, "SELECT * FROM feed_parts") == []


# Many workers


def test_workers_that_share_a_run_write_one_feed(
    tmp_path: Path, site: LocalSite, postgresql_server: Callable[[], PostgresqlServer]
) -> None:
    url = postgresql_server().create_database()
    settings = {"DEDUP_DATABASE_URL": url, "DEDUP_RUN": RUN, "CRAWLER_SHARED_RUN": True}
    command = crawl_command({"url": f"{site.url}/"}, settings, outputs(tmp_path))
    processes = [start(command) for _ in range(3)]
    results = [finish(process, database_url=url) for process in processes]
    assert [(result.status, result.errors) for result in results] == [(0, [])] * 3
    assert_complete(tmp_path, site, results[0])
    # Who comes late has nothing to do, and spoils nothing.
    late = finish(start(command), database_url=url)
    assert late.status == 0
    assert_complete(tmp_path, site, late)
