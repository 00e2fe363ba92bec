"""`dedup files --keep`: what is kept is what would be if the inputs were sorted."""

from __future__ import annotations

import gzip
import json
import math
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.cli.main import main
from dedup.corpus.sorting import Ranks, moment
from dedup.readers.documents import CorpusDocument, Keep, Order, Position
from tests.corpus.test_files_command import NEAR, OTHER, TEXT, dedup, many, rows_of, write
from tests.readers.test_reading import warc_record
from tests.texts import document, extended


def files(*arguments: str) -> int:
    return main(["files", *arguments, "--processes", "1"])


def results(folder: Path) -> tuple[list[Any], list[Any], list[Any]]:
    """Return who is kept, who is dropped and why, and the clusters; without places, which differ."""
    kept = [row["id"] for row in rows_of(folder / "kept.jsonl")]
    dropped = [{name: row[name] for name in row if name != "source"} for row in rows_of(folder / "dropped.jsonl")]
    return kept, dropped, rows_of(folder / "clusters.jsonl")


def dated(count: int, seed: object) -> list[dict[str, Any]]:
    rows = many(count, seed)
    for number, row in enumerate(rows):
        # Some are of the same day.
        row["made"] = {
            "at": f"2024-{number * 7 % 12 + 1:02}-{number % 5 + 1:02}",
            "score": (number * 37 % 101 - 50) / 7,
        }
    return rows


@pytest.mark.parametrize("form", ["jsonl", "jsonl.gz", "parquet"])
@pytest.mark.parametrize("keep", ["longest", "newest", "made.score"])
def test_verdicts_are_those_of_sorted_inputs(
    keep: str, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = dated(300, (keep, form))
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), "in.parquet")
    else:
        text = "".join(json.dumps(row) + "\n" for row in rows).encode()
        Path(f"in.{form}").write_bytes(gzip.compress(text) if form == "jsonl.gz" else text)
    if keep == "longest":
        rows.sort(key=lambda row: len(row["text"].encode()), reverse=True)
    else:
        rows.sort(key=lambda row: row["made"]["at" if keep == "newest" else "score"], reverse=True)
    write(tmp_path / "sorted.jsonl", rows)
    date_field = ["--date-field", "made.at"] if keep == "newest" else []
    assert files(f"in.{form}", "-o", "out", "--keep", keep, *date_field) == 0
    assert files("sorted.jsonl", "-o", "wanted") == 0
    assert results(tmp_path / "out") == results(tmp_path / "wanted")
    assert len(rows_of(tmp_path / "out/dropped.jsonl")) > 50


def test_outputs_name_where_documents_stand_and_have_them_as_they_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    longest = extended(TEXT, 5)
    write(tmp_path / "in.jsonl", [{"id": "a", "text": TEXT}, {"id": "b", "text": longest}, {"id": "c", "text": OTHER}])
    with (tmp_path / "in.jsonl").open("a", encoding="utf-8") as file:
        file.write("no JSON\n")
    assert files("in.jsonl", "-o", "out", "--keep", "longest", "--save-index", "index", "--allow-rejects") == 0
    lines = (tmp_path / "in.jsonl").read_text(encoding="utf-8").splitlines()
    assert sorted((tmp_path / "out/kept.jsonl").read_text(encoding="utf-8").splitlines()) == sorted(lines[1:3])
    [dropped] = rows_of(tmp_path / "out/dropped.jsonl")
    assert (dropped["key"], dropped["original"], dropped["source"]) == ("a", "b", "in.jsonl:1")
    assert [row["source"] for row in rows_of(tmp_path / "out/rejected.jsonl")] == ["in.jsonl:4"]
    # What is in an index was first, however short it is.
    write(tmp_path / "more.jsonl", [{"id": "d", "text": extended(longest, 3)}])
    assert files("more.jsonl", "-o", "more", "--keep", "longest", "--against", "index") == 0
    assert [row["original"] for row in rows_of(tmp_path / "more/dropped.jsonl")] == ["b"]


def test_of_pages_the_one_with_the_longest_main_text_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    menu = "<nav>" + "".join(f"<a href='/{i}'>{document(3, i)}</a>" for i in range(200)) + "</nav>"
    pages = {"https://a.example/": menu + f"<p>{TEXT}</p>", "https://b.example/": f"<p>{extended(TEXT, 5)}</p>"}
    records = [warc_record(url, f"<html><body>{page}</body></html>".encode()) for url, page in pages.items()]
    (tmp_path / "in.warc").write_bytes(b"".join(records))
    assert files("in.warc", "-o", "out", "--keep", "longest") == 0
    assert [row["url"] for row in rows_of(tmp_path / "out/kept.jsonl")] == ["https://b.example/"]


