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
_INDEX = "index of "


def run(*, figures: Path = Path("bench-all.json"), output: Path = Path("docs/benchmarks")) -> None:
    """Draw what `python -m benchmarks all` measured.

    Args:
        figures: the JSON that it wrote.
        output: the name of the pictures, without `.svg` and `.png`.

    Raises:
        ValueError: the figures are not those of all measurements that are drawn.
    """
    measured = json.loads(figures.read_text(encoding="utf-8"))
    sizes = sorted((measured[title] for title in measured if title.startswith(_INDEX)), key=lambda each: int(each["n"]))
    missing = {"signatures", "costs"} - set(measured)
    if missing or not sizes:
        raise ValueError(f"{figures}: no figures of {', '.join(missing or {'index'})}; run make bench")
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
    axes = figure.subplots(2, 2)
    _signatures(axes[0][0], measured["signatures"])
    _rates(axes[0][1], sizes, "single", "Look-ups one by one, radius 3")
    _rates(axes[1][0], sizes, "batch", "Look-ups in batches, radius 3")
    _costs(axes[1][1], measured["costs"])
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


def _rates(axes: Axes, sizes: list[dict[str, Any]], kind: str, title: str) -> None:
    peers = list(dict.fromkeys(name for each in sizes for name in each["rates"][kind] if not name.startswith("dedup")))
    for number, peer in enumerate(peers):
        points = [(each["n"], each["rates"][kind][peer]["ours_by_it"]) for each in sizes if peer in each["rates"][kind]]
        _line(axes, points, peer, number)
    if kind == "batch":
        _line(axes, [(each["n"], each["batch_by_scan"]) for each in sizes], "comparing with all", len(peers))
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_title(title)
    axes.set_xlabel("fingerprints (log)")
    axes.set_ylabel("rate of MemoryIndex / rate of the other (log)")
    _make_room(axes)


def _costs(axes: Axes, figures: dict[str, Any]) -> None:
    rows = figures["by_number"]
    _line(axes, [(row["n"], row["reads_a_single"]) for row in rows], "one by one, in\nreads in a chain", 0)
    _line(axes, [(row["n"], row["reads_in_a_batch"]) for row in rows], "in batches, in\nindependent reads", 1)
    axes.set_title("A look-up in random reads of as much memory")
    axes.set_xlabel("fingerprints (log)")
    axes.set_ylabel("time of a look-up / time of a random read (log)")
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
