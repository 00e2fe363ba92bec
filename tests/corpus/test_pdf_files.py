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


def keys(path: Path) -> set[str]:
    return {json.loads(line)["key"] for line in path.read_text(encoding="utf-8").splitlines()}


@pytest.mark.parametrize("options", [(), ("--pdf",)])
def test_a_pdf_and_the_text_in_it_are_copies(options: tuple[str, ...], tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.txt").write_text(STORY, encoding="utf-8")
    (folder / "b.pdf").write_bytes(pdf(["Printed for a reader", *in_lines(STORY)]))
    (folder / "c.pdf").write_bytes(ENCRYPTED)
    of_pdf = "Content-Type: application/pdf"
    (folder / "d.warc").write_bytes(warc_record("http://d/", pdf(in_lines(STORY)), of_pdf))
    done = run_dedup("files", "in", "-o", "out", "--processes", "2", *options, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert keys(tmp_path / "out" / "dropped.jsonl") == {"b.pdf", *(["http://d/"] if options else [])}
    assert keys(tmp_path / "out" / "kept.jsonl") == {"a.txt", "c.pdf"}
    assert "%PDF" not in (tmp_path / "out" / "kept.jsonl").read_text(encoding="utf-8")
    assert "c.pdf: PdfError: it takes a password" in done.stdout
    assert ("1 application/pdf" in done.stdout) == (not options)
