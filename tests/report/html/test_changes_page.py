"""The page of what changed between two runs, in Chromium."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dedup.report.changes.queries import Change, ChangeRow, Changes
from dedup.report.html.page import write_changes_page
from dedup.rules.documents import Verdict
from tests.report.html.browsing import OpenFile, Seen, needs_chromium
from tests.report.html.reports import FERRY, NOON

pytestmark = needs_chromium

EVIL = "https://evil.example/<script>document.title='owned'</script>\u202e"
Open = Callable[..., Seen]


def changed(change: Change, key: str, **values: Any) -> ChangeRow:
    given = {"moved_from": None, "before": Verdict.NEW, "now": Verdict.UPDATED, "original": None, "why": ""}
    return ChangeRow(change, key, decided=NOON, **{**given, **values})


ROWS = (
    changed(Change.ADDED, "https://news.example/new", before=None, now=Verdict.NEW),
    changed(Change.CHANGED, "https://news.example/ferry", difference=FERRY),
    changed(Change.CHANGED, "https://news.example/bridge"),
    changed(Change.MOVED, "https://news.example/%E6%B8%AF", moved_from="https://old.example/harbour"),
    changed(Change.REMOVED, "https://news.example/gone", now=None, why="http 404"),
    changed(
        Change.DROPPED, "https://news.example/copy", now=Verdict.NEAR_DUPLICATE, original="https://news.example/ferry"
    ),
)


def write(folder: Path, *rows: ChangeRow, runs: tuple[str, str] = ("monday", "tuesday")) -> Path:
    counts = {change: sum(row.change is change for row in rows) for change in Change}
    path = folder / "changes.html"
    with path.open("w", encoding="utf-8") as stream:
        write_changes_page(Changes(runs, "", counts, 7, iter(rows)), stream)
    return path


@pytest.fixture
def seen(open_file: OpenFile, tmp_path: Path) -> Seen:
    return open_file(write(tmp_path, *ROWS))


def test_every_change_is_in_the_list(seen: Seen) -> None:
    assert seen.page.inner_text("h1") == "6 of 13 pages are not what they were"
    assert seen.keys() == ["new", "ferry", "bridge", "港", "gone", "copy"]
    told = seen.page.inner_text("#list")
    for text in ("ferry → night bus", "from", "old.example", "http 404", "like"):
        assert text in told
    assert seen.messages == []
    assert len(seen.requests) == 1
    seen.view("changed")
    assert seen.keys() == ["ferry", "bridge"]
    seen.page.fill("#f-search", "bri")
    assert seen.keys() == ["bridge"]
    seen.view("all")
    seen.page.fill("#f-search", "old.example")
    assert seen.keys() == ["港"]
    assert seen.page.locator("#tab-kept").count() == 0


def test_change_opens_with_the_words_that_differ(seen: Seen) -> None:
    seen.open_row(1)
    assert seen.page.locator("dialog del").all_text_contents() == ["ferry"]
    seen.page.keyboard.press("ArrowRight")
    assert "it is not known which words changed" in seen.page.inner_text("dialog")
    seen.page.keyboard.press("ArrowRight")
    assert "https://old.example/harbour" in seen.page.inner_text("dialog")
    assert seen.messages == []


def test_hostile_fields_are_text(open_file: OpenFile, tmp_path: Path) -> None:
    row = changed(Change.REMOVED, EVIL, why=EVIL, moved_from=EVIL, original=EVIL)
    seen = open_file(write(tmp_path, row, runs=(EVIL, EVIL)))
    seen.open_row(0)
    assert "owned" not in seen.page.title().replace("document.title='owned'", "")
    assert seen.page.locator("main script, dialog script").count() == 0
    assert "\u202e" not in seen.page.inner_text("dialog")
    assert seen.messages == []


@pytest.mark.parametrize("width", [390, 1440])
def test_nothing_is_wider_than_the_screen(open_file: OpenFile, tmp_path: Path, width: int) -> None:
    seen = open_file(write(tmp_path, *ROWS), viewport={"width": width, "height": 800})
    assert seen.page.evaluate("() => document.documentElement.scrollWidth") <= width
    seen.open_row(1)
    assert seen.page.evaluate("() => document.querySelector('dialog').scrollWidth") <= width
