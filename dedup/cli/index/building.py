"""`dedup index build`: an index of files, or of the documents that a crawl's database knows."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from dedup.cli import files
from dedup.cli.compiling import compile_first
from dedup.cli.settings_options import (
    add_settings_arguments,
    make_settings,
    read_settings_options,
    with_scheme_of,
)
from dedup.corpus.reading.formats import KNOWN
from dedup.corpus.saved.crawled import add_crawled, mode_of, scheme_of
from dedup.corpus.saved.folder import new_index, require_free
from dedup.display import plain
from dedup.errors import InputError, SettingsError
from dedup.rules.settings import RuleSettings
from dedup.sql.database import Database, open_existing_database, url_of
from dedup.warming import SIGNATURES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument("inputs", nargs="*", type=Path, metavar="INPUT", help=f"files and folders: {KNOWN}")
    parser.add_argument(
        "--database",
        metavar="URL",
        help="instead of files: the database of a crawl, a URL or an SQLite file. Of the settings that the crawl had, "
        "min_tokens and, in the paper's mode, short_tokens matter",
    )
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="INDEX", help="the folder to make")
    parser.add_argument("--force", action="store_true", help="overwrite an index, and forget an interrupted run")
    parser.add_argument("--against", type=Path, metavar="INDEX", help="begin with the documents of this index")
    files.add_reading_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print an object for a program")
    add_settings_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Build an index; the status is 130 if the user stopped it."""
    require_free(options.output, force=True)
    if bool(options.inputs) == (options.database is not None):
        raise InputError("give files and folders, or --database URL: dedup index build -h")
    if options.database is None:
        return _build_of_files(options)
    if options.against is not None:
        raise InputError("--against goes with files: build an index of the database, then merge the two")
    return _build_of_database(options)


def _build_of_files(options: argparse.Namespace) -> int:
    """Do what `dedup files --save-index` does without other outputs."""
    outputs = {"output": None, "format": "jsonl", "report": None, "dry_run": False, **dict.fromkeys(files.OUTPUTS)}
    return files.run(argparse.Namespace(**{**vars(options), **outputs, "save_index": options.output}))


def _build_of_database(options: argparse.Namespace) -> int:
    with closing(open_existing_database(url_of(options.database))) as database:
        settings = _settings(database, read_settings_options(options))
        compile_first("index build", *SIGNATURES, "files")
        with new_index(options.output, settings, force=options.force) as known:
            taken = add_crawled(database, settings, known)
    if options.json:
        print(json.dumps({"index": str(options.output), **taken._asdict()}))
        return 0
    print(f"{options.output}: {taken.added:,} documents of different contents, of {taken.read:,} in {database.name}")
    return 0


def _settings(database: Database, given: Mapping[str, str]) -> RuleSettings:
    """Return the given settings with the scheme and the mode of a database.

    Raises:
        InputError: another one is asked for.
    """
    try:
        scheme = scheme_of(database)
    except SettingsError as error:
        raise InputError(f"database {database.name}: {error}") from None
    mode = mode_of(database)
    if given.get("mode", mode) != mode:
        raise InputError(f"--mode {plain(given['mode'])}: database {database.name} was made with {mode}; leave it out")
    return make_settings({**with_scheme_of(given, scheme, database.name), "mode": mode})[0]
