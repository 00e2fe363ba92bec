"""A job of `dedup files` that Spark does."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from dedup.cli import files_options
from dedup.compiled import require_compiled
from dedup.console import plain, print_message
from dedup.corpus.job import Job
from dedup.errors import InputError
from dedup.readers.files import find_files


def run_on_spark(options: argparse.Namespace) -> int:
    """Do what `dedup files` does by a job of Spark; return the exit status, see `dedup.cli.files.run`."""
    conf = dict(_properties(options.conf))
    _require_of_spark(options)
    outputs = files_options.named_outputs(options, "")
    if files_options.STANDARD_OUTPUT in (*map(str, options.inputs), *outputs.values()):
        raise InputError("-: Spark reads and writes files, not standard input and output; name them")
    try:
        # Few have pyspark.
        from dedup.spark.job import require_possible, run_job  # noqa: PLC0415
        from dedup.spark.session import SparkError, session  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise InputError(f"needs the package {error.name}; pip install 'scrapy-neardup[spark]'") from None
    if "report" in outputs and not options.report.parent.is_dir():
        raise InputError(f"{options.report}: its folder does not exist; create it first")
    found = find_files(options.inputs)
    job = Job[str](
        files=found.files,
        outputs=outputs,
        against=options.against,
        save_index=options.save_index,
        **files_options.shared_options(options),
    )
    files_options.require_preferred(job.order, found)
    require_possible(job, overwrite=options.force)
    files_options.print_ignored(options, found)
    require_compiled()
    started = time.monotonic()
    telling = partial(_telling, options.command)
    try:
        with ExitStack() as stack:
            with telling("starting Spark"):
                spark = stack.enter_context(session(conf))
            tell = partial(print_message, options.command)
            result, went_on = run_job(spark, job, tell, telling, overwrite=options.force)
    except KeyboardInterrupt:
        print_message(options.command, "stopped; rerun the same command to resume after the last finished step")
        return files_options.INTERRUPTED
    except SparkError as error:
        raise SparkError(f"{error}; rerun the same command to resume, or pass --force to start over") from None
    return files_options.print_result(options, result, outputs, time.monotonic() - started, went_on=went_on)


def _require_of_spark(options: argparse.Namespace) -> None:
    """Refuse what a job of Spark cannot do.

    Raises:
        InputError: that is asked for.
    """
    if options.format not in (None, files_options.ON_SPARK):
        raise InputError(f"--format {options.format}: Spark writes {files_options.ON_SPARK}")
    if options.processes is not None:
        raise InputError("--processes: on Spark use --conf spark.master=local[N], or the settings of the cluster")
    if options.dry_run:
        raise InputError("--dry-run: Spark keeps what it has done in a folder beside an output; give -o DIR")


@contextmanager
def _telling(command: str, what: str) -> Iterator[None]:
    """Print what was done and how long it took; on a terminal also that it is being done."""
    started = time.monotonic()
    if sys.stderr.isatty():
        # The line that says how long it took takes its place.
        sys.stderr.write(f"dedup {command}: {what} ...\r")
        sys.stderr.flush()
    yield
    print_message(command, f"{what}: {time.monotonic() - started:,.1f} s")


def _properties(given: list[str]) -> Iterator[tuple[str, str]]:
    for each in given:
        name, equals, value = each.partition("=")
        if not equals:
            raise InputError(f"--conf {plain(each)}: write NAME=VALUE, such as spark.master=local[4]")
        yield name.strip(), value.strip()
