"""`dedup files --report`: the page on a run over files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands import run_dedup
from tests.corpus.test_files_command import FORM, LINES, OTHER, TEXT, write
from tests.report.renderings import data_in
from tests.texts import filled_in

pytestmark = pytest.mark.slow


def test_report_shows_what_was_dropped_and_which_words_differ(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", [*LINES, {"id": "f", "text": FORM}, {"id": "g", "text": filled_in(FORM)}])
    outputs = ("-o", "out", "--report", "out/report.html", "--save-index", "index")
    done = run_dedup("files", "in.jsonl", *outputs, folder=tmp_path)
    assert done.returncode == 0
    assert "out/report.html" in done.stdout
    html = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert "2 of 6 documents dropped" in html
    data = data_in(tmp_path / "out/report.html")
    assert {data["texts"][number] for number in data["rows"]["dropped"]} == {"b", "g", "a"}
    assert (data["counts"]["exact"], data["counts"]["near"], data["counts"]["similar"]) == (1, 1, 1)
    # What is kept stands before what was dropped and is not flagged.
    assert [(each["removed"], each["added"]) for each in data["differences"].values()] == [(14, 14), (4, 4)]
    names = {"clusters.jsonl", "dropped.jsonl", "kept.jsonl", "report.html", "similar.jsonl"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == names
    # The index holds nothing of what the report is made of, and nothing else is left.
    assert {path.name for path in (tmp_path / "index").iterdir()} == {"about", "rows"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "index", "out"]


def test_names_that_say_another_format_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", [{"id": "a", "text": TEXT}, {"id": "b", "text": OTHER}])
    done = run_dedup("files", "in.jsonl", "--report", "report.json", folder=tmp_path)
    assert done.returncode != 0
    assert done.stderr == "error: --report report.json: a report is a page; its name must end in .html\n"
