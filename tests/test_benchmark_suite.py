from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import suite
from benchmarks.suite import Measurement


def measured(monkeypatch: pytest.MonkeyPatch, figures: dict[str, Any]) -> list[list[str]]:
    """Let each measurement end at once with its figures; those without any fail."""
    asked: list[list[str]] = []

    def measure(arguments: list[str]) -> Any:
        asked.append(arguments)
        return figures.get(arguments[0])

    monkeypatch.setattr(suite, "_measure", measure)
    monkeypatch.setattr(
        suite,
        "_MEASUREMENTS",
        (
            Measurement("of pages", ("crawl",), lambda each: iter([("ratio", str(each))]), suite._largest_of_pages),
            Measurement("of sets", ("quality",), lambda each: iter([("ratio", str(each))]), suite._sets_in),
            Measurement("of nothing", ("index", "--n", "1e5"), lambda each: iter([("ratio", str(each))])),
        ),
    )
    return asked


def labelled(folder: Path) -> Path:
    for name in ("small", "large"):
        (folder / name / "html").mkdir(parents=True)
        (folder / name / "docs.jsonl").write_text("{}\n" * len(name), encoding="utf-8")
    (folder / "largest").mkdir()
    (folder / "largest" / "docs.jsonl").write_text("{}\n" * 99, encoding="utf-8")
    return folder


def test_without_data_the_rest_is_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = measured(monkeypatch, {"index": 3})
    assert suite.run(data=None, json_file=tmp_path / "all.json") == 0
    assert asked == [["index", "--n", "1e5"]]
    assert json.loads((tmp_path / "all.json").read_text(encoding="utf-8")) == {"of nothing": 3}
    shown = capsys.readouterr().out
    assert "of pages: left out, it needs labelled documents; give DATA=DIR" in shown
    assert "of nothing  ratio             3" in shown


def test_each_gets_the_data_that_it_takes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    data = labelled(tmp_path / "data")
    asked = measured(monkeypatch, {"crawl": 1, "quality": 2, "index": 3})
    assert suite.run(data=data, json_file=tmp_path / "all.json") == 0
    sets = [str(data / name) for name in ("large", "largest", "small")]
    assert asked[:2] == [["crawl", "--data", sets[0]], ["quality", "--data", *sets]]


def test_one_that_fails_ends_no_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured(monkeypatch, {"crawl": 1, "index": 3})
    assert suite.run(data=labelled(tmp_path / "data"), json_file=tmp_path / "all.json") == 1
    assert set(json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))) == {"of pages", "of nothing"}
    assert "failed: of sets" in capsys.readouterr().err


def test_a_folder_without_a_set_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks", "all", "--data", str(tmp_path), "--json", str(tmp_path / "a.json")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (result.returncode, result.stderr) == (
        2,
        f"error: {tmp_path}: no labelled set (docs.jsonl, pairs.jsonl) in it\n",
    )
