"""What `dedup files` has wherever its job is done: how documents are read, what is written, what is told at the end."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from dedup.cli.settings_options import rule_settings
from dedup.console import plain, print_answer, print_message, program
from dedup.corpus.outputs import FORMATS
from dedup.errors import InputError
from dedup.readers.documents import DATE_FIELD, MOST_PREFERRED, Keep, Order, ReadOptions
from dedup.readers.files import KNOWN, FoundFiles
from dedup.readers.pdf import check
from dedup.readers.streams import is_url

if TYPE_CHECKING:
    # Takes a quarter of a second to load.
    from dedup.corpus.job import Result
    from dedup.corpus.tally import Tally

STANDARD_INPUT = STANDARD_OUTPUT = "-"

ON_SPARK = "parquet"
"""The format of what Spark writes."""

OUTPUTS = ("kept", "dropped", "similar", "clusters", "rejected")
"""What is written into a folder, each into a file of its own."""

# What is written into files of other names.
_ALONE = ("pairs", "report")
REJECTED, INTERRUPTED = 3, 130
# A source of which more goes is warned of: it may be made by a template. So many are named.
_MUCH, _NAMED = 0.5, 5
_USUAL_FOLDER = "deduplicated"
_PAGERS = {".gz": "zless", ".zst": "zstdless"}

INPUTS_HELP = f"files, folders, patterns such as 'dumps/*.jsonl', URLs, or - for JSON lines on standard input: {KNOWN}"


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
    parser.add_argument("--pdf", action="store_true", help="read PDFs in WARC files, too")
    parser.add_argument("--allow-rejects", action="store_true", help="status 0, and not 3, if some cannot be read")


def read_options(options: argparse.Namespace) -> ReadOptions:
    """Return how documents are found in files, of the arguments that `add_field_arguments` adds."""
    if options.pdf:
        check("", "--pdf")
    return ReadOptions(
        tuple(options.text_field), options.html_field, options.key_field, options.max_bytes, pdf=options.pdf
    )


def shared_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return what a job is given wherever it is done, see `dedup.corpus.job.Job`."""
    return {
        "options": read_options(options),
        "settings": rule_settings(options),
        "limit": options.limit,
        "order": _order(options),
        "cluster_fields": options.cluster_fields,
        "max_dropped": options.max_dropped,
    }


def _order(options: argparse.Namespace) -> Order:
    """Return which of a group of copies is kept.

    Raises:
        InputError: a field of dates is named that is not needed, or too many sources are preferred.
    """
    keep, field = Keep.HIGHEST, options.keep
    if options.keep in (Keep.FIRST, Keep.LONGEST, Keep.NEWEST):
        keep, field = Keep(options.keep), options.date_field or DATE_FIELD
    if not options.keep.strip():
        raise InputError("--keep: give first, longest, newest, or the name of a field with numbers")
    if options.date_field is not None and keep is not Keep.NEWEST:
        raise InputError("--date-field goes with --keep newest")
    names = [name.strip() for name in (options.prefer or "").split(",")]
    prefer = tuple(PurePath(name).as_posix() for name in names if name)
    if len(prefer) > MOST_PREFERRED:
        raise InputError(f"--prefer: {len(prefer)} names, {MOST_PREFERRED} at most; leave the last ones out")
    return Order(keep, field, prefer)


def require_preferred(order: Order, found: FoundFiles) -> None:
    """Refuse names that are preferred and that no input has.

    Raises:
        InputError: there is one.
    """
    names = [file.name for file in found.files]
    for name in order.prefer:
        if not any(replace(order, prefer=(name,)).place(file) == 0 for file in names):
            raise InputError(
                f"--prefer {plain(name)}: no input has a folder or a file of this name; see how it is spelled"
            )


