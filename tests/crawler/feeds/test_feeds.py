"""Feeds hold what the items held, in every format; and Parquet, which Scrapy does not have."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scrapy.utils.misc import load_object

from crawler.feeds import formats as exporters
from crawler.feeds.formats import ParquetItemExporter
from crawler.page import Page
from settings import default
from settings import site as site_settings
from tests.crawling import crawl_site_here, run
from tests.feeds import read_feed
from tests.localsite import LocalSite, Reply, article
from tests.texts import CHINESE, document

KINDS = ("jsonl", "json", "csv", "xml", "pickle", "marshal", "parquet")
NAMES = site_settings.FEED_EXPORT_FIELDS
HEAD = '<meta name="author" content="Ada Byron"><meta name="description" content="Line 1, &quot;and&quot;&#10;Line 2">'
NOW = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)


@dataclass(frozen=True)
class Feeds:
    """Two crawls, the items of the second, and the folder that its feeds are in."""

    url: str
    database: Path
    items: dict[str, Page]
    log: list[str]
    folder: Path


@pytest.fixture(scope="module")
def feeds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Feeds]:
    folder = tmp_path_factory.mktemp("feeds")
    pages = {
        "/": article("front", ["/zh", "/copy", "/missing", "/odd", "/empty"]),
        "/zh": article("zh", text=CHINESE * 2, title='港口 "大桥", <b>&amp;\t', head=HEAD),
        "/copy": article("front"),
        "/odd": Reply(article("odd", text=f"\ud800\0\x1b]]> {document(90, 'odd')}").encode("utf-8", "surrogatepass")),
        "/empty": "<html><body></body></html>",
    }
    for kind in KINDS:
        (folder / f"pages.{kind}").write_text("something old")
    given = {"FEEDS": {str(folder / f"pages.{kind}"): {"format": kind, "overwrite": True} for kind in KINDS}}
    with LocalSite(pages) as site:
        crawl_site_here(folder / "crawl.db", {"DEDUP_RUN": "sunday"}, url=f"{site.url}/zh")
        outcome = crawl_site_here(folder / "crawl.db", given, url=f"{site.url}/")
        items = {page.url: page for page in outcome.items}
        yield Feeds(site.url, folder / "crawl.db", items, outcome.messages, folder)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_feed_holds_what_the_items_held(kind: str, feeds: Feeds) -> None:
    rows = {row["url"]: row for row in read_feed(feeds.folder / f"pages.{kind}")}
    assert rows.keys() == feeds.items.keys()
    assert len(rows) == 4
    for url, row in rows.items():
        page = feeds.items[url]
        assert [name for name in NAMES if name in row] == list(row)
        # Of a page that is unchanged, where its link was when it was stored.
        for name in set(NAMES) - ({"referrer"} if page.verdict == "unchanged" else set()):
            # What is missing is empty in CSV, and a word in XML.
            found, held = (str(value).replace("None", "") for value in (row.get(name), getattr(page, name)))
            assert (found.replace("T", " ", 1) if name == "fetched" else found) == held, name
    assert rows[f"{feeds.url}/zh"]["verdict"] == "unchanged"
    assert {len(row) for row in rows.values()} == {len(NAMES)}
    assert any(f"{kind} feed (4 items)" in line and line.startswith("Stored") for line in feeds.log)


@pytest.mark.slow
def test_export_writes_the_same_bytes(feeds: Feeds, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "scrapy", "export", "--database", str(feeds.database)]
    result = run([*command, *(part for kind in KINDS for part in ("-o", str(tmp_path / f"pages.{kind}")))])
    assert (result.status, result.stderr.count("4 pages of run")) == (0, len(KINDS))
    for kind in KINDS:
        assert (tmp_path / f"pages.{kind}").read_bytes() == (feeds.folder / f"pages.{kind}").read_bytes(), kind
    printed = run([*command, "-o", "-"]).stdout
    assert printed == (feeds.folder / "pages.jsonl").read_text(encoding="utf-8")


@pytest.mark.slow
def test_parquet_columns_have_types_and_no_control_characters(feeds: Feeds) -> None:
    schema = pq.read_schema(feeds.folder / "pages.parquet")
    assert {schema.field(name).type for name in ("depth", "page_characters")} == {pa.int64()}
    assert schema.field("fetched").type == pa.timestamp("us", tz="UTC")
    assert {schema.field(name).type for name in ("url", "title", "date", "text", "extraction")} == {pa.string()}
    rows = {row["url"]: row for row in read_feed(feeds.folder / "pages.parquet")}
    row = rows[f"{feeds.url}/zh"]
    assert row["description"].split() == ["Line", "1,", '"and"', "Line", "2"]
    assert row["title"].startswith('港口 "大桥", ')
    assert CHINESE in row["text"]
    text = "".join(str(value) for row in rows.values() for value in row.values())
    text.encode()
    assert not set(text) & {"\0", "\x1b", "\ufeff"}


@pytest.mark.parametrize("text", ['=HYPERLINK("http://a.example")', "+1", "-1", "@a", "\t=1", "\r=1", "＝1"])
def test_csv_has_no_formulas(text: str) -> None:
    stream = BytesIO()
    exporter = load_object(default.FEED_EXPORTERS["csv"])(stream)
    exporter.export_item({"title": text, "author": "a = 1", "depth": -1})
    exporter.finish_exporting()
    (row,) = csv.DictReader(StringIO(stream.getvalue().decode(), newline=""))
    assert row == {"title": f"'{text}".replace("\r", "\n"), "author": "a = 1", "depth": "-1"}


@pytest.mark.slow
def test_feeds_of_a_crawl_that_keeps_nothing_are_valid(tmp_path: Path) -> None:
    with LocalSite({"/": article("front", head='<meta name="robots" content="noindex">')}) as site:
        feeds = {str(tmp_path / f"pages.{kind}"): {"format": kind} for kind in KINDS}
        crawl_site_here(tmp_path / "crawl.db", {"FEEDS": feeds}, url=f"{site.url}/")
    assert [read_feed(tmp_path / f"pages.{kind}") for kind in KINDS] == [[]] * len(KINDS)
    assert pq.read_table(tmp_path / "pages.parquet").column_names == NAMES


# The Parquet exporter by itself


def export(items: list[Any], **options: Any) -> pq.ParquetFile:
    stream = BytesIO()
    exporter = ParquetItemExporter(stream, **options)
    exporter.start_exporting()
    for item in items:
        exporter.export_item(item)
    exporter.finish_exporting()
    return pq.ParquetFile(BytesIO(stream.getvalue()))


def page(number: int, **fields: Any) -> Page:
    values = {"html": b"<p>", "body_digest": b"\0" * 16, "fetched": NOW + timedelta(seconds=number), "depth": number}
    return Page(url=f"http://127.0.0.1/{number}", **{**values, **fields})


@pytest.mark.parametrize("count", [0, 1, 9, 10, 11, 20, 35])
def test_rows_are_written_in_groups_and_none_is_lost(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporters, "ROWS_A_GROUP", 10)
    pages = [page(number, author="Ada" if number >= 15 else None) for number in range(count)]
    file = export(pages, fields_to_export=["url", "depth", "fetched", "author"])
    rows = file.read().to_pylist()
    assert [row["depth"] for row in rows] == list(range(count))
    assert [row["fetched"] for row in rows] == [page.fetched for page in pages]
    # A column that is empty in the first group may be filled later.
    assert [row["author"] for row in rows] == [page.author for page in pages]
    groups = [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
    assert [rows for rows in groups if rows] == [10] * (count // 10) + [count % 10] * (count % 10 > 0)


def test_memory_holds_one_row_group_and_later_columns_do_no_harm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exporters, "ROWS_A_GROUP", 10)
    stream = BytesIO()
    exporter = ParquetItemExporter(stream)
    for number in range(25):
        exporter.export_item({"a": str(number), **({"b": "4"} if number > 12 else {})})
    assert len(exporter._rows) == 5
    exporter.finish_exporting()
    assert pq.read_table(BytesIO(stream.getvalue())).to_pylist() == [{"a": str(number)} for number in range(25)]


@pytest.mark.parametrize(
    ("values", "written"),
    [
        ([1, None, 3], [1, None, 3]),
        (["1", 2, None], ["1", "2", None]),
        ([True, False], ["True", "False"]),
        ([1.5, 2], ["1.5", "2"]),
        ([["a"], {"b": 1}], ["['a']", "{'b': 1}"]),
        ([None, None], [None, None]),
        ([2**63 - 1, -(2**63)], [2**63 - 1, -(2**63)]),
    ],
    ids=str,
)
def test_values_of_other_projects_are_written_as_numbers_or_text(values: list[Any], written: list[Any]) -> None:
    assert export([{"x": value} for value in values]).read().column("x").to_pylist() == written
