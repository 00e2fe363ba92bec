"""`dedup review`: the report as a page on this machine, on which a mark lets a page be stored after all."""

from __future__ import annotations

import argparse
import io
import sys
import webbrowser
from contextlib import closing, suppress
from functools import partial
from threading import Lock

from dedup.cli.duplicates import add_selection, selected
from dedup.errors import DedupError, SettingsError
from dedup.ledger.forget import release
from dedup.report.html.serving import ReviewServer
from dedup.report.html.writing import write_review
from dedup.report.queries import open_report
from dedup.report.render import Format, selection_for
from dedup.sql.database import Database, open_existing_database, url_of, usual_database
from dedup.terminal import write_lines

_LAST_PORT = 65_535


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.description = (
        "Look at what was dropped, in a browser on this machine. What is marked as no duplicate there is released at "
        "once: the next crawl that sees it keeps it. Ctrl-C ends it."
    )
    add_selection(parser)
    parser.add_argument("--port", type=int, default=0, metavar="N", help="default: a free one")
    parser.add_argument("--no-browser", action="store_true", help="name the address, and open no browser")


def run(options: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C."""
    if not 0 <= options.port <= _LAST_PORT:
        raise SettingsError(f"--port {options.port}: expected a number from 0 to {_LAST_PORT:,}")
    selection = selected(options, selection_for(Format.HTML))
    url = url_of(options.database or usual_database())
    with closing(open_existing_database(url, read_only=False)) as database:
        page = io.StringIO()
        with open_report(database, selection) as report:
            write_review(report, database, page)
        mark = partial(_release, database, Lock())
        try:
            server = ReviewServer(page.getvalue().encode(), mark, options.port)
        except OSError as error:
            raise DedupError(f"--port {options.port}: {error.strerror}; leave it out for a free one") from None
        with server:
            write_lines([f"the report is at {server.url}", "Ctrl-C ends it"], sys.stdout)
            sys.stdout.flush()
            if not options.no_browser:
                webbrowser.open(server.url)
            with suppress(KeyboardInterrupt):
                server.serve_forever()
    return 0


def _release(database: Database, lock: Lock, original: str, key: str) -> str:
    with lock:
        found = vars(release(database, [(original, key)]))
    return next(name for name, keys in found.items() if keys)
