"""The same command goes on with an interrupted crawl, and each command that is printed gets further."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import Popen
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy.utils.test import get_crawler

from crawler.frontier.scheduler import MOST_IN_VAIN
from crawler.runs import WORDS, Asked, CrawlRun, arguments_to_go_on, choose_run, command_to_continue
from crawler.secrets import without_password, without_secret
from crawler.spider.site import SiteSpider
from dedup.errors import DedupError, SettingsError
from tests.crawler.conftest import count_pages
from tests.crawler.demo.truth import expected_totals
from tests.crawler.frontier.driving import unfinished
from tests.crawling import Crawl, crawl, crawl_command, crawl_site_here, finish, pages_in, run, runs_in, start
from tests.feeds import read_feed
from tests.localsite import EndlessSite, LocalSite, Page, article
from tests.waiting import wait_until

pytestmark = pytest.mark.slow


def forty_pages(words: int = 120) -> dict[str, Page]:
    pages: dict[str, Page] = {f"/{number}": article(number, words=words) for number in range(40)}
    return {"/": article("front", pages), **pages}


def url_of(database: Path) -> str:
    return f"sqlite:///{database}"


def go_on(database: Path, *words: str) -> Crawl:
    return crawl(database, options=words)


def kept(database: Path) -> list[str]:
    return sorted(page["url"] for page in pages_in(url_of(database)))


def interrupt(process: Popen[str], site: LocalSite, condition: Callable[[], bool], number: int) -> Crawl:
    """Send a signal to a crawl of a site that answers no more for a while."""
    wait_until(lambda: condition() or process.poll() is not None)
    os.killpg(process.pid, number)
    site.answers = None
    return finish(process, accidents=number == signal.SIGKILL)


def begin(database: Path, site: LocalSite, *options: str, **arguments: object) -> Popen[str]:
    # What is dealt with is written when the next request is taken: not while all of them wait for the site.
    settings = {"CONCURRENT_REQUESTS_PER_DOMAIN": 4, "DOWNLOAD_TIMEOUT": 2}
    return start(crawl_command({"url": f"{site.url}/", **arguments}, settings, ["--database", str(database), *options]))


def printed(crawl: Crawl) -> list[str]:
    """The command that a summary names."""
    return shlex.split(crawl.summary["continue"])


def test_the_same_command_that_of_the_summary_and_none_go_on_with_what_was_left(tmp_path: Path) -> None:
    database, feed = tmp_path / "crawl.db", tmp_path / "pages.jsonl"

    def interrupted(process: Popen[str], pages: int) -> Crawl:
        return interrupt(process, site, lambda: len(site.asked) > pages, signal.SIGINT)

    with EndlessSite() as site:
        site.answers = 12
        first = interrupted(begin(database, site, "-O", str(feed), max_depth=4), 12)
        assert feed.read_text(encoding="utf-8").splitlines()
        site.answers = 24
        second = interrupted(begin(database, site, "-O", str(feed), max_depth=4), 24)
        site.answers = 36
        third = interrupted(start(printed(second)), 36)
        before, stored = site.hits, {url.removeprefix(site.url) for url in kept(database)}
        [left] = unfinished(url_of(database)).values()
        result = go_on(database)
        again = site.hits - before
    assert printed(first) == printed(second) == printed(third)
    assert printed(first)[1:3] == ["crawl", "site"]
    assert "begins; should it be interrupted" in first.stderr
    assert f" of {site.url}/ (" in next(line for line in result.stderr.splitlines() if line.startswith("resuming "))
    assert (result.status, result.errors) == (0, [])
    assert "continue" not in result.summary
    assert sorted(row["url"] for row in read_feed(feed)) == kept(database)
    assert 0 < left <= len(again.keys() - {"/robots.txt"})
    assert not stored & again.keys()
    assert len([run for run in runs_in(url_of(database)) if any(run.documents.values())]) == 1


@contextmanager
def reading(pipe: Path) -> Iterator[Callable[[], bool]]:
    """Read from a pipe; give what says whether something was written."""
    descriptor = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    def has_begun() -> bool:
        with suppress(BlockingIOError):
            return bool(os.read(descriptor, 1))
        return False

    try:
        yield has_begun
    finally:
        os.close(descriptor)


@pytest.mark.parametrize(("limit", "pages", "requests"), [({}, 41, 0), ({"max_pages": 12}, 12, MOST_IN_VAIN)])
def test_who_goes_on_writes_the_feed_of_a_run_that_was_killed_before_it(
    limit: dict[str, object], pages: int, requests: int, tmp_path: Path
) -> None:
    database, feed = tmp_path / "crawl.db", tmp_path / "pages.jsonl"
    os.mkfifo(feed)
    # Whoever writes more than a pipe holds waits for its reader.
    with LocalSite(forty_pages(words=900)) as site, reading(feed) as has_begun:
        process = begin(database, site, "-O", str(feed), **limit)
        wait_until(has_begun)
        refused = go_on(database)
        os.killpg(process.pid, signal.SIGKILL)
        finish(process, accidents=True)
        feed.unlink()
        before = site.hits
        result = go_on(database)
        again = site.hits - before
    assert (refused.status, "is under way in another process" in refused.stderr) == (1, True)
    assert f"{pages} pages kept" in result.stderr
    assert (result.status, result.errors) == (0, [])
    assert sorted(row["url"] for row in read_feed(feed)) == kept(database)
    assert len(kept(database)) == pages
    assert again.total() - again["/robots.txt"] <= requests
    assert ("continue" in result.summary) == bool(limit)
    [run] = runs_in(url_of(database))
    assert run.outcome == ("max_pages" if limit else "finished")
    assert go_on(database).status == 2


@pytest.mark.thorough
def test_limit_of_pages_is_raised_by_the_printed_command_until_all_are_there(tmp_path: Path) -> None:
    database = tmp_path / "crawl.db"
    with LocalSite(forty_pages()) as site:
        result = crawl(database, url=f"{site.url}/", max_pages=12)
        counts, told = [len(kept(database))], [result.summed_up("kept")]
        while "continue" in result.summary:
            result = run(printed(result), database_url=url_of(database))
            counts.append(len(kept(database)))
            told.append(result.summed_up("kept"))
    assert counts == told == [12, 24, 41]


@pytest.mark.thorough
def test_next_crawl_of_the_site_names_the_one_that_was_killed(tmp_path: Path) -> None:
    database = tmp_path / "crawl.db"
    with LocalSite(forty_pages()) as site, LocalSite({"/": article("other")}) as other:
        site.answers = 20
        interrupt(begin(database, site, max_depth=4), site, lambda: len(site.asked) > 20, signal.SIGKILL)
        [name] = unfinished(url_of(database))
        elsewhere = crawl(database, options=["-L", "WARNING"], url=f"{other.other_url}/")
        limited = crawl(database, options=["-L", "WARNING"], url=f"{site.url}/", max_pages=3)
        anew = crawl(database, options=["-L", "WARNING", "--new"], url=f"{site.url}/", max_depth=4)
    assert not elsewhere.says("is not finished")
    [line] = [line for line in limited.stderr.splitlines() if "is not finished" in line]
    assert f"{site.url}/" in line
    assert f"scrapy crawl site -s DEDUP_RUN={name} --database {url_of(database)}" in line
    # What stopped because it had all that it was to keep is no accident.
    [line] = [line for line in anew.stderr.splitlines() if "is not finished" in line]
    assert name in line


def test_what_cannot_go_on_is_told_in_a_line(tmp_path: Path) -> None:
    database = tmp_path / "crawl.db"

    def refused(told: str, status: int, *words: str, database: Path = database) -> None:
        result = go_on(database, *words)
        assert (result.status, result.stdout) == (status, "")
        assert told in result.stderr.splitlines()[-1]

    refused("nowhere to start", 2)
    assert not database.exists()
    with LocalSite(forty_pages()) as site:
        crawl(database, {"DEDUP_RUN": "x"}, url=f"{site.url}/", max_pages=12)
        asked = len(site.asked)
        refused("add -a max_pages=24", 2)
        refused("nowhere to start", 2, "-s", "DEDUP_RUN=monday")
        refused("nothing to give up", 1, "-s", "DEDUP_RUN=monday", "--give-up")
        assert len(site.asked) == asked
        # One that no command line has begun.
        crawl_site_here(tmp_path / "other.db", {"DEDUP_RUN": "y"}, url=f"{site.url}/", max_pages=3)
        go_on(tmp_path / "other.db", "-a", "max_pages=5")
        assert len(kept(tmp_path / "other.db")) == 5
        crawl(database, {"DEDUP_RUN": "x"}, url=f"{site.url}/")
    refused("nowhere to start", 2)


def test_a_run_that_can_never_end_is_given_up_and_its_pages_stay(tmp_path: Path) -> None:
    database, urls = tmp_path / "crawl.db", tmp_path / "urls.txt"
    with LocalSite(forty_pages()) as site:
        urls.write_text(f"{site.url}/\n")
        crawl(database, {"DEDUP_RUN": "old"}, url=f"{site.url}/", max_pages=3)
        crawl(database, {"DEDUP_RUN": "new", "CLOSESPIDER_PAGECOUNT": 5}, urls_file=urls)
    urls.unlink()
    pages = kept(database)
    failed, given_up, other = go_on(database), go_on(database, "--give-up"), go_on(database)
    assert "run old of http://127.0.0.1" in failed.stderr
    assert (failed.status, "run new " in failed.stderr, "; --new starts another" in failed.stderr) == (2, True, True)
    assert str(urls) in failed.stderr.splitlines()[-1]
    assert (given_up.status, given_up.stdout, kept(database)) == (0, "", pages)
    assert "scrapy export new -o FILE" in given_up.stderr
    assert [each.name for each in runs_in(url_of(database)) if each.outcome == "given up"] == ["new"]
    assert (other.status, "run old has kept the 3 pages" in other.stderr) == (2, True)
    assert unfinished(url_of(database)).keys() == {"old"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://me:secret@a.example/x", "https://me:***@a.example/x"),
        ("ftp://:sec@ret@a.example/x", "ftp://:***@a.example/x"),
        ("postgresql:///crawl?user=me&password=secret", "postgresql:///crawl?user=me&password=***"),
        ("https://a.example:80/@secret", "https://a.example:80/@secret"),
    ],
)
def test_passwords_of_urls_are_hidden(text: str, shown: str) -> None:
    assert without_password(text) == shown


def test_passwords_are_neither_stored_nor_printed_and_asked_for_again(tmp_path: Path) -> None:
    database = tmp_path / "crawl.db"
    with LocalSite(forty_pages()) as site:
        address = f"{site.url}/,{site.url.replace('http://', 'http://me:hunter2@')}/x"
        result = crawl(database, {"FTP_PASSWORD": "hunter3"}, url=address, max_pages=3, allowed_domains="127.0.0.1")
        stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        refused = go_on(database, "-a", "max_pages=6")
        given = ["-a", "max_pages=6", "-a", f"url={address}", "-s", "FTP_PASSWORD=hunter3"]
        accepted = go_on(database, *given)
    assert b"***@127.0.0.1" in stored
    assert b"hunter" not in stored
    assert "hunter" not in result.stdout + refused.stderr + accepted.stdout
    assert refused.status == 2
    assert f"-a url={site.url}/,http://me:***@127.0.0.1" in refused.stderr
    assert accepted.status == 0
    assert len(kept(database)) == 6


@pytest.mark.parametrize(
    ("word", "stored"),
    [
        ("AWS_SECRET_ACCESS_KEY=s", "AWS_SECRET_ACCESS_KEY=***"),
        ("-sFTP_PASSWORD=s", "-sFTP_PASSWORD=***"),
        ("password=s", "password=***"),
        ("ftp://me:s@a.example/x.csv", "ftp://me:***@a.example/x.csv"),
        # Keys of documents are no secrets, nor is what merely stands in an address.
        ("DEDUP_KEY_FIELD=link", "DEDUP_KEY_FIELD=link"),
        ("url=https://a.example/?token=x", "url=https://a.example/?token=x"),
    ],
)
def test_values_that_look_secret_are_not_stored(word: str, stored: str) -> None:
    assert without_secret(word) == stored


def known(name: str, arguments: dict[str, str], *, spider: str = "site", kept: int = 0, **more: Any) -> CrawlRun:
    asked = Asked(spider, arguments, {})
    given = {"parts": 1, "left": 1, "is_over": False, "is_under_way": False, "is_ending": False, **more}
    return CrawlRun(name=name, started=0.0, asked=asked, kept=kept, **given)


URL = {"url": "http://a.example/"}
SECRET = {"url": "http://me:***@a.example/", "follow": "/news/"}
KNOWN = [
    known("parts", URL, parts=4),
    known("other spider", URL, spider="members"),
    known("deep", {**URL, "max_depth": "4"}),
    known("limited", {**URL, "max_pages": "10"}, kept=10),
    known("secret", SECRET),
    known("first", URL),
]


@pytest.mark.parametrize(
    ("arguments", "name", "chosen"),
    [
        ({}, "", "deep"),
        ({"max_pages": "50"}, "", "deep"),
        (URL, "", "limited"),
        ({**URL, "max_pages": "20"}, "", "limited"),
        ({**URL, "max_pages": "10"}, "", "first"),
        ({**URL, "max_depth": "4"}, "", "deep"),
        ({**URL, "max_depth": "5"}, "", None),
        ({"url": "http://a.example"}, "", None),
        ({"url": "http://me:pass@a.example/"}, "", "secret"),
        ({"url": "http://me:pass@a.example/", "follow": "/news/"}, "", "secret"),
        ({"url": "http://me:pass@a.example/", "follow": "/sport/"}, "", None),
        ({}, "parts", "parts"),
        (URL, "monday", None),
    ],
)
def test_a_command_goes_on_with_what_was_asked_for_the_same(
    arguments: dict[str, str], name: str, chosen: str | None
) -> None:
    found = choose_run(KNOWN, "site", arguments, name)
    assert (found and found.name) == chosen


@pytest.mark.parametrize(
    ("said", "printed"),
    [
        ("make crawl", "make crawl 'ARGS=-a max_pages=6'"),
        (
            "make crawl --database 'a b.db' -a max_pages=3",
            "make crawl 'ARGS=--database '\"'\"'a b.db'\"'\"' -a max_pages=6'",
        ),
        (
            "make cluster PARTS=2 URL=http://a.example/",
            "make cluster PARTS=2 URL=http://a.example/ 'ARGS=-a max_pages=6'",
        ),
        ("scrapy crawl site --new -amax_pages=3", "scrapy crawl site -a max_pages=6"),
    ],
)
def test_command_that_is_printed_is_the_one_that_was_typed_with_a_larger_limit(said: str, printed: str) -> None:
    crawler = get_crawler(SiteSpider, {WORDS: said})
    crawler.spider = SimpleNamespace(arguments=SimpleNamespace(max_pages=3))  # type: ignore[assignment]
    assert command_to_continue(crawler, has_all=True) == printed


def test_what_is_left_out_is_what_was_said_before() -> None:
    assert arguments_to_go_on(known("x", {**URL, "max_pages": "10"}), {}) == {**URL, "max_pages": "10"}
    assert arguments_to_go_on(known("x", {**URL, "max_pages": "10"}, kept=10), {"max_pages": "20"})["max_pages"] == "20"
    # Whoever says it all says what is not wanted any more.
    assert arguments_to_go_on(known("x", {**URL, "max_pages": "10"}, kept=10), URL) == URL
    assert arguments_to_go_on(known("x", SECRET), {"url": "http://me:p@a.example/"})["follow"] == "/news/"
    with pytest.raises(SettingsError, match="pass them again: -a url=http://me:"):
        arguments_to_go_on(known("x", SECRET), {})


def test_a_run_that_another_process_is_at_is_not_begun_twice() -> None:
    with pytest.raises(DedupError, match="under way in another process: stop it, or begin another run by --new"):
        choose_run([known("x", URL, is_under_way=True)], "site", URL)


def test_demo_crawl_that_was_killed_goes_on_with_its_site(tmp_path: Path) -> None:
    database = tmp_path / "crawl.db"
    settings = ["-s", f"DEDUP_DATABASE_URL={url_of(database)}", "-s", "AUTOTHROTTLE_ENABLED=False"]
    settings += ["-s", "DEDUP_WORKERS=0"]
    process = start([sys.executable, "-m", "crawler.demo", "crawl", "-L", "WARNING", *settings])
    wait_until(lambda: count_pages(database) > 3 or process.poll() is not None)
    os.killpg(process.pid, signal.SIGKILL)
    finish(process, accidents=True)
    result = run([sys.executable, "-m", "crawler.demo", "continue", *settings], database_url=url_of(database))
    assert result.status == 0
    assert result.summed_up("fetched") > 0
    # Which copy comes first, and so what is kept, may differ by a page; a site that is away would skip them all.
    assert abs(len(kept(database)) - expected_totals()["kept"]) <= 2
    assert "connection" not in result.summary["skipped"]
    assert "continue" not in result.summary
    assert [each.outcome for each in runs_in(url_of(database))] == ["finished"]
