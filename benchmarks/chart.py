"""The figures of all measurements as one picture: ratios of one run, so that the machine plays no part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

_FASTER, _SLOWER = "#1b6ca8", "#c8553d"
_COLOURS = ("#1b6ca8", "#c8553d", "#588157", "#8e6c8a", "#b58900", "#555555")
_MARKS = "osD^vP"


def run(*, figures: Path = Path("bench-all.json"), output: Path = Path("docs/benchmarks")) -> None:
    """Draw what `python -m benchmarks all` measured.

    Args:
        figures: the JSON that it wrote.
        output: the name of the pictures, without `.svg` and `.png`.

    Raises:
        ValueError: the figures are not those of all measurements that are drawn.
    """
    measured = json.loads(figures.read_text(encoding="utf-8"))
    if missing := {"signatures", "decisions"} - set(measured):
        raise ValueError(f"{figures}: no figures of {', '.join(sorted(missing))}; run make bench DATA=DIR")
    mpl.rcParams.update(
        {
            "svg.hashsalt": "benchmarks",
            "svg.fonttype": "none",
            "font.size": 9,
            "axes.titlesize": 10,
            "axes.titleweight": "bold",
        }
    )
    figure = Figure(figsize=(11, 8), layout="constrained")
    axes = figure.subplot_mosaic([["signatures", "time"], ["signatures", "rows"]])
    _signatures(axes["signatures"], measured["signatures"])
    _time(axes["time"], measured["decisions"]["rows"])
    _rows(axes["rows"], measured["decisions"]["rows"])
    # Without the date, so that the same figures give the same file.
    figure.savefig(output.with_suffix(".svg"), metadata={"Date": None})
    figure.savefig(output.with_suffix(".png"), dpi=95)
    print(f"written {output.with_suffix('.svg')}, {output.with_suffix('.png')}")


def _signatures(axes: Axes, figures: dict[str, Any]) -> None:
    bars = [
        (f"{language}: {name}", each["ratios"][ours])
        for language, ours in (("english", "dedup words"), ("chinese", "dedup words"))
        for name, each in figures[language].items()
        if not name.startswith("dedup")
    ]
    bars.reverse()
    # From 1 on: on a logarithmic axis a bar has no other beginning.
    colours = [_FASTER if ratio >= 1 else _SLOWER for _, ratio in bars]
    axes.set_xscale("log")
    drawn = axes.barh([name for name, _ in bars], [ratio - 1 for _, ratio in bars], left=1, color=colours, height=0.65)
    axes.bar_label(drawn, [_short(ratio) for _, ratio in bars], padding=3, fontsize=8)
    axes.margins(x=0.25)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_title("Signatures by words, one core")
    axes.set_xlabel("rate of this library / rate of the other (log)")


def _time(axes: Axes, rows: list[dict[str, Any]]) -> None:
    for number, database in enumerate(dict.fromkeys(row["database"] for row in rows)):
        of_one = [row for row in rows if row["database"] == database]
        spent = [row["new"]["ms"] + row["new"]["server_ms"] for row in of_one]
        points = [(row["documents"], each / spent[0]) for row, each in zip(of_one, spent, strict=True)]
        _line(axes, points, database, number)
    # What does not grow is one line at 1.
    axes.set_yscale("linear")
    axes.set_ylim(bottom=0)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_title("A stored decision, by one among the fewest")
    axes.set_xlabel("stored documents (log)")
    axes.set_ylabel("CPU, the server's included")
    _make_room(axes)


def _rows(axes: Axes, rows: list[dict[str, Any]]) -> None:
    # Both databases read the same.
    of_one = [row for row in rows if row["database"] == rows[0]["database"]]
    for number, name in enumerate(("rows", "candidates")):
        _line(axes, [(row["documents"], row[name]) for row in of_one], name, number)
    axes.set_title("A look-up: what is read, and what it brings")
    axes.set_xlabel("stored documents (log)")
    axes.set_ylabel("number (log)")
    _make_room(axes)


def _make_room(axes: Axes) -> None:
    """Let the names at the ends of the lines fit in."""
    first, last = axes.get_xlim()
    axes.set_xlim(first, last * (last / first) ** 0.75)


def _line(axes: Axes, points: list[tuple[int, float]], label: str, number: int) -> None:
    axes.loglog(
        [n for n, _ in points],
        [ratio for _, ratio in points],
        color=_COLOURS[number % len(_COLOURS)],
        marker=_MARKS[number % len(_MARKS)],
        markersize=4,
        linewidth=1.4,
    )
    n, ratio = points[-1]
    axes.annotate(
        f"{label}  {_short(ratio)}",
        (n, ratio),
        xytext=(7, -3),
        textcoords="offset points",
        fontsize=8,
        color=_COLOURS[number % len(_COLOURS)],
    )
    axes.grid(visible=True, which="major", color="#dddddd", linewidth=0.6)


def _short(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}" if ratio >= 1 else f"{ratio:.2f}".lstrip("0")
