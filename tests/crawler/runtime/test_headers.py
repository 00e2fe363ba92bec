"""Headers of a response: as long as the documentation says, and no longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawler.runtime import MOST_HEADER_BYTES
from tests.crawling import crawl
from tests.localsite import HTML, LocalSite, Reply, article

pytestmark = pytest.mark.slow


def with_header(name: str, size: int) -> Reply:
    return Reply(article(name).encode(), headers={"Content-Type": HTML, "X-Long": "x" * size})


def test_a_long_line_of_headers_costs_no_page_and_one_that_is_too_long_costs_its_own(tmp_path: Path) -> None:
    pages = {"/": article("front", ["/long", "/longer", "/other"]), "/other": article("other")}
    pages |= {"/long": with_header("long", 100_000), "/longer": with_header("longer", MOST_HEADER_BYTES)}
    with LocalSite(pages) as site:
        result = crawl(tmp_path / "crawl.db", url=f"{site.url}/")
        assert site.hits["/long"] == 1
    assert result.paths(site.url) == ["/", "/long", "/other"]
    assert (result.status, result.skipped) == (0, {"too_large": 1})
