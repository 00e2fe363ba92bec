"""`dedup runs`: what it lists, and what `cancel` leaves of pages, frontier and verdicts."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from gzip import decompress as gunzip
from hashlib import sha1
from pathlib import Path
from typing import Any

import pytest

from crawler.frontier.schema import Entry
from crawler.frontier.store import Changes, FrontierStore
from dedup.cli.main import main
from dedup.report.explanation import find_page
from dedup.store.database import Database, open_existing_database
from tests.commands import run_dedup
from tests.crawler.frontier.driving import unfinished
from tests.crawling import crawl_site_here, pages_in, runs_in
from tests.crawls import BUDGET, Crawls, crawl_twice
from tests.databases import everything, left_in
from tests.localsite import LocalSite, article
from tests.terminals import Terminal, seen
from tests.waiting import days_from_now

ERROR = article("error page", words=40)


def pages(url: str, columns: str = "url, text, run") -> list[dict[str, Any]]:
    return [{name: page[name] for name in columns.split(", ")} for page in pages_in(url)]


def test_the_runs_of_a_database(database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    crawls = Crawls(database_url)
    crawl_twice(crawls)
    crawls.deduplicator.open_run("going on")
    crawls.deduplicator.database.close()
    done = run_dedup("runs", "--database", database_url, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    heading, *rows = [line.split() for line in done.stdout.splitlines()]
    # What no run has is left out.
    assert heading == ["run", "started", "took", "state", "documents", "new", "unchanged", "exact", "near"]
    assert [row[0] for row in rows] == ["monday", "tuesday", "going"]
    # How long they took is the machine's affair.
    assert [len(row[-7]) for row in rows] == [len("0:00:00")] * 2 + [len("-")]
    assert [row[-6:] for row in rows] == [
        ["finished", "2", "1", "0", "1", "0"],
        ["finished", "7", "2", "1", "1", "3"],
        ["unfinished", "0", "0", "0", "0", "0"],
    ]
    assert main(["runs", "--json", "--database", database_url]) == 0
    found = json.loads(capsys.readouterr().out)["runs"]
    assert [each["state"] for each in found] == ["finished", "finished", "unfinished"]
    assert found[1]["documents"]["near duplicate"] == 3
    assert found[2]["finished"] is None


def test_runs_fit_into_80_columns(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    crawls = Crawls(sqlite_url)
    for day in range(2):
        crawls.run(f"2026-11-2{day}T20:48:02.282890Z", *((f"https://a.example/{number}", "x") for number in range(12)))
    crawls.deduplicator.database.close()
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert main(["runs", "--database", sqlite_url]) == 0
    heading, *rows = seen(sys.stdout.getvalue()).splitlines()
    assert heading.split() == ["run", "took", "state", "documents", "new", "unchanged", "exact"]
    assert [row.split()[0] for row in rows] == ["2026-11-20T20:48:02.282890Z", "2026-11-21T20:48:02.282890Z"]
    assert max(map(len, [heading, *rows])) <= 80


def test_cancel_says_what_it_took_back(database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    crawls = Crawls(database_url)
    crawl_twice(crawls)
    crawls.deduplicator.database.close()
    done = run_dedup("runs", "cancel", "tuesday", "--database", database_url, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "run tuesday is rolled back",
        "removed     6 documents   which it alone had seen",
        "kept        1 document   which another run has seen, or found copies of",
        "verdicts    7 deleted",
    ]
    assert main(["runs", "--database", database_url, "cancel", "monday", "--json"]) == 0
    taken = json.loads(capsys.readouterr().out)
    assert taken == {"runs": ["monday"], "removed": 2, "undecided": 0, "kept": 0, "verdicts": 2, "rows": {}}
    assert main(["runs", "--database", database_url]) == 0
    assert capsys.readouterr().out == "no runs\n"
    with closing(Database(database_url)) as database:
        assert left_in(database) == {}


@pytest.mark.slow
def test_a_crawl_gone_wrong_leaves_nothing_behind(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'crawl.db'}"
    with LocalSite() as site:
        site.pages["/"] = article("front", ["/a", "/b", "/copy"])
        site.pages |= {"/a": article("a"), "/b": article("b"), "/copy": article("a")}
        crawl_site_here(url, {"DEDUP_RUN": "good"}, url=f"{site.url}/")
        good = pages(url)
        # The site is broken for a day: one text everywhere, and links to more of it.
        site.pages["/"] = article("error page", ["/b", "/new"], words=40)
        site.pages |= {"/b": article("broken b", ["/new"]), "/new": article("broken new")}
        crawl_site_here(url, {"DEDUP_RUN": "bad"}, url=f"{site.url}/")
        assert {row["run"] for row in pages(url)} == {"good", "bad"}
        assert main(["runs", "cancel", "bad", "--database", url]) == 0
        left = pages(url)
        # Whichever of the two copies came first.
        assert [row["url"] for row in left] in ([f"{site.url}/a"], [f"{site.url}/copy"])
        assert left[0] in good
        # What it overwrote is fetched and stored anew, as new.
        site.pages["/"] = article("front", ["/a", "/b", "/copy"])
        site.pages["/b"] = article("b")
        outcome = crawl_site_here(url, {"DEDUP_RUN": "next"}, url=f"{site.url}/")
    assert (outcome.count("dedup/new"), outcome.count("dedup/unchanged"), outcome.count("dedup/exact_duplicate")) == (
        2,
        1,
        1,
    )
    assert pages(url, "url, text") == [{"url": row["url"], "text": row["text"]} for row in good]
    assert {run.name for run in runs_in(url)} == {"good", "next"}


@pytest.mark.slow
def test_pages_that_nothing_links_any_more_come_back_after_a_rollback(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'crawl.db'}"
    with LocalSite({"/": article("front", ["/a", "/b"]), "/a": article("ferry"), "/b": article("bridge")}) as site:
        crawl_site_here(url, {"DEDUP_RUN": "good"}, url=f"{site.url}/")
        good = pages(url, "url, text, gone")
        # Stories leave the front page; for a day one of them is broken, and one away.
        site.pages |= {"/": article("front"), "/a": article("broken")}
        del site.pages["/b"]
        crawl_site_here(url, {"DEDUP_RUN": "bad"}, url=f"{site.url}/", recrawl="true")
        assert main(["runs", "cancel", "bad", "--database", url]) == 0
        site.pages |= {"/a": article("ferry"), "/b": article("bridge")}
        crawl_site_here(url, {"DEDUP_RUN": "next"}, url=f"{site.url}/", recrawl="true")
    assert pages(url, "url, text, gone") == good


@pytest.mark.slow
def test_a_page_that_a_later_run_saw_unchanged_stays_stored(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'crawl.db'}"
    with LocalSite() as site:
        site.pages["/"] = article("front", ["/a"])
        site.pages["/a"] = article("a")
        crawl_site_here(url, {"DEDUP_RUN": "first"}, url=f"{site.url}/")
        site.pages["/"] = article("front", [])
        crawl_site_here(url, {"DEDUP_RUN": "second"}, url=f"{site.url}/")
        assert [row["run"] for row in pages(url)] == ["first", "first"]
        assert main(["runs", "cancel", "first", "--database", url]) == 0
        # A frame that changed has changed no text.
        assert [(row["url"], row["run"]) for row in pages(url)] == [(f"{site.url}/", "second")]


@pytest.mark.slow
def test_a_page_that_a_run_in_between_saw_stays_stored(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'crawl.db'}"
    with LocalSite() as site:
        site.pages |= {"/": article("front", ["/a"]), "/a": article("a")}
        for run in ("oldest", "between", "newest"):
            crawl_site_here(url, {"DEDUP_RUN": run}, url=f"{site.url}/")
    stored = pages(url, "url, text")
    for run in ("newest", "oldest"):
        assert main(["runs", "cancel", run, "--database", url]) == 0
    assert pages(url, "url, text") == stored
    assert {row["run"] for row in pages(url)} == {"between"}


def test_what_is_queued_goes_with_its_run(database_url: str, tmp_path: Path) -> None:
    crawls = Crawls(database_url)
    crawls.run("run", (BUDGET, "some text of a page"))
    crawls.deduplicator.database.close()
    stores = [FrontierStore(Database(database_url), run, "worker") for run in ("run", "another")]
    for store in stores:
        store.open()
        store.exchange(Changes([Entry(BUDGET, sha1(BUDGET.encode()).digest(), "h", "page", 0, 0, 0, None, None)]), 0)
        store.close()
    done = run_dedup("runs", "cancel", "run", "--database", database_url, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-3:] == [
        "rows        1 of table frontier deleted",
        "rows        1 of table frontier_parts deleted",
        "rows        1 of table frontier_runs deleted",
    ]
    assert unfinished(database_url).keys() == {"another"}


def test_what_cannot_be_cancelled_is_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "crawl.db"
    crawls = Crawls(f"sqlite:///{path}")
    crawls.run("done", (BUDGET, "a text"))
    crawls.deduplicator.open_run("live")
    crawls.deduplicator.database.close()
    for arguments, message in {
        ("cancel", "none"): "holds no run 'none': the last ones are 'live', 'done'",
        ("cancel", "live"): "run 'live' has not ended: stop the crawl first; if it was killed and nobody is at work "
        "on it, repeat with --force",
    }.items():
        assert main(["runs", *arguments, "--database", str(path)]) == 1
        printed = capsys.readouterr()
        assert printed.out == ""
        assert message in printed.err
        assert printed.err.count("\n") == 1
    assert main(["runs", "--database", str(tmp_path / "absent.db")]) == 1
    assert "there is no database" in capsys.readouterr().err
    assert [sum(each.documents.values()) for each in runs_in(f"sqlite:///{path}")] == [1, 0]
    assert main(["runs", "cancel", "live", "--force", "--database", str(path)]) == 0


def keys_of(url: str) -> list[str]:
    """Return the addresses of the stored pages that are documents, too."""
    with closing(open_existing_database(url)) as database:
        return [page["url"] for page in pages_in(url) if find_page(database, page["url"]) is not None]


def test_pages_outlive_pruned_runs_and_are_crawled_again(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'crawl.db'}"
    links = '<a href="/a">a</a> <a href="/b">b</a>'
    with LocalSite({"/": links, "/a": article("ferry"), "/b": article("bridge")}) as site:
        crawl_site_here(url, url=site.url)
        before, decided = pages(url, "url, text"), keys_of(url)
        with days_from_now(10):
            done = run_dedup("prune", "--keep", "9d", folder=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("1 run removed\n")
        assert (keys_of(url), len(decided)) == ([], 3)
        assert pages(url, "url, text") == before
        crawl_site_here(url, url=site.url, recrawl="true")
    assert pages(url, "url, text") == before
    assert keys_of(url) == decided
    wrong = run_dedup("prune", "--keep", "run", folder=tmp_path)
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)


def test_an_erased_page_leaves_a_crawl_and_stays_away(tmp_path: Path) -> None:
    url, archive = f"sqlite:///{tmp_path / 'crawl.db'}", tmp_path / "again.warc.gz"
    links = '<a href="/a">a</a> <a href="/b">b</a>'
    with LocalSite({"/": links, "/a": article("ferry"), "/b": article("bridge")}) as site:
        crawl_site_here(url, url=site.url)
        key = f"{site.url}/a"
        tried = run_dedup("erase", key, folder=tmp_path)
        assert (tried.returncode, tried.stderr) == (0, "")
        assert tried.stdout.splitlines()[0] == "1 document would be erased from sqlite:///crawl.db"
        assert len(pages(url)) == 3
        done = run_dedup("erase", key, "--yes", folder=tmp_path)
        assert "1 of pages, 1 of visits" in done.stdout
        assert key not in done.stdout
        outcome = crawl_site_here(url, {"FEEDS": {str(archive): {"format": "gz"}}}, url=site.url, recrawl="true")
    assert [table for table, rows in everything(url).items() if any(key in row for row in rows)] == []
    assert (outcome.count("dedup/erased"), outcome.count("dedup/exact_duplicate")) == (1, 0)
    assert key.encode() not in gunzip(archive.read_bytes())
    assert f"{site.url}/b".encode() in gunzip(archive.read_bytes())


@pytest.mark.parametrize("is_pruned", [True, False])
def test_a_stored_page_that_no_run_has_decided_is_erased(is_pruned: bool, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'crawl.db'}"
    page = article("ferry") if is_pruned else "<title>ferry</title>"
    with LocalSite({"/": article("front", ["/a"]), "/a": page}) as site:
        crawl_site_here(url, url=site.url)
        if is_pruned:
            with days_from_now(10):
                assert run_dedup("prune", "--keep", "9d", folder=tmp_path).returncode == 0
        done = run_dedup("erase", f"{site.url}/a", "--yes", folder=tmp_path)
        assert (done.returncode, "1 of pages, 1 of visits" in done.stdout) == (0, True)
        assert crawl_site_here(url, url=site.url).count("dedup/erased") == 1
    assert [row["url"] for row in pages(url, "url")] == [f"{site.url}/"]