def test_documents_without_a_date_are_taken_for_the_oldest(tmp_path: Path) -> None:
    rows = [{"id": "a", "text": TEXT, "date": "some day"}, {"id": "b", "text": NEAR, "date": "1999-01-01"}]
    write(tmp_path / "in.jsonl", rows)
    done = dedup("in.jsonl", "-o", "out", "--keep", "newest", "--processes", "1", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1 document without a date in the field 'date' taken for the oldest" in done.stderr
    assert [row["id"] for row in rows_of(tmp_path / "out/kept.jsonl")] == ["b"]


def test_preferred_sources_come_first_and_within_them_what_is_kept_of_others(tmp_path: Path) -> None:
    texts = {"a/old.jsonl": TEXT, "news.v2.jsonl": NEAR, "wiki/x/1.jsonl": TEXT, "wiki/x/2.jsonl": extended(TEXT, 5)}
    for name, text in texts.items():
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        write(tmp_path / "in" / name, [{"id": name, "text": text}])
    for options, kept in (
        (["--prefer", "wiki,news"], "wiki/x/1.jsonl"),
        (["--prefer", "news,wiki/"], "news.v2.jsonl"),
        (["--prefer", "wiki", "--keep", "longest"], "wiki/x/2.jsonl"),
        (["--prefer", "./wiki/x/2.jsonl,news"], "wiki/x/2.jsonl"),
        ([], "a/old.jsonl"),
    ):
        done = dedup("in", "-o", "out", "--force", *options, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        assert [row["id"] for row in rows_of(tmp_path / "out/kept.jsonl")] == [kept]


NUMBERS = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(NUMBERS, min_size=2, max_size=2))
def test_a_larger_number_never_comes_later(numbers: list[float]) -> None:
    records = [json.dumps({"n": number}).encode() if math.isfinite(number) else {"n": number} for number in numbers]
    documents = [CorpusDocument("", "", None, "", Position(0, 1, 0), record) for record in records]
    ranks = Ranks.of(documents, np.zeros(2, np.int64), Order(Keep.HIGHEST, "n")).month_first.tolist()
    assert (ranks[0] <= ranks[1]) or numbers[0] < numbers[1]
    assert (ranks[0] >= ranks[1]) or numbers[0] > numbers[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--keep", "newest"], "--keep newest: no document has a date in its field 'date'"),
        (["--keep", "longest", "--date-field", "made"], "--date-field goes with --keep newest"),
        (["--keep", "longset"], "--keep longset: no document has a number in its field 'longset'; give first, longest"),
        (["--prefer", "im"], "--prefer im: no input has a folder or a file of this name"),
        (["--prefer", ",".join("abcdefghijklmnop")], "--prefer: 16 names, 15 at most"),
    ],
)
def test_an_order_that_is_none_is_refused(arguments: list[str], message: str, tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", [{"id": "a", "text": TEXT}])
    done = dedup("in.jsonl", "-o", "out", "--processes", "1", *arguments, folder=tmp_path)
    assert (done.returncode, message in done.stderr) == (2, True)
    assert not (tmp_path / "out/kept.jsonl").exists()


@pytest.mark.parametrize(
    "value",
    [
        "2024-01-31",
        "2024-01-31T02:00:00+02:00",
        "20240131",
        20240131,
        "20240131000000",
        20240131000000,
        1706659200,
        1706659200.0,
        1706659200000,
        "1706659200",
        "1706659200000",
        "1706659200.0",
        "Wed, 31 Jan 2024 00:00:00 GMT",
        "Tue, 30 Jan 2024 19:00:00 EST",
        "2024/01/31",
        "01/31/2024",
        "31/01/2024 00:00",
        "31.1.2024",
        "January 31, 2024",
        "31 Jan 2024 02:00 +0200",
        date(2024, 1, 31),
        datetime(2024, 1, 31),  # noqa: DTZ001
    ],
)
def test_dates_are_read_as_they_are_written(value: object) -> None:
    assert moment(value) == datetime(2024, 1, 31, tzinfo=UTC)


@pytest.mark.parametrize(
    "value", [None, "", "yesterday", "12", "May", "10:30", "4 May", True, [], 1e300, "99999999999999", float("nan")]
)
def test_what_is_no_date_is_none(value: object) -> None:
    assert moment(value) is None


@given(st.text() | st.text("0123456789 :/.-+TZaepm,", max_size=30) | st.integers() | st.floats())
def test_no_value_ends_a_run(value: object) -> None:
    assert moment(value) is None or isinstance(moment(value), datetime)


def test_dots_and_days_say_whether_the_day_comes_first() -> None:
    assert moment("05.01.2026") == moment("05/01/2026", is_day_first=True) == datetime(2026, 1, 5, tzinfo=UTC)
    assert moment("05/01/2026") == datetime(2026, 5, 1, tzinfo=UTC)


@pytest.mark.parametrize(("others", "kept"), [([], "b"), (["13/01/2026"], "a")])
def test_where_a_day_comes_first_it_does_in_all_dates(
    others: list[str], kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"id": "a", "text": TEXT, "date": "01/04/2026"}, {"id": "b", "text": NEAR, "date": "05/01/2026"}]
    rows += [{"id": each, "text": OTHER, "date": each} for each in others]
    write(tmp_path / "in.jsonl", rows)
    assert files("in.jsonl", "-o", "out", "--keep", "newest") == 0
    assert kept in [row["id"] for row in rows_of(tmp_path / "out/kept.jsonl")]