def named_outputs(options: argparse.Namespace, suffix: str) -> dict[str, str]:
    """Return what is to be written, by what goes into it; suffix: of what is written into a folder.

    Raises:
        InputError: nothing is to be written, and that was not asked for, or not as it was, or a report is no page.
    """
    named = {name: str(path) for name in _ALONE if (path := getattr(options, name)) is not None}
    if "report" in named:
        require_page(options.report)
    if options.dry_run:
        if named or options.output or options.save_index:
            raise InputError("--dry-run writes nothing: omit the outputs, or --dry-run")
        return {}
    if options.output == STANDARD_OUTPUT:
        if options.format not in (None, FORMATS[0]):
            raise InputError(f"--format {options.format}: -o - writes JSON lines; omit the format, or give -o DIR")
        named = {"kept": STANDARD_OUTPUT} | named
    elif options.output is not None:
        named = {name: f"{options.output.rstrip('/')}/{name}{suffix}" for name in OUTPUTS} | named
    if not named and options.save_index is None:
        raise InputError("nothing to write: give -o DIR, or --dry-run for a report alone")
    return named


def require_page(path: Path) -> None:
    """Refuse a report that is no page.

    Raises:
        InputError: its name is that of something else.
    """
    if path.suffix.lower() != ".html":
        raise InputError(f"--report {path}: a report is a page; its name must end in .html")


def print_ignored(options: argparse.Namespace, found: FoundFiles) -> None:
    """Say which files are not read, if any are not."""
    if found.ignored:
        said = f"skipped {len(found.ignored):,} files of unknown format, such as {found.ignored[0]}"
        print_message(options.command, said)


def print_result(
    options: argparse.Namespace,
    result: Result,
    outputs: Mapping[str, Path | str],
    seconds: float,
    *,
    went_on: bool = False,
) -> int:
    """Print the report on a job, and what there is to be told beside it; return the exit status, see `run`.

    Args:
        options: those of the command.
        result: what was found.
        outputs: what was written, by what went into it.
        seconds: how long it took.
        went_on: whether some of it had been done before.
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
    written = [path for path in map(str, outputs.values()) if path != STANDARD_OUTPUT]
    written += [*([options.save_index] if options.save_index else [])]
    is_piped = STANDARD_OUTPUT in map(str, outputs.values())
    command = "" if is_piped else _next_command(options, tally, outputs)
    documents = 0 if went_on else tally.documents
    lines = summary_lines(result, result.files, written, seconds, documents, command=command)
    print_answer(summary_object(result, seconds), lines, as_json=options.json)
    return status


def _status_of(options: argparse.Namespace, rejected: int, path: object) -> int:
    """Name the file of what was rejected, if anything was; return the exit status.

    Args:
        options: those of the command.
        rejected: how many lines, rows, records and rests of files.
        path: the file or folder; None: there is none.
    """
    if not rejected:
        return 0
    where = f"{path or '-o DIR'} lists which and why"
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
    wanted = ["rejected"] * bool(tally.rejected) + ["dropped", "pairs"] * bool(tally.exact + tally.near)
    path = next((str(outputs[name]) for name in wanted if name in outputs), "")
    # Spark's may be a URL.
    if wanted and "report" in outputs and not tally.rejected:
        return shlex.join([program("python"), "-m", "webbrowser", str(outputs["report"])])
    if path and not is_url(path):
        return _showing(path)
    if options.save_index and options.on is None:
        return shlex.join([program("dedup"), "index", "info", str(options.save_index)])
    # Standard input is not there again.
    if not wanted or not options.dry_run or Path(STANDARD_INPUT) in options.inputs:
        return ""
    words = [each for each in options.given if each != "--dry-run"]
    return shlex.join([program("dedup"), *words, "-o", _USUAL_FOLDER])


def _showing(path: str) -> str:
    """Return the command that shows an output."""
    if (suffix := Path(path).suffix) not in ("", ".parquet"):
        return shlex.join([_PAGERS.get(suffix, "less"), path])
    rows = f"p.read_table({json.dumps(path)}).slice(0, 20).to_pylist()"
    code = f'import pyarrow.parquet as p; print(*{rows}, sep="\\n")'
    return shlex.join([program("python"), "-c", code])
