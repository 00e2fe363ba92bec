"""Kept documents are written as they came; files are whole or not there, and go on where they were left."""

from __future__ import annotations

import gzip
import json
import tempfile
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup.corpus.outputs import JsonlOutput, open_output
from dedup.corpus.portion import record_of
from dedup.corpus.writing import CLUSTERS, KEPT, RELATED, common_schema
from dedup.errors import InputError
from dedup.readers.documents import CorpusDocument, ParquetRow
from dedup.readers.files import find_files
from dedup.readers.portions import read_documents
from dedup.readers.streams import load_zstd
from tests.commands import run_dedup
from tests.readers.test_reading import warc_record
from tests.texts import document

zstd = load_zstd("test")


def documents(*inputs: Path) -> list[CorpusDocument]:
    return [item for item in read_documents(inputs) if isinstance(item, CorpusDocument)]


def copy(source: Path, target: Path, schema: pa.Schema | None = None) -> None:
    with closing(open_output(target, schema)) as output:
        for document in documents(source):
            record = document.record
            output.write(record if schema is not None and isinstance(record, ParquetRow) else record_of(document, None))


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
    outputs = open_output(tmp_path / "out.jsonl", None), open_output(tmp_path / "out.parquet", KEPT)
    with closing(outputs[0]) as lines, closing(outputs[1]) as rows:
        for document in documents(source):
            text = "main text" if document.key == "http://d/" else None
            lines.write(record_of(document, text))
            values = (document.key, document.text if text is None else text, document.source)
            rows.write(dict(zip(KEPT, (*values, record_of(document, text).decode()), strict=True)))
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
    values = [
        ("b", "a", "c", "near duplicate", 3, 0.75, "jaccard", 40, 200, 3, "in.jsonl:2"),
        ("é", "a", "a", "exact duplicate", None, None, None, 0, 0, 0, "in.jsonl:3"),
    ]
    dropped = [dict(zip(RELATED, each, strict=True)) for each in values]
    with closing(open_output(tmp_path / f"d.{suffix}", RELATED)) as output:
        for each in dropped:
            output.write(each)
    with closing(open_output(tmp_path / f"c.{suffix}", CLUSTERS)) as output:
        output.write({"leader": "a", "keys": ["a", "b", "é"]})

    def rows(name: str) -> list[dict[str, object]]:
        path = tmp_path / f"{name}.{suffix}"
        if suffix == "parquet":
            found: list[dict[str, object]] = pq.read_table(path).to_pylist()
            return found
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    assert rows("d") == dropped
    assert rows("c") == [{"leader": "a", "keys": ["a", "b", "é"]}]


def test_lines_that_are_rows_stand_between_other_rows(tmp_path: Path) -> None:
    output = JsonlOutput(tmp_path / "out.jsonl")
    output.write({"a": 1})
    output.write(b"1\n2\n3")
    output.write(b"4")
    output.close()
    assert (tmp_path / "out.jsonl").read_bytes() == b'{"a": 1}\n1\n2\n3\n4\n'


def keys(path: Path) -> list[str]:
    if path.suffix == ".parquet":
        found: list[str] = pq.read_table(path).column("leader").to_pylist()
        return found
    opened: Any = {".gz": gzip.open, ".zst": zstd.open}.get(path.suffix, open)
    with opened(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["leader"] for line in lines]


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz", "jsonl.zst", "parquet"])
@pytest.mark.parametrize("rows", [0, 1, 2500])
def test_nothing_has_the_name_before_it_is_whole(suffix: str, rows: int, tmp_path: Path) -> None:
    path = tmp_path / f"out.{suffix}"
    path.write_text("an older result", encoding="utf-8")
    writer = open_output(path, CLUSTERS)
    for i in range(rows):
        writer.write({"leader": str(i), "keys": []})
    writer.finish()
    assert path.read_text(encoding="utf-8") == "an older result"
    writer.close()
    assert keys(path) == [str(i) for i in range(rows)]
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("name", ["out.csv", "out", "out.parquet.gz", "out.gz", "missing/out.jsonl", "folder.jsonl"])
def test_a_file_that_cannot_be_written_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(InputError) as raised:
        open_output(tmp_path / name, CLUSTERS)
    assert str(tmp_path / name) in str(raised.value)


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz", "jsonl.zst", "parquet"])
def test_what_is_discarded_leaves_nothing(suffix: str, tmp_path: Path) -> None:
    writer = open_output(tmp_path / f"out.{suffix}", CLUSTERS)
    writer.write({"leader": "a", "keys": []})
    writer.discard()
    assert list(tmp_path.iterdir()) == []


def test_folders_that_name_columns_are_columns(tmp_path: Path) -> None:
    for number, folder in enumerate(["lang=de/year=2024", "lang=zh%2FTW/year=__HIVE_DEFAULT_PARTITION__"]):
        (tmp_path / "in" / folder).mkdir(parents=True)
        table = pa.table({"text": [document(60, number), document(60, "same")], "n": [1, 2]})
        pq.write_table(table, tmp_path / "in" / folder / "part.parquet")
    for suffix in ("parquet", "jsonl"):
        done = run_dedup("files", "in", "-o", "out", "--format", suffix, "--key-field", "lang", folder=tmp_path)
        assert done.returncode == 0, done.stderr
    kept = pq.read_table(tmp_path / "out/kept.parquet").to_pylist()
    assert [(row["n"], row["lang"], row["year"]) for row in kept] == [
        (1, "de", "2024"),
        (2, "de", "2024"),
        (1, "zh/TW", None),
    ]
    lines = (tmp_path / "out/kept.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == kept
    # A file's own column is not hidden by its folder.
    pq.write_table(
        table.append_column("lang", pa.array(["own", "own"])), tmp_path / "in/lang=de/year=2024/part.parquet"
    )
    run_dedup("files", "in", "-o", "own", folder=tmp_path)
    first = json.loads((tmp_path / "own/kept.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert (first["lang"], first["year"]) == ("own", "2024")
