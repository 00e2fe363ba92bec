"""`dedup lookups`: what each published way to look up fingerprints costs, and what it finds."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from html import escape
from math import log10
from pathlib import Path
from typing import Any

import numpy as np

from dedup.cli.warm_up import compile_first, say
from dedup.console import counted, print_answer
from dedup.errors import InputError
from dedup.evaluation import analyse_documents, read_set
from dedup.lookups import Fingerprints, lookups, measure, random_sample
from dedup.signature.schemes import default_scheme
from dedup.warming import SIGNATURES

_MOST = 20_000_000
_FARTHEST = 12
_LARGE = 2.0**34
_COLUMNS = (("tables", 6), ("probes", 7), ("candidates", 11), ("at random", 11), ("bytes", 9), ("ms", 8), ("recall", 6))
_LAST = ("at 2^34", 15)
_NOTES = """
probes      keys that a query asks for
candidates  stored fingerprints that share one; at random: as many as of random fingerprints; at 2^34: of so many
bytes, ms   for a stored fingerprint; for a query, numpy, one thread
recall      of what brute force finds"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "files", nargs="*", metavar="FILES", help="take their fingerprints: documents, or labelled sets"
    )
    parser.add_argument("--n", default="1e6", help=f"or so many random ones, to {_MOST:,}; default: 1e6")
    parser.add_argument("--radius", default="3", help=f"bits within which all is found, to {_FARTHEST}; default: 3")
    parser.add_argument("--queries", default="200", help="how many are asked at most; default: 200")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw candidates by tables, as SVG")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Measure all ways and print a table."""
    radius = whole("--radius", options.radius, 1, _FARTHEST)
    most = whole("--queries", options.queries, 1, 1_000_000)
    n = whole("--n", options.n, 1, _MOST)
    if options.files:
        stored = _fingerprints(options.files)
        queries, what = stored[:: max(1, len(stored) // most)][:most], "of these files, asked for one another"
    else:
        (stored, queries), what = random_sample(n, most, radius), "at random, asked for what is near one of them"
    rows: list[dict[str, Any]] = []
    truth: list[list[int]] = []
    for each in lookups(radius):
        try:
            found = measure(each, stored, queries, radius)
        except InputError as error:
            rows.append({"refused": str(error)})
            continue
        truth = truth or found.found
        wanted = sum(map(len, truth[: found.queries]))
        hits = sum(len(set(a) & set(b)) for a, b in zip(found.found, truth, strict=False))
        names = {"lookup": each.name, "tables": each.tables, "probes": each.asked_keys}
        measured = {"candidates": found.candidates, "at random": each.share * len(stored), "bytes": found.bytes}
        costs = {"ms": found.milliseconds, "recall": hits / wanted if wanted else 1.0, "at 2^34": each.share * _LARGE}
        rows.append({**names, **measured, **costs, "queries": found.queries})
    if options.plot:
        options.plot.write_text(_plot([row for row in rows if "lookup" in row]), encoding="utf-8")
    head = f"{counted(len(stored), 'fingerprint')} {what}; radius {radius}"
    answer = {"n": len(stored), "radius": radius, "lookups": rows}
    print_answer(answer, _table(head, rows), as_json=options.json)
    return 0


def _fingerprints(names: Sequence[str]) -> Fingerprints:
    compile_first("lookups", *SIGNATURES)
    scheme, rejected = default_scheme(), 0
    labelled = [read_set(Path(name)) for name in names if Path(name, "pairs.jsonl").is_file()]
    signatures = [each.signature for documents in analyse_documents(labelled, scheme) for each in documents.values()]
    found = [signature.fingerprint for signature in signatures]
    if files := [name for name in names if not Path(name, "pairs.jsonl").is_file()]:
        # Files of all kinds need packages that random fingerprints do not.
        from dedup.corpus.batches import sign  # noqa: PLC0415
        from dedup.corpus.reading.documents import CorpusDocument  # noqa: PLC0415
        from dedup.corpus.reading.portions import gather, read_documents  # noqa: PLC0415

        for items in gather(read_documents(files)):
            documents = [each for each in items if isinstance(each, CorpusDocument)]
            rejected += len(items) - len(documents)
            contents = [each.html or b"" if each.text is None else each.text for each in documents]
            found += sign(contents, scheme.spec, with_words=False).rows["fingerprint"].tolist()
    if rejected:
        say("lookups", f"{counted(rejected, 'record')} left out that `dedup files` would reject")
    if not found:
        raise InputError(f"{', '.join(names)}: no documents; give files that `dedup files` reads")
    return np.array(found, np.uint64)


def whole(name: str, text: str, least: int, most: int) -> int:
    """Read a whole number, written like 1000000 or 1e6."""
    try:
        number = float(text)
        if least <= number <= most and number.is_integer():
            return int(number)
    except ValueError:
        pass
    raise InputError(f"{name} {text!r}: give a whole number from {least:,} to {most:,}, such as {least} or 1e6")


def _table(head: str, rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield from (head, "")
    width = max(len(row.get("lookup", "")) for row in rows)
    yield f"{'look-up':{width}}" + "".join(f"{name:>{size + 1}}" for name, size in (*_COLUMNS, _LAST))
    for row in rows:
        if "refused" in row:
            yield row["refused"]
            continue
        cells = (f"{_number(row[name]):>{size + 1}}" for name, size in (*_COLUMNS, _LAST))
        yield f"{row['lookup']:{width}}" + "".join(cells)
    yield from _NOTES.split("\n")


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 99.5 or value == int(value) else f"{value:.2g}"


def _plot(rows: Sequence[dict[str, Any]]) -> str:
    """Draw two points for each way, what was measured and what random fingerprints take; both axes are logarithmic."""
    lowest = -6
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 560" font-family="sans-serif" font-size="12">']
    parts.append(
        '<rect width="760" height="560" fill="white"/><text x="60" y="20">candidates of a query, by tables</text>'
    )
    parts.append('<text x="60" y="36">filled: measured, hollow: of as many random fingerprints</text>')

    def height(value: float) -> int:
        return round(500 - 30 * (log10(max(value, 10.0**lowest)) - lowest))

    for power in range(lowest, 10):
        y = height(10.0**power)
        parts.append(f'<path d="M60 {y}H740" stroke="#ddd"/><text x="20" y="{y + 4}">1e{power}</text>')
    for row in rows:
        x, y, expected = round(70 + 320 * log10(row["tables"])), height(row["candidates"]), height(row["at random"])
        parts.append(f'<path d="M{x} {y}V{expected}" stroke="black"/><circle cx="{x}" cy="{y}" r="4"/>')
        parts.append(f'<circle cx="{x}" cy="{expected}" r="4" fill="white" stroke="black"/>')
        name = escape(row["lookup"])
        parts.append(f'<text x="{x + 6}" y="{y - 6}" transform="rotate(-35 {x} {y})">{name}</text>')
        parts.append(f'<text x="{x}" y="530" text-anchor="middle">{row["tables"]}</text>')
    return "\n".join([*parts, "</svg>", ""])
