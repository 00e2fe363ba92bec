"""The run of a crawl: how it begins, and under which name."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from scrapy.utils.test import get_crawler

from dedup.errors import DatabaseError
from dedup.stage.crawl_run import CrawlRun
from dedup.stage.project import read_project_settings
from tests.crawling import Outcome
from tests.passing import A, url
from tests.waiting import HANG

pytestmark = pytest.mark.slow


def make_run(database: Path, **settings: Any) -> CrawlRun:
    crawler = get_crawler(settings_dict={"DEDUP_DATABASE_URL": f"sqlite:///{database}", **settings})
    return CrawlRun(crawler, read_project_settings(crawler.settings))


def test_who_waits_for_a_database_that_cannot_be_opened_hears_of_it(tmp_path: Path) -> None:
    async def open_and_begin() -> list[BaseException | int | None]:
        run = make_run(tmp_path / "missing" / "dedup.db")
        async with asyncio.timeout(HANG):
            return await asyncio.gather(run.begin(), run.open(), run.begin(), return_exceptions=True)

    assert [type(result) for result in asyncio.run(open_and_begin())] == [DatabaseError] * 3


@pytest.mark.parametrize("torn", [b"", b"\n", b"\xff\xfe\x00"])
def test_job_whose_file_was_torn_gets_a_new_run(torn: bytes, pass_on: Any, tmp_path: Path) -> None:
    file = tmp_path / "job" / "dedup.run"
    file.parent.mkdir()
    file.write_bytes(torn)
    outcome: Outcome = pass_on([{"url": url(1), "text": A}], {"JOBDIR": str(file.parent)})
    assert (len(outcome.items), outcome.failed) == (1, 0)
    assert outcome.stats["dedup/run"] == file.read_text(encoding="utf-8") != ""
    assert [each.name for each in file.parent.glob("dedup*")] == ["dedup.run"]


@pytest.mark.parametrize(("on_error", "reason"), [("stop", "database_error"), ("pass", "finished")])
def test_job_whose_file_cannot_be_read_is_told_of_in_one_line(
    on_error: str, reason: str, pass_on: Any, tmp_path: Path
) -> None:
    file = tmp_path / "job" / "dedup.run"
    file.mkdir(parents=True)
    settings = {"JOBDIR": str(file.parent), "DEDUP_ON_ERROR": on_error}
    outcome: Outcome = pass_on([{"url": url(1), "text": A}], settings)
    assert (outcome.failed, outcome.tracebacks, outcome.stats["finish_reason"]) == (0, [], reason)
    [line] = [record.getMessage() for record in outcome.log if record.levelname == "ERROR"]
    assert str(file) in line
    assert "cannot be read" in line
