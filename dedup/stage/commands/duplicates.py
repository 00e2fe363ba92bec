"""`scrapy duplicates`: every dropped page, its original and why; and what is similar and was kept."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand

from dedup.errors import DedupError, SettingsError, exit_status

if TYPE_CHECKING:
    from dedup.report.contents import Selection
    from dedup.report.render import Format
    from dedup.sql.database import Database

# Scrapy loads this module for every command of every project in the environment: what takes a
# quarter of a second to import waits until it is needed.
# ruff: noqa: PLC0415

_ALL = 10**18
"""More than any database has."""
_RUNS_COMPARED = 2


class Command(ScrapyCommand):
    requires_project = False
    requires_crawler_process = False

    def syntax(self) -> str:
        return "[options]"

    def short_desc(self) -> str:
        return "Show the pages that were dropped as duplicates"

    def long_desc(self) -> str:
        return (
            "Show what dedup decided in the last run: totals, hosts, the largest clusters, every dropped page "
            "with its original and the reason, and every page that was kept though it is similar to another one."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        from dedup.report.contents import Selection
        from dedup.report.render import Format

        super().add_options(parser)
        defaults = Selection()
        parser.add_argument("--run", default="", metavar="NAME", help="a named run instead of the last one")
        parser.add_argument("--all-runs", action="store_true", help="all runs instead of the last one")
        parser.add_argument("--host", default="", help="only pages of this host")
        parser.add_argument(
            "--top",
            metavar="N",
            help="how many hosts, clusters and skipped pages to name "
            f"(default: {defaults.max_hosts}, {defaults.max_clusters} and {defaults.max_skipped})",
        )
        parser.add_argument(
            "--changes",
            nargs="*",
            metavar="RUN",
            help="instead: what changed from a run to a later one "
            "(default: the last two of the same site that came to their end)",
        )
        parser.add_argument(
            "--watch", action="store_true", help="show the run again and again, while it goes on; Ctrl-C ends it"
        )
        parser.add_argument(
            "--format", metavar="|".join(Format), help="how to write it (default: by the name of FILE, else table)"
        )
        parser.add_argument("-o", "--output", default="", metavar="FILE", help="write to FILE instead of the terminal")
        parser.add_argument(
            "--database",
            metavar="URL",
            help="the database to read, a URL or an SQLite file (default: that of the project)",
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        try:
            self._report(args, opts)
        except DedupError as error:
            from dedup.display import plain

            sys.stderr.write(f"error: {plain(str(error))}\n")
            self.exitcode = exit_status(error)

    def _report(self, args: list[str], opts: argparse.Namespace) -> None:
        from dedup.sql.database import open_existing_database, url_of, usual_database
        from dedup.stage.project import names_database, read_project_settings

        if args:
            raise SettingsError(f"{args[0]!r} is not understood: scrapy duplicates -h lists the options")
        from dedup.report.render import selection_for

        output_format = _format(opts)
        selection = _selection(opts, selection_for(output_format))
        _require_one_view(opts)
        assert self.settings is not None
        url = read_project_settings(self.settings).database_url
        if opts.database or not names_database(self.settings):
            url = url_of(opts.database or usual_database())
        with closing(open_existing_database(url)) as database:
            if opts.watch:
                from dedup.report.watching import watch

                watch(database, selection, sys.stdout)
            elif opts.changes is not None:
                _write_changes(database, opts, output_format)
            else:
                _write_report(database, selection, opts.output, output_format)


def _require_one_view(opts: argparse.Namespace) -> None:
    """Refuse options that go with another view than the one that is asked for."""
    if opts.watch and (opts.output or opts.format or opts.all_runs or opts.changes is not None):
        raise SettingsError("--watch draws one run on the terminal: leave out -o, --format, --all-runs and --changes")
    if opts.changes is None:
        return
    if opts.run or opts.all_runs:
        raise SettingsError("--changes names its runs itself, as in --changes monday tuesday: leave out the others")
    if len(opts.changes) > _RUNS_COMPARED:
        raise SettingsError(f"--changes compares two runs, and {len(opts.changes)} are named")


def _write_report(database: Database, selection: Selection, output: str, output_format: Format) -> None:
    from dedup.report.html.writing import write_in_any_format
    from dedup.report.output import open_output
    from dedup.report.queries import open_report
    from dedup.report.render import followed

    with open_report(database, selection) as report, open_output(output) as stream:
        is_followed = not stream.isatty()
        told = followed(report) if is_followed else report
        write_in_any_format(told, database, output_format, stream, is_followed=is_followed)


def _write_changes(database: Database, opts: argparse.Namespace, output_format: Format) -> None:
    from dedup.report.changes.queries import open_changes
    from dedup.report.changes.render import followed
    from dedup.report.html.writing import write_changes_in_any_format
    from dedup.report.output import open_output
    from dedup.warming import SIGNATURES, prepare

    # What differs is told in the tokens that signatures are made of.
    prepare(SIGNATURES, lambda line: print(line, file=sys.stderr), sys.stderr)
    first, second = [*opts.changes, "", ""][:_RUNS_COMPARED]
    with open_changes(database, first, second, opts.host) as changes, open_output(opts.output) as stream:
        told = changes if stream.isatty() else followed(changes)
        write_changes_in_any_format(told, output_format, stream)


def _selection(opts: argparse.Namespace, usual: Selection) -> Selection:
    if opts.run and opts.all_runs:
        raise SettingsError("--run and --all-runs exclude each other: give one of them")
    if opts.top is None:
        return replace(usual, run=opts.run, all_runs=opts.all_runs, host=opts.host)
    if not (opts.top.isascii() and opts.top.isdecimal()):
        raise SettingsError(f"--top {opts.top!r}: expected a whole number from 0 up")
    # A number may have more digits than a database can be asked with.
    top = int(min(float(opts.top), _ALL))
    named = {"max_hosts": top, "max_clusters": top, "max_skipped": top}
    return replace(usual, run=opts.run, all_runs=opts.all_runs, host=opts.host, **named)


def _format(opts: argparse.Namespace) -> Format:
    from dedup.report.render import Format, format_of

    if opts.format is None:
        try:
            return format_of(opts.output)
        except SettingsError as error:
            raise SettingsError(f"-o {error}, or give --format {', '.join(Format)}") from None
    try:
        return Format(opts.format)
    except ValueError:
        raise SettingsError(f"--format {opts.format!r}: expected one of {', '.join(Format)}") from None
