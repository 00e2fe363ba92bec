"""A run as it goes on, drawn again and again on a terminal."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import TextIO

from dedup.console import QUIET, as_text, make_console, styled
from dedup.errors import InputError
from dedup.ledger.runs import find_begun, is_going_on
from dedup.report.contents import Report, Selection
from dedup.report.queries import open_report, read_latest
from dedup.report.table import dropped_lines, overview_lines
from dedup.sql.database import Database

INTERVAL = 1.0
_HOSTS = 5
# A large database is not kept busy by those who only look.
_SHARE_OF_TIME = 4
_FEWEST_LATEST = 3


def watch(database: Database, selection: Selection, stream: TextIO) -> None:
    """Show a run until it ends, or until the user presses Ctrl-C.

    Args:
        database: an existing database.
        selection: the run, and the host; without a name it is the one that started last, if that goes on, else the last
            one that has decided anything.
        stream: the terminal.

    Raises:
        InputError: it is no terminal.
        DedupError: there is no such run.
        DatabaseError: the database cannot be read.
    """
    if not stream.isatty():
        raise InputError("--watch draws on a terminal: leave it out where the output goes elsewhere")
    # A twentieth of a second.
    from rich.console import Group  # noqa: PLC0415
    from rich.live import Live  # noqa: PLC0415

    shown = replace(
        selection,
        run=selection.run or find_begun(database),
        max_hosts=min(selection.max_hosts, _HOSTS),
        max_clusters=0,
        max_skipped=0,
    )
    with Live(console=make_console(stream), auto_refresh=False, redirect_stdout=False, redirect_stderr=False) as live:
        try:
            goes_on = True
            while goes_on:
                started = time.monotonic()
                with open_report(database, shown) as report:
                    # Another one may start meanwhile.
                    shown = replace(shown, run=report.runs[0])
                    goes_on = is_going_on(database, shown.run)
                    size = shutil.get_terminal_size()
                    lines = list(screen_lines(database, report, size, is_going_on=goes_on))
                live.update(Group(*map(as_text, lines)), refresh=True)
                if goes_on:
                    time.sleep(max(INTERVAL, _SHARE_OF_TIME * (time.monotonic() - started)))
        except KeyboardInterrupt:
            pass


def screen_lines(database: Database, report: Report, size: tuple[int, int], *, is_going_on: bool) -> Iterator[str]:
    """Write as many lines as a terminal of so many columns and lines has, the latest duplicates last."""
    columns, height = size
    head = list(overview_lines(report, columns))
    state = "going on; Ctrl-C ends this, not the crawl" if is_going_on else "it has ended"
    # The last line of the terminal stays free for the cursor.
    room = max(_FEWEST_LATEST, height - len(head) - 4)
    latest = read_latest(database, report.runs[0], report.host, room)
    yield from head
    if latest:
        yield "the latest first"
        yield from islice(dropped_lines(iter(latest), columns, is_redrawn=True), room + 1)
        yield ""
    yield styled(state, QUIET)
