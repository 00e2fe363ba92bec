"""Skipped pages are named on the screen of a crawl, with the page that links to them."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tests.crawling import Crawl, crawl, run
from tests.localsite import LocalSite, Reply, article, redirect

pytestmark = pytest.mark.slow


def block(result: Crawl) -> list[str]:
    """The lines about skipped pages."""
    _, _, rest = f"\n{result.stdout}".partition("\nskipped pages\n")
    return rest.split("\n\n")[0].splitlines()


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
        f"http 404  {site.url}/gone  linked from {site.url}/list",
        f"empty  {site.url}/nothing  linked from {site.url}/moved",
        f"not html  {site.url}/桥  linked from {site.url}/list",
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
    assert lines[0] == f"http 404      {site.url}/typo"
    assert len(lines) == 6
    assert lines[-1].strip() == "and 4 more"
    assert result.says(f"skipped {site.url}/6: http 404")
    assert result.says(f"skipped {site.url}/new: http 404 (redirected from {site.url}/old)")
