"""What a user is told where Spark cannot work: one line that names the way out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.test_spark_command import run_spark
from tests.texts import ENGLISH

pytest.importorskip("pyspark", reason="Spark is not installed: pip install 'scrapy-neardup[spark]'")

from dedup.spark.session import java_is_to_blame, reason_of


def test_java_of_another_version_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("""#!/bin/sh
echo 'openjdk version "11.0.2" 2019-01-15' >&2
[ "$1" = -version ]
""")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    told = f"{java}: is Java 11, and Spark needs 17 or 21; install a JRE of Java 17 or 21, or have JAVA_HOME name one"
    assert java_is_to_blame() == told
    (tmp_path / "in.jsonl").write_text(json.dumps({"text": ENGLISH}), encoding="utf-8")
    done = run_spark("in.jsonl", "-o", "out", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == f"error: {told}"
    java.unlink()
    assert (java_is_to_blame() or "").startswith(f"{java}: No such file")


def test_python_of_executors_without_packages_is_named(tmp_path: Path) -> None:
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(python.parent.parent)], check=True)
    (tmp_path / "in.jsonl").write_text(json.dumps({"text": ENGLISH}), encoding="utf-8")
    done = run_spark("in.jsonl", "-o", "out", folder=tmp_path, PYSPARK_PYTHON=str(python))
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("error: Spark: No module named ")
    assert "in the Python that PYSPARK_PYTHON names" in last
    assert last.endswith("rerun the same command to resume, or pass --force to start over")


@pytest.mark.parametrize(
    ("told", "way_out"),
    [
        ("Job aborted: java.lang.OutOfMemoryError: Java heap space\n\tat x", "spark.driver.memory"),
        ("Caused by: java.io.IOException: No space left on device\n", "spark.local.dir"),
        (
            "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.11 than that in driver: 3.12.",
            "Set PYSPARK_PYTHON to a Python of the same version",
        ),
        ("org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)", "want of memory"),
        ("An exception was thrown:\nTraceback (most recent call last):\n  File x\nMemoryError\n", "--max-bytes"),
        ('java.io.IOException: Cannot run program "python9": error=2', "cannot run python9; "),
    ],
)
def test_the_way_out_is_named(told: str, way_out: str) -> None:
    reason = reason_of(ValueError(told))
    assert way_out in reason
    assert "\n" not in reason


def test_other_errors_are_told_by_their_line() -> None:
    assert reason_of(ValueError("first\n  at x")) == "first"
    trace = "An exception was thrown:\nTraceback (most recent call last):\n  File x\nValueError: why\n"
    assert reason_of(ValueError(trace)) == "ValueError: why"
    assert "Java process has ended" in reason_of(ConnectionRefusedError())
