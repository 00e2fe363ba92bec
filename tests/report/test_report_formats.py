"""A report as a table, as JSON and as CSV."""

from __future__ import annotations

import csv
import io
import json
import tracemalloc

import pytest
from sqlalchemy import delete, func, insert, select

from dedup.console import readable
from dedup.report.render import Format, write_report
from dedup.signature.signature import digest
from dedup.store.database import Database
from dedup.store.schema import documents, verdicts
from dedup.store.schema import words as stored_words
from tests.crawls import BRIDGE, BUDGET, Crawls, form_of, report_on, text_of
from tests.terminals import Terminal, links_in, seen


@pytest.fixture
def database_url(sqlite_url: str) -> str:
    return sqlite_url


def written(database: Database, output_format: Format, stream: io.StringIO | None = None, **selection: object) -> str:
    stream = stream or io.StringIO()
    with report_on(database, **selection) as report:
        write_report(report, output_format, stream)
    return stream.getvalue()


# JSON and CSV


def test_json_holds_all_facts_exactly(database: Database) -> None:
    facts = json.loads(written(database, Format.JSON))
    with report_on(database) as report:
        duplicates = [duplicate.as_object() for duplicate in report.duplicates]
        assert facts["runs"] == ["tuesday"]
        assert facts["host"] is None
        assert facts["totals"]["exact duplicate"]["documents"] == 1
        assert facts["hosts"][1] == {
            "host": "news.example",
            "kept": 1,
            "unchanged": 1,
            "exact": 1,
            "near": 0,
            "share_dropped": report.hosts[1].share_dropped,
        }
        assert facts["clusters"][0]["leader"] == BRIDGE
        assert facts["duplicates"] == duplicates
    assert len(duplicates) == 4
    assert json.loads(written(database, Format.JSON, host="nowhere.example"))["duplicates"] == []


def test_csv_holds_one_row_a_duplicate_exactly_but_for_what_controls_a_terminal(
    crawls: Crawls, database: Database
) -> None:
    rows = list(csv.DictReader(io.StringIO(written(database, Format.CSV))))
    with report_on(database) as report:
        expected = [
            {name: "" if value is None else str(value) for name, value in duplicate.as_object().items()}
            for duplicate in report.duplicates
        ]
    assert rows == expected
    assert len(rows) == 4
    crawls.run("odd", (BUDGET, text_of(2)), ('https://odd.example/?a,"b"\nc\x1b[31mred', text_of(2)))
    [row] = csv.DictReader(io.StringIO(written(database, Format.CSV)))
    assert row["dropped"] == 'https://odd.example/?a,"b"\nc[31mred'


FORM = "https://forms.example/2"


@pytest.fixture
def forms(crawls: Crawls, database: Database) -> Database:
    """A run with a copy of a page, and a form like it with other words filled in."""
    crawls.run("forms", (BUDGET, text_of(4)), (BRIDGE, text_of(4)), (FORM, form_of(4)))
    return database


def test_what_is_similar_is_listed_by_itself_in_json_and_last_in_csv(forms: Database) -> None:
    facts = json.loads(written(forms, Format.JSON))
    [similar] = facts["similar"]
    assert (similar["document"], similar["original"], similar["matched"]) == (FORM, BUDGET, BUDGET)
    assert (similar["verdict"], similar["kept"], similar["rule"]) == ("similar", "similar", "replaced")
    assert "dropped" not in similar
    assert [duplicate["rule"] for duplicate in facts["duplicates"]] == ["same_text"]
    assert facts["totals"]["similar"]["documents"] == 1
    rows = list(csv.DictReader(io.StringIO(written(forms, Format.CSV))))
    assert [(row["verdict"], row["dropped"], row["kept"], row["rule"]) for row in rows] == [
        ("exact duplicate", BRIDGE, "", "same_text"),
        ("similar", FORM, "similar", "replaced"),
    ]


