"""Whatever a site or an item calls itself: nothing upsets a terminal, a spreadsheet or a program."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from itertools import groupby

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dedup.console import logged, plain, readable, write_lines
from dedup.report.changes import ChangedPage, write_changes
from dedup.report.contents import Row
from dedup.report.render import Format, csv_cell
from dedup.report.table import pair_lines
from dedup.report.words import Place, WordDiff
from dedup.rules.documents import Verdict
from tests.terminals import Terminal, seen

FORMULAS = ("=1+1", "+1", "-1", "@SUM(1)", "\t=1", "\r=1", "＝1", '=HYPERLINK("http://evil.example","x")', "\x00=1")
_LETTERS = "<script>%1B=+-@'\",港 א"
_CONTROLS = "\x1b\x07\x9b\x9d]8;[31m\\\x00\x7f\r\n\t\u202e\u2066\u200f\u2028\ufeff\ud800\u0301\U0001f469\u200d"
HOSTILE = st.text(max_size=80) | st.text(alphabet=_LETTERS + _CONTROLS, max_size=80)
KEYS = HOSTILE | HOSTILE.map(lambda text: f"https://evil.example/{text}")


@pytest.fixture(autouse=True, scope="module")
def _colours() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TERM", "xterm-256color")
        patch.setenv("COLUMNS", "90")
        yield


def row_of(dropped: str, original: str) -> Row:
    return Row(Verdict.NEAR_DUPLICATE, 2, 0.9, dropped, original, original, "run", 1.0, None, "jaccard")


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(KEYS, KEYS), min_size=1, max_size=4))
@example([("0" * 49, "")])
def test_a_row_is_one_line_that_a_terminal_can_show(pairs: list[tuple[str, str]]) -> None:
    rows = [row_of(*pair) for pair in pairs]
    piped, terminal = io.StringIO(), Terminal()
    write_lines(pair_lines(rows), piped)
    write_lines(pair_lines(rows), terminal)
    originals = sum(1 for _ in groupby(row.original for row in rows))
    for shown in (piped.getvalue(), seen(terminal.getvalue())):
        assert shown.count("\n") == len(rows) + originals
        assert all(line.isprintable() for line in shown.split("\n"))


@given(KEYS)
def test_what_is_shown_and_logged_is_printable(key: str) -> None:
    for shown in (plain(key), readable(key), logged(key)):
        assert shown.isprintable()
        shown.encode()
    assert len(logged(key * 1000)) <= 2_000


@given(st.one_of(KEYS, st.sampled_from(FORMULAS), st.sampled_from(FORMULAS).flatmap(lambda f: KEYS.map(f.__add__))))
def test_no_cell_is_a_formula_or_moves_a_cursor(value: str) -> None:
    cell = csv_cell(value)
    assert isinstance(cell, str)
    assert not cell.startswith(tuple("=+-@\t\r\n＝＋－＠"))
    assert re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", cell) is None
    stream = io.StringIO(newline="")
    csv.writer(stream, lineterminator="\n").writerow([cell, 1])
    assert next(csv.reader(io.StringIO(stream.getvalue(), newline=""))) == [cell, "1"]


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_formula_has_an_apostrophe_before_it(formula: str) -> None:
    assert str(csv_cell(formula)).startswith("'")


@pytest.mark.parametrize("value", [-1, 0.5, None, "https://news.example/=1", "a-b", "'=1", ""])
def test_what_is_no_formula_stays_as_it_is(value: object) -> None:
    assert csv_cell(value) == value


def test_a_pile_of_marks_is_cut_down() -> None:
    assert len(plain("a" + "\u0301" * 1_000_000)) < 100


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(KEYS, KEYS, HOSTILE, HOSTILE)
def test_changes_are_shown_whatever_they_hold(key: str, old: str, removed: str, added: str) -> None:
    difference = WordDiff(1, 1, 1, [Place(0, removed, removed, added, added, 1, 1)])
    page = ChangedPage("moved", key, old, removed, difference)

    def written(output_format: Format, stream: io.StringIO) -> str:
        write_changes(("a\x1b[2J", removed), iter([page]), output_format, stream)
        return stream.getvalue()

    table = written(Format.TABLE, io.StringIO())
    on_screen = seen(written(Format.TABLE, Terminal()))
    for shown in (table, on_screen):
        assert all(line.isprintable() for line in shown.split("\n"))
    assert table.count("\n") == on_screen.count("\n")
    sent = written(Format.JSON, io.StringIO())
    assert sent.isascii()
    [told] = json.loads(sent)["changes"]
    assert (told["key"], told["difference"]["places"][0]["removed"]) == (key, removed)
    [_, cells] = csv.reader(io.StringIO(written(Format.CSV, io.StringIO(newline="")), newline=""))
    assert not any(cell.startswith(tuple("=+-@\t\r\n")) for cell in cells)
