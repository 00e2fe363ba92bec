"""Lines with styles and links: on a terminal, and elsewhere."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.console import HEADING, NEAR, Styled, joined, link_to, padded, styled, write_lines
from tests.commands import run_python
from tests.terminals import Terminal, links_in, seen, styles_in

KEY = "https://news.example/a page?q=1"
LINE = joined("  ", [padded(styled("near", NEAR), 6), styled("news.example/…", link=link_to(KEY)), "plain", ""])


@pytest.fixture(autouse=True)
def _colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)


def sent_to(stream: io.StringIO) -> str:
    write_lines([styled("heading", HEADING), LINE], stream)
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
    write_lines(["[bold]x[/bold] :smile: [link=http://evil.example]y[/link]"], stream)
    assert stream.getvalue() == "[bold]x[/bold] :smile: [link=http://evil.example]y[/link]\n"


def test_a_long_line_is_not_wrapped() -> None:
    stream = Terminal()
    write_lines(["word " * 100 + "end"], stream)
    assert stream.getvalue() == "word " * 100 + "end\n"


def test_styles_are_lost_and_the_text_is_not_where_a_text_is_made_into_another() -> None:
    assert f"{LINE}" == str(LINE) == "near    news.example/…  plain  "
    assert Styled.of("a", LINE).parts[1].style == NEAR


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


@pytest.mark.slow
def test_who_is_piped_does_not_load_the_library() -> None:
    code = """
import sys
from dedup.console import styled, write_lines
from dedup.console import track
import dedup.cli.main
write_lines([styled("x", "bold")], sys.stdout)
list(track(range(3), "x", 3))
print(sorted({"rich", "argcomplete"} & sys.modules.keys()))
"""
    assert run_python(code) == "x\n[]\n"