@pytest.mark.thorough
@pytest.mark.slow
def test_duplicates_are_written_without_being_held_in_memory(crawls: Crawls) -> None:
    crawls.run("large", (BUDGET, text_of(2)))
    add_related(crawls.deduplicator.database, 10_000, "exact duplicate")
    add_related(crawls.deduplicator.database, 10_000, "similar")

    class Nowhere(io.StringIO):
        def write(self, text: str) -> int:
            return len(text)

    def write_all() -> None:
        for output_format in set(Format) - {Format.HTML}:  # a page is searched, so it holds what it shows
            written(crawls.deduplicator.database, output_format, Nowhere())

    # What is loaded once is no part of what a report takes.
    write_all()
    tracemalloc.start()
    try:
        write_all()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4_000_000


def add_related(database: Database, count: int, verdict: str) -> None:
    with database.write() as connection:
        original = connection.execute(select(documents).order_by(documents.c.id)).mappings().first()
        decision = connection.execute(select(verdicts).order_by(verdicts.c.id)).mappings().first()
        assert original is not None
        assert decision is not None
        names = [f"https://copies.example/{'x' * 200}/{verdict}/{number}" for number in range(count)]
        first = connection.scalar(select(func.max(documents.c.id))) + 1
        ids = range(first, first + count)
        copies = [
            {**original, "id": key_id, "key": name, "key_digest": digest(name.encode())}
            for key_id, name in zip(ids, names, strict=True)
        ]
        found = {
            "run_id": decision["run_id"],
            "verdict": verdict,
            "original_id": original["id"],
            "matched_id": original["id"],
            "distance": 0,
            "similarity": 1.0,
            "decided": decision["decided"],
        }
        connection.execute(insert(documents), copies)
        connection.execute(insert(verdicts), [{**found, "document_id": key_id} for key_id in ids])


# The table


def pairs_in(table: str) -> list[list[str]]:
    """The cells of each pair, with its original last."""
    lines = iter(table.splitlines())
    heading = next(line for line in lines if line.startswith("originals and their duplicates"))
    assert heading
    rows: list[list[str]] = []
    original = ""
    for line in lines:
        if not line:
            break
        if line.startswith("  "):
            rows.append([*line.split(), original])
        else:
            original = line
    return rows


def test_table_shows_each_dropped_page_below_its_original(database: Database) -> None:
    bridge = readable(BRIDGE)
    rows = pairs_in(written(database, Format.TABLE))
    assert [(row[0], row[-2], row[-1]) for row in rows] == [
        ("near", "https://print.example/budget", BUDGET),
        ("exact", "/zh/港口大桥.html?sid=81", bridge),
        ("near", "https://print.example:8080/bridge", bridge),
        ("near", "https://print.example:8080/wire", bridge),
    ]
    assert rows[1][1:5] == ["1.00", "0", "bits", "same_text"]
    assert rows[0][1].startswith(".")


def test_table_ends_with_what_was_dropped_and_what_to_do_next(database: Database) -> None:
    table = written(database, Format.TABLE)
    lines = table.splitlines()
    totals = lines[next(at for at, line in enumerate(lines) if line.startswith("verdict  ")) : -6]
    assert totals[-1].startswith("total")
    assert len({len(line) for line in totals}) == 1
    assert lines[-5].startswith("4 of 7 documents dropped: 1 exact, 3 near (distance ")
    assert lines[-2].endswith(" B of text saved; lost 56 B of text found nowhere else")
    assert lines[-4] == "3 flagged for review"
    assert lines[-3] == "names not compared in 3, whose originals' texts are not stored"
    least = min((row for row in pairs_in(table) if row[0] == "near"), key=lambda row: float(row[1]))
    assert lines[-1].endswith(f"dedup explain --database {database.name} --dropped {least[-2]}")
    assert "please review" not in table


def test_what_there_is_none_of_is_not_told(crawls: Crawls, database: Database) -> None:
    crawls.run("new", (BUDGET, text_of(7)))
    title, *lines = written(database, Format.TABLE).splitlines()
    assert title.startswith("news.example, run new, ")
    assert lines == [
        "",
        "verdict  documents     text",
        f"updated          1  {len(text_of(7)):,} B",
        "",
        "0 of 1 documents dropped",
    ]


