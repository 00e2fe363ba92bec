"""`dedup NAME ...`: read the command line and run a command."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

import dedup
from dedup.errors import DedupError, exit_status
from dedup.workers.loading import keep_single_threaded, without_collections

COMPLETING = "_ARGCOMPLETE"
"""Variable of the environment by which a shell asks, as the code that `dedup completion` prints sets it."""


def words_before_cursor() -> list[str]:
    """Return the words behind the name of the program, the last one as far as it is typed."""
    typed = os.environ.get("COMP_LINE", "").encode()[: int(os.environ.get("COMP_POINT", "0"))]
    return typed.decode(errors="replace").split()[1:]


_COMMANDS = {
    "completion": "let the Tab key of bash, zsh or fish complete commands, options and file names",
    "evaluate": "measure how well labelled pairs of documents are told apart",
    "explain": "say in full why two documents are duplicates, or are not",
    "files": "keep one of all near-duplicates in files: JSONL, CSV, Parquet, WARC, text, HTML",
    "index": "build, look up, merge, check and load saved indexes of documents",
    "lookups": "measure the ways of looking up near fingerprints: tables, probes, candidates, bytes, speed, recall",
    "release": "let pages that were dropped and are no copies be stored after all",
    "runs": "list the runs of a database, or take one back",
    "spark": "keep one of all near-duplicates in files that fit no one machine, by a job of Spark",
    "upgrade": "upgrade a database that an earlier version of this program made",
    "warm-up": "compile now what would else be compiled at its first use, such as when an image is made",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command with the arguments of the command line, or those given; return the exit status."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    is_completing = COMPLETING in os.environ
    if is_completing:
        arguments = words_before_cursor()
    parser = argparse.ArgumentParser(prog="dedup", description="Near-duplicates: drop, measure and explain them.")
    version = f"%(prog)s {dedup.__version__}" if arguments[:1] == ["--version"] else ""
    parser.add_argument("--version", action="version", version=version)
    parsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, about in _COMMANDS.items():
        command = parsers.add_parser(name, help=about, description=about[0].upper() + about[1:] + ".")
        # Only the command that runs is loaded: others need libraries that take a second.
        if arguments[:1] == [name]:
            with without_collections():
                module = _module(name)
            module.add_arguments(command)
    if is_completing:
        # Only the shell's Tab key needs it.
        from argcomplete import autocomplete  # noqa: PLC0415

        autocomplete(parser)
    try:
        options = parser.parse_args(arguments)
        status: int = _module(options.command).run(options)
    except (DedupError, OSError) as error:
        from dedup.display import plain  # noqa: PLC0415 -- what knows all letters takes a while to load

        print(f"error: {plain(str(error))}", file=sys.stderr)
        return exit_status(error)
    except KeyboardInterrupt:
        return 130
    return status


def _module(command: str) -> ModuleType:
    return import_module(f"dedup.cli.{command.replace('-', '_')}")


def run_and_exit() -> None:
    """Run as a program."""
    keep_single_threaded()
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:
        # Such as `| head`; Python would complain once more at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    sys.exit(status)
