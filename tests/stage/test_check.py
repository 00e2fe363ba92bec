"""`scrapy dedup-check`: what the stage would see and drop in a file of items."""

from __future__ import annotations

import csv
import json
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.crawling import ROOT, Crawl, run
from tests.passing import NEAR_A, A, B

pytestmark = pytest.mark.slow


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The shop of the examples, whose pipeline would store."""
    return shutil.copytree(ROOT / "examples" / "shop", tmp_path / "shop")


def check(project: Path, *arguments: str) -> Crawl:
    return run([sys.executable, "-m", "scrapy", "dedup-check", *arguments], folder=project)


def write(path: Path, items: Iterable[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
    return path.name


def test_items_are_checked_with_the_settings_of_the_project_and_nothing_is_kept(project: Path) -> None:
    reviews = [{"id_": n, "content": text} for n, text in enumerate((A, "Love it", B, NEAR_A, "Love it", A))]
    name = write(project / "reviews.jsonl", reviews)
    before = sorted(path.name for path in project.iterdir())
    checked = check(project, name, "--item-class", "shop.items.Review", "--spider", "products")
    assert checked.status == 0, checked.stderr
    assert "text: content; key: id_; items of Review" in checked.stdout
    assert "dropped       2 documents   1 exact, 1 near\n" in checked.stdout
    pairs = [line.split() for line in checked.stdout.splitlines() if line.startswith(("  near", "  exact"))]
    assert [(line[0], line[2]) for line in pairs] == [("near", "products:3"), ("exact", "products:5")]
    [pasted] = [line.removeprefix("next").split() for line in checked.stdout.splitlines() if line.startswith("next ")]
    explained = run(pasted, folder=project)
    assert explained.status == 0, explained.stderr
    assert "products:3" in explained.stdout
    assert [path.name for path in project.iterdir() if path.name not in (*before, ".scrapy")] == []
    assert not (project / ".scrapy" / "dedup").exists()


def test_items_without_text_fail_with_the_setting_to_set(project: Path) -> None:
    name = write(project / "items.jsonl", [{"address": n, "report": A, "notes": B} for n in range(3)])
    checked = check(project, name)
    assert checked.status == 2
    unclear = "it is not clear which field is the text: notes, report. Their fields: address, report, notes. "
    assert f"{unclear}Name the one with the text: DEDUP_TEXT_FIELD = 'NAME'" in checked.stdout
    assert checked.stderr == "error: none of the 3 items of items.jsonl was examined\n"
    named = check(project, name, "-s", "DEDUP_TEXT_FIELD=report", "-s", "DEDUP_KEY_FIELD=address")
    assert "dropped       2 documents   2 exact\n" in named.stdout


@pytest.mark.parametrize("name", ["pages.csv", "pages.json", "pages.jsonl"])
def test_feed_may_have_a_byte_order_mark_and_big_fields(name: str, project: Path) -> None:
    items = [{"url": f"https://a.example/{n}", "text": f"{A} {'and so on ' * 20_000}"} for n in range(2)]
    with (project / name).open("w", encoding="utf-8-sig", newline="") as feed:
        if name.endswith(".csv"):
            writer = csv.DictWriter(feed, ["url", "text"])
            writer.writeheader()
            writer.writerows(items)
        else:
            feed.write(json.dumps(items) if name.endswith(".json") else "\n".join(map(json.dumps, items)))
    checked = check(project, name)
    assert checked.status == 0, checked.stderr
    assert "text: text; key: url" in checked.stdout
    assert "dropped       1 document   1 exact\n" in checked.stdout


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", '{"text": "a"}\n\n{"text"', "a.jsonl cannot be read as items: line 3: Expecting ':' delimiter"),
        ("a.json", "[]", "a.json holds no items"),
        ("a.parquet", "", "a.parquet: expected a feed with a name that ends in .json, .csv, .jsonl"),
    ],
)
def test_file_that_cannot_be_read_is_one_line(name: str, content: str, message: str, project: Path) -> None:
    (project / name).write_text(content)
    checked = check(project, name)
    assert (checked.status, checked.stdout) == (2, "")
    assert checked.stderr.startswith(f"error: {message}")
    assert checked.stderr.count("\n") == 1
