"""`dedup lookups`: what each published way to look up fingerprints costs, and what it finds."""

from __future__ import annotations

import argparse
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from math import log10
from pathlib import Path
from typing import Any

import numpy as np

from dedup.cli.settings_options import add_json_argument
from dedup.compiled import require_compiled
from dedup.console import counted, print_answer, print_message
from dedup.errors import InputError
from dedup.lookups import Fingerprints, lookups, measure, random_sample
from dedup.signature.schemes import default_scheme

_MOST = 20_000_000
_FARTHEST = 12
_LARGE = 2.0**34
_NAMES = 27
_COLUMNS = (
    ("tables", "tables", 6),
    ("probes", "probes", 7),
    ("candidates", "candidates", 11),
    ("random", "if random", 11),
    ("bytes", "bytes", 7),
    ("ms", "ms", 8),
    ("recall", "recall", 6),
    ("random_of_2_34", "of 2^34", 15),
)
_NOTES = """
N choose R  permuted tables: R of N blocks of bits stand at the top of each; then: the rest is cut again
probes      keys that a query asks for
candidates  fingerprints that share a key and are not near, each as often as it shares one; if random: as many random
            fingerprints would give; of 2^34: so many random ones
bytes, ms   for each fingerprint; for each query, by numpy on one thread
recall      of what brute force finds"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "files", nargs="*", metavar="FILES", help="take their fingerprints: documents, or labelled sets"
    )
    parser.add_argument("--n", help=f"or so many random ones, to {_MOST:,}; default: 1e6")
    parser.add_argument("--radius", default="3", help=f"bits within which all is found, to {_FARTHEST}; default: 3")
    parser.add_argument("--queries", default="200", help="how many queries at most; default: 200")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw candidates by tables, as SVG")
    add_json_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Measure all ways and print a table, each row as it is measured."""
    radius = whole("--radius", options.radius, 1, _FARTHEST)
    most = whole("--queries", options.queries, 1, 1_000_000)
    if options.files and options.n is not None:
        raise InputError("--n is how many random fingerprints are taken: leave it or the files out")
    if options.plot and not (options.plot.parent.is_dir() and not options.plot.is_dir()):
        raise InputError(f"--plot {options.plot}: there is no such folder, or it is one; name a file")
    if options.files:
        stored = _fingerprints(options.files)
        queries, what = stored[:: max(1, len(stored) // most)][:most], "of documents, looked up by themselves"
    else:
        n = whole("--n", options.n or "1e6", 1, _MOST)
        (stored, queries), what = random_sample(n, most, radius), "at random, looked up by what is near one of them"
    rows: list[dict[str, Any]] = []
    measured = _measured(stored, queries, radius, rows)
    if options.json:
        deque(measured, 0)
    head = f"{counted(len(stored), 'fingerprint')} {what}; radius {radius}"
    answer = {"n": len(stored), "radius": radius, "lookups": rows}
    print_answer(answer, _table(head, measured), as_json=options.json)
    if options.plot:
        options.plot.write_text(_plot([row for row in rows if "refused" not in row]), encoding="utf-8")
    return 0


def _measured(
    stored: Fingerprints, queries: Fingerprints, radius: int, rows: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Measure one way after the other; add a row of each to the others, and yield it."""
    truth: list[list[int]] = []
    for each in lookups(radius):
        row: dict[str, Any] = {"lookup": each.name, "tables": each.tables, "probes": each.asked_keys}
        row |= {"random": each.share * len(stored), "random_of_2_34": each.share * _LARGE}
        try:
            found = measure(each, stored, queries, radius)
        except InputError as error:
            row["refused"] = str(error)
        else:
            truth = truth or found.found
            wanted = sum(map(len, truth[: found.queries]))
            hits = sum(len(set(a) & set(b)) for a, b in zip(found.found, truth, strict=False))
            row |= {"candidates": found.candidates, "bytes": found.bytes, "ms": found.milliseconds}
            row |= {"recall": hits / wanted if wanted else 1.0, "queries": found.queries}
        rows.append(row)
        yield row


def _fingerprints(names: Sequence[str]) -> Fingerprints:
    # Its imports take a third of a second, and neither random fingerprints nor `dedup simhash` need them.
    from dedup.evaluation import analyse_documents, read_set  # noqa: PLC0415

    require_compiled()
    scheme, rejected = default_scheme(), 0
    labelled = [read_set(Path(name)) for name in names if Path(name, "pairs.jsonl").is_file()]
    signatures = [each.signature for documents in analyse_documents(labelled, scheme) for each in documents.values()]
    found = [signature.fingerprint for signature in signatures]
    if files := [name for name in names if not Path(name, "pairs.jsonl").is_file()]:
        # Files of all kinds need packages that random fingerprints do not.
        from dedup.corpus.signing import sign  # noqa: PLC0415
        from dedup.readers.documents import CorpusDocument  # noqa: PLC0415
        from dedup.readers.portions import gather, read_documents  # noqa: PLC0415

        for items in gather(read_documents(files)):
            documents = [each for each in items if isinstance(each, CorpusDocument)]
            rejected += len(items) - len(documents)
            contents = [each.html or b"" if each.text is None else each.text for each in documents]
            found += sign(contents, scheme.spec, with_words=False).rows["fingerprint"].tolist()
    if rejected:
        print_message("lookups", f"{counted(rejected, 'record')} left out that `dedup files` would reject")
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
    raise InputError(f"{name} {text!r}: give a whole number from {least:,} to {most:,}")


def _table(head: str, rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    yield from (head, "")
    yield f"{'look-up':{_NAMES}}" + "".join(f"{heading:>{size + 1}}" for _, heading, size in _COLUMNS)
    for row in rows:
        if "refused" in row:
            yield row["refused"]
            continue
        cells = (f"{_number(row[name]):>{size + 1}}" for name, _, size in _COLUMNS)
        yield f"{row['lookup']:{_NAMES}}" + "".join(cells)
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
        x, y, expected = round(70 + 320 * log10(row["tables"])), height(row["candidates"]), height(row["random"])
        parts.append(f'<path d="M{x} {y}V{expected}" stroke="black"/><circle cx="{x}" cy="{y}" r="4"/>')
        parts.append(f'<circle cx="{x}" cy="{expected}" r="4" fill="white" stroke="black"/>')
        turned = f'transform="rotate(-35 {x} {min(y, expected)})"'
        parts.append(f'<text x="{x + 6}" y="{min(y, expected) - 6}" {turned}>{escape(row["lookup"])}</text>')
        parts.append(f'<text x="{x}" y="530" text-anchor="middle">{row["tables"]}</text>')
    return "\n".join([*parts, '<text x="400" y="552">tables</text></svg>', ""])
