"""Requests that arrive while robots.txt is being fetched obey it like those that come later."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crawling import crawl_command, run
from tests.localsite import LocalSite, Reply, article

pytestmark = pytest.mark.slow


def test_all_that_wait_for_robots_txt_obey_it(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'crawl.db'}"
    site = LocalSite()
    # All start at once: the others wait for what the first has asked for.
    site.pages["/robots.txt"] = Reply(b"User-agent: *\nDisallow: /private/\n", stall=0.5)
    paths = [f"/private/{number}" for number in range(5)]
    for path in paths:
        site.pages[path] = Reply(article(path, []).encode())
    with site:
        starts = ",".join(site.url.rstrip("/") + path for path in paths)
        settings = {"DEDUP_DATABASE_URL": database, "AUTOTHROTTLE_ENABLED": False}
        result = run(crawl_command({"url": starts}, settings), database_url=database)
        asked = [request.path for request in site.asked]
    assert asked == ["/robots.txt"], result.stderr
