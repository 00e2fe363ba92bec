from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import kill
from benchmarks.__main__ import parser_of
from benchmarks.suite import Measurement, largest_of_pages, measure_all, sets_in
from tests.waiting import HANG

MEASUREMENTS = (
    Measurement(("crawl",), largest_of_pages),
    Measurement(("quality",), sets_in),
    Measurement(("frontier", "--n", "1e5")),
)


class Measuring:
    """Lets each measurement end at once with its figures; those without any fail."""

    def __init__(self, **figures: Any) -> None:
        self.asked: list[list[str]] = []
        self._figures = figures

    def __call__(self, arguments: list[str]) -> Any:
        self.asked.append(arguments)
        return self._figures.get(arguments[0])


def labelled(folder: Path) -> Path:
    for name in ("small", "large"):
        (folder / name / "html").mkdir(parents=True)
        (folder / name / "docs.jsonl").write_text("{}\n" * len(name), encoding="utf-8")
    (folder / "largest").mkdir()
    (folder / "largest" / "docs.jsonl").write_text("{}\n" * 99, encoding="utf-8")
    return folder


def test_without_data_the_rest_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measuring = Measuring(frontier=3)
    assert measure_all(MEASUREMENTS, measuring, None, tmp_path / "all.json") == {"frontier": 3, "failed": False}
    assert measuring.asked == [["frontier", "--n", "1e5"]]
    assert json.loads((tmp_path / "all.json").read_text(encoding="utf-8")) == {"frontier": 3}
    assert "crawl: left out, it needs labelled documents; give DATA=DIR" in capsys.readouterr().out


def test_each_gets_the_data_that_it_takes(tmp_path: Path) -> None:
    data = labelled(tmp_path / "data")
    measuring = Measuring(crawl=1, quality=2, frontier=3)
    assert not measure_all(MEASUREMENTS, measuring, data, tmp_path / "all.json")["failed"]
    sets = [str(data / name) for name in ("large", "largest", "small")]
    assert measuring.asked[:2] == [["crawl", "--data", sets[0]], ["quality", "--data", *sets]]


def test_one_that_fails_ends_no_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measuring = Measuring(crawl=1, frontier=3)
    assert measure_all(MEASUREMENTS, measuring, labelled(tmp_path / "data"), tmp_path / "all.json")["failed"]
    assert set(json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))) == {"crawl", "frontier"}
    assert "failed: quality" in capsys.readouterr().err


@pytest.mark.slow
def test_a_folder_without_a_set_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks", "all", "--data", str(tmp_path), "--output", str(tmp_path / "a.json")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=HANG, check=False)
    assert (result.returncode, result.stderr) == (
        2,
        f"error: {tmp_path}: no labelled set (docs.jsonl, pairs.jsonl) in it\n",
    )


def test_arguments_of_a_benchmark_are_those_of_its_function() -> None:
    parser = parser_of("kill", kill.run)
    given = vars(parser.parse_args(["--pages", "1e3", "--databases", "a", "b"]))
    assert (given["pages"], given["databases"], given["json"]) == (1000, ["a", "b"], None)
    assert given["kills"] == 20
    assert "how often the second crawl is killed" in parser.format_help()
