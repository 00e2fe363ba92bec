"""The bundled demo site, whose truth is known: every page ends as it should, in the first crawl and in the second."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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

    def verdicts(self, *, second: bool = False) -> dict[str, tuple[str, str | None]]:
        """Verdict and original's path of each page in one of the crawls."""
        rows = self.first.verdicts
        rows = rows[self.verdicts_after_first :] if second else rows[: self.verdicts_after_first]
        found = [(row["key"], row["verdict"], row["original"]) for row in rows]
        assert len({key for key, _, _ in found}) == len(found), "a page was decided twice in one crawl"
        short = len(self.url)
        return {key[short:]: (verdict, original and original[short:]) for key, verdict, original in found}


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


def having(*outcomes: str) -> list[Expectation]:
    return [expectation for expectation in TRUTH if expectation.outcome in outcomes]


def expected_verdicts(of_kept: str) -> dict[str, tuple[str, str | None]]:
    kept: dict[str, tuple[str, str | None]] = {each.path: (of_kept, None) for each in having("kept")}
    return kept | {each.path: (f"{each.outcome} duplicate", each.original) for each in having("exact", "near")}


KEPT = {each.path for each in having("kept")}


def test_both_crawls_succeed(demo: Demo) -> None:
    assert (demo.first.status, demo.second.status) == (0, 0)
    assert demo.first.errors == demo.second.errors == []


def test_every_page_gets_the_verdict_that_it_should_and_the_kept_ones_are_stored(demo: Demo) -> None:
    assert demo.verdicts() == expected_verdicts("new")
    assert {url.removeprefix(demo.url) for url in demo.pages_after_first} == KEPT
    assert {item["url"].removeprefix(demo.url) for item in demo.first_feed} == KEPT
    assert len(demo.first_feed) == len(KEPT)


def test_drop_is_one_line_in_the_log_that_names_the_original(demo: Demo) -> None:
    told = re.findall(
        r"INFO: dropped (\S+): (exact|near) duplicate of (\S+?)(?: \(|$)", demo.first.stderr, re.MULTILINE
    )
    dropped = [(demo.url + each.path, each.outcome, f"{demo.url}{each.original}") for each in having("exact", "near")]
    assert sorted(told) == sorted(dropped)


def test_skipped_page_is_named_with_its_reason_and_counted(demo: Demo) -> None:
    told = re.findall(r"INFO: skipped (\S+): ([^(\n]+?)(?: \(|$)", demo.first.stderr, re.MULTILINE)
    named = {(url.removeprefix(demo.url), reason.replace(" ", "_")) for url, reason in told}
    skipped = {(each.path, str(each.reason)) for each in having("skipped")}
    assert named == skipped | {("/private/rota", "robots_txt")}  # which is refused before it is fetched
    assert len(told) == len(named)
    assert demo.first.skipped == Counter(reason for _, reason in named)


def test_every_page_is_fetched_once_and_some_never(demo: Demo) -> None:
    fetched = {each.path for each in having("kept", "exact", "near", "skipped", "redirected")} | {"/robots.txt"}
    assert demo.hits == dict.fromkeys(fetched, 1)


def test_totals_are_the_expected_ones(demo: Demo) -> None:
    stats, totals = demo.first.stats, expected_totals()
    assert stats["dedup/new"] == stats["crawler/stored"] == totals["kept"]
    assert stats["dedup/exact_duplicate"] == stats["item_dropped_reasons_count/ExactDuplicate"] == totals["exact"]
    assert stats["dedup/near_duplicate"] == stats["item_dropped_reasons_count/NearDuplicate"] == totals["near"]
    assert sum(demo.first.skipped.values()) - demo.first.skipped["robots_txt"] == totals["skipped"]


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


def test_second_crawl_finds_the_kept_pages_unchanged_and_drops_the_same_copies(demo: Demo) -> None:
    assert demo.verdicts(second=True) == expected_verdicts("unchanged")
    assert demo.second.summary["saved"] == demo.first.summary["saved"]


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
