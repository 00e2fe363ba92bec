from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from benchmarks.extraction import run, word_f1
from tests.texts import document

STORY = "".join(f"<p>{document(40, seed)}</p>" for seed in range(4))
PAGES = [
    ("article", f"<article>{STORY}</article>", " ".join(document(40, seed) for seed in range(4)), "fast"),
    ("forum", f"<div><p>{document(9)}</p></div><div class=comments>{STORY}</div>", "other words", "page"),
    ("forum", "", "", "none"),
]


def test_each_type_of_page_has_its_share_of_the_marked_words(tmp_path: Path) -> None:
    folder = tmp_path / "wcxb"
    folder.mkdir()
    rows = []
    for number, (kind, body, text, _) in enumerate(PAGES):
        (folder / f"{number}.gz").write_bytes(gzip.compress(f"<html><body>{body}</body></html>".encode()))
        rows.append(json.dumps({"type": kind, "html": f"{number}.gz", "text": f"{text}\u2028"}, ensure_ascii=False))
    (folder / "pages.jsonl").write_text("\n".join(rows), encoding="utf-8")
    figures = run(data=tmp_path)
    assert {name: (row["pages"], row["f1"]) for name, row in figures.items()} == {
        "article": (1, pytest.approx(1)),
        "forum": (2, pytest.approx(0.5)),
        "mean": (3, pytest.approx(0.75)),
    }
    assert [figures["mean"][way] for *_, way in PAGES] == [1, 1, 1]
    assert figures["mean"]["full"] == 0


@pytest.mark.parametrize(
    ("found", "marked", "score"),
    [("a b", "A, b!", 1), ("a b c d", "a b", 2 / 3), ("a a", "a", 2 / 3), ("", "a", 0), ("a", "", 0), ("", "", 1)],
)
def test_words_count_as_often_as_they_stand_in_both(found: str, marked: str, score: float) -> None:
    assert word_f1(found, marked) == pytest.approx(score)
