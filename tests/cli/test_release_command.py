"""`dedup release`, and `dedup evaluate` on the marks of a report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands import run_dedup
from tests.crawling import crawl_site_here, pages_in
from tests.crawls import Crawls, crawl_twice
from tests.localsite import LocalSite, Reply, article
from tests.texts import document, edited

BRIDGE = "https://news.example/zh/%E6%B8%AF%E5%8F%A3%E5%A4%A7%E6%A1%A5.html"
WIRE = "https://print.example:8080/wire"


def marks(folder: Path, *pairs: tuple[str, str, int]) -> Path:
    path = folder / "marks.jsonl"
    lines = [json.dumps({"a": a, "b": b, "label": label, "kind": "jaccard"}) for a, b, label in pairs]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture
def database(tmp_path: Path) -> Path:
    crawls = Crawls(f"sqlite:///{tmp_path / 'crawl.db'}")
    crawl_twice(crawls)
    crawls.deduplicator.close()
    return tmp_path / "crawl.db"


def test_marked_page_is_released(database: Path) -> None:
    path = marks(database.parent, (BRIDGE, WIRE, 0), (BRIDGE, f"{BRIDGE}?sid=81", 1))
    done = run_dedup("release", "--marks", path, folder=database.parent)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "released  1 page: kept when seen again",
        f"          {WIRE}",
        "",
        "Crawl again (-a recrawl=true) to fetch and store what is released.",
    ]


def test_pages_are_released_by_their_urls_as_reports_show_them(database: Path) -> None:
    shown = "https://news.example/zh/港口大桥.html?sid=81"
    done = run_dedup("release", WIRE, shown, "https://nobody.example/", "--json", folder=database.parent)
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert told == {
        "released": [WIRE, f"{BRIDGE}?sid=81"],
        "kept": [],
        "moved": [],
        "unknown": ["https://nobody.example/"],
    }


@pytest.mark.parametrize("given", [(), (WIRE, "--marks", "marks.jsonl")])
def test_either_urls_or_marks_are_given(database: Path, given: tuple[str, ...]) -> None:
    done = run_dedup("release", *given, folder=database.parent)
    said = "error: give the URLs of dropped pages, or --marks FILE: one of both\n"
    assert (done.returncode, done.stderr) == (2, said)


def test_what_was_not_released_is_told_as_an_object(database: Path) -> None:
    path = marks(database.parent, (BRIDGE, "https://nobody.example/", 0), (WIRE, BRIDGE, 0))
    done = run_dedup("release", "--marks", path, "--json", folder=database.parent)
    assert json.loads(done.stdout) == {
        "released": [],
        "kept": [BRIDGE],
        "moved": [],
        "unknown": ["https://nobody.example/"],
    }


def test_marks_that_release_nothing_are_an_error_of_one_line(database: Path) -> None:
    for pair, name, told in (
        ((BRIDGE, WIRE, 1), "marks.jsonl", "marks no page as not a duplicate"),
        ((BRIDGE, "https://nobody.example/", 0), "marks.jsonl", "knows none of the pages of"),
        ((BRIDGE, WIRE, 0), "none.jsonl", "error: none.jsonl: cannot be read"),
    ):
        marks(database.parent, pair)
        done = run_dedup("release", "--marks", name, folder=database.parent)
        assert (done.returncode != 0, done.stderr.count("\n")) == (True, 1)
        assert told in done.stderr


@pytest.mark.slow
def test_released_page_is_fetched_again_and_stored(tmp_path: Path) -> None:
    text = document(200, "ferry")
    with LocalSite() as site:
        site.pages["/"] = article("front", ["/ferry"])
        site.pages["/ferry"] = article("ferry", ["/copy"], text=text)
        site.pages["/copy"] = Reply(article("copy", text=edited(text, 6)).encode(), headers={"ETag": '"1"'})
        url = f"sqlite:///{tmp_path / 'crawl.db'}"
        settings = {"DEDUP_FOLLOW_DUPLICATES": False}
        crawl_site_here(url, settings, url=f"{site.url}/")
        copy = f"{site.url}/copy"
        assert copy not in [page["url"] for page in pages_in(url)]
        run_dedup("release", copy, folder=tmp_path)
        again = crawl_site_here(url, settings, url=f"{site.url}/", recrawl=True)
        assert copy in [page["url"] for page in pages_in(url)]
        assert (again.stats["dedup/new"], again.stats["dedup/unchanged"]) == (1, 2)


@pytest.mark.slow
def test_marks_are_evaluated_by_what_the_database_knows(database: Path) -> None:
    near = "https://print.example:8080/bridge"
    path = marks(database.parent, (BRIDGE, near, 0), (BRIDGE, f"{BRIDGE}?sid=81", 1), (BRIDGE, "https://x.example/", 0))
    done = run_dedup("evaluate", path, "--database", "crawl.db", "--json", folder=database.parent)
    assert done.returncode == 0
    assert "1 pair of" in done.stderr
    found = json.loads(done.stdout)["all"]
    assert (found["pairs"], found["precision"], found["recall"]) == (2, 0.5, 1.0)
    done = run_dedup("evaluate", path, folder=database.parent)
    assert done.returncode != 0
    assert "of marks of a report say --database, too" in done.stderr
