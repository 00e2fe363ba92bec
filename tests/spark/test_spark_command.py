"""`dedup spark`: files of all formats in, Parquet out, and what a user is told."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.commands import run_dedup
from tests.corpus.test_files_verdicts import corpus
from tests.texts import ENGLISH, document
from tests.waiting import HANG

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

OUTPUTS = ("kept", "dropped", "similar", "clusters", "rejected")


def run_spark(*arguments: str, folder: Path, **set_: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own: a session of Spark ends with it."""
    return subprocess.run(
        command(*arguments),
        cwd=folder,
        env=environment() | set_,
        capture_output=True,
        text=True,
        timeout=HANG * 4,
        check=False,
    )


def command(*arguments: str) -> list[str]:
    conf = ("spark.master=local[2]", "spark.sql.shuffle.partitions=4", "spark.ui.enabled=false")
    conf += ("spark.driver.bindAddress=127.0.0.1", "spark.driver.host=127.0.0.1", "spark.driver.memory=1g")
    # Most of the time would go into compiling what runs once.
    conf += ("spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",)
    given = [part for each in conf for part in ("--conf", each)]
    return [sys.executable, "-m", "dedup", "spark", *arguments, *given]


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"}


def rows(path: Path) -> list[dict[str, Any]]:
    from pyarrow.parquet import read_table

    return read_table(path).to_pylist()


def test_files_of_all_formats_are_decided_as_by_dedup_files(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow.parquet import write_table

    inputs = tmp_path / "in"
    inputs.mkdir()
    lines = [
        json.dumps({"text": each} if isinstance(each, str) else {"html": each.decode()})
        for each in corpus("command", 80)
    ]
    (inputs / "1.jsonl").write_text("\n".join([*lines[:50], "{broken"]) + "\n", encoding="utf-8")
    (inputs / "2.jsonl.gz").write_bytes(gzip.compress("\n".join(lines[40:]).encode()))
    write_table(pa.table({"id": ["a", "b"], "text": [ENGLISH, document(90)]}), inputs / "3.parquet")
    (inputs / "4.txt").write_text(ENGLISH.upper(), encoding="utf-8")
    done = run_spark("in", "-o", "out", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    expected = run_dedup("files", "in", "-o", "expected", "--format", "parquet", folder=tmp_path)
    assert expected.returncode == 0, expected.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(OUTPUTS)
    for name in ("dropped", "similar"):
        found = sorted(rows(tmp_path / "out" / name), key=lambda row: row["id"])
        assert [{k: v for k, v in row.items() if k != "id"} for row in found] == rows(
            tmp_path / "expected" / f"{name}.parquet"
        )
    kept = sorted(rows(tmp_path / "out" / "kept"), key=lambda row: row["id"])
    columns = ("key", "text", "source", "record")
    assert [[row[name] for name in columns] for row in kept] == [
        [row[name] for name in columns] for row in rows(tmp_path / "expected" / "kept.parquet")
    ]
    [rejected] = rows(tmp_path / "out" / "rejected")
    assert rejected["source"] == "in/1.jsonl:51"
    assert f"kept        {len(kept)} documents" in done.stdout
    again = run_spark("in", "-o", "out", folder=tmp_path)
    assert again.returncode == 2
    assert again.stderr.startswith("error: out/kept: is there already")


def test_an_index_grows_from_job_to_job(tmp_path: Path) -> None:
    texts = [each for each in corpus("grows", 80) if isinstance(each, str)]
    for name, some in (("1", texts[:40]), ("2", texts[40:])):
        lines = [json.dumps({"id": f"{name}-{number}", "text": text}) for number, text in enumerate(some)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for arguments in (("1.jsonl", "--save-index", "known"), ("2.jsonl", "--against", "known", "--save-index", "known")):
        done = run_spark(*arguments, "-o", f"out-{arguments[0][0]}", folder=tmp_path)
        assert done.returncode == 0, done.stderr
    run_dedup("files", "1.jsonl", "-o", "expected-1", "--save-index", "index", folder=tmp_path)
    expected = run_dedup(
        "files", "2.jsonl", "-o", "expected-2", "--against", "index", "--format", "parquet", folder=tmp_path
    )
    assert expected.returncode == 0, expected.stderr
    found = sorted(rows(tmp_path / "out-2" / "dropped"), key=lambda row: row["id"])
    dropped = rows(tmp_path / "expected-2" / "dropped.parquet")
    assert [{k: v for k, v in row.items() if k != "id"} for row in found] == dropped
    assert any(row["original"].startswith("1-") for row in found)
    again = run_spark("1.jsonl", "-o", "out", "--save-index", "known", folder=tmp_path)
    assert again.returncode == 2
    assert "known: is there already; remove it, or give it as --against" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing.jsonl",), "nothing.jsonl: cannot be read"),
        (("in.jsonl", "--mode", "paper"), "mode paper"),
        (("in.jsonl", "--conf", "spark.master"), "--conf spark.master: write NAME=VALUE"),
        (("in.jsonl", "--text-field", "content"), "no document could be read, and nothing is written"),
    ],
)
def test_what_cannot_be_done_is_one_line(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n', encoding="utf-8")
    done = run_spark(*arguments, "-o", "out", folder=tmp_path)
    assert done.returncode == 2
    [error] = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert message in error
    assert not (tmp_path / "out").exists()
