"""The main figures of the documentation, one measurement after the other."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.processes import scratch_folder


@dataclass(frozen=True)
class Measurement:
    """One of the measurements.

    Attributes:
        arguments: the command line behind `python -m benchmarks`; sizes that take a few minutes at most.
        data: which folders it takes of the labelled data; none: it does without.
    """

    arguments: tuple[str, ...]
    data: Callable[[Path], list[Path]] | None = None


def run(*, data: Path | None = None, output: Path = Path("bench-all.json")) -> dict[str, Any]:
    """Run all of them, each in a process of its own.

    Args:
        data: a labelled set or a folder of them; without it what needs one is left out.
        output: where to write all figures, by the names of the benchmarks.

    Returns:
        The figures by name; it has failed if one of them has, which ends none of the others.

    Raises:
        ValueError: there is no labelled set in the folder.
    """
    return measure_all(MEASUREMENTS, measure, data, output)


def measure_all(
    measurements: Sequence[Measurement], measure_one: Callable[[list[str]], Any], data: Path | None, output: Path
) -> dict[str, Any]:
    """Do what `run` does with some measurements, of which each is made by a function.

    Args:
        measurements: which.
        measure_one: from the arguments of one to its figures, None where it failed.
        data: as for `run`.
        output: likewise.
    """
    if data is not None and not sets_in(data):
        raise ValueError(f"{data}: no labelled set (docs.jsonl, pairs.jsonl) in it")
    figures: dict[str, Any] = {}
    missing: list[str] = []
    for measurement in measurements:
        name = measurement.arguments[0]
        folders = _folders(measurement, data)
        if folders is None:
            wanted = "give DATA=DIR" if data is None else f"{data} has no set with pages (html/)"
            print(f"\n== {name}: left out, it needs labelled documents; {wanted}", flush=True)
            continue
        started = time.monotonic()
        arguments = [*measurement.arguments, *folders]
        print(f"\n== python -m benchmarks {' '.join(arguments)}", flush=True)
        found = measure_one(arguments)
        if found is None:
            missing.append(name)
            continue
        figures[name] = found
        # What is measured so far is not lost if it is stopped.
        output.write_text(json.dumps(figures, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"-- {time.monotonic() - started:.0f} s", flush=True)
    if missing:
        print(f"\nfailed: {', '.join(missing)}", file=sys.stderr)
    print(f"\nall figures are in {output}")
    return figures | {"failed": bool(missing)}


def measure(arguments: list[str]) -> Any:
    """Return the figures of a measurement; None where it failed."""
    with scratch_folder() as folder:
        path = folder / "figures.json"
        command = [sys.executable, "-m", "benchmarks", *arguments, "--json", str(path)]
        if subprocess.run(command, check=False).returncode != 0 or not path.exists():
            return None
        return json.loads(path.read_text(encoding="utf-8"))


def _folders(measurement: Measurement, data: Path | None) -> list[str] | None:
    """Return the arguments for labelled data; None where there is none for it."""
    if measurement.data is None:
        return []
    folders = [] if data is None else measurement.data(data)
    return ["--data", *map(str, folders)] if folders else None


def sets_in(data: Path) -> list[Path]:
    """Return the labelled sets that a folder is or holds."""
    return [data] if (data / "docs.jsonl").exists() else sorted(each.parent for each in data.glob("*/docs.jsonl"))


def largest_of_pages(data: Path) -> list[Path]:
    """Return the largest labelled set with HTML pages, if there is one."""
    sets = [each for each in sets_in(data) if (each / "html").is_dir()]
    return [max(sets, key=lambda each: (each / "docs.jsonl").stat().st_size)] if sets else []


MEASUREMENTS = (
    Measurement(("crawl",), largest_of_pages),
    Measurement(("quality",), sets_in),
    Measurement(("signatures",)),
    Measurement(("crowding",), sets_in),
    Measurement(("decisions", "--n", "1e4", "1e5"), largest_of_pages),
    Measurement(("files", "--n", "5e4", "--peer-n", "5e4")),
    Measurement(("frontier", "--n", "1e5")),
)
