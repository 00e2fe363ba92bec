"""What a report promises as a table or as CSV alone, and where it goes."""

from __future__ import annotations

import csv
import io
import os
import tracemalloc
from pathlib import Path

import pytest
from markupsafe import escape
from sqlalchemy import update

from dedup import DedupError
from dedup.atomic_files import open_output
from dedup.console import in_unit, readable
from dedup.report import rows
from dedup.report.render import Format
from dedup.store.database import Database
from dedup.store.schema import texts
from tests.crawls import BRIDGE, BUDGET, Crawls, form_of, text_of
from tests.report.renderings import data_of, facts_of, pairs_in, section, written
from tests.terminals import Terminal, links_in, seen


@pytest.fixture
def database_url(sqlite_url: str) -> str:
    return sqlite_url


def table_of(database: Database, **selection: object) -> list[str]:
    return written(database, Format.TABLE, **selection).splitlines()


def pairs_of(table: str) -> list[tuple[str, ...]]:
    return pairs_in(section(table, "all duplicates, by original"))


# CSV


def test_csv_has_the_columns_of_json_and_last_what_is_similar(crawls: Crawls, database: Database) -> None:
    crawls.run("forms", (BUDGET, text_of(4)), (BRIDGE, text_of(4)), ("https://forms.example/2", form_of(4)))
    for run, kept in (("tuesday", ["False"] * 4), ("forms", ["False", "True"])):
        facts = facts_of(database, run=run)
        found = list(csv.DictReader(io.StringIO(written(database, Format.CSV, run=run))))
        similar = [{"dropped" if name == "document" else name: row[name] for name in row} for row in facts["similar"]]
        assert found == [
            {name: "" if value is None else str(value) for name, value in row.items()}
            for row in facts["duplicates"] + similar
        ]
        assert [row["is_kept"] for row in found] == kept


def test_csv_has_no_formulas_and_nothing_that_controls_a_terminal(crawls: Crawls, database: Database) -> None:
    keys = '=HYPERLINK("https://odd.example")', 'https://odd.example/?a,"b"\nc\x1b[31mred'
    crawls.run("odd", (BUDGET, text_of(2)), *((key, text_of(2)) for key in keys))
    found = csv.DictReader(io.StringIO(written(database, Format.CSV)))
    assert [row["dropped"] for row in found] == ["'" + keys[0], keys[1].replace("\x1b", "")]


@pytest.mark.thorough
@pytest.mark.slow
def test_duplicates_are_written_without_being_held_in_memory(crawls: Crawls, monkeypatch: pytest.MonkeyPatch) -> None:
    # More than are read at once.
    monkeypatch.setattr(rows, "ROWS_AT_ONCE", 50)
    path, numbers = f"https://news.example/{'x' * 1_000}", range(500)
    crawls.run("large", *((f"{path}/copy/{number}", text_of(0)) for number in numbers))
    pages = [(f"{path}/{made.__name__}/{number}", made(number)) for number in numbers for made in (text_of, form_of)]
    crawls.run("large", *pages)

    class Nowhere(io.StringIO):
        def write(self, text: str) -> int:
            return len(text)

    def write_all() -> None:
        for form in set(Format) - {Format.HTML}:  # a page is searched, so it holds what it shows
            written(crawls.deduplicator.database, form, Nowhere())

    # What is loaded once is no part of what a report takes.
    write_all()
    tracemalloc.start()
    try:
        write_all()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2_500_000


# The table


def test_table_begins_with_the_answer_and_ends_with_what_to_do_next(database: Database) -> None:
    lines = table_of(database)
    assert [line.split(maxsplit=1)[1] for line in lines[2:6]] == [
        "7 documents",
        "3 documents   2 new, 1 unchanged",
        "4 documents   1 exact, 3 near",
        "3 documents   near-duplicates whose differences may matter",
    ]
    assert [line.strip() for line in lines[6:9:2]] == [
        "not checked   3 pairs: names not checked (original text not stored)",
        "lost          56 B of text that is in no kept document",
    ]
    # The one that is the least alike.
    assert lines[-1].endswith(f"dedup explain --database {database.name} https://print.example:8080/wire")
    assert "similar pages, kept; please review" not in lines


def test_table_names_ten_duplicates_unless_all_are_wanted(crawls: Crawls, database: Database) -> None:
    copies = [(f"https://many.example/{number}", text_of(9)) for number in range(13)]
    crawls.run("many", *copies)
    lines = table_of(database)
    assert len(pairs_in(lines)) == 10
    assert "and 2 more duplicates: --all, or -o report.html, shows them" in lines
    assert len(pairs_of(written(database, Format.TABLE, is_whole=True))) == 12


def test_similar_pages_of_one_pattern_are_one_row(crawls: Crawls, database: Database) -> None:
    forms = [
        (f"https://forms.example/{number}/{made.__name__}", made(number))
        for number in range(30, 33)
        for made in (text_of, form_of)
    ]
    alone = ("https://alone.example/", text_of(20)), ("https://alone.example/form", form_of(20))
    crawls.run("forms", *forms, *alone)
    told = section(written(database, Format.TABLE, is_whole=True), "similar pages, kept")
    assert [row[3] for row in pairs_in(told)] == ["https://alone.example/form"]
    pattern = "https://forms.example/#/form_of", "https://forms.example/#/text_of"
    assert [line.split()[:3] for line in told[-1:]] == [["3", *pattern]]


