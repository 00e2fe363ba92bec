"""`dedup prune --keep 90d`: old runs leave a database, with what only they have seen; stored pages stay."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from dedup.cli.databases import add_database_argument, opened
from dedup.cli.runs import counts_of
from dedup.cli.settings_options import add_json_argument
from dedup.console import counted, print_answer
from dedup.errors import SettingsError
from dedup.rules.scope import Memory
from dedup.store.cancelling import Cancelled, prune_runs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.description = (
        "Remove the runs that ended longer ago, their verdicts, and the documents that no later run has seen or found "
        "copies of: a copy of one of these is new from then on. Pages that a crawl has stored stay. If the command is "
        "interrupted, run it again to resume."
    )
    parser.add_argument("--keep", required=True, metavar="TIME", help="such as 90d (s, m, h, d, w)")
    add_database_argument(parser)
    add_json_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Remove old runs."""
    seconds = _seconds(options.keep)
    with opened(options, read_only=False) as database:
        removed = prune_runs(database, seconds)
    print_answer(vars(removed), _lines(removed), as_json=options.json)
    return 0


def _seconds(keep: str) -> int:
    try:
        seconds = Memory.parse(keep).seconds
    except ValueError:
        seconds = None
    if seconds is None:
        raise SettingsError(f"--keep {keep!r}: expected a time such as '90d' (s, m, h, d, w)")
    return seconds


def _lines(removed: Cancelled) -> Iterator[str]:
    yield f"{counted(len(removed.runs), 'run')} removed"
    yield from counts_of(removed)
    if removed.runs:
        yield "A file of SQLite keeps its size and uses the room again; sqlite3 FILE VACUUM makes it smaller."
