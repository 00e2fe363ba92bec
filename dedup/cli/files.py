"""`dedup files INPUT...`: keep one document of each group of near-duplicates in files of any known format."""

from __future__ import annotations

import argparse
import gc
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from functools import partial
from pathlib import Path

from dedup.cli.files_options import (
    INPUTS_HELP,
    INTERRUPTED,
    ON_SPARK,
    STANDARD_INPUT,
    STANDARD_OUTPUT,
    add_reading_arguments,
    local,
    named_outputs,
    path_or_url,
    print_ignored,
    print_result,
    read_options,
    require_preferred,
    shared_options,
)
from dedup.cli.settings_options import add_json_argument, add_settings_arguments
from dedup.compiled import require_compiled
from dedup.console import print_message
from dedup.corpus.outputs import FORMATS
from dedup.errors import InputError
from dedup.readers.documents import Keep
from dedup.readers.files import FoundFiles, find_files, preloads
from dedup.workers.loading import keep_freed_memory, without_collections
from dedup.workers.pool import load_ahead


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.usage = "%(prog)s INPUT ... -o DIR [options]"
    parser.add_argument("inputs", nargs="+", type=path_or_url, metavar="INPUT", help=INPUTS_HELP)
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        help="write kept, dropped, similar, clusters and rejected there; -: kept documents as JSON lines on standard "
        "output",
    )
    parser.add_argument(
        "--format", choices=FORMATS, help=f"of the files in DIR; default: {FORMATS[0]}, on Spark {ON_SPARK}"
    )
    parser.add_argument(
        "--pairs",
        metavar="FILE",
        help=f"write each copy or similar one with its original: .{', .'.join(FORMATS)}, or - for standard output",
    )
    parser.add_argument("--report", type=local, metavar="FILE", help="write a report as an HTML page; .html")
    parser.add_argument(
        "--cluster-fields",
        action="store_true",
        help="add to kept documents copies, how many documents each represents: itself, and those dropped as its "
        "copies; and cluster, the key of the leader of its cluster",
    )
    parser.add_argument("--dry-run", action="store_true", help="write nothing, print the report alone")
    parser.add_argument("--force", action="store_true", help="overwrite outputs; on Spark, forget a job that failed")
    parser.add_argument(
        "--max-dropped",
        type=_share,
        metavar="SHARE",
        help="write nothing if more than this share, such as .5, of a source of 100 documents or more is dropped",
    )
    add_reading_arguments(parser)
    parser.add_argument(
        "--keep",
        default=Keep.FIRST,
        metavar="WHICH",
        help="which of a group of copies: first, longest, newest, or a FIELD: the one with the largest number in it; "
        "all but first read all before they decide",
    )
    parser.add_argument(
        "--prefer",
        metavar="NAME,...",
        help="folders, or names of files, whose documents are kept rather than others, the first one at first",
    )
    parser.add_argument("--date-field", metavar="NAME", help="of the date, for --keep newest; default: date")
    parser.add_argument("--against", metavar="INDEX", help="compare with the documents of this index, too")
    parser.add_argument(
        "--save-index",
        metavar="INDEX",
        help="save all documents for a later --against; the index of --against is updated",
    )
    parser.add_argument(
        "--on", choices=["spark"], help="do it by a job of Spark, on one machine or a cluster; outputs are folders then"
    )
    parser.add_argument(
        "--conf", action="append", default=[], metavar="NAME=VALUE", help="a property of Spark; may be given again"
    )
    add_json_argument(parser)
    add_settings_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Deduplicate and print the report; the status is 3 if some were rejected, 130 if the user stopped it."""
    for name in ("limit", "processes", "max_bytes"):
        value = getattr(options, name)
        if value is not None and not value > 0:
            raise InputError(f"--{name.replace('_', '-')} {value}: expected more than 0")
    if options.on is not None:
        # Few have pyspark.
        from dedup.cli.files_on_spark import run_on_spark  # noqa: PLC0415

        return run_on_spark(options)
    if options.conf:
        raise InputError("--conf goes with --on spark")
    folder, *_ = _local_places(options)
    outputs = {name: local(path) for name, path in named_outputs(options, f".{options.format or FORMATS[0]}").items()}
    with input_files(options.inputs) as found:
        if folder is not None:
            if folder.is_file():
                raise InputError(f"-o {folder}: is a file; name a folder")
            folder.mkdir(parents=True, exist_ok=True)
        require_compiled()
        keep_freed_memory()
        # Both take most of a second: what the workers need is loaded while this process loads the rest.
        load_ahead(preloads(found.files, read_options(options)))
        with _standard_output(outputs) as files:
            return _deduplicate(options, found, outputs, files)


@contextmanager
def _standard_output(outputs: Mapping[str, Path]) -> Iterator[dict[str, Path]]:
    """Give the files to write; what is called `-` is one as long as it lasts, copied to standard output when whole."""
    with tempfile.TemporaryDirectory(prefix="dedup-") as folder:
        copied = Path(folder) / "out.jsonl"
        yield {name: copied if path == Path(STANDARD_OUTPUT) else path for name, path in outputs.items()}
        if copied.exists():
            with copied.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)


@contextmanager
def input_files(inputs: Sequence[str | Path]) -> Iterator[FoundFiles]:
    """Find the files that arguments name; standard input, of which workers read parts, is one as long as it lasts."""
    if Path(STANDARD_INPUT) not in inputs:
        yield find_files(inputs)
        return
    with tempfile.NamedTemporaryFile(prefix="dedup-", suffix=".jsonl") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        file.flush()
        found = find_files([Path(file.name) if each == Path(STANDARD_INPUT) else each for each in inputs])
        renamed = partial(replace, name=STANDARD_INPUT, key_start=0)
        files = [renamed(each) if each.path == file.name else each for each in found.files]
        yield found._replace(files=files)


def _deduplicate(
    options: argparse.Namespace, found: FoundFiles, outputs: dict[str, Path], files: dict[str, Path]
) -> int:
    """Do the job and print the report; return the exit status, see `run`.

    Args:
        options: those of the command.
        found: the files to read.
        outputs: what is written, as it was named.
        files: the same as files.
    """
    with without_collections():
        from dedup.corpus.job import Job, require_writable  # noqa: PLC0415
        from dedup.corpus.run import run_job  # noqa: PLC0415
    print_ignored(options, found)
    shared = shared_options(options)
    require_preferred(shared["order"], found)
    _, against, save_index = _local_places(options)
    job = Job(
        files=found.files,
        outputs=files,
        processes=options.processes or os.cpu_count() or 1,
        against=against,
        save_index=save_index,
        **shared,
    )
    require_writable(files, job.save_index, job.against, found.files, force=options.force)
    # What was loaded stays: a look through all of it for what can be thrown away takes a tenth of a second.
    gc.freeze()
    started = time.monotonic()
    try:
        result = run_job(job, sys.stderr)
    except KeyboardInterrupt:
        print_message("files", "interrupted; nothing was written")
        return INTERRUPTED
    written = {name: path for name, path in outputs.items() if name != "rejected" or result.tally.rejected}
    is_piped = Path(STANDARD_OUTPUT) in outputs.values()
    with redirect_stdout(sys.stderr if is_piped else sys.stdout):
        return print_result(options, result, written, time.monotonic() - started)


def _local_places(options: argparse.Namespace) -> tuple[Path | None, Path | None, Path | None]:
    """Return the folder of the outputs, the index that is read, and that which is written.

    Raises:
        InputError: one is no place of this machine.
    """
    folder, against, save_index = (
        None if each is None else local(each) for each in (options.output, options.against, options.save_index)
    )
    return None if options.output == STANDARD_OUTPUT else folder, against, save_index


def _share(text: str) -> float:
    if not re.fullmatch(r"0?\.[0-9]+|[01](\.0*)?", text):
        raise InputError(f"--max-dropped {text}: expected a share from 0 to 1, such as .5")
    return float(text)
