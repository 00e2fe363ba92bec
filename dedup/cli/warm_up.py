"""`dedup warm-up`, which compiles ahead; what other commands say while what they need is compiled."""

from __future__ import annotations

import argparse
import sys

from dedup.compiled_cache import is_installed, kept_folder
from dedup.console import plain
from dedup.warming import PARTS, SIGNATURES, CompilingError, compile_ahead

_COMMAND = "warm-up"


def compile_first(command: str, *parts: str) -> None:
    """Compile what is not compiled yet of some parts, see `dedup.warming.PARTS`, and say so on standard error.

    Where it cannot be kept, that is said, and the command goes on.
    """
    try:
        compile_ahead(parts, lambda line: say(command, line), sys.stderr)
    except CompilingError as error:
        say(command, str(error))


def say(command: str, message: str) -> None:
    """Tell the user something that is no result."""
    print(f"dedup {command}: {plain(message)}", file=sys.stderr, flush=True)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument("--files", action="store_true", help="also what `dedup files` needs")


def run(options: argparse.Namespace) -> int:
    """Compile, and say where it is kept."""
    if not (is_installed() or options.files):
        say(_COMMAND, "there is nothing to compile: numba is not installed (scrapy-neardup[fast])")
        return 0
    compile_ahead(tuple(PARTS) if options.files else SIGNATURES, lambda line: say(_COMMAND, line), sys.stderr)
    sys.stdout.write(f"compiled code is kept in {kept_folder()}\n")
    return 0
