"""Kept documents are written as they came; files are whole or not there, and go on where they were left."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup.corpus.reading.documents import CorpusDocument
from dedup.corpus.reading.files import find_files
from dedup.corpus.reading.portions import read_documents
from dedup.corpus.writing import jsonl
from dedup.corpus.writing.jsonl import JsonlOutput
from dedup.corpus.writing.outputs import open_output
from dedup.corpus.writing.tables import ClusterWriter, KeptWriter, RelatedDocument, RelatedWriter, common_schema
from dedup.errors import InputError
from tests.corpus.test_corpus_reading import warc_record


def documents(*inputs: Path) -> list[CorpusDocument]:
    return [item for item in read_documents(inputs) if isinstance(item, CorpusDocument)]


def copy(source: Path, target: Path, schema: pa.Schema | None = None) -> None:
    with KeptWriter(target, schema) as writer:
        for document in documents(source):
            writer.write(document)


@settings(max_examples=20)
@given(st.lists(st.dictionaries(st.text(), st.none() | st.integers() | st.text(), max_size=4), max_size=5))
def test_lines_are_written_byte_for_byte(objects: list[dict[str, object]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "in.jsonl")
        source.write_text(
            "".join(json.dumps({**each, "url": "u", "text": "t"}) + "\n" for each in objects), encoding="utf-8"
        )
        copy(source, Path(folder, "out.jsonl"))
        assert Path(folder, "out.jsonl").read_bytes() == source.read_bytes()


def test_rows_of_parquet_are_written_as_they_are(tmp_path: Path) -> None:
    table = pa.table(
        {
            "text": pa.array(["a", "b", "c"], pa.large_string()),
            "at": pa.array([1, 2, None], pa.timestamp("ns", tz="UTC")),
            "tags": [["x"], [], None],
            "kind": pa.array(["k", "k", "l"]).dictionary_encode(),
            "raw": [b"\xff", b"", None],
        }
    )
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=2)
    schema = common_schema(find_files([tmp_path / "in.parquet"]).files)
    copy(tmp_path / "in.parquet", tmp_path / "out.parquet", schema)
    assert pq.read_table(tmp_path / "out.parquet").equals(table)


def test_what_json_does_not_have_is_written_all_the_same(tmp_path: Path) -> None:
    row = {"text": "é", "n": [float("nan"), 1.5], "d": date(2026, 1, 2), "b": b"caf\xc3\xa9", "c": b"\xff"}
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "in.parquet")
    copy(tmp_path / "in.parquet", tmp_path / "out.jsonl")
    line = (tmp_path / "out.jsonl").read_text(encoding="utf-8")
    assert line == '{"text": "é", "n": [null, 1.5], "d": "2026-01-02", "b": "café", "c": {"base64": "/w=="}}\n'


def test_every_other_format_is_written_as_objects(tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    (source / "a.csv").write_text('id,text,n\n1,"a,b",2\n', encoding="utf-8")
    (source / "b.txt").write_text("plain", encoding="utf-8")
    (source / "c.html").write_bytes(b"<p>caf\xc3\xa9")
    (source / "d.warc").write_bytes(warc_record("http://d/", b"<p>d"))
    (source / "e.jsonl").write_text('{"id":  "5", "text": "e"}', encoding="utf-8")
    with KeptWriter(tmp_path / "out.jsonl") as lines, KeptWriter(tmp_path / "out.parquet") as rows:
        for document in documents(source):
            text = "main text" if document.key == "http://d/" else None
            lines.write(document, text)
            rows.write(document, text)
    written = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in written] == [
        {"id": "1", "text": "a,b", "n": "2"},
        {"key": "b.txt", "text": "plain"},
        {"key": "c.html", "html": "<p>café"},
        {"url": "http://d/", "date": "2026-01-01T00:00:00Z", "text": "main text"},
        {"id": "5", "text": "e"},
    ]
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.column("record").to_pylist() == written
    assert table.column("key").to_pylist() == ["1", "b.txt", "c.html", "http://d/", "5"]
    assert table.column("text").to_pylist() == ["a,b", "plain", None, "main text", "e"]
    assert table.column("source").to_pylist()[0] == f"{source / 'a.csv'}:2"


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_dropped_documents_and_clusters_are_tables(suffix: str, tmp_path: Path) -> None:
    dropped = [
        RelatedDocument("b", "a", "c", "near duplicate", 3, 0.75, "jaccard", "says more", 40, 200, 3, "in.jsonl:2"),
        RelatedDocument("é", "a", "a", "exact duplicate", None, None, None, None, 0, 0, 0, "in.jsonl:3"),
    ]
    with RelatedWriter(tmp_path / f"d.{suffix}") as writer, ClusterWriter(tmp_path / f"c.{suffix}") as clusters:
        for each in dropped:
            writer.write(each)
        clusters.write("a", ["a", "b", "é"])

    def rows(name: str) -> list[dict[str, object]]:
        path = tmp_path / f"{name}.{suffix}"
        if suffix == "parquet":
            found: list[dict[str, object]] = pq.read_table(path).to_pylist()
            return found
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    assert [RelatedDocument(**row) for row in rows("d")] == dropped  # type: ignore[arg-type]
    assert rows("c") == [{"leader": "a", "keys": ["a", "b", "é"]}]


def test_lines_that_are_rows_stand_between_other_rows(tmp_path: Path) -> None:
    output = JsonlOutput(tmp_path / "out.jsonl")
    output.write({"a": 1})
    output.write_lines([memoryview(b"1\n2\n"), memoryview(b"3\n")])
    output.write(b"4")
    output.close()
    assert (tmp_path / "out.jsonl").read_bytes() == b'{"a": 1}\n1\n2\n3\n4\n'


def test_an_output_of_any_format_takes_lines(tmp_path: Path) -> None:
    output = open_output(tmp_path / "out.parquet", {"a": "string"})
    output.write_lines([memoryview(b'{"a": "1"}\n{"a": '), memoryview(b'"2"}\n')])
    output.close()
    assert pq.read_table(tmp_path / "out.parquet").column("a").to_pylist() == ["1", "2"]


def test_what_the_disk_has_not_taken_early_is_told_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from_threads: list[bool] = []

    def fail_once(descriptor: int) -> None:
        from_threads.append(threading.current_thread() is not threading.main_thread())
        # The system tells it once, and takes it as known then.
        if len(from_threads) == 1:
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(jsonl, "MOST_UNSAFE", 10)
    monkeypatch.setattr(os, "fsync", fail_once)
    output = JsonlOutput(tmp_path / "out.jsonl")
    output.write_lines([memoryview(b"1234\n"), memoryview(b"1234\n")])
    with pytest.raises(OSError, match="Input/output error"):
        output.checkpoint()
    assert from_threads == [True]
    output.write(b"7")
    output.checkpoint()
    assert from_threads == [True, False]
    output.suspend()


def keys(path: Path) -> list[str]:
    if path.suffix == ".parquet":
        found: list[str] = pq.read_table(path).column("leader").to_pylist()
        return found
    return [json.loads(line)["leader"] for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
@pytest.mark.parametrize("rows", [0, 1, 2500])
def test_nothing_has_the_name_before_it_is_whole(suffix: str, rows: int, tmp_path: Path) -> None:
    path = tmp_path / f"out.{suffix}"
    path.write_text("an older result", encoding="utf-8")
    writer = ClusterWriter(path)
    for i in range(rows):
        writer.write(str(i), [])
    writer.checkpoint()
    assert path.read_text(encoding="utf-8") == "an older result"
    writer.close()
    assert keys(path) == [str(i) for i in range(rows)]
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
@settings(max_examples=20)
@given(steps=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=6))
def test_what_came_after_the_last_checkpoint_is_removed(suffix: str, steps: list[tuple[int, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"out.{suffix}")
        expected: list[str] = []
        checkpoint = None
        for safe, lost in [*steps, (1, 0)]:
            writer = ClusterWriter(path, checkpoint)
            for _ in range(safe):
                expected.append(str(len(expected)))
                writer.write(expected[-1], [])
            checkpoint = writer.checkpoint()
            for _ in range(lost):
                writer.write("lost", [])
            writer.suspend()
        ClusterWriter(path, checkpoint).close()
        assert keys(path) == expected
        # Killed after that and before it was noted: there is nothing left to do.
        again = ClusterWriter(path, checkpoint)
        again.close()
        with pytest.raises(InputError, match="cannot be resumed"):
            again.write("more", [])
        assert keys(path) == expected


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
@pytest.mark.slow
def test_a_kill_leaves_what_was_safe(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"out.{suffix}"
    code = """
