"""`dedup explain`: why two documents are duplicates, or are not."""

from __future__ import annotations

import argparse
import shutil
import sys
from dataclasses import fields, replace
from pathlib import Path

from dedup.database import Database, open_existing_database
from dedup.errors import InputError, SettingsError
from dedup.explanation.build import explain, explain_dropped
from dedup.explanation.contents import Explanation
from dedup.explanation.render import as_json, lines
from dedup.explanation.sides import TEXT_PREFIX, Origin, Side, side_of_file, side_of_text
from dedup.explanation.stored import find_dropped, find_side
from dedup.index.design import TableDesign
from dedup.report.display import cut, plain
from dedup.report.output import open_output
from dedup.settings import DedupSettings

_DATABASE = "crawl.db"
_PREFIX = "DEDUP_"
_NAMES = frozenset(_PREFIX + field.name.upper() for field in fields(DedupSettings))
_NARROWEST, _USUAL, _WIDEST = 80, 100, 1000
_SHOWN = 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "documents",
        nargs="*",
        metavar="A B",
        help=f"two documents, each a file (text or HTML), the URL of a stored page, or a text; {TEXT_PREFIX}... is "
        "always a text. B is decided as if it came after A",
    )
    parser.add_argument("--dropped", metavar="URL", help="instead of A and B: a page that the database says it dropped")
    parser.add_argument(
        "--database",
        metavar="URL",
        help=f"the database with the stored pages, a URL or an SQLite file; default: {_DATABASE}, if there is one",
    )
    parser.add_argument("--mode", help="checked or paper; the same as --set MODE=...")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting, such as MIN_JACCARD=.6; the prefix DEDUP_ may be left out",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--width", help=f"columns to fill, at least {_NARROWEST}; default: the terminal's, at most {_USUAL}"
    )


def run(options: argparse.Namespace) -> int:
    """Explain two documents, or a page that was dropped.

    Returns:
        The exit status, 0.

    Raises:
        InputError: an argument is not what it should be.
        SettingsError: a setting cannot be used.
        DatabaseError: the database cannot be read.
    """
    width = _width(options.width)
    given = _given(options)
    settings = DedupSettings.read(given.get)
    explanation = _explanation(options, given, settings)
    with open_output("") as stream:
        for line in [as_json(explanation)] if options.json else lines(explanation, width):
            stream.write(f"{line}\n")
    return 0


def _width(text: str | None) -> int:
    if text is None:
        columns = shutil.get_terminal_size((_USUAL, 0)).columns if sys.stdout.isatty() else _USUAL
        return max(_NARROWEST, min(_USUAL, columns))
    if not (text.isascii() and text.isdecimal()) or not _NARROWEST <= int(text) <= _WIDEST:
        raise InputError(f"--width {text!r}: give a whole number from {_NARROWEST} to {_WIDEST}")
    return int(text)


def _given(options: argparse.Namespace) -> dict[str, str]:
    """Return the settings of the command line by their full names."""
    given = {}
    for each in options.set:
        name, equals, value = each.partition("=")
        full = _PREFIX + name.strip().upper().removeprefix(_PREFIX)
        if not equals:
            raise InputError(f"--set {each!r}: write NAME=VALUE, such as MIN_JACCARD=.6")
        if full not in _NAMES:
            raise SettingsError(f"--set {each!r}: there is no setting {plain(full)}")
        given[full] = value
    return given if options.mode is None else given | {"DEDUP_MODE": options.mode}


def _explanation(options: argparse.Namespace, given: dict[str, str], settings: DedupSettings) -> Explanation:
    if options.dropped is None and len(options.documents) != 2:
        raise InputError(f"give two documents, or --dropped URL; {len(options.documents)} given: dedup explain -h")
    if options.dropped is not None and options.documents:
        raise InputError("--dropped explains one page of the database: give no other documents")
    url = options.database or given.get("DEDUP_DATABASE_URL") or ""
    if options.dropped is None:
        a, b = (_side(name, url) for name in options.documents)
        return explain(a, b, settings)
    database = _open(url or _DATABASE)
    try:
        dropped = find_dropped(database, options.dropped)
    finally:
        database.close()
    if "DEDUP_TABLES" not in given:
        settings = replace(settings, tables=TableDesign.parse(dropped.tables))
    return explain_dropped(dropped, settings)


def _side(name: str, url: str) -> Side:
    if name.startswith(TEXT_PREFIX):
        text = name.removeprefix(TEXT_PREFIX)
        return side_of_text(text, Origin.TEXT, text)
    side = side_of_file(name)
    where = f"there is no database {_DATABASE}"
    if side is None and (url or Path(_DATABASE).is_file()):
        database = _open(url or _DATABASE)
        where = f"no page of database {database.name}"
        try:
            side = find_side(database, name)
        finally:
            database.close()
    if side is not None:
        return side
    if any(map(str.isspace, name)):
        return side_of_text(name, Origin.TEXT, name)
    raise InputError(
        f"'{cut(plain(name), _SHOWN)}' is no file, {where}, and no text, since it has no white space: "
        f"write {TEXT_PREFIX}... for a text, or name a --database"
    )


def _open(url: str) -> Database:
    return open_existing_database(url if "://" in url else f"sqlite:///{url}")
