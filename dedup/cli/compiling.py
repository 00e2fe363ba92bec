"""What a command says while what it needs is compiled."""

from __future__ import annotations

import sys

from dedup.display import plain
from dedup.warming import CompilingError, compile_ahead


def compile_first(command: str, *parts: str) -> None:
    """Compile what is not compiled yet of some parts, see `dedup.warming_parts.PARTS`, and say so on standard error.

    Where it cannot be kept, that is said, and the command goes on.
    """
    try:
        compile_ahead(parts, lambda line: say(command, line), sys.stderr)
    except CompilingError as error:
        say(command, str(error))


def say(command: str, message: str) -> None:
    """Tell the user something that is no result."""
    print(f"dedup {command}: {plain(message)}", file=sys.stderr, flush=True)
