"""The commands of `dedup` in this process, where what they need is loaded; other code in one of its own.

Forked ones, as in `tests.forking`, would take twice as long: each `dedup files` starts the server of its worker
processes, and in this process one serves all.
"""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

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


def run_in_process(*arguments: object, **given: Any) -> CompletedProcess[str]:
    """Run Python with arguments in a process of its own, such as `-m dedup files x.jsonl`.

    Args:
        *arguments: those of the interpreter.
        **given: more for `subprocess.run`.
    """
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8", "timeout": HANG}
    return subprocess.run([sys.executable, *map(str, arguments)], check=False, **{**streams, **given})


def run_python(code: str, *arguments: str) -> str:
    """Run code in a process of its own that has to succeed; return what it prints."""
    done = run_in_process("-c", code, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout
