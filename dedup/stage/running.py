"""Whether this process is the `scrapy` command, which a crawl that cannot begin may end.

Scrapy makes the commands of all packages (entry points) whenever its own command is run, and never else.
"""

from __future__ import annotations

import sys

from dedup.errors import DedupError, exit_status

made: set[str] = set()
"""The modules of our commands that were made in this process."""


def is_command() -> bool:
    """Say whether this process is the `scrapy` command."""
    return bool(made)


def end_command(error: DedupError) -> None:
    """End the `scrapy` command with one line, where there is no log yet; return where it is not that.

    Raises:
        SystemExit: the command ends; with status 2 for a wrong setting, 1 for anything else.
    """
    if is_command():
        sys.stderr.write(f"ERROR: {error}\n")
        raise SystemExit(exit_status(error))
