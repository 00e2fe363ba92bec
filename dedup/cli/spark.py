"""`dedup spark INPUT... -o DIR`: keep one document of each group of near-duplicates, by a job of Spark."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from dedup.cli.files import (
    add_field_arguments,
    add_max_dropped_argument,
    next_command,
    print_warnings,
    read_options,
    require_page,
    status_of,
)
from dedup.cli.settings_options import add_settings_arguments, rule_settings
from dedup.compiled import require_compiled
from dedup.console import plain, print_answer, print_message
from dedup.corpus.job import summary_lines, summary_object
from dedup.errors import InputError
from dedup.readers.files import KNOWN

_INTERRUPTED = 130

_OF_FILES_ALONE = (
    *("--cluster-fields", "--clusters", "--date-field", "--dropped", "--dry-run", "--format", "--keep", "--kept"),
    *("--limit", "--pairs", "--processes", "--rejected", "--similar"),
)

_INSTEAD = "DIR has all outputs, as Parquet, and the first of a group is kept, with the fields of its cluster"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.description = (
        "Keep one document of each group of near-duplicates, by a job of Spark: the same ones as `dedup files`. It "
        "writes Parquet. With `spark-submit`, on many machines: all of them need the same paths, or URLs of inputs "
        "that fsspec reads and of outputs that Spark writes."
    )
    parser.add_argument("inputs", nargs="+", metavar="INPUT", help=f"files and folders, or their URLs: {KNOWN}")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="where it is written, a folder or its URL")
    parser.add_argument("--against", metavar="INDEX", help="what this index knows counts as earlier documents")
    parser.add_argument(
        "--save-index",
        metavar="INDEX",
        help="write what is known then; where it is the index of --against, only what is new is added to it",
    )
    parser.add_argument("--report", type=Path, metavar="FILE", help="write a report as an HTML page; .html")
    parser.add_argument(
        "--force", action="store_true", help="overwrite what is there, and forget a job that did not end"
    )
    add_max_dropped_argument(parser)
    parser.add_argument(
        "--conf", action="append", default=[], metavar="NAME=VALUE", help="a property of Spark; may be given again"
    )
    add_field_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print the report as an object for a program")
    add_settings_arguments(parser)
    # The start of an option may be that of one that there is not.
    parser.allow_abbrev = False
    for name in _OF_FILES_ALONE:
        parser.add_argument(name, nargs="?", action=_Missing, default=argparse.SUPPRESS, help=argparse.SUPPRESS)


class _Missing(argparse.Action):
    """An option that only `dedup files` has."""

    # The names and types are those of the base class.
    def __call__(self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option_string: Any = None) -> None:
        parser.error(f"there is no {option_string} here, only in `dedup files`; {_INSTEAD}")


def run(options: argparse.Namespace) -> int:
    """Deduplicate and print the report."""
    settings = rule_settings(options)
    conf = dict(_properties(options.conf))
    try:
        # Few have pyspark.
        from dedup.spark.job import OUTPUTS, SparkJob, run_job  # noqa: PLC0415
        from dedup.spark.session import SparkError, session  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise InputError(f"needs the package {error.name}; pip install 'scrapy-neardup[spark]'") from None
    fields = read_options(options)
    job = SparkJob(
        options.inputs,
        options.output,
        fields,
        settings,
        options.against,
        options.save_index,
        overwrite=options.force,
        report=_report(options.report),
        max_dropped=options.max_dropped,
    )
    job.check()
    require_compiled()
    started = time.monotonic()
    try:
        with ExitStack() as stack:
            with _telling("starting Spark"):
                spark = stack.enter_context(session(conf))
            done = run_job(spark, job, partial(print_message, "spark"), _telling)
    except KeyboardInterrupt:
        print_message("spark", "stopped; rerun the same command to resume after the last finished step")
        return _INTERRUPTED
    except SparkError as error:
        raise SparkError(f"{error}; rerun the same command to resume, or pass --force to start over") from None
    seconds = time.monotonic() - started
    paths = {name: f"{options.output.rstrip('/')}/{name}" for name in OUTPUTS}
    # As in `dedup files`.
    print_warnings("spark", done.result.tally)
    status = status_of("spark", done.result.tally.rejected, paths["rejected"], are_allowed=options.allow_rejects)
    written = [*paths.values(), *(str(each) for each in (options.report, options.save_index) if each)]
    documents = 0 if done.went_on else done.result.tally.documents
    command = next_command(options, done.result.tally, paths)
    lines = summary_lines(done.result, done.files, written, seconds, documents, command=command)
    print_answer(summary_object(done.result, seconds), lines, as_json=options.json)
    return status


@contextmanager
def _telling(what: str) -> Iterator[None]:
    """Print what was done and how long it took; on a terminal also that it is being done."""
    started = time.monotonic()
    if sys.stderr.isatty():
        # The line that says how long it took takes its place.
        sys.stderr.write(f"dedup spark: {what} ...\r")
        sys.stderr.flush()
    yield
    print_message("spark", f"{what}: {time.monotonic() - started:,.1f} s")


def _report(path: Path | None) -> Path | None:
    """Check, before a job that may take hours, that its report can be written."""
    if path is not None:
        require_page(path)
        if not path.parent.is_dir():
            raise InputError(f"{path}: its folder does not exist; create it first")
    return path


def _properties(given: list[str]) -> Iterator[tuple[str, str]]:
    for each in given:
        name, equals, value = each.partition("=")
        if not equals:
            raise InputError(f"--conf {plain(each)}: write NAME=VALUE, such as spark.master=local[4]")
        yield name.strip(), value.strip()
