"""Lines with styles and links: on a terminal, and elsewhere."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from dedup.console import (
    HEADING,
    NEAR,
    Line,
    joined,
    labelled,
    link_to,
    linked,
    percent,
    styled,
    table,
    write_lines,
)
from tests.terminals import Terminal, links_in, seen, styles_in

KEY = "https://news.example/a page?q=1"
LINE = joined(styled("near  ", NEAR), "  ", linked(KEY, "news.example/…"), "  plain  ")


@pytest.fixture(autouse=True)
def _colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)


def sent_to(stream: io.StringIO, *lines: Line) -> str:
    write_lines(lines or [styled("heading", HEADING), LINE], stream)
    return stream.getvalue()


def test_what_is_piped_is_plain() -> None:
    assert sent_to(io.StringIO()) == "heading\nnear    news.example/…  plain\n"


def test_a_terminal_gets_styles_and_links_and_the_same_text() -> None:
    sent = sent_to(Terminal())
    assert seen(sent) == sent_to(io.StringIO())
    assert links_in(sent) == ["https://news.example/a%20page?q=1"]
    assert "\x1b[33m" in sent


def test_no_color_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    sent = sent_to(Terminal())
    # What is bold has no colour.
    assert styles_in(sent) <= {"\x1b[1m", "\x1b[0m"}
    assert seen(sent) == sent_to(io.StringIO())


def test_a_dumb_terminal_gets_nothing_but_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert sent_to(Terminal()) == sent_to(io.StringIO())


def test_what_looks_like_a_mark_of_the_library_is_text() -> None:
    stream = Terminal()
    write_lines([joined("[bold]x[/bold] :smile: [link=http://evil.example]y[/link]")], stream)
    assert stream.getvalue() == "[bold]x[/bold] :smile: [link=http://evil.example]y[/link]\n"


def test_a_long_line_is_not_wrapped() -> None:
    stream = Terminal()
    write_lines([joined("word " * 100 + "end")], stream)
    assert stream.getvalue() == "word " * 100 + "end\n"


def test_cells_fold_on_a_terminal_and_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("1", linked("https://news.example/" + "x" * 40)), ("12,345", "港口大桥")]
    for made, width in ((table((">count", "address"), rows), 8), (labelled(rows), 14)):
        piped = sent_to(io.StringIO(), made)
        assert "x" * 40 in piped
        monkeypatch.setenv("COLUMNS", "40")
        lines = seen(sent_to(Terminal(), made)).splitlines()
        assert max(map(cell_len, lines)) <= 40
        assert "".join(line[width:].strip() for line in lines if "x" in line) == str(rows[0][1])
    assert sent_to(io.StringIO(), table((">count", "address"), rows[1:])) == " count  address\n12,345  港口大桥\n"


@given(st.text() | st.text(alphabet="\x1b\x07\\\x9c]8;:/?%#\u202e\ud800 http", max_size=60))
def test_an_address_cannot_end_its_link(path: str) -> None:
    for key in (path, f"https://evil.example/{path}", f"HTTP://{path}"):
        address = link_to(key)
        assert address.isascii()
        assert address.isprintable()
        assert " " not in address
        assert len(address) <= 2000


@pytest.mark.parametrize("key", ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "7", "", "httpx://a"])
def test_only_pages_are_linked(key: str) -> None:
    assert link_to(key) == ""


def test_an_address_that_is_too_long_is_no_link() -> None:
    assert link_to("https://a.example/" + "x" * 1_000_000) == ""


@pytest.mark.parametrize(("share", "told"), [(1.0, "99%"), (0.9999, "99%"), (0.925, "93%"), (0.0, "0%")])
def test_what_differs_in_anything_is_never_told_to_be_all_the_same(share: float, told: str) -> None:
    assert percent(share) == told
    assert percent(share, is_same=True) == "100%"
