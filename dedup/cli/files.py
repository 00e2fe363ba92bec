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
from typing import TYPE_CHECKING

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
    from dedup.corpus.tally import Tally

STANDARD_INPUT = STANDARD_OUTPUT = "-"

OUTPUTS = ("kept", "dropped", "similar", "clusters", "rejected")
"""What is written, each into a file of its own."""

REJECTED, _INTERRUPTED = 3, 130
# A source of which more goes is warned of: it may be made by a template. So many are named.
_MUCH, _NAMED = 0.5, 5
_PAGERS = {".gz": "zless", ".zst": "zstdless"}

INPUTS_HELP = f"files, folders, patterns such as 'dumps/*.jsonl', URLs, or - for JSON lines on standard input: {KNOWN}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.usage = "%(prog)s INPUT ... -o DIR [options]"
    parser.add_argument("inputs", nargs="+", type=path_or_url, metavar="INPUT", help=INPUTS_HELP)
    parser.add_argument(
        "-o", "--output", type=local, metavar="DIR", help="write kept, dropped, similar, clusters and rejected into DIR"
    )
    parser.add_argument("--format", choices=FORMATS, default=FORMATS[0], help="of the files in DIR; default: jsonl")
    parser.add_argument(
        "--kept",
        type=local,
        metavar="FILE",
        help=f"write kept documents as they came: .{', .'.join(FORMATS)}, or - for JSON lines on standard output, as "
        "all outputs may be",
    )
    parser.add_argument(
        "--dropped", type=local, metavar="FILE", help="write dropped ones, with original and similarity"
    )
    parser.add_argument("--similar", type=local, metavar="FILE", help="write kept ones that are similar to others")
    parser.add_argument("--clusters", type=local, metavar="FILE", help="write clusters: leader and keys")
    parser.add_argument("--pairs", type=local, metavar="FILE", help="write each copy or similar one with its original")
    parser.add_argument("--rejected", type=local, metavar="FILE", help="write what could not be read, and why")
    parser.add_argument("--report", type=local, metavar="FILE", help="write a report as an HTML page; .html")
    parser.add_argument(
        "--cluster-fields",
        action="store_true",
        help="add to kept documents copies, how many of those read each stands for: itself, and what was dropped as a "
        "copy of it; and cluster, the key of the leader of its cluster",
    )
    parser.add_argument("--dry-run", action="store_true", help="write nothing, print the report alone")
    parser.add_argument("--force", action="store_true", help="overwrite outputs")
    add_max_dropped_argument(parser)
    add_reading_arguments(parser)
    parser.add_argument(
        "--keep",
        choices=list(Keep),
        default=Keep.FIRST,
        help="which of a group of copies; longest and newest read all before they decide",
    )
    parser.add_argument("--date-field", metavar="NAME", help="of the date, for --keep newest; default: date")
    parser.add_argument("--against", type=local, metavar="INDEX", help="compare with the documents of this index, too")
    parser.add_argument(
        "--save-index",
        type=local,
        metavar="INDEX",
        help="save all documents for a later --against; the index of --against is updated",
    )
    parser.add_argument("--json", action="store_true", help="print the report as an object for a program")
    add_settings_arguments(parser)


def path_or_url(text: str) -> Path | str:
    """Return an input as it was given, a path in its usual form."""
    return text if is_url(text) else Path(text)


def local(text: str) -> Path:
    """Return where something is written, or an index is read.

    Raises:
        InputError: it is no place of this machine.
    """
    if is_url(text):
        raise InputError(f"{text}: outputs and indexes are files of this machine; name a path, and copy it from there")
    return Path(text)


