"""`dedup index load`: a crawl begins with what an index knows, and decides as it would had it seen it itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dedup.cli.main import main
from dedup.corpus import index_database as loading
from dedup.errors import DatabaseError
from dedup.rules.documents import Document
from dedup.store.database import Database
from dedup.store.runs import read_runs
from tests.corpus.test_files_verdicts import corpus
from tests.crawling import crawl
from tests.deciding import Crawl
from tests.localsite import LocalSite, article
from tests.saved_indexes import held, read_whole, save_index
from tests.store.test_key_table import copies_by_one_key
from tests.store.test_second_original import STORIES
from tests.texts import ENGLISH, document, edited

TEXT, LAST = document(150, "text"), document(400, 3)
DOCUMENTS: list[tuple[str, str | bytes]] = [
    ("http://a.example/\u6e2f\u53e3?x=1&y='\"", TEXT),
    ("b", edited(TEXT, 2)),
    ("page without text", b"<html><body></body></html>"),
    ("key", "short"),
    ("key", document(70, 2)),
    ("key", ENGLISH),
    *((f"joined {name}", STORIES[name]) for name in ("a", "b", "twin", "c", "later")),
    ("\n", LAST),
]


def index(*arguments: object) -> int:
    return main(["index", *map(str, arguments)])


@pytest.mark.parametrize("mode", ["checked", "paper"])
def test_what_is_loaded_is_what_the_index_knows(
    tmp_path: Path, database_url: str, mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    values = {"mode": mode, "scheme": "pairs", "max_lost": "30"}
    saved = save_index(tmp_path / "index", DOCUMENTS, **values)
    assert index("load", saved, database_url) == 0
    expected = held_by_own_keys(saved)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith(f"{len(expected) - 1} documents, as run 'index index'")
    assert lines[1] == "left out: 1 pages without text, as an index does not know their bytes"
    assert "DEDUP_SCHEME=pair-bigrams/one/mmh3/64" in lines[2]
    assert "DEDUP_MAX_LOST=30" in lines[2]
    Crawl(database_url, **values).close()
    assert index("build", "--set=max_lost=30", "--database", database_url, "-o", tmp_path / "again") == 0
    assert_same_but_for_keys(held(tmp_path / "again"), expected)


def assert_same_but_for_keys(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Check what was loaded and built again: the second text of a key has another one, and what has no text is out."""
    assert {key: row for key, row in found.items() if not key.startswith("key (")} == {
        key: row for key, row in expected.items() if key not in ("page without text", "key 4", "key 5")
    }
    assert sorted(row[2] for key, row in found.items() if key.startswith("key (text ")) == sorted(
        expected[key][2] for key in ("key 4", "key 5")
    )


def held_by_own_keys(folder: Path) -> dict[str, Any]:
    """Do what `held` does where some have the same key, which they get their number for."""
    stored = read_whole(folder)
    rows: dict[str, Any] = {}
    for each, words, _ in stored:
        leader = None if each.leader_id is None else stored[each.leader_id][0].key
        rows[f"{each.key} {each.id}" if each.key in rows else each.key] = leader, each.indexed, words
    return rows


def test_a_crawl_decides_as_files_do_that_begin_with_the_index(tmp_path: Path, database_url: str) -> None:
    texts = [each for each in corpus("loading", 120) if isinstance(each, str)]
    known = [(f"http://known.example/{number}", text) for number, text in enumerate(texts[:60])]
    saved = save_index(tmp_path / "known", known)
    assert index("load", saved, database_url) == 0
    lines = [json.dumps({"id": f"http://new.example/{number}", "text": text}) for number, text in enumerate(texts[60:])]
    (tmp_path / "new.jsonl").write_text("\n".join(lines), encoding="utf-8")
    arguments = ("files", tmp_path / "new.jsonl", "-o", tmp_path / "out", "--against", saved)
    assert main([str(each) for each in arguments]) == 0
    rows = [json.loads(line) for line in (tmp_path / "out" / "dropped.jsonl").read_text(encoding="utf-8").splitlines()]
    crawled = Crawl(database_url)
    with closing(crawled.deduplicator):
        decisions = [crawled.see(f"http://new.example/{number}", text) for number, text in enumerate(texts[60:])]
        crawled.assert_consistent()
    found = [
        (f"http://new.example/{number}", each.original, each.details.matched, each.verdict.value, each.details.distance)
        for number, each in enumerate(decisions)
        if each.is_dropped
    ]
    assert found == [(row["key"], row["original"], row["matched"], row["verdict"], row["distance"]) for row in rows]
    assert sum("known.example" in str(row[1]) for row in found) > 5


def test_a_load_that_was_stopped_goes_on(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = save_index(tmp_path / "index", DOCUMENTS)
    other = save_index(tmp_path / "other", DOCUMENTS[:2])
    monkeypatch.setattr(loading, "AT_ONCE", 2)
    for writes in (4, 20):
        with monkeypatch.context() as patch:
            patch.setattr(Database, "write", stopping_at(writes, Database.write))
            assert index("load", source, database_url) == 130
        with pytest.raises(DatabaseError, match="holds a part of an index: repeat `dedup index load`"):
            Crawl(database_url)
        capsys.readouterr()
        assert index("load", other, database_url) == 1
        assert "already exists: an index is loaded into a new one" in capsys.readouterr().err
    assert index("load", source, database_url) == 0
    crawled = Crawl(database_url)
    with closing(crawled.database):
        assert {run.name: run.outcome for run in read_runs(crawled.database)}["index index"] == "loaded"
        copies = [Document("copy", each) for each in copies_by_one_key(LAST)]
        assert [crawled.deduplicator.find(each, crawled.run).original for each in copies] == ["\n"] * len(copies)
    assert index("build", "--database", database_url, "-o", tmp_path / "again") == 0
    assert_same_but_for_keys(held(tmp_path / "again"), held_by_own_keys(source))
    assert index("load", source, database_url) == 1
    assert "already exists" in capsys.readouterr().err
    assert main(["runs", "--database", database_url, "cancel", "index index"]) == 1
    assert "is what was loaded of an index" in capsys.readouterr().err


def stopping_at(calls: int, real: Callable[..., Any]) -> Callable[..., Any]:
    left = iter(range(calls - 1))

    def stopping(*arguments: Any) -> Any:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return real(*arguments)

    return stopping


@pytest.mark.slow
def test_a_crawl_drops_what_an_index_knows(tmp_path: Path) -> None:
    known, same = document(160, "known"), document(160, "same")
    pages = {
        "/": article("home", ["/copy", "/new", "/same"]),
        "/copy": article("copy", text=edited(known, 2)),
        "/new": article("new"),
        "/same": article("same", text=same),
    }
    with LocalSite(pages) as site:
        documents = [("http://elsewhere.example/known", known), (f"{site.url}/same", f"{same}.")]
        saved = save_index(tmp_path / "index", documents)
        assert index("load", saved, tmp_path / "crawl.db") == 0
        done = crawl(tmp_path / "crawl.db", url=f"{site.url}/")
    assert done.status == 0
    verdicts = {row["key"].removeprefix(site.url): (row["verdict"], row["original"]) for row in done.verdicts}
    assert verdicts == {
        "/": ("new", None),
        "/copy": ("near duplicate", "http://elsewhere.example/known"),
        "/new": ("new", None),
        "/same": ("unchanged", None),
    }
    # What the crawl knows of from the index it has not had yet.
    assert done.paths(site.url) == ["/", "/new", "/same"]
