"""`dedup warm-up`: compile now what would else be compiled at its first use, such as when an image is made."""

from __future__ import annotations

import argparse
import sys

from dedup.cli.compiling import say
from dedup.compiled_cache import kept_folder
from dedup.warming import SIGNATURES, compile_ahead
from dedup.warming_parts import PARTS

_COMMAND = "warm-up"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument("--files", action="store_true", help="also what `dedup files` needs")


def run(options: argparse.Namespace) -> int:
    """Compile, and say where it is kept."""
    compile_ahead(tuple(PARTS) if options.files else SIGNATURES, lambda line: say(_COMMAND, line), sys.stderr)
    sys.stdout.write(f"compiled code is kept in {kept_folder()}\n")
    return 0
