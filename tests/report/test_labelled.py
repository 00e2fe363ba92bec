"""Files of labelled pairs, as browsers, editors and strangers write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dedup.errors import InputError
from dedup.evaluation import read_marked, read_pairs
from dedup.sql.database import Database

PAIR = '{"a": "http://x.example/%s", "b": "http://x.example/b", "label": 0}'


def written(folder: Path, text: str) -> Path:
    path = folder / "marks.jsonl"
    path.write_text(text, encoding="utf-8", newline="")
    return path


@pytest.mark.parametrize("letter", ["\u2028", "\u2029", "\x85"])
def test_only_a_line_feed_ends_a_line(letter: str, tmp_path: Path) -> None:
    (pair,) = read_pairs(written(tmp_path, PAIR % letter + "\n"))
    assert pair.a == f"http://x.example/{letter}"


@pytest.mark.parametrize("text", ["\ufeff" + PAIR + "\r\n", PAIR + "\n\n", "\n" + PAIR])
def test_what_editors_add_is_passed_over(text: str, tmp_path: Path) -> None:
    assert len(read_pairs(written(tmp_path, text))) == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (PAIR + "\n\nnothing\n", "line 3: not JSON"),
        ("[" * 200_000, "line 1: not usable JSON: nested too deeply"),
        ('{"a": ' + "[" * 200_000, "line 1: not usable JSON: nested too deeply"),
    ],
    ids=["empty lines count", "list", "object"],
)
def test_what_is_no_json_is_refused_with_its_line(text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=told):
        read_pairs(written(tmp_path, text))


def test_a_missing_file_of_pairs_is_not_told_to_be_a_set(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        read_pairs(tmp_path / "nothing.jsonl")
    assert "labelled set" not in str(refused.value)


def test_a_file_without_marks_says_so(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'crawl.db'}")
    with pytest.raises(InputError, match="no marks; mark pairs in a report"):
        read_marked(written(tmp_path, "\n"), database)
    database.close()
