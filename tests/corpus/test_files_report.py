"""`dedup files --report`: the page on a run over files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands import run_dedup
from tests.corpus.test_files_command import FORM, LINES, OTHER, TEXT, write
from tests.report.html.test_model import data_in, keys_of
from tests.texts import filled_in

pytestmark = pytest.mark.slow


def test_report_shows_what_was_dropped_and_which_words_differ(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", [*LINES, {"id": "f", "text": FORM}, {"id": "g", "text": filled_in(FORM)}])
    done = run_dedup("files", "in.jsonl", "--report", "report.html", folder=tmp_path)
    assert done.returncode == 0
    assert "written     report.html" in done.stdout
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "2 of 6 documents dropped" in html
    data = data_in(tmp_path / "report.html")
    assert sorted(data["keys"]) == ["a", "b", "f", "g"]
    assert (data["counts"]["exact"], data["counts"]["near"], data["counts"]["similar"]) == (1, 1, 1)
    first = data["differences"]["0"]
    assert first["removed"] == first["added"] == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "report.html"]


def test_report_stands_beside_other_outputs(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", LINES)
    run_dedup("files", "in.jsonl", "-o", "out", "--report", "out/report.html", folder=tmp_path)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "clusters.jsonl",
        "dropped.jsonl",
        "kept.jsonl",
        "report.html",
        "similar.jsonl",
    ]


def test_index_that_is_saved_beside_a_report_holds_nothing_of_it(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", LINES)
    run_dedup("files", "in.jsonl", "--report", "report.html", "--save-index", "index", folder=tmp_path)
    assert {path.name for path in (tmp_path / "index").iterdir()} == {"about", "rows"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "index", "report.html"]


def test_names_that_say_another_format_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", [{"id": "a", "text": TEXT}, {"id": "b", "text": OTHER}])
    done = run_dedup("files", "in.jsonl", "--report", "report.json", folder=tmp_path)
    assert done.returncode != 0
    assert done.stderr == "error: --report report.json: a report is a page; its name must end in .html\n"


def test_order_of_the_page_is_that_of_doubt(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", LINES)
    run_dedup("files", "in.jsonl", "--report", "report.html", folder=tmp_path)
    assert keys_of(data_in(tmp_path / "report.html")) == ["b", "a"]
