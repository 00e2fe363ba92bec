"""The folder in which the examples of the documentation are run: the files that they name."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from lxml import html

from dedup import Deduplicator
from tests.crawling import ROOT

_IDS = ("bridge", "ferry", "tram", "bees")
_STORIES = ("bridge-reopens", "library-late-hours", "fish-hall", "lighthouse-letters")


def make_examples(folder: Path) -> None:
    """Write the example files: stories of the demo site, a near copy, an exact copy, and labelled pairs."""
    stories = [_text_of(ROOT / "examples" / "demo" / "site" / "stories" / f"{name}.html") for name in _STORIES]
    near = stories[0].replace(" was ", " has been ", 3)
    articles = dict(zip(_IDS, stories, strict=True))
    rows = [{"id": name, "text": text} for name, text in articles.items()]
    copies = [{"id": "bridge-print", "text": near}, {"id": "ferry-mirror", "text": articles["ferry"]}]
    _write_lines(folder / "articles.jsonl", rows + copies)
    _write_lines(folder / "2025.jsonl", rows)
    _write_lines(folder / "2026.jsonl", copies)
    with (folder / "pages.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["page_id", "body"])
        writer.writerows((row["id"], row["text"]) for row in rows + copies)
    (folder / "dumps").mkdir()
    _write_lines(folder / "dumps" / "more.jsonl", rows[:1])
    for name, text in (("a.txt", stories[0]), ("b.txt", near), ("story.txt", near), ("page.txt", stories[1])):
        (folder / name).write_text(text, encoding="utf-8")
    labelled = folder / "labelled"
    labelled.mkdir()
    _write_lines(labelled / "docs.jsonl", rows + copies)
    _write_lines(
        labelled / "pairs.jsonl",
        [
            {"a": "bridge", "b": "bridge-print", "label": 1},
            {"a": "ferry", "b": "ferry-mirror", "label": 1},
            {"a": "bridge", "b": "tram", "label": 0},
        ],
    )


def _text_of(page: Path) -> str:
    tree = html.document_fromstring(page.read_text(encoding="utf-8"))
    return "\n\n".join(each.text_content() for each in tree.iterfind(".//article/p") if each.get("class") is None)


def make_database(folder: Path) -> None:
    """Write `crawl.db`, a database that knows one of the stories."""
    text = (folder / "page.txt").read_text(encoding="utf-8")
    with Deduplicator(f"sqlite:///{folder / 'crawl.db'}", run="monday") as deduplicator:
        deduplicator.decide("https://example.com/ferry", text)


def _write_lines(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