def test_letters_that_are_escaped_are_no_numbers_of_a_pattern(crawls: Crawls, database: Database) -> None:
    words = [("%D0%B2", "%D0%B3"), ("%E6%B8%AF", "%E5%8F%A3")]
    forms = [
        [(f"https://a.example/{key}", made(seed)) for key, made in zip(pair, (text_of, form_of), strict=True)]
        for seed, pair in enumerate(words, 40)
    ]
    crawls.run("forms", *forms[0], *forms[1])
    told = section(written(database, Format.TABLE, is_whole=True), "similar pages, kept")
    assert len(pairs_in(told)) == 2


def test_what_there_is_none_of_is_not_told(crawls: Crawls, database: Database) -> None:
    crawls.run("new", (BUDGET, text_of(7)))
    _, *lines = table_of(database)
    assert [line.split() for line in lines if line] == [
        ["read", "1", "document"],
        ["kept", "1", "document", "1", "updated"],
        ["dropped", "0", "documents"],
    ]
    assert table_of(database, host="nowhere.example")[1:] == ["", "no documents"]


def test_what_cannot_be_compared_any_more_is_counted_in_table_and_page(crawls: Crawls, database: Database) -> None:
    def pages(*seeds: int) -> list[tuple[str, str]]:
        both = [(f"https://many.example/{seed}", text_of(seed)) for seed in seeds]
        return both + [(f"https://many.example/{seed}/copy", text_of(seed, changed=1)) for seed in seeds]

    def told(flagged: int, reasons: str) -> None:
        assert reasons in " ".join(" ".join(table_of(database, run="first")).split())
        page = written(database, Format.HTML, run="first")
        assert f'<p class="muted">{escape(reasons)}</p>' in page
        assert data_of(page)["counts"]["flagged"] == flagged

    # Neither an exact copy nor what is similar is missed where nothing is compared.
    others = ("https://many.example/exact", text_of(11)), ("https://many.example/form", form_of(12))
    crawls.run("first", *pages(11, 12, 13), *others)
    crawls.run("second", ("https://many.example/11", text_of(21)), *pages(12, 13))
    changed = "1 pair not compared, as a text has changed since; "
    told(2, f"{changed}2 pairs: names not checked (original text not stored)")
    with crawls.deduplicator.database.write() as connection:
        connection.execute(update(texts).values(words=None))
    told(0, f"{changed}2 pairs not compared")


def test_table_says_how_much_is_left_out(database: Database) -> None:
    lines = written(database, Format.TABLE, is_whole=True, most_named=1).splitlines()
    assert "and 3 more hosts" in lines
    assert "and 1 more cluster" in lines


def test_addresses_are_links_and_are_not_cut(
    database: Database, crawls: Crawls, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"https://m.example/{'path/' * 40}%E6%B8%AF"
    crawls.run("long", (BUDGET, text_of(2)), (address, text_of(2)))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm-256color")
    sent = written(database, Format.TABLE, Terminal(), is_whole=True)
    assert {address, BUDGET} <= set(links_in(sent))
    assert pairs_of(seen(sent)) == pairs_of(written(database, Format.TABLE, is_whole=True))
    assert pairs_of(seen(sent))[0][-2:] == (readable(address), BUDGET)


def test_addresses_that_differ_in_nothing_but_their_escapes_are_told_apart(crawls: Crawls, database: Database) -> None:
    crawls.run("escapes", (BRIDGE, text_of(1)), (BRIDGE.lower(), text_of(1)))
    assert any("  /zh/港口大桥.html (escaped otherwise)" in line for line in table_of(database))


# Keys and numbers


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("/%E6%B8%AF?q=%E5%8f%a3", "/港?q=口"),
        ("/a%2Fb%20c%25", "/a%2Fb%20c%25"),
        ("/latin-%E9", "/latin-%E9"),
        ("/%C2%85", "/%C2%85"),
        ("/a\nb\tc", "/a\ufffdb\ufffdc"),
        ("/\x1b[2J", "/[2J"),
    ],
)
def test_readable_key(key: str, shown: str) -> None:
    assert readable(key) == shown


def test_units_are_chosen_by_size() -> None:
    sizes = (0, 9_999, 10_000, 10_000_000, 10_000_000_000)
    assert list(map(in_unit, sizes)) == ["0 B", "9,999 B", "10 kB", "10 MB", "10 GB"]
    assert in_unit(9_999, 10_000_000) == "0 MB"


# Where it goes


def test_file_is_replaced_only_when_everything_is_written(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), open_output(str(path)) as stream:
        stream.write(f"new {1 / 0}")
    assert list(tmp_path.iterdir()) == [path]
    with open_output(str(path)) as stream:
        stream.write("港")
        assert path.read_text() == "old"
    assert path.read_bytes() == "港".encode()


def test_file_behind_a_link_is_replaced_and_not_the_link(tmp_path: Path) -> None:
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "real.csv")
    with open_output(str(link)) as stream:
        stream.write("new")
    assert link.is_symlink()
    assert (tmp_path / "real.csv").read_text() == "new"


def test_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with open_output(str(path)) as stream:
            stream.write("new")
        assert os.read(reader, 10) == b"new"
        assert path.is_fifo()
    finally:
        os.close(reader)


def test_file_that_cannot_be_written_is_an_error_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "report.json"
    with pytest.raises(DedupError, match=r"cannot write .*report\.json: No such file"), open_output(str(path)):
        pass
