"""`dedup files` on PDFs: as files always, in archives if they are wanted there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands import run_dedup
from tests.pdfs import ENCRYPTED, in_lines, pdf
from tests.readers.test_reading import warc_record
from tests.texts import document

pytestmark = pytest.mark.slow

STORY = document(160, "story")


def records(path: Path) -> dict[str, dict[str, str]]:
    return {each["key"]: each for each in map(json.loads, path.read_text(encoding="utf-8").splitlines())}


@pytest.mark.parametrize("options", [(), ("--pdf",)])
def test_a_pdf_and_the_text_in_it_are_copies(options: tuple[str, ...], tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.txt").write_text(STORY, encoding="utf-8")
    (folder / "b.pdf").write_bytes(pdf(["Printed for a reader", *in_lines(STORY)]))
    (folder / "c.pdf").write_bytes(ENCRYPTED)
    for name in ("e.pdf", "f.pdf"):
        (folder / name).write_bytes(pdf(in_lines(STORY), filled=f"Ada {name}"))
    (folder / "g.pdf").write_bytes(b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + bytes(range(256)))
    of_pdf = "Content-Type: application/pdf"
    (folder / "d.warc").write_bytes(warc_record("http://d/", pdf(in_lines(STORY)), of_pdf))
    done = run_dedup("files", "in", "-o", "out", "--processes", "2", *options, folder=tmp_path)
    assert done.returncode == 3, done.stderr
    assert records(tmp_path / "out" / "dropped.jsonl").keys() == {"b.pdf", *(["http://d/"] if options else [])}
    kept = records(tmp_path / "out" / "kept.jsonl")
    filled = "it has fields of a form, or notes on its pages, for which its text does not speak"
    problems = {"a.txt": None, "c.pdf": "it takes a password", "e.pdf": filled, "f.pdf": filled}
    assert {key: each.get("problem") for key, each in kept.items()} == problems
    assert {key for key, each in kept.items() if STORY[:40] in each["text"]} == {"a.txt", "e.pdf", "f.pdf"}
    assert "c.pdf: it takes a password" in done.stdout
    assert "no PDF, and no text" in (tmp_path / "out" / "rejected.jsonl").read_text(encoding="utf-8")
    assert ("1 application/pdf" in done.stdout) == (not options)