def test_flagged_drops_are_shown_once_more_with_what_differs(crawls: Crawls, database: Database) -> None:
    words = text_of(5).split()
    words[40] = "30"
    copies = [(f"https://many.example/{number}", text_of(5)) for number in range(8)]
    crawls.run("many", *copies[:3], ("https://many.example/part", " ".join(words)), *copies[3:])
    lines = written(database, Format.TABLE).splitlines()
    start = lines.index("flagged for review: near-duplicates that may say another thing")
    original, row, place, *_ = lines[start + 1 : lines.index("", start)]
    assert (original, row.split()[-1]) == ("https://many.example/0", "/part")
    assert " {+30+} " in place
    assert "1 flagged for review" in lines
    assert lines[-1].endswith(" --dropped https://many.example/part")


def test_what_cannot_be_compared_any_more_is_counted(crawls: Crawls, database: Database) -> None:
    def pages(*seeds: int) -> list[tuple[str, str]]:
        both = [(f"https://many.example/{seed}", text_of(seed)) for seed in seeds]
        return both + [(f"https://many.example/{seed}/copy", text_of(seed, changed=1)) for seed in seeds]

    crawls.run("first", *pages(11, 12, 13))
    crawls.run("second", ("https://many.example/11", text_of(21)), *pages(12, 13))
    lines = written(database, Format.TABLE, run="first").splitlines()
    assert "2 flagged for review" in lines
    reasons = (
        "1 not compared, as a text has changed since; names not compared in 2, whose originals' texts are not stored"
    )
    assert reasons in lines
    with crawls.deduplicator.database.write() as connection:
        connection.execute(delete(stored_words))
    assert "1 not compared, as a text has changed since; 2 not compared" in written(database, Format.TABLE, run="first")


def test_table_says_how_much_is_left_out(database: Database) -> None:
    lines = written(database, Format.TABLE, max_hosts=1, max_clusters=1).splitlines()
    assert "and 3 more hosts" in lines
    assert "and 1 more cluster" in lines
    assert len(pairs_in(written(database, Format.TABLE, max_clusters=0))) == 4
    title, *lines = written(database, Format.TABLE, host="nowhere.example").splitlines()
    assert title.startswith("nowhere.example, run tuesday, ")
    assert lines == ["", "no documents"]


def test_addresses_are_links_and_are_not_cut(
    database: Database, crawls: Crawls, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"https://m.example/{'path/' * 40}%E6%B8%AF"
    crawls.run("long", (BUDGET, text_of(2)), (address, text_of(2)))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm-256color")
    sent = written(database, Format.TABLE, Terminal())
    assert {address, BUDGET} <= set(links_in(sent))
    assert pairs_in(seen(sent)) == pairs_in(written(database, Format.TABLE))
    assert pairs_in(seen(sent))[0][-2:] == [readable(address), BUDGET]


def test_addresses_that_differ_in_nothing_but_their_escapes_are_told_apart(crawls: Crawls, database: Database) -> None:
    crawls.run("escapes", (BRIDGE, text_of(1)), (BRIDGE.lower(), text_of(1)))
    assert pairs_in(written(database, Format.TABLE))[0][-3:-1] == ["(escaped", "otherwise)"]


def test_table_lists_what_is_similar_behind_what_was_dropped(forms: Database) -> None:
    table = written(forms, Format.TABLE)
    lines = table.splitlines()
    start = lines.index("similar pages, kept; please review")
    original, row = lines[start + 1 : lines.index("", start)]
    assert (original, row.split()[0], row.split()[-2:]) == (BUDGET, "similar", ["replaced", FORM])
    assert [row[-2] for row in pairs_in(table)] == ["/zh/港口大桥.html"]
    assert lines[start - 1] == ""
    assert next(line for line in lines if line.startswith("similar   ")).split()[1] == "1"