def add_max_dropped_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--max-dropped`."""
    parser.add_argument(
        "--max-dropped",
        type=_share,
        metavar="SHARE",
        help="write nothing if more than this share, such as .5, of a source of 100 documents or more is dropped",
    )


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


def print_warnings(command: str, tally: Tally) -> None:
    """Warn of documents that the index was made of, and of sources of which most is dropped."""
    if recurrence := tally.recurrence:
        print_message(command, recurrence)
    for source in tally.mostly_dropped(_MUCH)[:_NAMED]:
        print_message(command, f"{source}; look at them before you use what is kept")


def status_of(command: str, rejected: int, path: object, *, are_allowed: bool) -> int:
    """Name the file of what was rejected, if anything was; return the exit status.

    Args:
        command: the name of the command.
        rejected: how many lines, rows, records and rests of files.
        path: the file or folder; None: there is none.
        are_allowed: whether the status is 0 all the same.
    """
    if not rejected:
        return 0
    where = f"{path} says which and why" if path is not None else "--rejected FILE writes which and why"
    way_out = "" if are_allowed else "; --allow-rejects ends with status 0"
    print_message(command, f"{rejected:,} rejected: {where}{way_out}")
    return 0 if are_allowed else REJECTED


def next_command(options: argparse.Namespace, tally: Tally, outputs: Mapping[str, Path | str]) -> str:
    """Return the command that shows what was rejected, else what was dropped, or the index; empty without any of these.

    Args:
        options: those of the command that has ended.
        tally: what became of the documents.
        outputs: where what is called how was written: JSON lines, or Parquet, also as a folder.
    """
    wanted = "rejected" if tally.rejected else "dropped" if tally.exact + tally.near else ""
    # The same command again would find the index there, or in it what it has just read. Spark's may be a URL.
    is_written = bool({wanted, "report"} & outputs.keys())
    if options.save_index and options.command != "spark" and not is_written:
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
    with input_files(options.inputs) as found:
        outputs = _outputs(options)
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
        from dedup.corpus.job import Job, require_writable, summary_lines, summary_object  # noqa: PLC0415
        from dedup.corpus.run import run_job  # noqa: PLC0415
    settings = rule_settings(options)
    if found.ignored:
        print_message("files", f"skipped {len(found.ignored):,} files of unknown format, such as {found.ignored[0]}")
    require_writable(files, options.save_index, options.against, found.files, force=options.force)
    job = Job(
        files=found.files,
        options=read_options(options),
        settings=settings,
        outputs=files,
        processes=options.processes or os.cpu_count() or 1,
        limit=options.limit,
        against=options.against,
        save_index=options.save_index,
        keep=Keep(options.keep),
        date_field=options.date_field or DATE_FIELD,
        cluster_fields=options.cluster_fields,
        max_dropped=options.max_dropped,
    )
    # What was loaded stays: a look through all of it for what can be thrown away takes a tenth of a second.
    gc.freeze()
    started = time.monotonic()
    try:
        result = run_job(job, sys.stderr)
    except KeyboardInterrupt:
        print_message("files", "interrupted; nothing was written")
        return _INTERRUPTED
    if not result.tally.documents:
        print_message("files", "no documents in the inputs; the outputs are empty")
    elif result.empty_fields:
        fields = ", ".join(map(repr, result.empty_fields))
        print_message("files", f"--text-field: no document has a text in {fields}; see how the fields are spelled")
    print_warnings("files", result.tally)
    seconds = time.monotonic() - started
    rejected = result.tally.rejected
    # On a terminal the command to give next shall be the last line.
    status = status_of("files", rejected, outputs.get("rejected"), are_allowed=options.allow_rejects)
    written = [path for name, path in outputs.items() if name != "rejected" or rejected]
    written += [job.save_index] if job.save_index else []
    is_piped = Path(STANDARD_OUTPUT) in outputs.values()
    command = "" if is_piped else next_command(options, result.tally, outputs)
    documents = result.tally.documents
    lines = summary_lines(result, len(job.files), written, seconds, documents, command=command)
    with redirect_stdout(sys.stderr if is_piped else sys.stdout):
        print_answer(summary_object(result, seconds), lines, as_json=options.json)
    return status


def _outputs(options: argparse.Namespace) -> dict[str, Path]:
    """Return the files that are to be written, by what goes into them."""
    named = {name: path for name in (*OUTPUTS, "pairs", "report") if (path := getattr(options, name)) is not None}
    if "report" in named:
        require_page(options.report)
    if options.dry_run:
        if named or options.output or options.save_index:
            raise InputError("--dry-run writes nothing: omit the outputs, or --dry-run")
        return {}
    if options.output is not None:
        named = {name: options.output / f"{name}.{options.format}" for name in OUTPUTS} | named
        if options.output.is_file():
            raise InputError(f"-o {options.output}: is a file; name a folder")
        options.output.mkdir(parents=True, exist_ok=True)
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
