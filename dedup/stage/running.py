"""The base of the commands, and how a crawl ends that cannot begin: it may end the `scrapy` command.

Scrapy makes the commands of all packages (entry points) whenever its own command is run, and never else.
"""

from __future__ import annotations

import logging
import sys
from typing import NoReturn

from scrapy.commands import ScrapyCommand

from dedup.errors import DedupError

logger = logging.getLogger(__name__)

_made: set[str] = set()


class AddonCommand(ScrapyCommand):
    """Base of the commands, which work without a project, too, and by which the command of Scrapy is recognised."""

    requires_project = False
    requires_crawler_process = False

    def __init__(self) -> None:
        super().__init__()
        _made.add(type(self).__module__)

    def fail(self, error: DedupError) -> None:
        """Say what is wrong in one line, and end with the status of the error."""
        from dedup.console import plain  # noqa: PLC0415 -- what knows all letters takes a while to load

        sys.stderr.write(f"error: {plain(str(error))}\n")
        self.exitcode = error.exit_status


def is_command() -> bool:
    """Whether this process is the `scrapy` command."""
    return bool(_made)


def refuse_to_start(error: DedupError) -> NoReturn:
    """Let a crawl fail before it has begun, with one line in the log, or in its place where there is none yet.

    The `scrapy` command ends. In any other program the crawl fails, which Scrapy reports to whoever has started it.

    Raises:
        SystemExit: the command ends; with status 2 for a wrong setting, 1 for anything else.
        DedupError: the error itself, where it is no command.
    """
    if not is_command() or logger.hasHandlers():
        logger.error("%s", error)
    else:
        sys.stderr.write(f"ERROR: {error}\n")
    if is_command():
        raise SystemExit(error.exit_status)
    raise error.with_traceback(None) from None
