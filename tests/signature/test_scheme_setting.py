from __future__ import annotations

from pathlib import Path

import pytest

from dedup import Deduplicator, find_scheme, make_signature
from tests.crawling import crawl, pages_in
from tests.localsite import LocalSite
from tests.texts import chinese, chinese_words

STORY = chinese(chinese_words(300))


@pytest.mark.slow
def test_a_crawl_makes_signatures_by_the_scheme_of_its_settings(tmp_path: Path) -> None:
    paragraphs = "".join(f"<p>{STORY[i : i + 100]}</p>" for i in range(0, len(STORY), 100))
    with LocalSite({"/": f"<html><body><article>{paragraphs}</article></body></html>"}) as site:
        crawl(tmp_path / "crawl.db", {"DEDUP_SCHEME": "pairs"}, url=site.url)
    [page] = pages_in(f"sqlite:///{tmp_path / 'crawl.db'}")
    signatures = make_signature(page["text"], find_scheme("pairs")), make_signature(page["text"])
    with Deduplicator(tmp_path / "crawl.db", scheme="pairs") as deduplicator:
        distances = [deduplicator.find(each).details.distance for each in signatures]
    assert (distances[0], distances[1] != 0) == (0, True)
