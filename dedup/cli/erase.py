"""`dedup erase KEY`: a document leaves a database for good; digests alone stay."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import UTC, datetime

from dedup.cli.databases import add_database_argument, opened
from dedup.cli.settings_options import add_json_argument
from dedup.console import counted, plain, print_answer, readable
from dedup.store.erasing import FEWEST_TOKENS, Erasure, erase


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.description = (
        "Remove a document from index, words, verdicts, stored pages and their versions. Its digests stay, so that no "
        f"crawl brings it back under its key, nor as a copy to the byte or in its words ({FEWEST_TOKENS} or more). "
        "Without --yes it is only said what would be removed. Feeds, archives and saved indexes are files of yours: "
        "the runs that have seen the document are named. Links to it on other pages stay."
    )
    parser.add_argument("key", metavar="KEY", help="its key, such as its URL, as reports show it")
    parser.add_argument("--copies", action="store_true", help="and all copies in its cluster")
    parser.add_argument("--yes", action="store_true", help="remove it, and do not only say what would be removed")
    add_database_argument(parser)
    add_json_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Erase a document, or say what would be erased."""
    with opened(options, read_only=False) as database:
        erasure = erase(database, options.key, with_copies=options.copies, is_tried=not options.yes)
        name = database.name
    at = datetime.now(UTC).isoformat(timespec="seconds")
    value = {"database": name, "erased": at if options.yes else None, **vars(erasure)}
    if options.yes:
        # What is filed shall not hold what was erased.
        del value["keys"], value["forgotten"]
    lines = _done(name, at, erasure) if options.yes else _tried(name, erasure)
    print_answer(value, lines, as_json=options.json)
    return 0


def _tried(database: str, erasure: Erasure) -> Iterator[str]:
    yield f"{counted(len(erasure.keys), 'document')} would be erased from {database}"
    yield from (f"  {readable(plain(each))}" for each in erasure.keys)
    yield from _rows(erasure)
    yield from (
        f"forgotten   {readable(plain(each))}: a copy, re-evaluated when it is seen again" for each in erasure.forgotten
    )
    yield "Nothing is erased yet: give the command again with --yes."


def _done(database: str, at: str, erasure: Erasure) -> Iterator[str]:
    yield f"{counted(len(erasure.keys), 'document')} erased from {database} at {at}"
    yield from (f"digests     {'  '.join(each)}" for each in erasure.digests)
    yield from _rows(erasure)
    if erasure.forgotten:
        yield f"forgotten   {counted(len(erasure.forgotten), 'document')}: copies, re-evaluated when seen again"


def _rows(erasure: Erasure) -> Iterator[str]:
    yield f"rows        {', '.join(f'{count:,} of {name}' for name, count in erasure.rows.items() if count)}"
    if erasure.runs:
        yield f"seen by     {', '.join(map(plain, erasure.runs))}: feeds and archives (-o) of these runs may hold it"
