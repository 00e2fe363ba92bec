"""`dedup warm-up`, which compiles ahead; what other commands say while what they need is compiled."""

from __future__ import annotations

import argparse
import sys

from dedup.console import plain
from dedup.warming import compile_all, require_compiler


def compile_first(command: str) -> None:
    """Print on standard error when something is compiled, and refuse to go on without the compiler.

    Raises:
        InputError: it is not installed.
    """
    require_compiler(lambda line: print_message(command, line))


def print_message(command: str, message: str) -> None:
    """Print a message that is no result on standard error."""
    print(f"dedup {command}: {plain(message)}", file=sys.stderr, flush=True)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command: there are none."""


def run(options: argparse.Namespace) -> int:
    """Compile all that is not compiled yet."""
    compile_first(options.command)
    compile_all()
    return 0
