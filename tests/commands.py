"""The commands of `dedup` in this process: one of its own takes a second to load what they need."""

from __future__ import annotations

import io
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess

from dedup.cli.main import main


def run_dedup(*arguments: object, folder: Path) -> CompletedProcess[str]:
    """Run a command, and return what `subprocess.run` would.

    Args:
        *arguments: those of the command line.
        folder: where it runs.
    """
    words = [str(each) for each in arguments]
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2)]
    with chdir(folder), redirect_stdout(streams[0]), redirect_stderr(streams[1]):
        try:
            status = main(words)
        except SystemExit as ended:  # argparse, which has printed why
            status = int(ended.code or 0)
    for stream in streams:
        stream.seek(0)
    return CompletedProcess(words, status, streams[0].read(), streams[1].read())
