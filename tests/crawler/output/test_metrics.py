"""`CRAWLER_METRICS`: stats as a Prometheus text file, and as JSON at the end."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from crawler.metrics import metrics
from tests.crawling import ExitedError, crawl_site_here
from tests.localsite import LocalSite, article


def test_numbers_and_times_are_metrics_with_names_that_prometheus_takes() -> None:
    stats = {"a/b": 1, "a_b": 2, "http/404 x": 2.5, "is": True, "why": "done", "at": datetime(1970, 1, 2, tzinfo=UTC)}
    assert list(metrics(stats, 'my "crawl"')) == [
        'scrapy_a_b{crawl="my \\"crawl\\""} 1\n',
        'scrapy_http_404_x{crawl="my \\"crawl\\""} 2.5\n',
        'scrapy_is{crawl="my \\"crawl\\""} 1\n',
        'scrapy_at{crawl="my \\"crawl\\""} 86400.0\n',
    ]


def test_a_crawl_writes_its_stats(tmp_path: Path) -> None:
    with LocalSite({"/": article("ferry"), "/robots.txt": ""}) as site:
        outcome = crawl_site_here(tmp_path / "crawl.db", {"CRAWLER_METRICS": str(tmp_path / "news.prom")}, url=site.url)
    lines = (tmp_path / "news.prom").read_text().splitlines()
    assert 'scrapy_crawler_fetched{crawl="news"} 1' in lines
    stats = json.loads((tmp_path / "news.json").read_text())
    assert (stats["crawler/fetched"], stats["finish_reason"]) == (1, "finished")
    assert outcome.count("log_count/ERROR") == 0
    assert {path.name for path in tmp_path.iterdir()} >= {"news.prom", "news.json"}


@pytest.mark.parametrize("name", ["crawl.txt", "none/crawl.prom"])
def test_a_file_that_cannot_be_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ExitedError) as caught:
        crawl_site_here(tmp_path / "crawl.db", {"CRAWLER_METRICS": str(tmp_path / name)}, url="http://127.0.0.1:1/")
    assert caught.value.status == 2
