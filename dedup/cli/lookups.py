"""`dedup lookups`: the trade-off of all look-ups, measured."""

from __future__ import annotations

import argparse
import json
import math
import textwrap
from collections.abc import Callable, Sequence

from dedup.errors import InputError, SettingsError
from dedup.index.design import TableDesign
from dedup.published.lookups import (
    BitLists,
    BruteForce,
    Fingerprints,
    InvertedBlocks,
    Lookup,
    PermutedTables,
    QueryVariants,
    StoredVariants,
)
from dedup.published.measuring import STRANGERS, Measured, make_sample, measure

_MOST = 20_000_000
_FARTHEST = 12
_QUERIES = 5000
_WIDTHS = (21, 6, 7, 10, 7, 9)
_HEADINGS = ("look-up", "tables", "probes", "candidates", "bytes", "queries/s")
_RECALL_WIDTH = 4
_BEYOND = (1, 3, 7, 13)
"""How far beyond the exact radius the recall is shown."""
_COLUMNS = 100
_NOTES = """\
tables       sorted copies or inverted lists, in memory; numpy, one thread
probes       a query; candidates, too: of random queries without neighbours
bytes        for a stored fingerprint
recall       of neighbours planted at so many bits
flips        of prefix bits, all that finding everything takes"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("--n", default="1e6", help=f"how many fingerprints are stored, to {_MOST:,}; default: 1e6")
    parser.add_argument(
        "--queries",
        help=f"how many queries with neighbours, and {STRANGERS} times as many without, are asked at most; default: "
        f"{_QUERIES:,}, or fewer so that the neighbours are at most half of what is stored",
    )
    parser.add_argument(
        "--distance", default="3", help=f"bits within which everything must be found, to {_FARTHEST}; default: 3"
    )
    parser.add_argument("--seed", default="1", help="of the random numbers; default: 1")
    parser.add_argument("--json", action="store_true", help="print JSON, with the recall at every distance")


def run(options: argparse.Namespace) -> int:
    """Measure all look-ups and print the table."""
    distance = _whole("--distance", options.distance, 1, _FARTHEST)
    seed = _whole("--seed", options.seed, 0, 2**63 - 1)
    reach = distance + _BEYOND[-1]
    n = _whole("--n", options.n, 2 * (reach + 1), _MOST)
    at_most = min(_QUERIES, n // (2 * (reach + 1)))
    queries = at_most if options.queries is None else _whole("--queries", options.queries, 1, n)
    sample = make_sample(n, queries, reach, seed)
    groups = [slice(distance + 1), *(slice(distance + each, distance + each + 1) for each in _BEYOND)]
    measured: dict[str, Measured] = {}
    refused: dict[str, str] = {}
    if not options.json:
        print(f"{n:,} fingerprints: all within {distance} bits are found, and what the probes bring up to {reach}\n")
        print(_line(_HEADINGS, [f"0-{distance}", *(str(distance + each) for each in _BEYOND)]))
    for name, make in _lookups(sample.stored, distance, reach).items():
        try:
            row = measured[name] = measure(make(), sample)
        except SettingsError as error:
            refused[name] = str(error)
            continue
        if not options.json:
            print(_row(name, row, groups), flush=True)
    if options.json:
        rows = {name: row._asdict() for name, row in measured.items()}
        print(json.dumps({"n": n, "distance": distance, "measured": rows, "refused": refused}))
    else:
        print()
        for name, why in refused.items():
            print(textwrap.fill(f"{name}: refused: {why}", _COLUMNS), end="\n\n")
        print(_NOTES)
    return 0


def _lookups(stored: Fingerprints, distance: int, radius: int) -> dict[str, Callable[[], Lookup]]:
    """Return how every look-up is made that finds all within the distance and, up to the radius, what it meets."""
    nested = f"{distance + 1} choose 1"

    def tables(design: str) -> Callable[[], Lookup]:
        return lambda: PermutedTables(stored, radius, distance, TableDesign.parse(design))

    return {
        "brute force": lambda: BruteForce(stored, radius),
        "64 one-bit lists": lambda: BitLists(stored, radius),
        "four 16-bit blocks": lambda: InvertedBlocks(stored, radius, distance),
        nested: tables(nested),
        f"{distance + 2} choose 2": tables(f"{distance + 2} choose 2"),
        f"{nested}, twice": tables(f"{nested} then {nested}"),
        f"{distance + 3} choose 3": tables(f"{distance + 3} choose 3"),
        "3 choose 1, flips": tables("3 choose 1"),
        "2 choose 1, flips": tables("2 choose 1"),
        "query variants": lambda: QueryVariants(stored, distance),
        "stored variants": lambda: StoredVariants(stored, distance),
    }


def _whole(name: str, text: str, least: int, most: int) -> int:
    """Read a whole number, written like 1000000, 1_000_000 or 1e6."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (least <= number <= most and number.is_integer()):
        raise InputError(f"{name} {text!r}: give a whole number from {least:,} to {most:,}, such as {least} or 1e6")
    return int(number)


def _row(name: str, row: Measured, groups: Sequence[slice]) -> str:
    cells = [
        name,
        f"{row.tables:,}",
        f"{row.probes:,.0f}",
        f"{row.candidates:,.0f}" if row.candidates >= 99.5 or row.candidates == 0 else f"{row.candidates:.2g}",
        f"{row.bytes:,.0f}",
        f"{row.queries_per_second:,.0f}",
    ]
    recalls = [row.recall[group] for group in groups]
    return _line(cells, [_share(sum(recall) / len(recall)) for recall in recalls])


def _line(cells: Sequence[str], recall: Sequence[str]) -> str:
    name, *numbers = cells
    padded = [f"{name:<{_WIDTHS[0]}}", *(f"{cell:>{width}}" for cell, width in zip(numbers, _WIDTHS[1:], strict=True))]
    return " ".join([*padded, *(f"{share:>{_RECALL_WIDTH}}" for share in recall)])


def _share(share: float) -> str:
    """Write a share with two decimals, rounded down: 1 is all of them."""
    return f"{math.floor(share * 100) / 100:.2f}" if share > 0 else "0"
