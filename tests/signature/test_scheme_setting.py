from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dedup import DedupSettings, IncompatibleDatabaseError, find_scheme, make_signature
from dedup.ledger.deduplicator import Deduplicator
from dedup.rules.documents import Document
from tests.crawling import crawl
from tests.localsite import LocalSite
from tests.texts import chinese, chinese_words, document, edited

STORY = chinese(chinese_words(300))


@pytest.mark.parametrize("scheme", ["words", "pairs"])
def test_near_duplicates_are_found_by_any_scheme(scheme: str, tmp_path: Path) -> None:
    deduplicator = Deduplicator(DedupSettings(database_url=f"sqlite:///{tmp_path / 'dedup.db'}", scheme=scheme))
    text = document(400)
    texts = [text, edited(text, 2), document(400, "other")]
    documents = [Document(str(n), make_signature(each, find_scheme(scheme))) for n, each in enumerate(texts)]
    decisions = deduplicator.decide(documents, deduplicator.open_run("test"))
    deduplicator.database.close()
    assert [decision and decision.verdict.value for decision in decisions] == ["new", "near duplicate", "new"]


def test_a_database_of_another_scheme_is_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'dedup.db'}"
    Deduplicator(DedupSettings(database_url=url, scheme="pairs")).database.close()
    with pytest.raises(IncompatibleDatabaseError, match="3:pair-bigrams/one/mmh3/64"):
        Deduplicator(DedupSettings(database_url=url))


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
