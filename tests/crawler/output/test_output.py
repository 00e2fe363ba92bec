"""What a crawl says of skipped and of similar pages: on the screen, in its feeds, stats and log, and in the report."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.crawling import Crawl, crawl, run
from tests.feeds import read_feed
from tests.localsite import LocalSite, Reply, article, redirect
from tests.texts import filled_in, form

pytestmark = pytest.mark.slow

STORY = form(200, 14, "story")
PAGES = {
    "/": article("front", ["/form", "/copy"], text=STORY),
    "/form": article("form", text=filled_in(STORY)),
    "/copy": article("copy", text=STORY),
}


def test_similar_pages_are_kept_stored_and_counted(tmp_path: Path) -> None:
    with LocalSite(PAGES) as site:
        result = crawl(tmp_path / "crawl.db", options=["-O", str(tmp_path / "pages.jsonl")], url=f"{site.url}/")
    assert result.summary["kept"] == "2 pages   1 new, 1 similar"
    assert result.summed_up("dropped") == 1
    assert result.paths(site.url) == ["/", "/form"]
    assert result.stats["dedup/similar"] == 1
    assert {page["url"].removeprefix(site.url): page["verdict"] for page in read_feed(tmp_path / "pages.jsonl")} == {
        "/": "new",
        "/form": "similar",
    }
    # Zeros, and clusters of two, are not told.
    assert not {"skipped", "not followed", "lost"} & result.summary.keys()
    assert result.summary["dropped"] == "1 page   1 exact"
    assert "largest clusters" not in result.stdout
    assert "linked from" not in result.stdout
    # What the last line says can be given as it is.
    [*_, last] = result.stdout.splitlines()
    assert last == f"next          {result.summary['next']}"
    report = run(shlex.split(result.summary["next"]))
    assert "similar pages, kept; please review" in report.stdout


def test_pages_are_counted_where_the_stage_is_off(tmp_path: Path) -> None:
    with LocalSite(PAGES) as site:
        result = crawl(tmp_path / "crawl.db", {"DEDUP_ENABLED": False}, url=f"{site.url}/")
    assert result.summary["kept"] == "3 pages"
    assert result.paths(site.url) == ["/", "/copy", "/form"]


def block(result: Crawl) -> list[str]:
    """The lines about skipped pages."""
    lines = result.stdout.split("\n\n")[0].splitlines()
    return lines[next(at for at, line in enumerate(lines) if line.endswith("linked from")) + 1 :]


def test_screen_and_report_name_skipped_pages_and_where_they_are_linked_from(tmp_path: Path) -> None:
    pages = {
        "/": article("front", ["/list", "/forbidden"]),
        "/list": article("list", ["/gone", "/moved", "/%E6%A1%A5"]),
        "/moved": redirect("/nothing"),
        "/nothing": Reply(status=204),
        "/%E6%A1%A5": Reply(b"%PDF-1.4", headers={"Content-Type": "application/pdf"}),
        "/robots.txt": "User-agent: *\nDisallow: /forbidden\n",
    }
    with LocalSite(pages) as site:
        result = crawl(tmp_path / "crawl.db", options=["-L", "WARNING"], url=f"{site.url}/")
    command = [sys.executable, "-m", "scrapy", "duplicates", "--database", result.database_url, "--format", "json"]
    report = json.loads(run(command).stdout)
    told = {re.sub(" {2,}", "  ", line) for line in block(result)}
    assert told == {
        f"http 404  {site.url}/gone  /list",
        f"empty  {site.url}/nothing  /moved",
        f"not html  {site.url}/桥  /list",
    }
    reported = [(row["key"], row["reason"], row["detail"], row["referrer"]) for row in report["skipped"]]
    assert sorted(reported) == [
        (f"{site.url}/%E6%A1%A5", "not html", "", f"{site.url}/list"),
        (f"{site.url}/forbidden", "robots txt", "Forbidden by robots.txt", f"{site.url}/"),
        (f"{site.url}/gone", "http 404", "", f"{site.url}/list"),
        (f"{site.url}/nothing", "empty", f"redirected from {site.url}/moved", f"{site.url}/moved"),
    ]


def test_screen_names_five_and_counts_the_others(tmp_path: Path) -> None:
    # What was asked for by name is linked from nowhere.
    pages = {"/": article("front", [f"/{number}" for number in range(7)] + ["/old"]), "/old": redirect("/new")}
    with LocalSite(pages) as site:
        result = crawl(tmp_path / "crawl.db", {"CONCURRENT_REQUESTS": 1}, url=f"{site.url}/typo,{site.url}/")
    lines = block(result)
    assert lines[0] == f"http 404  {site.url}/typo"
    assert len(lines) == 6
    assert lines[-1].strip() == "and 4 more"
    assert result.says(f"skipped {site.url}/6: http 404")
    assert result.says(f"skipped {site.url}/new: http 404 (redirected from {site.url}/old)")
