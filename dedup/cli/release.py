"""`dedup release URL...`: pages that a person has found to be no duplicates are restored."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from dedup.cli.databases import add_database_argument, opened
from dedup.cli.settings_options import add_json_argument
from dedup.console import counted, plain, print_answer, readable
from dedup.errors import InputError
from dedup.evaluation import read_pairs
from dedup.report.stored_texts import find_document
from dedup.store.database import Database
from dedup.store.writing import Released, release

_MESSAGES = {
    "released": "kept when seen again",
    "kept": "not duplicates in the database: nothing to do",
    "moved": "duplicates of another page by now: unchanged",
    "unknown": "not in the database",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.usage = "%(prog)s URL [URL ...] [options]\n       %(prog)s --marks FILE [options]"
    parser.description = (
        "Restore pages that were dropped and are not duplicates: the next crawl that sees one of them keeps it. "
        "A dropped page is not stored, so it is fetched again for that. If its text has changed by then, "
        "it is re-evaluated."
    )
    parser.add_argument("urls", nargs="*", metavar="URL", help="of dropped pages, as reports show them")
    add_database_argument(parser)
    parser.add_argument(
        "--marks",
        type=Path,
        metavar="FILE",
        help="what the HTML report saves: JSON Lines with a, the original; b, the dropped page; label, 0: no copy",
    )
    add_json_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Release what is named, or marked as no duplicate, and say what became of each."""
    if bool(options.urls) == (options.marks is not None):
        raise InputError("give the URLs of dropped pages, or --marks FILE: one of both")
    marked = _marked(options.marks) if options.marks else []
    with opened(options, read_only=False) as database:
        outcome = release(database, marked or [(None, key) for key in _keys(database, options.urls)])
        if not (outcome.released or outcome.kept or outcome.moved):
            pages = f"the pages of {options.marks}" if options.marks else "these pages"
            raise InputError(f"database {database.name} knows none of {pages}: name another one")
    print_answer(vars(outcome), _lines(outcome), as_json=options.json)
    return 0


def _marked(path: Path) -> list[tuple[str, str]]:
    """Return the pairs of original and page that a file marks as none.

    Raises:
        InputError: it cannot be read, or marks none.
    """
    pairs = [(pair.a, pair.b) for pair in read_pairs(path) if not pair.is_duplicate]
    if not pairs:
        raise InputError(f"{path}: marks no page as not a duplicate (label 0): nothing to release")
    return pairs


def _keys(database: Database, urls: Sequence[str]) -> list[str]:
    """Return the keys of pages, whose URLs may be given as reports show them."""
    with database.read() as connection:
        found = [find_document(connection, url) for url in urls]
    return [url if each is None else each.key for url, each in zip(urls, found, strict=True)]


def _lines(outcome: Released) -> Iterator[str]:
    for name, message in _MESSAGES.items():
        keys: list[str] = getattr(outcome, name)
        if keys:
            yield f"{name:<10}{counted(len(keys), 'page')}: {message}"
            yield from (f"{'':10}{readable(plain(key))}" for key in keys)
    if outcome.released:
        yield ""
        yield "Crawl again (-a recrawl=true) to fetch and store what is released."
