"""`dedup release --marks FILE`: pages that a person has found to be no duplicates are restored."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from dedup.cli.databases import add_database_argument, opened
from dedup.console import counted, plain, print_answer, readable
from dedup.errors import InputError
from dedup.evaluation import read_pairs
from dedup.store.writing import Released, release

_MESSAGES = {
    "released": "kept when seen again",
    "kept": "not duplicates in the database: nothing to do",
    "moved": "duplicates of another page by now: unchanged",
    "unknown": "not in the database",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.description = (
        "Restore pages that were dropped and are not duplicates: the next crawl that sees one of them keeps it. "
        "A dropped page is not stored, so it is fetched again for that. If its text has changed by then, "
        "it is re-evaluated."
    )
    add_database_argument(parser)
    parser.add_argument(
        "--marks",
        required=True,
        type=Path,
        metavar="FILE",
        help="what the HTML report saves: JSON Lines with a, the original; b, the dropped page; label, 0: no copy",
    )
    parser.add_argument("--json", action="store_true", help="print an object for a program")


def run(options: argparse.Namespace) -> int:
    """Release what is marked as no duplicate, and say what became of each."""
    pairs = [(pair.a, pair.b) for pair in read_pairs(options.marks) if not pair.is_duplicate]
    if not pairs:
        raise InputError(f"{options.marks}: marks no page as not a duplicate (label 0): nothing to release")
    with opened(options, read_only=False) as database:
        outcome = release(database, pairs)
        if len(outcome.unknown) == len(pairs):
            raise InputError(f"database {database.name} knows none of the pages of {options.marks}: name another one")
    print_answer(vars(outcome), _lines(outcome), as_json=options.json)
    return 0


def _lines(outcome: Released) -> Iterator[str]:
    for name, message in _MESSAGES.items():
        keys: list[str] = getattr(outcome, name)
        if keys:
            yield f"{name:<10}{counted(len(keys), 'page')}: {message}"
            yield from (f"{'':10}{readable(plain(key))}" for key in keys)
    if outcome.released:
        yield ""
        yield "Crawl again (-a recrawl=true) to fetch and store what is released."
