"""`dedup files` on files of an S3 server on this machine: the same as on local ones, and what can go wrong."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from s3fs import S3FileSystem

from dedup.files.readers.files import find_files
from tests.commands import run_dedup
from tests.files.test_files_command import many, rows_of, write
from tests.files.test_reading import warc_record
from tests.s3_server import Server, upload
from tests.texts import document

pytestmark = pytest.mark.slow


def dedup(*arguments: object, folder: Path) -> CompletedProcess[str]:
    return run_dedup("files", *arguments, "--processes", "2", folder=folder)


def jsonl(path: Path) -> None:
    write(path.with_suffix(".jsonl"), many(300))


def jsonl_gz(path: Path) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in many(300))
    path.with_suffix(".jsonl.gz").write_bytes(gzip.compress(lines.encode()))


def parquet(path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(many(300)), path.with_suffix(".parquet"), row_group_size=70)


def warc_gz(path: Path) -> None:
    pages = [f"<html><body><p>{row['text']}</p></body></html>" for row in many(40)]
    records = [warc_record(f"https://example.com/{n}", page.encode()) for n, page in enumerate(pages)]
    path.with_suffix(".warc.gz").write_bytes(b"".join(map(gzip.compress, records)))


def texts(path: Path) -> None:
    for name, text in {"b/1": "b", "a/2": "a", "a": "a", "B": "B", "a-": "a", ".hidden/a": "h", "c/.h": "h"}.items():
        file = path.parent / f"{name}.txt"
        file.parent.mkdir(exist_ok=True)
        file.write_text(document(50, text), encoding="utf-8")


@pytest.mark.parametrize("make", [jsonl, jsonl_gz, parquet, warc_gz, texts])
@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_what_is_written_is_that_of_local_files(
    server: Server, tmp_path: Path, make: Callable[[Path], None], form: str
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    make(folder / "a")
    upload(folder)
    for inputs, output in (("in", "local"), ("s3://corpus/", "remote")):
        done = dedup(inputs, "-o", output, "--format", form, folder=tmp_path)
        assert done.returncode == 0, done.stderr
    written = sorted(path.name for path in (tmp_path / "local").iterdir())
    assert written == sorted(path.name for path in (tmp_path / "remote").iterdir())
    assert f"dropped.{form}" in written
    for name in written:
        if form == "parquet":
            local, remote = (pq.read_table(tmp_path / output / name).to_pylist() for output in ("local", "remote"))
            for row in [*local, *remote]:
                row["source"] = row.get("source", "").removeprefix("in/").removeprefix("s3://corpus/")
            assert local == remote
        else:
            local, remote = ((tmp_path / output / name).read_bytes() for output in ("local", "remote"))
            assert remote.replace(b'"s3://corpus/', b'"in/') == local
    assert (tmp_path / f"local/dropped.{form}").stat().st_size > 0


def test_a_pattern_names_files(server: Server, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    texts(folder / "a")
    upload(folder)
    names = [file.name for file in find_files(["s3://corpus/a*.txt", "s3://corpus/b/1.txt"]).files]
    assert names == ["s3://corpus/a-.txt", "s3://corpus/a.txt", "s3://corpus/b/1.txt"]


def test_a_name_that_tells_the_wrong_compression_is_refused(server: Server, tmp_path: Path) -> None:
    S3FileSystem().pipe("corpus/a.jsonl.gz", b'{"text": "plain"}\n')
    S3FileSystem().pipe("corpus/b.parquet", b"no parquet")
    for name, said in (("a.jsonl.gz", "not gzip as its name says"), ("b.parquet", "an incomplete Parquet file")):
        done = dedup(f"s3://corpus/{name}", "--dry-run", folder=tmp_path)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert done.stderr.startswith(f"error: s3://corpus/{name}: {said}")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("s3://corpus/none.jsonl", "not there; check the name"),
        ("s3://nowhere/a.jsonl", "not there; check the name"),
        ("s3://corpus/*.gz", "not there; check the name"),
        ("s3://corpus/a.pdf", "not a known format by its name; known are"),
        ("gs://bucket/a.jsonl", "needs the package gcsfs; pip install gcsfs"),
        ("none://bucket/a.jsonl", "cannot be read (Protocol not known: none); check"),
    ],
)
def test_what_cannot_be_read_is_said_in_a_line(server: Server, tmp_path: Path, url: str, said: str) -> None:
    S3FileSystem().pipe("corpus/a.pdf", b"%PDF")
    done = dedup(url, "--dry-run", folder=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith(f"error: {url}: {said}")


def test_credentials_that_are_missing_are_said(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    S3FileSystem().pipe("corpus/a.jsonl", b'{"text": "a"}\n')
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    S3FileSystem.clear_instance_cache()
    done = dedup("s3://corpus/a.jsonl", "--dry-run", folder=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("error: s3://corpus/a.jsonl: cannot be read (Unable to locate credentials); check")


@pytest.mark.parametrize("option", ["-o", "--kept", "--report", "--against", "--save-index"])
def test_outputs_and_indexes_are_local(tmp_path: Path, option: str) -> None:
    done = dedup("a.jsonl", option, "s3://corpus/out", folder=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("error: s3://corpus/out: outputs and indexes are files of this machine")


@pytest.mark.thorough
@pytest.mark.parametrize("make", [jsonl, jsonl_gz, parquet, warc_gz])
def test_a_lost_connection_is_told_in_a_line_and_the_same_command_does_it_all(
    server: Server, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    write(folder / "a.jsonl", many(300, 1))
    make(folder / "b")
    upload(folder)
    [broken] = [path.name for path in folder.glob("b.*")]
    server.broken = f"/corpus/{broken}"
    inputs = ["s3://corpus/a.jsonl", f"s3://corpus/{broken}"]
    lost = dedup(*inputs, "-o", "out", folder=tmp_path)
    assert lost.returncode == 1, lost.stderr
    assert lost.stderr.startswith(f"error: s3://corpus/{broken}: cannot be read any more (")
    assert lost.stderr.endswith("); give the same command again\n")
    assert lost.stderr.count("\n") == 1
    server.broken = ""
    done = dedup(*inputs, "-o", "out", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    whole = dedup(*inputs, "-o", "whole", folder=tmp_path)
    assert whole.returncode == 0, whole.stderr
    for name in ("kept", "dropped", "clusters"):
        assert rows_of(tmp_path / f"out/{name}.jsonl") == rows_of(tmp_path / f"whole/{name}.jsonl")


def test_an_index_is_built_of_remote_files(server: Server, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    jsonl(folder / "a")
    upload(folder)
    for inputs, index in (("in", "local"), ("s3://corpus/", "remote")):
        done = run_dedup("index", "build", inputs, "-o", index, folder=tmp_path)
        assert done.returncode == 0, done.stderr
    local, remote = (pq.read_table(tmp_path / index / "rows") for index in ("local", "remote"))
    assert remote.num_rows > 0
    assert remote.equals(local)


def test_a_url_of_this_machine_is_a_path(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", many(3))
    assert find_files([f"file://{path}"]).files == find_files([path]).files
