"""A document that is a copy of two originals: both stay, the verdict names both, and reports count one cluster."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.corpus.texts import decide_texts
from dedup.report.contents import Selection
from dedup.report.queries import open_report
from dedup.rules.documents import Verdict, join_clusters
from dedup.rules.settings import DedupSettings, Mode
from tests.commands import run_dedup
from tests.deciding import Crawl, empty
from tests.texts import document, extended

NEW, NEAR = Verdict.NEW, Verdict.NEAR_DUPLICATE

BOTH = document(200, 0)
FIRST, SECOND = extended(BOTH, 16, "a"), extended(BOTH, 16, "b")
OTHER = document(200, "other")
A, B, C, D = (f"http://news.example/{name}" for name in "abcd")


@pytest.mark.parametrize("at_once", [True, False])
def test_whatever_the_order_reports_count_one_cluster(crawl: Crawl, at_once: bool) -> None:
    texts = {A: FIRST, B: SECOND, C: BOTH}
    for order in permutations(texts):
        empty(crawl)
        documents = [crawl.document(key, texts[key]) for key in order]
        for batch in [documents] if at_once else [[each] for each in documents]:
            crawl.see_all(batch)
        with open_report(crawl.database, Selection()) as report:
            assert report.cluster_count == 1
            assert [each.leader for each in report.clusters] == [order[0]]
        crawl.assert_consistent()


def test_the_verdict_names_the_second_and_nothing_that_was_decided_changes(crawl: Crawl) -> None:
    assert [crawl.see(key, text).verdict for key, text in ((A, FIRST), (B, SECOND), (D, SECOND))] == [
        NEW,
        NEW,
        Verdict.EXACT_DUPLICATE,
    ]
    told = crawl.told()
    decision = crawl.see(C, BOTH)
    assert (decision.verdict, {decision.original, decision.details.second}) == (NEAR, {A, B})
    assert [row for row in crawl.told() if row.dropped != C] == told
    with open_report(crawl.database, Selection()) as report:
        [cluster] = report.clusters
        assert (cluster.leader, cluster.duplicates, set(cluster.members)) == (A, 2, {C, D})
        assert {row.dropped: row.second for row in report.duplicates} == {D: None, C: decision.details.second}
    crawl.next_run()
    assert crawl.see(B, SECOND).verdict is Verdict.UNCHANGED
    for key, text in ((D, SECOND), (C, BOTH)):
        assert crawl.see(key, text).verdict.is_duplicate
    with open_report(crawl.database, Selection()) as report:
        assert [set(each.members) for each in report.clusters] == [{C, D}]
        assert {row.dropped: row.second for row in report.duplicates} == {D: None, C: decision.details.second}


def test_a_copy_of_one_alone_has_no_second(crawl: Crawl) -> None:
    for key, text in ((A, FIRST), (B, OTHER)):
        crawl.see(key, text)
    assert crawl.see(C, BOTH).details.second is None


def test_the_rule_of_the_paper_names_no_second(start: Callable[..., Crawl]) -> None:
    crawl = start(mode=Mode.PAPER)
    for key, text in ((A, FIRST), (B, SECOND), (C, BOTH), (D, extended(BOTH, 1, "d"))):
        assert crawl.see(key, text).details.second is None


def test_hosts_have_no_second_on_others_where_that_is_the_scope(start: Callable[..., Crawl]) -> None:
    crawl = start(scope="host")
    crawl.see("http://one.example/", FIRST)
    crawl.see("http://two.example/", SECOND)
    assert crawl.see("http://two.example/both", BOTH).details.second is None


pairs = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda pair: pair[0] != pair[1]))


@given(pairs)
def test_clusters_are_joined_as_a_search_along_all_pairs_finds_them(pairs: list[tuple[int, int]]) -> None:
    reached = {each: {each} for pair in pairs for each in pair}
    for _ in pairs:
        for a, b in pairs:
            reached[a] |= reached[b]
            reached[b] |= reached[a]
    assert join_clusters(pairs) == {each: min(others) for each, others in reached.items()}


# In files

TEXTS = [BOTH, FIRST, SECOND, extended(SECOND, 24, "far"), extended(BOTH, 2, "b"), extended(FIRST, 8, "c"), OTHER]
STORIES = {"a": FIRST, "b": SECOND, "twin": SECOND.upper(), "c": BOTH, "later": extended(SECOND, 1, "later")}


@given(st.lists(st.sampled_from(TEXTS), min_size=3, max_size=9))
def test_files_are_decided_as_a_crawl_decides_them(texts: list[str]) -> None:
    with TemporaryDirectory() as folder:
        pairs = [(f"{at}", text) for at, text in enumerate(texts)]
        found = list(decide_texts(pairs, DedupSettings(), Path(folder)))
        crawl = Crawl(f"sqlite:///{folder}/crawl.db")
        assert found == [crawl.see(f"{at}", text) for at, text in enumerate(texts)]
        crawl.database.close()


@pytest.mark.slow
def test_the_clusters_of_files_are_the_joined_ones(tmp_path: Path) -> None:
    lines = [json.dumps({"id": key, "text": text}) + "\n" for key, text in STORIES.items()]
    (tmp_path / "in.jsonl").write_text("".join(lines), encoding="utf-8")
    done = run_dedup("files", "in.jsonl", "-o", "out", folder=tmp_path)
    assert done.returncode == 0, done.stderr

    def rows(name: str) -> list[dict[str, Any]]:
        text = (tmp_path / "out" / f"{name}.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    [cluster] = rows("clusters")
    assert cluster["leader"] == "a"
    assert sorted(cluster["keys"]) == sorted(STORIES)
    assert [row["id"] for row in rows("kept")] == ["a", "b"]
