"""The benchmark of the HTML report, on few drops."""

from __future__ import annotations

from pathlib import Path

from benchmarks.report import run
from tests.report.html.browsing import needs_chromium
from tests.report.html.test_model import data_in

pytestmark = needs_chromium


def test_page_of_a_made_up_crawl_is_written_and_opened(tmp_path: Path) -> None:
    figures = run(n=50, output=tmp_path / "report.html")
    assert figures["paint_seconds"] > 0
    assert figures["ready_seconds"] > 0
    assert figures["mb"] == (tmp_path / "report.html").stat().st_size / 1e6
    data = data_in(tmp_path / "report.html")
    assert data["counts"]["dropped"] == len(data["rows"]["dropped"]) == 50
    assert data["differences"]
