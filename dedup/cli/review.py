"""`dedup review`: the report as a page on this machine, on which a mark restores a page."""

from __future__ import annotations

import argparse
import io
import sys
import webbrowser
from contextlib import suppress
from threading import Lock
from typing import Any

from dedup.cli.databases import opened
from dedup.cli.duplicates import add_selection, selected
from dedup.console import write_lines
from dedup.errors import DedupError, SettingsError
from dedup.report.contents import Selection
from dedup.report.html.full_texts import texts_of
from dedup.report.html.page import write_page_of
from dedup.report.html.serving import Pairs, ReviewServer
from dedup.report.queries import open_report
from dedup.report.render import Format, followed, selection_for
from dedup.store.database import Database
from dedup.store.writing import release, undo_release

_LAST_PORT = 65_535


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.description = (
        "Review what was dropped in a browser on this machine. Pages marked 'not a duplicate' are released at once: "
        "the next crawl that sees one keeps it. Both texts of a pair can be read in full. Ctrl-C ends it."
    )
    add_selection(parser)
    parser.add_argument("--port", type=int, default=0, metavar="N", help="default: a free one")
    parser.add_argument("--no-browser", action="store_true", help="name the address, and open no browser")


def run(options: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C."""
    if not 0 <= options.port <= _LAST_PORT:
        raise SettingsError(f"--port {options.port}: expected a number from 0 to {_LAST_PORT:,}")
    selection = selected(options, selection_for(Format.HTML))
    with opened(options, read_only=False) as database:
        _serve(_write(database, selection), _Acts(database), options)
    return 0


def _serve(page: bytes, acts: _Acts, options: argparse.Namespace) -> None:
    try:
        server = ReviewServer(page, acts.mark, acts.read_texts, options.port)
    except OSError as error:
        raise DedupError(f"--port {options.port}: {error.strerror}; leave it out for a free one") from None
    with server:
        write_lines([f"the report is at {server.url}", "Ctrl-C ends it"], sys.stdout)
        sys.stdout.flush()
        if not options.no_browser:
            webbrowser.open(server.url)
        with suppress(KeyboardInterrupt):
            server.serve_forever()


def _write(database: Database, selection: Selection) -> bytes:
    page = io.StringIO()
    with open_report(database, selection) as report:
        write_page_of(followed(report), database, page, is_served=True)
    return page.getvalue().encode()


class _Acts:
    """Handles the requests of the page, one at a time: comparing long texts takes memory."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = Lock()

    def mark(self, pairs: Pairs, is_undone: bool) -> list[str]:
        with self._lock:
            if is_undone:
                taken = set(undo_release(self._database, pairs))
                return ["taken" if key in taken else "left" for _, key in pairs]
            found = release(self._database, pairs)
        # Of a page that is a copy in one pair alone, the last of these is true.
        outcomes = {key: name for name in ("unknown", "moved", "kept", "released") for key in getattr(found, name)}
        return [outcomes[key] for _, key in pairs]

    def read_texts(self, keys: tuple[str, str], run: str) -> dict[str, Any]:
        with self._lock:
            return texts_of(self._database, keys, run)
