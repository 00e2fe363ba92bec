"""What `dedup files` does once it is known which files are read and written: the job, its run and its report."""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from dedup.cli.files import next_command, read_options, status_of
from dedup.cli.settings_options import rule_settings
from dedup.cli.warm_up import say
from dedup.corpus.index import require_free
from dedup.corpus.job import Job, summary_lines, summary_object
from dedup.corpus.outputs import discard_part
from dedup.corpus.reading.files import CorpusFile, FoundFiles
from dedup.corpus.run import run_job
from dedup.corpus.state import Checkpoint
from dedup.errors import InputError

_INTERRUPTED = 130


def deduplicate(options: argparse.Namespace, found: FoundFiles, outputs: dict[str, Path]) -> int:
    """Deduplicate and print the report; return the exit status, 3 if some were rejected, 130 if the user stopped it."""
    job = _job(options, found, outputs)
    # What was loaded stays: a look through all of it for what can be thrown away takes a tenth of a second.
    gc.freeze()
    saved = None if job.state is None else Checkpoint.load(job.state)
    before = 0 if saved is None else saved.tally.documents
    if saved is not None:
        say("files", f"going on behind {before:,} documents of an interrupted run")
    started = time.monotonic()
    try:
        result = run_job(job, sys.stderr)
    except KeyboardInterrupt:
        say("files", "stopped" if job.state is None else "stopped; the same command goes on where it was")
        return _INTERRUPTED
    if not result.tally.documents:
        say("files", "there are no documents in the inputs: what is written is empty")
    seconds = time.monotonic() - started
    rejected = result.tally.rejected
    # On a terminal the command to give next shall be the last line.
    status = status_of("files", rejected, job.outputs.get("rejected"), are_allowed=options.allow_rejects)
    if options.json:
        print(json.dumps(summary_object(result, seconds)), flush=True)
    else:
        written = [path for name, path in job.outputs.items() if name != "rejected" or rejected]
        written += [job.save_index] if job.save_index else []
        command = next_command(options, result.tally, job.outputs)
        documents = result.tally.documents - before
        for line in summary_lines(result, len(job.files), written, seconds, documents, command=command):
            print(line)
        sys.stdout.flush()
    return status


def _job(options: argparse.Namespace, found: FoundFiles, outputs: dict[str, Path]) -> Job:
    """Read the arguments, and check everything that can be checked before any work starts."""
    settings = rule_settings(options)
    if found.ignored:
        say("files", f"left out {len(found.ignored):,} files of no known format, such as {found.ignored[0]}")
    state = _state(outputs, options.save_index)
    _check_outputs(outputs, state, options.save_index, found.files, force=options.force)
    return Job(
        files=found.files,
        options=read_options(options),
        settings=settings,
        outputs=outputs,
        state=state,
        processes=options.processes or os.cpu_count() or 1,
        limit=options.limit,
        checkpoint_seconds=options.checkpoint,
        against=options.against,
        save_index=options.save_index,
    )


def _state(outputs: dict[str, Path], save_index: Path | None) -> Path | None:
    """Return the folder of the state: beside the first output, hidden, so that it is never read as an input."""
    documents = [path for name, path in outputs.items() if name != "rejected"]
    first = next(iter(documents), save_index or outputs.get("rejected"))
    return None if first is None else first.with_name(f".{first.name}.state")


def _check_outputs(
    outputs: dict[str, Path], state: Path | None, save_index: Path | None, files: Iterable[CorpusFile], *, force: bool
) -> None:
    """Refuse to write where something is that must not be lost; clear away what may be."""
    inputs = {os.path.realpath(file.path) for file in files}
    written = [*outputs.values(), *([save_index] if save_index else [])]
    if len({path.resolve() for path in written}) < len(written):
        raise InputError("two outputs are the same file: give each its own name")
    for path in written:
        if not path.parent.is_dir():
            raise InputError(f"{path}: its folder is not there; make it first")
        if os.path.realpath(path) in inputs:
            raise InputError(f"{path}: is one of the inputs; write to another file")
    if state is None:
        return
    if force:
        shutil.rmtree(state, ignore_errors=True)
    is_going_on = not force and Checkpoint.load(state) is not None
    for path in outputs.values():
        if path.exists() and not (force or is_going_on):
            raise InputError(f"{path}: is there already; write elsewhere, or give --force to overwrite it")
    if save_index is not None:
        require_free(save_index, force=force or is_going_on)
    if not is_going_on:
        for path in outputs.values():
            discard_part(path)
