"""The commands of `dedup` in this process, where what they need is loaded; other code in one of its own."""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess

from dedup.cli.main import main
from tests.waiting import HANG


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


def run_python(code: str, *arguments: str) -> str:
    """Run code in a process of its own that has to succeed; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=HANG,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
