"""What a crawl says of pages that are similar to others: on the screen, in its feeds, stats and log."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.crawling import crawl, run
from tests.feeds import read_feed
from tests.localsite import LocalSite, article
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
    assert "skipped pages" not in result.stdout
    # What the last line says can be given as it is.
    [*_, last] = result.stdout.splitlines()
    assert last == f"next          {result.summary['next']}"
    report = run(shlex.split(result.summary["next"]))
    assert "similar, kept: look at these" in report.stdout


def test_pages_are_counted_where_the_stage_is_off(tmp_path: Path) -> None:
    with LocalSite(PAGES) as site:
        result = crawl(tmp_path / "crawl.db", {"DEDUP_ENABLED": False}, url=f"{site.url}/")
    assert result.summary["kept"] == "3 pages"
    assert result.paths(site.url) == ["/", "/copy", "/form"]
