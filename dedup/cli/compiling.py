"""What a command says while what it needs is compiled."""

from __future__ import annotations

import sys

from dedup.warming import CompilingError, compile_ahead


def compile_first(command: str, *parts: str) -> None:
    """Compile what a command needs and what is not compiled yet, and say so on standard error.

    Where it cannot be kept, that is said, and the command goes on.

    Args:
        command: its name.
        *parts: names in `dedup.warming.PARTS`.
    """
    try:
        compile_ahead(parts, lambda line: say(command, line))
    except CompilingError as error:
        say(command, str(error))


def say(command: str, message: str) -> None:
    """Tell the user something that is no result."""
    print(f"dedup {command}: {message}", file=sys.stderr, flush=True)
