"""`dedup files --on spark` on files of a web server: executors read what `dedup files` reads."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.commands import run_dedup
from tests.remote import serving
from tests.spark.test_job import run
from tests.spark.test_spark_command import OUTPUTS, rows, run_spark
from tests.texts import ENGLISH, document

PAGE = f"<html><body><article><p>{document(80, 'page')}.</p></article></body></html>"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with files of all formats; those of a folder stand where its name does."""
    import pyarrow as pa
    from pyarrow.parquet import write_table

    folder = tmp_path / "corpus"
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


def test_what_executors_fetch_is_what_a_run_over_local_files_reads(folder: Path, tmp_path: Path) -> None:
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.suffix != ".md")
    names = [name for name in names if (folder / name).is_file() and not name.startswith(".")]
    expected = run_dedup(
        "files", *[folder / name for name in names], "-o", "expected", "--format", "parquet", folder=tmp_path
    )
    assert expected.returncode == 3, expected.stderr
    with serving(folder) as server:
        urls = [f"{server.url}{name.replace(' ', '%20')}" for name in names]
        done = run_spark(*urls, "-o", "found", folder=tmp_path)
        assert done.returncode == 3, done.stderr
        # A connection that is lost in the middle is no damage of the file, and the same command goes on.
        server.broken = "b/1.JSONL"
        lost = run_spark(*urls, "-o", "again", folder=tmp_path)
        assert lost.returncode == 1, lost.stderr
        assert f"{server.url}b/1.JSONL: cannot be read any more (" in lost.stderr
        assert not any((tmp_path / "again" / name).exists() for name in OUTPUTS)
        server.broken = ""
        assert run_spark(*urls, "-o", "again", folder=tmp_path).returncode == 3
    for name in ("kept", "dropped", "similar"):
        found, of_files = (
            [[str(row.get(column, "")) for column in ("text", "original", "source")] for row in rows(path)]
            for path in (tmp_path / "found" / name, tmp_path / "expected" / f"{name}.parquet")
        )
        sources = [[each.replace(server.url, f"{folder}/").replace("%20", " ") for each in row] for row in found]
        assert sorted(sources) == sorted(of_files), name
    assert rows(tmp_path / "again" / "clusters") == rows(tmp_path / "found" / "clusters")


def test_what_is_not_there_is_refused_before_spark_starts(folder: Path, tmp_path: Path) -> None:
    with serving(folder) as server:
        done = run_spark(f"{server.url}none.jsonl", "-o", "out", folder=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith(f"error: {server.url}none.jsonl: not there; check the name")


def test_a_job_writes_to_a_url(spark: Any, folder: Path, tmp_path: Path) -> None:
    # A file system with a scheme of its own that needs no server.
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    hadoop.set("fs.viewfs.mounttable.default.link./data", f"file://{tmp_path}")
    run(spark, f"file://{folder}", output="viewfs:///data/an output")
    written = tmp_path / "an output"
    assert sorted(path.name for path in written.iterdir()) == sorted(OUTPUTS)
    assert {row["key"] for row in rows(written / "kept")} >= {"first", "page 1.html"}
