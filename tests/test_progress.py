"""How far something is, on a terminal and in a log."""

from __future__ import annotations

import io

import pytest

from dedup import console
from dedup.console import Progress, duration, track
from tests.terminals import Terminal, seen


@pytest.fixture
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(console, "TERMINAL_INTERVAL", 0)
    monkeypatch.setattr(console, "LINE_INTERVAL", 0)


@pytest.mark.usefixtures("_at_once")
def test_a_terminal_is_shown_a_bar_that_goes_away() -> None:
    stream = Terminal()
    with Progress("reading", 200, stream) as shown:
        shown.show(50, "50 documents")
    sent = stream.getvalue()
    assert "reading" in seen(sent)
    assert " 25%" in seen(sent)
    assert "50 documents" in seen(sent)
    assert " left" in seen(sent)
    # The last that is sent takes the line away.
    assert sent.rindex("\x1b[2K") > sent.rindex("reading")


@pytest.mark.usefixtures("_at_once")
def test_a_log_gets_plain_lines() -> None:
    stream = io.StringIO()
    assert list(track("abcd", "adding", 4, stream)) == list("abcd")
    lines = stream.getvalue().splitlines()
    assert lines[0].split() == ["adding", "0%", "0", "of", "4"]
    assert lines[2].split()[:5] == ["adding", "50%", "2", "of", "4"]
    assert lines[2].endswith(" left")
    assert "\x1b" not in stream.getvalue()


@pytest.mark.usefixtures("_at_once")
def test_what_was_done_before_says_nothing_of_the_time_left() -> None:
    stream = io.StringIO()
    Progress("reading", 100, stream, before=50).show(50)
    assert "left" not in stream.getvalue()


@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize("total", [0, 1])
def test_more_may_be_done_than_was_thought(total: int) -> None:
    stream = io.StringIO()
    Progress("x", total, stream).show(7)
    assert stream.getvalue().split()[:2] == ["x", "100%"]


def test_what_is_done_soon_shows_nothing() -> None:
    for stream in (Terminal(), io.StringIO()):
        assert sum(track(range(100), "adding", 100, stream)) == 4950
        assert stream.getvalue() == ""


def test_whoever_stops_in_the_middle_leaves_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(console, "TERMINAL_INTERVAL", 0)
    stream = Terminal()
    items = track(range(10), "adding", 10, stream)
    next(items)
    next(items)
    items.close()  # type: ignore[attr-defined]
    assert stream.getvalue().rindex("\x1b[2K") > stream.getvalue().rindex("adding")


def test_a_time_is_written_as_hours_minutes_and_seconds() -> None:
    assert [duration(seconds) for seconds in (0.4, 65, 3_725)] == ["0:00:00", "0:01:05", "1:02:05"]
