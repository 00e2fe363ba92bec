"""`dedup duplicates`: every dropped page, its original and why; what is similar and was kept."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace

from dedup.addresses.discarder import to_discarder
from dedup.atomic_files import open_output
from dedup.cli.databases import add_database_argument, opened
from dedup.console import counted, readable, table, write_lines
from dedup.errors import SettingsError
from dedup.report.addresses import read_learnt_rules
from dedup.report.contents import Selection
from dedup.report.html.page import write_in_any_format
from dedup.report.queries import open_report
from dedup.report.render import Format, encoding_for, followed, format_of, selection_for
from dedup.store.database import Database

_ABOUT = (
    "Show what was decided in the last run of a database: the totals, and the duplicates whose differences may matter. "
    "With --all, or as a file of another format, every dropped page with its original and the reason, and every page "
    "that was kept though it is similar to another one."
)
_RUNS_COMPARED = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.description = _ABOUT
    add_selection(parser)
    parser.add_argument(
        "--all",
        action="store_true",
        dest="is_whole",
        help="all pairs, hosts, clusters and skipped pages, not the first",
    )
    parser.add_argument(
        "--changes",
        nargs="*",
        metavar="RUN",
        help="instead: which pages were added or updated, have moved or are gone since the run before, or between two "
        "runs",
    )
    parser.add_argument(
        "--rules",
        action="store_true",
        help="instead: the rules by which addresses of each site lead to copies; as json for duplicate-url-discarder",
    )
    parser.add_argument(
        "--format", metavar="|".join(Format), help="how to write it (default: by the name of FILE, else table)"
    )
    parser.add_argument("-o", "--output", default="", metavar="FILE", help="write to FILE instead of the terminal")


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say what a report is about."""
    add_database_argument(parser)
    parser.add_argument("--run", default="", metavar="NAME", help="a named run instead of the last one")
    parser.add_argument("--all-runs", action="store_true", help="all runs instead of the last one")
    parser.add_argument("--host", default="", help="only pages of this host")


def selected(options: argparse.Namespace, usual: Selection) -> Selection:
    """Return what a report is about, by these arguments and by the limits that are usual for its format.

    Raises:
        SettingsError: they exclude each other.
    """
    if options.run and options.all_runs:
        raise SettingsError("--run and --all-runs exclude each other: give one of them")
    return replace(usual, run=options.run, all_runs=options.all_runs, host=options.host)


def run(options: argparse.Namespace) -> int:
    """Report on a run, or compare two of them."""
    output_format = _format(options)
    usual = selection_for(output_format)
    selection = selected(options, replace(usual, most_named=None) if options.is_whole else usual)
    _require_one_view(options, output_format)
    with opened(options) as database:
        if options.rules:
            _write_rules(database, options, output_format)
        elif options.changes is not None:
            _write_changes(database, options, output_format)
        else:
            _write_report(database, selection, options, output_format)
    return 0


def _require_one_view(options: argparse.Namespace, output_format: Format) -> None:
    """Refuse options that go with another view than the one that is asked for."""
    if options.rules and (options.run or options.all_runs or options.changes is not None):
        raise SettingsError("--rules are those of all runs together: leave out the others")
    if options.rules and output_format not in (Format.TABLE, Format.JSON):
        raise SettingsError("--rules are written as table or json")
    if options.changes is None:
        return
    if options.run or options.all_runs:
        raise SettingsError("--changes names its runs itself, as in --changes monday tuesday: leave out the others")
    if len(options.changes) > _RUNS_COMPARED:
        raise SettingsError(f"--changes compares two runs, and {len(options.changes)} are named")
    if output_format is Format.HTML:
        raise SettingsError("--changes is written as table, json or csv")


def _write_report(database: Database, selection: Selection, options: argparse.Namespace, output_format: Format) -> None:
    output = open_output(options.output, encoding_for(output_format))
    with open_report(database, selection) as report, output as stream:
        shown = report if stream.isatty() else followed(report)
        write_in_any_format(shown, database, output_format, stream, is_whole=options.is_whole)


def _write_changes(database: Database, options: argparse.Namespace, output_format: Format) -> None:
    # What compares words takes time to load.
    from dedup.report.changes import open_changes, write_changes  # noqa: PLC0415

    # What differs is told in the tokens that signatures are made of.
    output = open_output(options.output, encoding_for(output_format))
    with open_changes(database, options.changes, options.host) as changes, output as stream:
        write_changes(*changes, output_format, stream)


def _write_rules(database: Database, options: argparse.Namespace, output_format: Format) -> None:
    rules = read_learnt_rules(database, options.host)
    with open_output(options.output) as stream:
        if output_format is Format.JSON:
            written, left = to_discarder(each[:3] for each in rules)
            stream.write(json.dumps(written, indent=1) + "\n")
            if left:
                sys.stderr.write(f"{counted(left, 'rule')} of kinds that these files do not know left out\n")
        elif rules:
            headings = ["site", "addresses are the same", "in", ">pairs", "not in", "for example"]
            rows = ([*each.cells(), " = ".join(map(readable, next(iter(each.examples), ())))] for each in rules)
            write_lines([table(headings, rows)], stream)
        else:
            write_lines(["no rule is known yet: it takes ten pairs of a copy and its original"], stream)


def _format(options: argparse.Namespace) -> Format:
    if options.format is None:
        try:
            return format_of(options.output)
        except SettingsError as error:
            raise SettingsError(f"-o {error}, or give --format {', '.join(Format)}") from None
    try:
        return Format(options.format)
    except ValueError:
        raise SettingsError(f"--format {options.format!r}: expected one of {', '.join(Format)}") from None
