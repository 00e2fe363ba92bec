"""`dedup files --on spark`: files of all formats in, Parquet out, and what a user is told."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.commands import run_dedup
from tests.corpus.test_files_verdicts import corpus
from tests.report.renderings import data_in
from tests.spark.properties import PROPERTIES
from tests.texts import ENGLISH, document
from tests.waiting import HANG

UNTOLD = {"seconds", "known"}
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
    properties = {**PROPERTIES, "spark.master": "local[2]", "spark.driver.memory": "1g"}
    given = [part for name, value in properties.items() for part in ("--conf", f"{name}={value}")]
    return [sys.executable, "-m", "dedup", "files", "--on", "spark", *arguments, *given]


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
    done = run_spark("in", "-o", "out", "--report", "spark.html", "--json", "--cluster-fields", folder=tmp_path)
    assert done.returncode == 3, done.stderr
    told = [line.removeprefix("dedup files: ") for line in done.stderr.splitlines() if line.startswith("dedup files: ")]
    steps = [re.sub(r": [\d.,]+ s$", "", line) for line in told]
    rounds = [step for step in steps if "round" in step or step.startswith("writing joined")]
    assert rounds[0] == "following chains of candidates, round 1"
    assert [step for step in steps if step not in rounds] == [
        "starting Spark",
        "reading documents",
        "finding equal texts",
        "finding documents that share keys",
        "ranking candidates",
        "finding known documents to compare",
        "gathering what candidates connect",
        "comparing candidates word by word",
        "placing copies of equal texts",
        *(f"writing {name}" for name in OUTPUTS),
        "counting",
        "writing the report",
        "1 rejected: out/rejected lists which and why; --allow-rejects ends with status 0",
    ]
    report = ("--report", "files.html", "--json", "--allow-rejects", "--cluster-fields")
    expected = run_dedup("files", "in", "-o", "expected", "--format", "parquet", *report, folder=tmp_path)
    assert expected.returncode == 0, expected.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(OUTPUTS)
    for name in ("dropped", "similar"):
        found = sorted(rows(tmp_path / "out" / name), key=lambda row: row["id"])
        assert [{k: v for k, v in row.items() if k != "id"} for row in found] == rows(
            tmp_path / "expected" / f"{name}.parquet"
        )
    kept = sorted(rows(tmp_path / "out" / "kept"), key=lambda row: row["id"])
    assert [{k: v for k, v in row.items() if k != "id"} for row in kept] == rows(tmp_path / "expected" / "kept.parquet")
    [rejected] = rows(tmp_path / "out" / "rejected")
    assert rejected["source"] == "in/1.jsonl:51"
    summary, of_files = (
        {k: v for k, v in json.loads(each.stdout).items() if k not in UNTOLD} for each in (done, expected)
    )
    assert {name: summary[name] for name in of_files} == of_files
    spark_page, files_page = (data_in(tmp_path / f"{name}.html") for name in ("spark", "files"))
    for name in ("counts", "rows", "rows_cut", "texts"):
        assert spark_page[name] == files_page[name]
    assert files_page["differences"] == spark_page["differences"]
    again = run_spark("in", "-o", "out", folder=tmp_path)
    assert again.returncode == 2
    assert again.stderr.startswith("error: out/kept: already exists")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing.jsonl",), "nothing.jsonl: cannot be read"),
        (("in.jsonl", "--conf", "spark.master"), "--conf spark.master: write NAME=VALUE"),
        (("in.jsonl", "--max-dropped", "5"), "--max-dropped 5: expected a share from 0 to 1"),
        (("in.jsonl", "--pairs", "out/kept/"), "two outputs are the same file"),
        (("in.jsonl", "--pairs", "in.jsonl"), "in.jsonl: is one of the inputs"),
    ],
)
def test_what_cannot_be_done_is_one_line(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n', encoding="utf-8")
    done = run_spark(*arguments, "-o", "out", folder=tmp_path)
    assert done.returncode == 2
    [error] = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert message in error
    assert not (tmp_path / "out").exists()
