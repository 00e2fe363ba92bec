"""What a crawl says of skipped and of similar pages: on the screen, in its feeds, stats and log, and in the report."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator
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
    report = run([*shlex.split(result.summary["next"]), "--all"])
    assert "similar pages, kept; please review" in report.stdout


def test_pages_are_counted_where_the_stage_is_off(tmp_path: Path) -> None:
    with LocalSite(PAGES) as site:
        result = crawl(tmp_path / "crawl.db", {"DEDUP_ENABLED": False}, ["-L", "WARNING"], url=f"{site.url}/")
    assert result.summary["kept"] == "3 pages"
    assert result.paths(site.url) == ["/", "/copy", "/form"]


@pytest.fixture(scope="module")
def skipping(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Crawl]]:
    """A crawl that skips pages of several kinds, and then more of one kind."""
    pages = {
        "/": article("front", ["/list", "/forbidden", "/gone", "/moved", "/%E6%A1%A5"]),
        "/list": article("list", [f"/{number}" for number in range(5)]),
        "/moved": redirect("/nothing"),
        "/nothing": Reply(status=204),
        "/%E6%A1%A5": Reply(b"%PDF-1.4", headers={"Content-Type": "application/pdf"}),
        "/robots.txt": "User-agent: *\nDisallow: /forbidden\n",
    }
    with LocalSite(pages) as site:
        database = tmp_path_factory.mktemp("skipping") / "crawl.db"
        yield site.url, crawl(database, {"CONCURRENT_REQUESTS": 1}, url=f"{site.url}/typo,{site.url}/")


def test_screen_names_five_and_where_they_are_linked_from_and_counts_the_others(skipping: tuple[str, Crawl]) -> None:
    url, result = skipping
    lines = [re.sub(" {2,}", "  ", line) for line in result.stdout.split("\n\n")[0].splitlines()]
    first, *others, last = lines[lines.index("skipped  page  linked from") + 1 :]
    # What was asked for by name is linked from nowhere.
    assert (first, last.strip()) == (f"http 404  {url}/typo", "and 4 more")
    named = [f"http 404  {url}/gone  /", f"empty  {url}/nothing  /moved", f"not html  {url}/桥  /"]
    assert sorted(others) == sorted([*named, f"http 404  {url}/0  /list"])


def test_log_and_report_name_each_skipped_page(skipping: tuple[str, Crawl]) -> None:
    url, result = skipping
    assert result.says(f"skipped {url}/4: http 404")
    assert result.says(f"skipped {url}/nothing: empty (redirected from {url}/moved)")
    command = [sys.executable, "-m", "dedup", "duplicates", "--database", result.database_url, "--format", "json"]
    skipped = json.loads(run(command).stdout)["skipped"]
    assert len(skipped) == 10
    reported = {row["key"]: (row["reason"], row["detail"], row["referrer"]) for row in skipped}
    assert reported == {
        f"{url}/%E6%A1%A5": ("not html", "CRAWLER_PDF = True reads it", f"{url}/"),
        f"{url}/forbidden": ("robots txt", "", f"{url}/"),
        f"{url}/gone": ("http 404", "", f"{url}/"),
        f"{url}/nothing": ("empty", f"redirected from {url}/moved", f"{url}/moved"),
        f"{url}/typo": ("http 404", "", ""),
        **{f"{url}/{number}": ("http 404", "", f"{url}/list") for number in range(5)},
    }