import sys
from pathlib import Path
from dedup.corpus.writing.tables import ClusterWriter
writer = ClusterWriter(Path(sys.argv[1]))
for i in range(3000):
    writer.write(str(i), [])
print(writer.checkpoint(), flush=True)
while True:
    writer.write("lost", [])
"""
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        checkpoint = int(process.stdout.readline())
        os.kill(process.pid, signal.SIGKILL)
    assert not path.exists()
    ClusterWriter(path, checkpoint).close()
    assert keys(path) == [str(i) for i in range(3000)]


@pytest.mark.parametrize("name", ["out.csv", "out", "missing/out.jsonl", "folder.jsonl"])
def test_a_file_that_cannot_be_written_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(InputError) as raised:
        ClusterWriter(tmp_path / name)
    assert str(tmp_path / name) in str(raised.value)


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_what_is_not_there_cannot_be_resumed(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"out.{suffix}"
    with pytest.raises(InputError, match=r"cannot be resumed, .* start again without resuming"):
        ClusterWriter(path, 7)
    writer = ClusterWriter(path)
    writer.suspend()
    with pytest.raises(InputError, match="cannot be resumed"):
        ClusterWriter(path, 7)


def test_an_error_leaves_what_can_be_resumed(tmp_path: Path) -> None:
    checkpoints = []

    def fail() -> None:
        with ClusterWriter(tmp_path / "out.jsonl") as writer:
            writer.write("a", [])
            checkpoints.append(writer.checkpoint())
            writer.write("b", [])
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    checkpoint = checkpoints[0]
    with ClusterWriter(tmp_path / "out.jsonl", checkpoint) as writer:
        writer.write("c", [])
    assert keys(tmp_path / "out.jsonl") == ["a", "c"]
