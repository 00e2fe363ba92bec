"""Whether this process is the `scrapy` command, which a crawl that cannot begin may end.

Scrapy makes the commands of all packages (entry points) whenever its own command is run, and never else.
"""

from __future__ import annotations

made: set[str] = set()
"""The modules of our commands that were made in this process."""


def is_command() -> bool:
    """Say whether this process is the `scrapy` command."""
    return bool(made)
