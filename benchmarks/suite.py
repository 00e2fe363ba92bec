"""Everything that the README names a figure of, one measurement after the other."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.processes import scratch_folder

Row = tuple[str, str]


@dataclass(frozen=True)
class Measurement:
    """One of the measurements.

    Attributes:
        title: what it is called in the results.
        arguments: the command line behind `python -m benchmarks`; sizes that take a few minutes at most.
        rows: from its figures to what is shown of them in the end.
        data: which folders it takes of the labelled data; none: it does without.
    """

    title: str
    arguments: tuple[str, ...]
    rows: Callable[[Any], Iterator[Row]]
    data: Callable[[Path], list[Path]] | None = None


def run(*, data: Path | None = None, output: Path = Path("bench-all.json")) -> dict[str, Any]:
    """Run all of them, each in a process of its own, and print their ratios side by side.

    Args:
        data: a labelled set or a folder of them; without it what needs one is left out.
        output: where to write all figures, by title.

    Returns:
        The figures by title; it has failed if one of them has, which ends none of the others.

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
        folders = _folders(measurement, data)
        if folders is None:
            wanted = "give DATA=DIR" if data is None else f"{data} has no set with pages (html/)"
            print(f"\n== {measurement.title}: left out, it needs labelled documents; {wanted}", flush=True)
            continue
        started = time.monotonic()
        arguments = [*measurement.arguments, *folders]
        print(f"\n== {measurement.title}: python -m benchmarks {' '.join(arguments)}", flush=True)
        found = measure_one(arguments)
        if found is None:
            missing.append(measurement.title)
            continue
        figures[measurement.title] = found
        # What is measured so far is not lost if it is stopped.
        output.write_text(json.dumps(figures, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"-- {time.monotonic() - started:.0f} s", flush=True)
    print(f"\n{_table(measurements, figures)}")
    if missing:
        print(f"\nfailed: {', '.join(missing)}", file=sys.stderr)
    print(f"\nall figures are in {output}; python -m benchmarks chart draws them")
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


def _table(measurements: Sequence[Measurement], figures: dict[str, Any]) -> str:
    rows = [
        (measurement.title, what, value)
        for measurement in measurements
        if measurement.title in figures
        for what, value in measurement.rows(figures[measurement.title])
    ]
    if not rows:
        return "nothing was measured"
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    return "\n".join(f"{title:{widths[0]}}  {what:{widths[1]}}  {value:>12}" for title, what, value in rows)


def _crawl(figures: Any) -> Iterator[Row]:
    yield "CPU by the unavoidable parts", f"{figures['cpu_ratio_to_unavoidable']:.2f}"


def _quality(figures: Any) -> Iterator[Row]:
    for each in figures:
        yield f"F1 of {each['method']}", f"{each['all']['f1']:.3f}"


def _signatures(figures: Any) -> Iterator[Row]:
    for language, ours in (("english", "dedup words"), ("chinese", "dedup words"), ("chinese", "dedup pairs")):
        for name, each in figures[language].items():
            if not name.startswith("dedup"):
                yield f"{language}, {ours.removeprefix('dedup ')}, by {name}", f"{each['ratios'][ours]:.2f}"


def _crowding(figures: Any) -> Iterator[Row]:
    for each in figures:
        for name, row in each["schemes"].items():
            yield f"{each['set']}, {name}: 16 bits shared, by chance", f"{row['crowding']['16']:.1f}"


def _decisions(figures: Any) -> Iterator[Row]:
    for kind in dict.fromkeys(row["database"] for row in figures["rows"]):
        few, *_, many = (row for row in figures["rows"] if row["database"] == kind)
        yield (
            f"{kind}: CPU of a decision among {many['documents']:,} by {few['documents']:,}",
            f"{many['new']['ms'] / few['new']['ms']:.1f}",
        )
        yield f"{kind}: least share of copies found of an edit", f"{min(many['recall'].values()):.3f}"


def _files(figures: Any) -> Iterator[Row]:
    yield "documents a second by datasketch", f"{figures['ratio']:.1f}"
    yield "datasketch's CPU by this library's", f"{figures['cpu_ratio']:.1f}"


def _frontier(figures: Any) -> Iterator[Row]:
    own, *others = figures.values()
    for name, other in zip(list(figures)[1:], others, strict=True):
        yield f"memory by {name}", f"{own['memory_mb'] / other['memory_mb']:.2f}"


def _kills(figures: Any) -> Iterator[Row]:
    yield "a killed crawl beside one left alone", f"{len(figures['differences'])} differ"


MEASUREMENTS = (
    Measurement("crawl", ("crawl",), _crawl, largest_of_pages),
    Measurement("quality", ("quality",), _quality, sets_in),
    Measurement("signatures", ("signatures",), _signatures),
    Measurement("crowding", ("crowding",), _crowding, sets_in),
    Measurement("decisions", ("decisions", "--n", "1e4", "1e5"), _decisions, largest_of_pages),
    Measurement("files", ("files", "--n", "5e4", "--peer-n", "5e4"), _files),
    Measurement("frontier", ("frontier", "--n", "1e5"), _frontier),
    Measurement("kills", ("kill", "--pages", "300", "--kills", "5"), _kills),
)
