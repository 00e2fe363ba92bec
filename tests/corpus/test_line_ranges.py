"""Lines that worker processes read themselves: the same documents in the same places as by reading the file."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.corpus.job import Job
from dedup.corpus.run import run_job
from dedup.readers import jsonl
from dedup.readers.documents import CorpusFile, ReadOptions
from dedup.readers.files import find_files
from dedup.readers.jsonl import LineRange, find_line_ranges
from dedup.readers.portions import read_files, read_portions
from dedup.rules.settings import DedupSettings
from tests.texts import ENGLISH

GOOD = [
    b'{"text": "a b c"}',
    b'{"id": 7, "text": ""}',
    b'{"url": "x", "text": "\xe4\xb8\xad"}\r',
    b'{"html": "<p>page"}',
]
BAD = [b"", b"  ", b"no", b'{"text": 7}', b"\xff", b'{"text": "' + b"long " * 40 + b'"}']
OPTIONS = ReadOptions(max_bytes=150)


def ranges_of(file: CorpusFile, options: ReadOptions = OPTIONS) -> list[LineRange]:
    return list(find_line_ranges(file, 0, options))


@given(st.lists(st.sampled_from(GOOD + BAD), max_size=12), st.integers(1, 90), st.booleans(), st.booleans())
def test_ranges_of_any_size_hold_what_the_file_holds(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], size: int, has_mark: bool, has_end: bool
) -> None:
    path = tmp_path_factory.mktemp("lines") / "in.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" * has_mark + b"\n".join(lines) + b"\n" * has_end)
    files = find_files([path]).files
    expected = list(read_files(files, OPTIONS))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonl, "RANGE_BYTES", size)
        ranges = ranges_of(files[0])
        assert [item for each in ranges for item in each.read()] == expected
    assert [each.start for each in ranges[1:]] == [each.end for each in ranges[:-1]]


def test_only_plain_jsonl_is_read_by_ranges(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(GOOD[0])
    (tmp_path / "b.txt").write_text("text", encoding="utf-8")
    files = find_files([tmp_path]).files
    portions = list(read_portions(files, OPTIONS))
    assert [type(each) for each in portions] == [LineRange, list]


@pytest.mark.slow
def test_verdicts_are_the_same_however_documents_reach_the_workers(tmp_path: Path) -> None:
    edited = ENGLISH.replace(" the ", " a ", 2)
    texts = [ENGLISH, "something else entirely", edited, ENGLISH.upper(), edited + " More words at its end.", ENGLISH]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    files = find_files([tmp_path / "in.jsonl"]).files
    found = []
    for name, limit in (("ranges", None), ("items", len(texts))):
        outputs = {each: tmp_path / f"{name}-{each}.jsonl" for each in ("kept", "dropped")}
        run_job(Job(files, ReadOptions(), DedupSettings(), outputs, 1, limit), io.StringIO())
        found.append([path.read_text(encoding="utf-8") for path in outputs.values()])
    assert found[0] == found[1]
    assert found[0][1].count("\n") >= 3
