"""`dedup NAME ...`: read the command line and run a command."""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from types import ModuleType
from typing import Any

from dedup.errors import DedupError, InputError
from dedup.workers.loading import keep_single_threaded, without_collections

COMPLETING = "_ARGCOMPLETE"
"""Variable of the environment by which a shell asks, as the code that `dedup completion` prints sets it."""

_COMMANDS = {
    "files": "keep one document of each group of near-duplicates",
    "explain": "say why two documents are duplicates, or are not",
    "duplicates": "show what a crawl has dropped, and because of which page",
    "review": "review dropped pages in a browser and restore them",
    "index": "build and query saved indexes",
    "runs": "list the runs of a database, or roll one back",
    "release": "restore pages that were dropped wrongly",
    "erase": "remove a document for good, for example at someone's request",
    "prune": "remove old runs, and what only they have seen, from a database",
    "completion": "complete commands and options with the Tab key",
}
# What the packages that a command needs are installed with.
_EXTRAS = {"index": "corpus", "lookups": "corpus"}
_TO_LEARN_FROM = {
    "evaluate": "precision and recall on labelled pairs of documents",
    "simhash": "each step from a text to its fingerprint, and distances",
    "lookups": "what each published way to look up fingerprints costs",
}


def words_before_cursor() -> list[str]:
    """Return the words behind the name of the program, the last one as far as it is typed."""
    typed = os.environ.get("COMP_LINE", "").encode()[: int(os.environ.get("COMP_POINT", "0"))]
    return typed.decode(errors="replace").split()[1:]


def _listed(commands: Mapping[str, str]) -> str:
    return "\n".join(f"  {name:<12}{about}" for name, about in commands.items())


_HELP = f"""\
Near-duplicates: drop and explain them.

{_listed(_COMMANDS)}

`dedup COMMAND -h` shows the options of a command.
"""
_LEARNING = f"""\
to learn from, and to measure:
{_listed(_TO_LEARN_FROM)}"""


class _Parser(argparse.ArgumentParser):
    """Reads arguments; of an option that there is not it names the nearest one."""

    # The names and types are those of the base class.
    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        options, rest = super().parse_known_args(args, namespace)
        for each in rest:
            if each.startswith("--") and (close := get_close_matches(each.partition("=")[0], self._names(), 1)):
                self.error(f"unrecognized arguments: {' '.join(rest)}; did you mean {close[0]}?")
        return options, rest

    def _names(self) -> list[str]:
        return [name for name in self._option_string_actions if name.startswith("--")]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command with the arguments of the command line, or those given; return the exit status."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    is_completing = COMPLETING in os.environ
    if is_completing:
        arguments = words_before_cursor()
    try:
        parser = _parser(arguments)
        if is_completing:
            # Only the shell's Tab key needs it.
            from argcomplete import autocomplete  # noqa: PLC0415

            autocomplete(parser)
        # What a command says to be given next may be much of what was given.
        options = parser.parse_args(arguments, argparse.Namespace(given=arguments))
        return int(_module(options.command).run(options))
    except BrokenPipeError:
        # `run_and_exit` knows what it is.
        raise
    except DedupError as error:
        line, status = str(error), error.exit_status
    except OSError as error:
        line, status = _line_of(error), 1
    except KeyboardInterrupt:
        return 130
    if not is_completing:
        from dedup.console import plain  # noqa: PLC0415 -- what knows all letters takes a while to load

        print(f"error: {plain(line)}", file=sys.stderr)
    return status


def _line_of(error: OSError) -> str:
    if not error.strerror:
        return str(error)
    if error.errno == errno.ENOSPC:
        return f"no space is left for {error.filename or 'outputs or what is on its way'}; free some, and run it again"
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """Return what reads these arguments.

    Raises:
        InputError: their command needs a package that is not installed.
    """
    parser = _Parser(
        prog="dedup",
        usage="dedup COMMAND ...",
        description=_HELP,
        epilog=_LEARNING,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=_version() if arguments[:1] == ["--version"] else "")
    parsers = parser.add_subparsers(
        prog="dedup", dest="command", metavar="COMMAND", required=True, help=argparse.SUPPRESS
    )
    for name, about in (_COMMANDS | _TO_LEARN_FROM).items():
        command = parsers.add_parser(name, help=about, description=about[0].upper() + about[1:] + ".")
        # Only the command that runs is loaded: others need libraries that take a second.
        if arguments[:1] == [name]:
            with without_collections():
                module = _module(name)
            module.add_arguments(command)
    return parser


def _version() -> str:
    from importlib.metadata import version  # noqa: PLC0415 -- takes longer than all else here

    return f"%(prog)s {version('scrapy-neardup')}"


def _module(command: str) -> ModuleType:
    try:
        return import_module(f"dedup.cli.{command.replace('-', '_')}")
    except ModuleNotFoundError as error:
        if command not in _EXTRAS:
            raise
        needed = f"needs the package {error.name}; pip install 'scrapy-neardup[{_EXTRAS[command]}]'"
        raise InputError(f"dedup {command}: {needed}") from None


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
