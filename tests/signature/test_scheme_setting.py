from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dedup import find_scheme, make_signature
from tests.crawling import crawl
from tests.localsite import LocalSite
from tests.texts import chinese, chinese_words

STORY = chinese(chinese_words(300))


@pytest.mark.slow
def test_a_crawl_makes_signatures_by_the_scheme_of_its_settings(tmp_path: Path) -> None:
    paragraphs = "".join(f"<p>{STORY[i : i + 100]}</p>" for i in range(0, len(STORY), 100))
    with LocalSite({"/": f"<html><body><article>{paragraphs}</article></body></html>"}) as site:
        crawl(tmp_path / "crawl.db", {"DEDUP_SCHEME": "pairs"}, url=site.url)
    rows = _rows(
        tmp_path / "crawl.db", "SELECT p.text, d.fingerprint FROM pages p JOIN dedup_documents d ON d.key = p.url"
    )
    [(text, fingerprint)] = rows
    assert fingerprint % 2**64 == make_signature(text, find_scheme("pairs")).fingerprint
    assert fingerprint % 2**64 != make_signature(text).fingerprint


def _rows(database: Path, statement: str) -> list[Any]:
    import sqlite3

    connection = sqlite3.connect(database)
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()
