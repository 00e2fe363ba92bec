"""Files that Spark lists and reads, whatever file system they lie in, are the documents that `dedup files` reads."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from dedup.corpus.reading.documents import ReadOptions
from dedup.corpus.reading.files import find_files
from dedup.errors import InputError
from tests.commands import run_dedup
from tests.spark.test_job import run
from tests.spark.test_spark_command import OUTPUTS, rows
from tests.texts import ENGLISH, document

pytestmark = [pytest.mark.thorough, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

PAGE = f"<html><body><article><p>{document(80, 'page')}.</p></article></body></html>"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with files of all formats; those of a folder stand where its name does."""
    import pyarrow as pa
    from pyarrow.parquet import write_table

    folder = tmp_path / "a corpus"
    for name in ("b", "b.d", "b/c"):
        (folder / name).mkdir(parents=True)
    lines = [json.dumps({"text": f"{document(40, number)} {'x' * number}"}) for number in range(30)]
    (folder / "b" / "1.JSONL").write_text("\n".join([*lines, "{broken", lines[3]]) + "\n", encoding="utf-8")
    (folder / "b" / "c" / "2.jsonl.gz").write_bytes(gzip.compress("\n".join(lines[20:]).encode()))
    (folder / "b.d" / "0.txt").write_text(ENGLISH.upper(), encoding="utf-8")
    (folder / "a.v1.csv").write_text(f'id,text\nfirst,"{ENGLISH}"\n', encoding="utf-8")
    (folder / "page 1.html").write_text(PAGE, encoding="utf-8")
    (folder / "empty.html").write_text("<html></html>", encoding="utf-8")
    (folder / "notes.md").write_text("no document", encoding="utf-8")
    (folder / ".hidden.txt").write_text("no document", encoding="utf-8")
    write_table(pa.table({"id": ["a", "b"], "text": [ENGLISH, document(90)]}), folder / "z.parquet")
    return folder


def test_what_spark_reads_is_what_executors_read(spark: Any, folder: Path) -> None:
    from dedup.spark.reading import find_remote_files, read, read_remote

    inputs = [f"file://{folder}"]
    files = find_remote_files(spark, inputs)
    found = find_files([folder]).files
    assert [file.path for file in files] == [f"file:{file.path}" for file in found]
    assert [file.size for file in files] == [file.size for file in found]
    expected = read(spark, found, ReadOptions()).orderBy("id", "source").collect()
    actual = read_remote(spark, inputs, files, ReadOptions()).orderBy("id", "source").collect()
    documents = [row for row in expected if row.reason is None]
    # How far lines stand from each other is another number where a file is read in ranges.
    assert [row.id >> 40 for row in actual if row.reason is None] == [row.id >> 40 for row in documents]
    for name in ("key", "text", "identity", "reason"):
        assert [row[name] for row in actual] == [row[name] for row in expected], name
    assert [row.source for row in actual] == [f"file:{row.source}" for row in expected]
    assert {row.key for row in documents} >= {"first", "a", "page 1.html", "b.d/0.txt"}


def test_several_inputs_and_patterns_are_read_in_their_order(spark: Any, folder: Path) -> None:
    from dedup.spark.reading import find_remote_files, read_remote

    inputs = [f"file://{folder}/z.parquet", f"file://{folder}/b*/0.t?t"]
    files = find_remote_files(spark, inputs)
    found = read_remote(spark, inputs, files, ReadOptions()).orderBy("id").collect()
    assert [row.key for row in found] == ["a", "b", f"file:{folder}/b.d/0.txt"]


def test_a_file_that_is_not_what_its_name_says_is_rejected(spark: Any, tmp_path: Path) -> None:
    from dedup.spark.reading import find_remote_files, read_remote

    (tmp_path / "a.jsonl.gz").write_bytes(b"no gzip")
    (tmp_path / "b.parquet").write_bytes(b"PAR1 no Parquet")
    (tmp_path / "c.txt").write_text("text", encoding="utf-8")
    inputs = [f"file://{tmp_path}"]
    found = read_remote(spark, inputs, find_remote_files(spark, inputs), ReadOptions()).orderBy("source").collect()
    assert [row.text for row in found] == [None, None, "text"]
    assert found[0].reason == "not gzip as its name says; take .gz off the name if it is not"
    assert found[1].reason.startswith("not a whole Parquet file")


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (["{folder}/nothing"], r"nothing: .*PATH_NOT_FOUND"),
        (["{folder}/notes.md"], r"notes.md: no file of a known format"),
        (["{folder}/b", "{folder}/b/c"], r"an input names files that another one names too"),
        (["no-such-scheme://host/a"], r"no-such-scheme://host/a: No FileSystem for scheme"),
    ],
)
def test_what_cannot_be_read_is_refused(spark: Any, folder: Path, inputs: list[str], message: str) -> None:
    from dedup.spark.reading import find_remote_files

    with pytest.raises(InputError, match=message):
        find_remote_files(spark, [each.format(folder=f"file://{folder}") for each in inputs])


def test_a_file_that_is_too_large_is_refused(spark: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dedup.spark import reading

    monkeypatch.setattr(reading, "MOST_BYTES", 3000)
    with pytest.raises(InputError, match=r"1.JSONL: has [0-9,]+ bytes, and Spark reads 2 GB of a file; split it"):
        reading.find_remote_files(spark, [f"file://{folder}"])


def test_a_job_reads_and_writes_urls(spark: Any, folder: Path, tmp_path: Path) -> None:
    # A file system with a scheme of its own that needs no server.
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    hadoop.set("fs.viewfs.mounttable.default.link./data", f"file://{tmp_path}")
    run(spark, "viewfs:///data/a corpus", output="viewfs:///data/an output")
    written = tmp_path / "an output"
    assert sorted(path.name for path in written.iterdir()) == sorted(OUTPUTS)
    expected = run_dedup("files", folder, "-o", "expected", "--format", "parquet", folder=tmp_path)
    assert expected.returncode == 3, expected.stderr
    for name in ("kept", "dropped", "similar"):
        columns = ("key", "text", "original", "source")
        found, of_files = (
            sorted([str(row.get(column, "")).removeprefix("viewfs:/data") for column in columns] for row in rows(path))
            for path in (written / name, tmp_path / "expected" / f"{name}.parquet")
        )
        assert found == [[each.removeprefix(str(tmp_path)) for each in row] for row in of_files], name


def test_inputs_of_two_kinds_are_refused(tmp_path: Path) -> None:
    done = run_dedup("spark", "file:///a.jsonl", "b.jsonl", "-o", "out", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: inputs with a scheme, and others: give all of them with one, such as file:/")
