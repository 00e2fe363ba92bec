"""`scrapy duplicates --watch`: a run drawn again and again."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dedup.errors import InputError
from dedup.report.contents import Selection
from dedup.report.watching import watch
from dedup.sql.database import open_existing_database
from tests.crawls import Crawls, text_of
from tests.terminals import Terminal, seen
from tests.waiting import HANG


@pytest.fixture
def database_url(sqlite_url: str) -> str:
    return sqlite_url


def watched(database_url: str, stream: Terminal, **selection: object) -> str:
    database = open_existing_database(database_url)
    try:
        watch(database, Selection(**selection), stream)  # type: ignore[arg-type]
    finally:
        database.close()
    return stream.getvalue()


def test_a_run_that_has_ended_is_shown_once(crawls: Crawls, sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LINES", "24")
    crawls.run("monday", *((f"https://news.example/{number}", text_of(1)) for number in range(50)))
    shown = seen(watched(sqlite_url, Terminal())).splitlines()
    assert "run monday" in shown[0]
    assert any(line.split()[:2] == ["exact", "duplicate"] and line.split()[2] == "49" for line in shown)
    # The last screen is drawn once more.
    rows = list(dict.fromkeys(line for line in shown if line.startswith("exact  ")))
    assert rows[0].split()[3:] == ["https://news.example/49", "https://news.example/0"]
    # As many as fit, of fifty.
    assert 3 <= len(rows) < 24
    assert any(line.startswith("it has ended") for line in shown)


def test_a_run_without_documents_is_shown_and_nothing_where_nothing_can_be_drawn(
    crawls: Crawls, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    crawls.run("empty")
    assert "no documents" in seen(watched(sqlite_url, Terminal()))
    stream = Terminal()
    stream.isatty = lambda: False  # type: ignore[method-assign]
    with pytest.raises(InputError, match="--watch draws on a terminal"):
        watched(sqlite_url, stream)


@contextmanager
def started(folder: Path, database_url: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Start the command in a terminal of its own; yield it and the terminal's other end."""
    ours, its = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "scrapy", "duplicates", "--watch", "--database", database_url],
        cwd=folder,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"},
        stdin=its,
        stdout=its,
        stderr=its,
        start_new_session=True,
    )
    os.close(its)
    try:
        yield process, ours
    finally:
        process.kill()
        os.close(ours)


def wait_for(terminal: int, text: str) -> str:
    """Read what a terminal shows until a text is there, or nobody writes any more."""
    shown = ""
    limit = time.monotonic() + HANG
    while text not in shown:
        assert time.monotonic() < limit
        try:
            shown += seen(os.read(terminal, 65536).decode(errors="replace"))
        except OSError:  # the other end is closed
            break
    return shown


@pytest.mark.slow
def test_it_goes_on_while_the_run_does_and_ends_with_it(crawls: Crawls, sqlite_url: str, tmp_path: Path) -> None:
    crawls.run("sunday", ("https://news.example/a", text_of(1)))
    crawls.run("monday", outcome=None)
    with started(tmp_path, sqlite_url) as (process, terminal):
        assert "run monday" in wait_for(terminal, "going on; Ctrl-C")
        crawls.run("monday", *((f"https://news.example/{key}", text_of(1)) for key in "ab"), outcome=None)
        assert "news.example/b" in wait_for(terminal, "news.example/b")
        crawls.run("monday")
        assert "it has ended" in wait_for(terminal, "it has ended")
        assert process.wait(HANG) == 0


@pytest.mark.slow
def test_ctrl_c_ends_it_quietly(crawls: Crawls, sqlite_url: str, tmp_path: Path) -> None:
    crawls.run("monday", ("https://news.example/a", text_of(1)), outcome=None)
    with started(tmp_path, sqlite_url) as (process, terminal):
        wait_for(terminal, "going on; Ctrl-C")
        process.send_signal(signal.SIGINT)
        assert "Traceback" not in wait_for(terminal, "Traceback")
        assert process.wait(HANG) == 0
