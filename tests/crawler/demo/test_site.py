"""The bundled demo site, whose truth is known: every page ends as it should, in the first crawl and in the second."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from crawler.demo.server import DemoServer
from crawler.demo.truth import TRUTH, Expectation, expected_totals
from tests.crawling import Crawl, crawl

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Demo:
    """Two crawls of the demo site into one database.

    Attributes:
        url: where the site was.
        first: the first crawl.
        second: the crawl after it.
        hits: how often each path was asked for in the first crawl.
        pages_after_first: the rows of `pages` between the crawls, by URL.
        verdicts_after_first: how many verdicts there were between the crawls.
        first_feed: the items that the first crawl exported.
        second_feed: those of the second one.
    """

    url: str
    first: Crawl
    second: Crawl
    hits: Counter[str]
    pages_after_first: dict[str, dict[str, Any]]
    verdicts_after_first: int
    first_feed: list[dict[str, Any]]
    second_feed: list[dict[str, Any]]

    def verdict_of(self, path: str, *, second: bool = False) -> tuple[str, str | None] | None:
        """Verdict and original's path of one page in one of the crawls."""
        verdicts = self.first.verdicts
        verdicts = verdicts[self.verdicts_after_first :] if second else verdicts[: self.verdicts_after_first]
        found = [row for row in verdicts if row["key"] == self.url + path]
        assert len(found) <= 1, f"{path} was decided {len(found)} times in one crawl"
        if not found:
            return None
        original = found[0]["original"]
        return found[0]["verdict"], None if original is None else original.removeprefix(self.url)


def read_feed(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    folder = tmp_path_factory.mktemp("demo")
    database = folder / "crawl.db"
    with DemoServer() as server:
        start = f"{server.url}/"
        first = crawl(database, options=["-o", str(folder / "first.jsonl")], url=start)
        hits = Counter(server.hits)
        pages, verdicts = first.pages, len(first.rows("SELECT id FROM dedup_verdicts"))
        second = crawl(database, options=["-o", str(folder / "second.jsonl")], url=start)
    return Demo(
        server.url,
        first,
        second,
        hits,
        pages,
        verdicts,
        read_feed(folder / "first.jsonl"),
        read_feed(folder / "second.jsonl"),
    )


def of(*outcomes: str) -> pytest.MarkDecorator:
    chosen = [expectation for expectation in TRUTH if expectation.outcome in outcomes]
    return pytest.mark.parametrize("expected", chosen, ids=lambda expectation: expectation.path)


def test_both_crawls_succeed(demo: Demo) -> None:
    assert (demo.first.status, demo.second.status) == (0, 0)
    assert demo.first.errors == demo.second.errors == []


@of("kept")
def test_page_is_kept(demo: Demo, expected: Expectation) -> None:
    assert demo.verdict_of(expected.path) == ("new", None)
    assert demo.url + expected.path in demo.pages_after_first


@of("exact")
def test_exact_copy_is_dropped_for_its_original(demo: Demo, expected: Expectation) -> None:
    assert demo.verdict_of(expected.path) == ("exact duplicate", expected.original)
    assert demo.url + expected.path not in demo.pages_after_first


@of("near")
def test_near_copy_is_dropped_for_its_original(demo: Demo, expected: Expectation) -> None:
    assert demo.verdict_of(expected.path) == ("near duplicate", expected.original)
    assert demo.url + expected.path not in demo.pages_after_first


@of("exact", "near")
def test_drop_is_one_line_in_the_log_that_names_the_original(demo: Demo, expected: Expectation) -> None:
    dropped, original = demo.url + expected.path, f"{demo.url}{expected.original}"
    pattern = rf"INFO: dropped {re.escape(dropped)}: {expected.outcome} duplicate of {re.escape(original)}(?: \(|$)"
    assert len(re.findall(pattern, demo.first.stderr, re.MULTILINE)) == 1


@of("skipped")
def test_skipped_page_is_named_with_its_reason_and_not_stored(demo: Demo, expected: Expectation) -> None:
    assert expected.reason is not None
    pattern = rf"INFO: skipped {re.escape(demo.url + expected.path)}: {expected.reason.replace('_', ' ')}(?: \(|$)"
    assert len(re.findall(pattern, demo.first.stderr, re.MULTILINE)) == 1
    assert demo.hits[expected.path] >= 1
    assert demo.verdict_of(expected.path) is None
    assert demo.url + expected.path not in demo.pages_after_first


def test_skipped_pages_are_counted_by_reason(demo: Demo) -> None:
    counts = dict(demo.first.skipped)
    assert counts.pop("robots_txt") == 1  # refused before it is fetched
    assert counts == Counter(expected.reason for expected in TRUTH if expected.outcome == "skipped")


@of("redirected")
def test_redirected_address_is_fetched_and_stored_under_its_target_alone(demo: Demo, expected: Expectation) -> None:
    assert demo.hits[expected.path] == 1
    assert demo.verdict_of(expected.path) is None
    assert demo.url + expected.path not in demo.pages_after_first
    assert demo.url + str(expected.original) in demo.pages_after_first


@of("never fetched")
def test_page_is_never_fetched(demo: Demo, expected: Expectation) -> None:
    parts = urlsplit(expected.path)
    if parts.netloc:
        assert parts.netloc not in "".join(demo.pages_after_first)
    assert demo.hits[parts.path] == 0


def test_every_page_is_fetched_once(demo: Demo) -> None:
    known = {expected.path for expected in TRUTH} | {"/robots.txt"}
    assert set(demo.hits) <= known
    assert [path for path, count in demo.hits.items() if count > 1] == []


def test_totals_are_the_expected_ones(demo: Demo) -> None:
    stats = demo.first.stats
    assert {
        "kept": stats["dedup/new"],
        "exact": stats["dedup/exact_duplicate"],
        "near": stats["dedup/near_duplicate"],
        "skipped": sum(demo.first.skipped.values()) - demo.first.skipped["robots_txt"],
    } == expected_totals()
    assert len(demo.pages_after_first) == stats["crawler/stored"] == expected_totals()["kept"]


def test_scrapy_counts_the_drops_by_their_reason(demo: Demo) -> None:
    assert demo.first.stats["item_dropped_reasons_count/ExactDuplicate"] == expected_totals()["exact"]
    assert demo.first.stats["item_dropped_reasons_count/NearDuplicate"] == expected_totals()["near"]


def test_summary_says_the_totals(demo: Demo) -> None:
    totals, summary = expected_totals(), demo.first.summary
    assert summary["kept"].split() == [f"{totals['kept']}", "pages", f"{totals['kept']}", "new"]
    dropped = totals["exact"] + totals["near"]
    assert summary["dropped"] == f"{dropped} pages   {totals['exact']} exact, {totals['near']} near"
    assert demo.first.summed_up("skipped") == totals["skipped"]
    assert demo.first.summed_up("fetched") == demo.first.stats["crawler/fetched"]
    assert demo.first.summed_up("not followed") == demo.first.stats["dedup/links_not_followed"]


def test_summary_names_the_database_and_its_size(demo: Demo) -> None:
    path = demo.first.database_url.removeprefix("sqlite:///")
    assert re.fullmatch(rf"{re.escape(path)}, [\d,]+ kB", demo.first.summary["database"])


def test_feed_holds_exactly_the_kept_pages(demo: Demo) -> None:
    kept = sorted(demo.url + expected.path for expected in TRUTH if expected.outcome == "kept")
    assert sorted(item["url"] for item in demo.first_feed) == kept


def test_texts_of_chinese_pages_are_right_whatever_their_encoding(demo: Demo) -> None:
    for path, words in (
        ("/zh/stories/last-metro", "末班"),
        ("/zh/stories/wetland-birds", "专家建议改用低位灯并加装隔音屏"),
    ):
        page = demo.pages_after_first[demo.url + path]
        assert words in page["text"]
        assert "\ufffd" not in page["text"]
        assert re.search("[\u4e00-\u9fff]", page["title"])
        assert page["language"].startswith("zh")


def test_no_stored_text_but_that_of_the_map_is_empty(demo: Demo) -> None:
    assert [url for url, page in demo.pages_after_first.items() if not page["text"]] == [f"{demo.url}/map"]
    assert [url for url, page in demo.pages_after_first.items() if page["problem"]] == []


def test_depth_and_referrer_tell_the_way_to_a_page(demo: Demo) -> None:
    front, section = demo.pages_after_first[f"{demo.url}/"], demo.pages_after_first[f"{demo.url}/archive/2"]
    assert (front["depth"], front["referrer"]) == (0, None)
    assert (section["depth"], section["referrer"]) == (2, f"{demo.url}/archive")


@of("kept")
def test_second_crawl_finds_a_kept_page_unchanged(demo: Demo, expected: Expectation) -> None:
    assert demo.verdict_of(expected.path, second=True) == ("unchanged", None)


@of("exact", "near")
def test_second_crawl_drops_the_same_copy_for_the_same_original(demo: Demo, expected: Expectation) -> None:
    assert demo.verdict_of(expected.path, second=True) == (f"{expected.outcome} duplicate", expected.original)


def test_second_crawl_stores_no_page_twice_and_loses_none(demo: Demo) -> None:
    assert demo.second.pages == demo.pages_after_first
    assert "crawler/stored" not in demo.second.stats


def test_second_crawl_counts_as_many_duplicates_and_all_else_unchanged(demo: Demo) -> None:
    totals = expected_totals()
    assert "dedup/new" not in demo.second.stats
    assert demo.second.stats["dedup/unchanged"] == totals["kept"]
    assert demo.second.summary["kept"].split() == [f"{totals['kept']}", "pages", f"{totals['kept']}", "unchanged"]
    assert demo.second.summary["dropped"] == demo.first.summary["dropped"]
    assert demo.second.summary["not followed"] == demo.first.summary["not followed"]


def test_second_crawl_saves_as_many_bytes_of_text(demo: Demo) -> None:
    assert demo.second.summary["saved"] == demo.first.summary["saved"]


def test_second_feed_is_as_complete_as_the_first(demo: Demo) -> None:
    def comparable(feed: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
        return {
            item["url"]: {name: value for name, value in item.items() if name not in ("fetched", "verdict")}
            for item in feed
        }

    assert comparable(demo.second_feed) == comparable(demo.first_feed)
    assert {item["verdict"] for item in demo.first_feed} == {"new"}
    assert {item["verdict"] for item in demo.second_feed} == {"unchanged"}


def test_runs_are_closed_with_their_outcome(demo: Demo) -> None:
    runs = demo.second.rows("SELECT * FROM dedup_runs ORDER BY id")
    assert [run["outcome"] for run in runs] == ["finished", "finished"]
    assert all(run["finished"] >= run["started"] for run in runs)
    assert {page["run"] for page in demo.pages_after_first.values()} == {runs[0]["name"]}
