"""`dedup files INPUT...`: keep one document of each group of near-duplicates in files of any known format."""

from __future__ import annotations

import argparse
import gc
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dedup.cli.settings_options import add_settings_arguments, rule_settings
from dedup.compiled import require_compiled
from dedup.console import print_answer, print_message, program
from dedup.corpus.outputs import FORMATS
from dedup.errors import InputError
from dedup.readers.documents import DATE_FIELD, Keep, ReadOptions
from dedup.readers.files import KNOWN, FoundFiles, find_files, preloads
from dedup.readers.streams import is_url
from dedup.workers.loading import keep_freed_memory, without_collections
from dedup.workers.pool import load_ahead

if TYPE_CHECKING:
    # Takes a quarter of a second to load.
    from dedup.corpus.job import Result
    from dedup.corpus.tally import Tally

STANDARD_INPUT = STANDARD_OUTPUT = "-"

_ON_SPARK = "parquet"

OUTPUTS = ("kept", "dropped", "similar", "clusters", "rejected")
"""What is written, each into a file of its own."""

REJECTED, INTERRUPTED = 3, 130
# A source of which more goes is warned of: it may be made by a template. So many are named.
_MUCH, _NAMED = 0.5, 5
_PAGERS = {".gz": "zless", ".zst": "zstdless"}

