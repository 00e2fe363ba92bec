"""`dedup files` on files that are not on this machine: the same as on local ones, and what can go wrong."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from dedup.readers.files import find_files
from tests.commands import run_dedup
from tests.corpus.test_files_command import many, rows_of, write
from tests.readers.test_reading import warc_record
from tests.remote import MEMORY, serving, upload
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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    return folder


def assert_written_alike(folder: Path, form: str, prefix: str) -> None:
    """Require that the outputs `local` and `remote` differ in nothing but the names of the files that were read."""
    written = sorted(path.name for path in (folder / "local").iterdir())
    assert written == sorted(path.name for path in (folder / "remote").iterdir())
    assert (folder / f"local/dropped.{form}").stat().st_size > 0
    for name in written:
        if name.endswith(".parquet"):
            local, remote = (pq.read_table(folder / output / name).to_pylist() for output in ("local", "remote"))
            for row in [*local, *remote]:
                row["source"] = row.get("source", "").removeprefix("in/").removeprefix(prefix)
            assert local == remote
        else:
            local_bytes, remote_bytes = ((folder / output / name).read_bytes() for output in ("local", "remote"))
            assert remote_bytes.replace(f'"{prefix}'.encode(), b'"in/') == local_bytes


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_of_a_remote_folder_is_written_what_is_of_a_local_one(folder: Path, tmp_path: Path, form: str) -> None:
    for make in (jsonl, jsonl_gz, parquet, warc_gz, texts):
        make(folder / make.__name__)
    upload(folder)
    for inputs, output in (("in", "local"), (MEMORY, "remote")):
        done = dedup(inputs, "-o", output, "--format", form, folder=tmp_path)
        assert done.returncode == 0, done.stderr
    assert_written_alike(tmp_path, form, MEMORY)


def test_of_files_of_a_web_server_is_written_what_is_of_local_ones(folder: Path, tmp_path: Path) -> None:
    for make in (jsonl, jsonl_gz, parquet, warc_gz):
        make(folder / make.__name__)
    names = sorted(path.name for path in folder.iterdir())
    with serving(folder) as server:
        for where, output in (("in/", "local"), (server.url, "remote")):
            done = dedup(*[f"{where}{name}" for name in names], "-o", output, folder=tmp_path)
            assert done.returncode == 0, done.stderr
        assert_written_alike(tmp_path, "jsonl", server.url)


def test_the_path_of_a_url_names_the_format(folder: Path, tmp_path: Path) -> None:
    jsonl(folder / "jsonl")
    (folder / "page.html").write_text(f"<html><body><p>{document(100, 'page')}</p></body></html>", encoding="utf-8")
    with serving(folder) as server:
        inputs = [f"{server.url}{name}" for name in ("jsonl.jsonl?token=a.b", "page.html?v=2#top")]
        done = dedup(*inputs, "-o", "out", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    kept, dropped = (rows_of(tmp_path / "out" / f"{name}.jsonl") for name in ("kept", "dropped"))
    assert len(kept) + len(dropped) == 301
    assert [row["text"] for row in kept if row.get("key") == inputs[1]] == [document(100, "page")]


def test_a_pattern_names_files(folder: Path) -> None:
    texts(folder / "a")
    upload(folder)
    names = [file.name for file in find_files([f"{MEMORY}a*.txt", f"{MEMORY}b/1.txt"]).files]
    assert names == [f"{MEMORY}a-.txt", f"{MEMORY}a.txt", f"{MEMORY}b/1.txt"]


def test_a_name_that_tells_the_wrong_compression_is_refused(folder: Path, tmp_path: Path) -> None:
    (folder / "a.jsonl.gz").write_bytes(b'{"text": "plain"}\n')
    (folder / "b.parquet").write_bytes(b"no parquet")
    with serving(folder) as server:
        for name, said in (("a.jsonl.gz", "not gzip as its name says"), ("b.parquet", "an incomplete Parquet file")):
            done = dedup(f"{server.url}{name}", "--dry-run", folder=tmp_path)
            assert (done.returncode, done.stderr.count("\n")) == (2, 1)
            assert done.stderr.startswith(f"error: {server.url}{name}: {said}")


class Locked(MemoryFileSystem):
    """Files that need credentials that are not given."""

    protocol = "locked"

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        raise PermissionError("Unable to locate credentials")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("memory://corpus/none.jsonl", "not there; check the name"),
        ("memory://nowhere/", "not there; check the name"),
        ("memory://corpus/*.gz", "not there; check the name"),
        ("{server}none.jsonl", "not there; check the name"),
        ("{server}unknown.jsonl", "cannot be read (its server does not say how large it is); check"),
        ("memory:///corpus/a.doc", "not a known format by its name; known are"),
        ("locked:///corpus/a.jsonl", "cannot be read (Unable to locate credentials); check"),
        ("gs://bucket/a.jsonl", "needs the package gcsfs; pip install gcsfs"),
        ("none://bucket/a.jsonl", "cannot be read (Protocol not known: none); check"),
    ],
)
def test_what_cannot_be_read_is_said_in_a_line(folder: Path, tmp_path: Path, url: str, said: str) -> None:
    fsspec.register_implementation("locked", Locked, clobber=True)
    (folder / "a.doc").write_bytes(b"text")
    jsonl(folder / "unknown")
    upload(folder)
    with serving(folder) as server:
        server.unknown = "unknown.jsonl"
        url = url.format(server=server.url)
        done = dedup(url, "--dry-run", folder=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith(f"error: {url}: {said}")


@pytest.mark.parametrize("option", ["-o", "--pairs", "--report", "--against", "--save-index"])
def test_outputs_and_indexes_are_local(tmp_path: Path, option: str) -> None:
    done = dedup("a.jsonl", option, "s3://corpus/out", folder=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("error: s3://corpus/out: outputs and indexes are files of this machine")


@pytest.mark.parametrize("make", [jsonl, jsonl_gz, parquet, warc_gz])
def test_a_lost_connection_is_told_in_a_line_and_the_same_command_does_it_all(
    folder: Path, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    write(folder / "a.jsonl", many(300, 1))
    make(folder / "b")
    [name] = [path.name for path in folder.glob("b.*")]
    with serving(folder) as server:
        inputs = [f"{server.url}a.jsonl", f"{server.url}{name}"]
        server.broken = name
        lost = dedup(*inputs, "-o", "out", folder=tmp_path)
        assert lost.returncode == 1, lost.stderr
        assert lost.stderr.startswith(f"error: {inputs[1]}: cannot be read any more (")
        assert lost.stderr.endswith("); give the same command again\n")
        assert lost.stderr.count("\n") == 1
        server.broken = ""
        for output in ("out", "whole"):
            done = dedup(*inputs, "-o", output, folder=tmp_path)
            assert done.returncode == 0, done.stderr
    for each in ("kept", "dropped", "clusters"):
        assert rows_of(tmp_path / f"out/{each}.jsonl") == rows_of(tmp_path / f"whole/{each}.jsonl")


def test_an_index_is_built_of_remote_files(folder: Path, tmp_path: Path) -> None:
    jsonl(folder / "a")
    upload(folder)
    for inputs, index in (("in", "local"), (MEMORY, "remote")):
        done = run_dedup("files", inputs, "--save-index", index, folder=tmp_path)
        assert done.returncode == 0, done.stderr
    local, remote = (pq.read_table(tmp_path / index / "rows") for index in ("local", "remote"))
    assert remote.num_rows > 0
    assert remote.equals(local)


def test_a_url_of_this_machine_is_a_path(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", many(3))
    assert find_files([f"file://{path}"]).files == find_files([path]).files