INPUTS_HELP = f"files, folders, patterns such as 'dumps/*.jsonl', URLs, or - for JSON lines on standard input: {KNOWN}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.usage = "%(prog)s INPUT ... -o DIR [options]"
    parser.add_argument("inputs", nargs="+", type=path_or_url, metavar="INPUT", help=INPUTS_HELP)
    parser.add_argument(
        "-o", "--output", metavar="DIR", help="write kept, dropped, similar, clusters and rejected there"
    )
    parser.add_argument(
        "--format", choices=FORMATS, help=f"of the files in DIR; default: {FORMATS[0]}, on Spark {_ON_SPARK}"
    )
    parser.add_argument(
        "--kept",
        metavar="FILE",
        help=f"write kept documents as they came: .{', .'.join(FORMATS)}, or - for JSON lines on standard output, as "
        "all outputs may be",
    )
    parser.add_argument("--dropped", metavar="FILE", help="write dropped ones, with original and similarity")
    parser.add_argument("--similar", metavar="FILE", help="write kept ones that are similar to others")
    parser.add_argument("--clusters", metavar="FILE", help="write clusters: leader and keys")
    parser.add_argument("--pairs", metavar="FILE", help="write each copy or similar one with its original")
    parser.add_argument("--rejected", metavar="FILE", help="write what could not be read, and why")
    parser.add_argument("--report", type=local, metavar="FILE", help="write a report as an HTML page; .html")
    parser.add_argument(
        "--cluster-fields",
        action="store_true",
        help="add to kept documents copies, how many of those read each stands for: itself, and what was dropped as a "
        "copy of it; and cluster, the key of the leader of its cluster",
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
        choices=list(Keep),
        default=Keep.FIRST,
        help="which of a group of copies; longest and newest read all before they decide",
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
    parser.add_argument("--json", action="store_true", help="print the report as an object for a program")
    add_settings_arguments(parser)


def path_or_url(text: str) -> Path | str:
    """Return an input as it was given, a path in its usual form."""
    return text if is_url(text) else Path(text)


def local(text: str | Path) -> Path:
    """Return where something is written, or an index is read.

    Raises:
        InputError: it is no place of this machine.
    """
    if is_url(str(text)):
        raise InputError(f"{text}: outputs and indexes are files of this machine; name a path, and copy it from there")
    return Path(text)


def _share(text: str) -> float:
    if not re.fullmatch(r"0?\.[0-9]+|[01](\.0*)?", text):
        raise InputError(f"--max-dropped {text}: expected a share from 0 to 1, such as .5")
    return float(text)


def add_reading_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say how documents are read and signed."""
    add_field_arguments(parser)
    parser.add_argument("--limit", type=int, metavar="N", help="read only the first documents")
    parser.add_argument("--processes", type=int, metavar="N", help="how many make signatures (default: one a core)")


def add_field_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say how documents are found in files."""
    defaults = ReadOptions()
    parser.add_argument(
        "--text-field",
        action="append",
        default=[],
        metavar="NAME",
        help="field of the text, such as article.body; given again, a part of the text; text,body: the first of them "
        "that has any; default: title and text, by their usual names",
    )
    parser.add_argument("--html-field", metavar="NAME", help="of HTML without a text; default: html, raw_html, ...")
    parser.add_argument("--key-field", metavar="NAME", help="of the key; default: url, id, ..., else file and line")
    parser.add_argument("--max-bytes", type=int, default=defaults.max_bytes, metavar="N", help="reject longer records")
    parser.add_argument("--allow-rejects", action="store_true", help="status 0, and not 3, if some cannot be read")


def read_options(options: argparse.Namespace) -> ReadOptions:
    """Return how documents are found in files, of the arguments that `add_field_arguments` adds."""
    return ReadOptions(tuple(options.text_field), options.html_field, options.key_field, options.max_bytes)


def _status_of(options: argparse.Namespace, rejected: int, path: object) -> int:
    """Name the file of what was rejected, if anything was; return the exit status.

    Args:
        options: those of the command.
        rejected: how many lines, rows, records and rests of files.
        path: the file or folder; None: there is none.
    """
    if not rejected:
        return 0
    where = f"{path} says which and why" if path is not None else "--rejected FILE writes which and why"
    way_out = "" if options.allow_rejects else "; --allow-rejects ends with status 0"
    print_message(options.command, f"{rejected:,} rejected: {where}{way_out}")
    return 0 if options.allow_rejects else REJECTED


def _next_command(options: argparse.Namespace, tally: Tally, outputs: Mapping[str, Path | str]) -> str:
    """Return the command that shows what was rejected, else what was dropped, or the index; empty without any of these.

    Args:
        options: those of the command that has ended.
        tally: what became of the documents.
        outputs: where what is called how was written: JSON lines, or Parquet, also as a folder.
    """
    wanted = "rejected" if tally.rejected else "dropped" if tally.exact + tally.near else ""
    # The same command again would find the index there, or in it what it has just read. Spark's may be a URL.
    is_written = bool({wanted, "report"} & outputs.keys())
    if options.save_index and options.on is None and not is_written:
        return shlex.join([program("dedup"), "index", "info", str(options.save_index)])
    path = str(outputs.get(wanted, ""))
    # Nor is standard input there again.
    if not wanted or "://" in path or (Path(STANDARD_INPUT) in options.inputs and not is_written):
        return ""
    if path and Path(path).suffix not in ("", ".parquet"):
        return shlex.join([_PAGERS.get(Path(path).suffix, "less"), path])
    if path:
        rows = f"p.read_table({json.dumps(path)}).slice(0, 20).to_pylist()"
        code = f'import pyarrow.parquet as p; print(*{rows}, sep="\\n")'
        return shlex.join([program("python"), "-c", code])
    if "report" in outputs:
        return shlex.join([program("python"), "-m", "webbrowser", str(outputs["report"])])
    words = [each for each in options.given if each != "--dry-run"]
    force = ["--force"] if outputs and not options.force else []
    return shlex.join([program("dedup"), *words, f"--{wanted}", f"{wanted}.jsonl", *force])


def run(options: argparse.Namespace) -> int:
    """Deduplicate and print the report; the status is 3 if some were rejected, 130 if the user stopped it."""
    for name in ("limit", "processes", "max_bytes"):
        value = getattr(options, name)
        if value is not None and not value > 0:
            raise InputError(f"--{name.replace('_', '-')} {value}: expected more than 0")
    if options.date_field is not None and options.keep != Keep.NEWEST:
        raise InputError("--date-field goes with --keep newest")
    if options.on is not None:
        # Few have pyspark.
        from dedup.cli.spark import run_on_spark  # noqa: PLC0415

        return run_on_spark(options)
    if options.conf:
        raise InputError("--conf goes with --on spark")
    with input_files(options.inputs) as found:
        outputs = {
            name: local(path) for name, path in named_outputs(options, f".{options.format or FORMATS[0]}").items()
        }
        if options.output is not None:
            folder = local(options.output)
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
    against, save_index = (each and local(each) for each in (options.against, options.save_index))
    job = Job(
        files=found.files,
        outputs=files,
        processes=options.processes or os.cpu_count() or 1,
        against=against,
        save_index=save_index,
        **shared_options(options),
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
        return print_result(options, result, written, time.monotonic() - started, is_piped=is_piped)


def print_ignored(options: argparse.Namespace, found: FoundFiles) -> None:
    """Say which files are not read, if any are not."""
    if found.ignored:
        said = f"skipped {len(found.ignored):,} files of unknown format, such as {found.ignored[0]}"
        print_message(options.command, said)


def shared_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return what a job is given wherever it is done, see `dedup.corpus.job.Job`."""
    return {
        "options": read_options(options),
        "settings": rule_settings(options),
        "limit": options.limit,
        "keep": Keep(options.keep),
        "date_field": options.date_field or DATE_FIELD,
        "cluster_fields": options.cluster_fields,
        "max_dropped": options.max_dropped,
    }


def print_result(
    options: argparse.Namespace,
    result: Result,
    outputs: Mapping[str, Path | str],
    seconds: float,
    *,
    went_on: bool = False,
    is_piped: bool = False,
) -> int:
    """Print the report on a job, and what there is to be told beside it; return the exit status, see `run`.

    Args:
        options: those of the command.
        result: what was found.
        outputs: what was written, by what went into it.
        seconds: how long it took.
        went_on: whether some of it had been done before.
        is_piped: whether standard output has documents.
    """
    from dedup.corpus.job import summary_lines, summary_object  # noqa: PLC0415 -- loads NumPy

    tally, name = result.tally, options.command
    if not tally.documents:
        print_message(name, "no documents in the inputs; the outputs are empty")
    elif result.empty_fields:
        fields = ", ".join(map(repr, result.empty_fields))
        print_message(name, f"--text-field: no document has a text in {fields}; see how the fields are spelled")
    if recurrence := tally.recurrence:
        print_message(name, recurrence)
    for source in tally.mostly_dropped(_MUCH)[:_NAMED]:
        print_message(name, f"{source}; look at them before you use what is kept")
    # On a terminal the command to give next shall be the last line.
    status = _status_of(options, tally.rejected, outputs.get("rejected"))
    written = [*outputs.values(), *([options.save_index] if options.save_index else [])]
    command = "" if is_piped else _next_command(options, tally, outputs)
    documents = 0 if went_on else tally.documents
    lines = summary_lines(result, result.files, written, seconds, documents, command=command)
    print_answer(summary_object(result, seconds), lines, as_json=options.json)
    return status


def named_outputs(options: argparse.Namespace, suffix: str) -> dict[str, str]:
    """Return what is to be written, by what goes into it; suffix: of what is written into a folder.

    Raises:
        InputError: nothing is to be written, and that was not asked for, or a report is no page.
    """
    named = {name: str(path) for name in (*OUTPUTS, "pairs", "report") if (path := getattr(options, name)) is not None}
    if "report" in named:
        require_page(options.report)
    if options.dry_run:
        if named or options.output or options.save_index:
            raise InputError("--dry-run writes nothing: omit the outputs, or --dry-run")
        return {}
    if options.output is not None:
        named = {name: f"{options.output.rstrip('/')}/{name}{suffix}" for name in OUTPUTS} | named
    if not named and options.save_index is None:
        raise InputError(
            "nothing to write: give -o DIR or files, such as --kept and --dropped, or --dry-run for a report alone"
        )
    return named


def require_page(path: Path) -> None:
    """Refuse a report that is no page.

    Raises:
        InputError: its name is that of something else.
    """
    if path.suffix.lower() != ".html":
        raise InputError(f"--report {path}: a report is a page; its name must end in .html")
