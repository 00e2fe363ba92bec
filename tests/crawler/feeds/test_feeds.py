"""Feeds: every kept page, every named column, no bytes; and Parquet, which Scrapy does not have."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crawler.feeds import exporters
from crawler.feeds.exporters import ParquetItemExporter
from crawler.page import Page
from settings import site as site_settings
from tests.crawling import Crawl, crawl, crawl_site_here
from tests.localsite import LocalSite, Reply, article
from tests.texts import CHINESE, document

KINDS = ("jsonl", "json", "csv", "xml", "parquet")
HEAD = '<meta name="author" content="Ada Byron"><meta name="description" content="Line 1, &quot;and&quot;&#10;Line 2">'
NOW = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)


@dataclass(frozen=True)
class Feeds:
    url: str
    crawl: Crawl
    folder: Path

    def read(self, kind: str) -> list[dict[str, Any]]:
        """The rows of a feed; what is missing is None, which Scrapy's XML feed writes as a word."""
        path = self.folder / f"pages.{kind}"
        if kind == "jsonl":
            rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        elif kind == "json":
            rows = json.loads(path.read_text(encoding="utf-8"))
        elif kind == "csv":
            with path.open(encoding="utf-8", newline="") as stream:
                rows = list(csv.DictReader(stream))
        elif kind == "xml":
            rows = [
                {field.tag: field.text for field in item if field.text != "None"} for item in ET.parse(path).getroot()
            ]
        else:
            assert kind == "parquet"
            rows = pq.read_table(path).to_pylist()
        return [{name: value or None for name, value in row.items()} for row in rows]


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
    options = [part for kind in KINDS for part in ("-O", str(folder / f"pages.{kind}"))]
    with LocalSite(pages) as site:
        yield Feeds(site.url, crawl(folder / "crawl.db", options=options, url=f"{site.url}/"), folder)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.slow
def test_feed_holds_the_kept_pages_and_no_others(kind: str, feeds: Feeds) -> None:
    assert sorted(row["url"] for row in feeds.read(kind)) == sorted(feeds.crawl.pages)
    assert len(feeds.crawl.pages) == 4


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl", "json", "xml"])
@pytest.mark.slow
def test_feed_has_the_named_columns_in_their_order(kind: str, feeds: Feeds) -> None:
    rows = feeds.read(kind)
    columns = list(max(rows, key=len))
    assert columns == [name for name in site_settings.FEED_EXPORT_FIELDS if name in columns]
    assert {"url", "title", "text", "language", "fetched", "depth", "run", "verdict"} <= set(columns)
    if kind in ("csv", "parquet"):
        assert columns == site_settings.FEED_EXPORT_FIELDS


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.slow
def test_feed_says_what_the_table_says(kind: str, feeds: Feeds) -> None:
    for row in feeds.read(kind):
        stored = feeds.crawl.pages[row["url"]]
        for name in ("title", "author", "description", "language", "canonical", "text", "referrer", "run", "date"):
            assert row.get(name) == (stored[name] or None), name
        assert int(row.get("depth") or 0) == stored["depth"]
        assert row["verdict"] == "new"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.slow
def test_time_is_the_time_of_the_fetch_in_utc(kind: str, feeds: Feeds) -> None:
    for row in feeds.read(kind):
        fetched = row["fetched"] if kind == "parquet" else datetime.fromisoformat(row["fetched"])
        fetched = fetched if fetched.tzinfo else fetched.replace(tzinfo=UTC)
        assert abs(datetime.now(UTC) - fetched) < timedelta(minutes=5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.slow
def test_no_bytes_get_into_a_feed(kind: str, feeds: Feeds) -> None:
    rows = feeds.read(kind)
    assert not {"html", "body_digest", "signature"} & {name for row in rows for name in row}
    assert [value for row in rows for value in row.values() if isinstance(value, bytes) or "b'" in str(value)[:2]] == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.slow
def test_feed_is_valid_unicode_without_control_characters(kind: str, feeds: Feeds) -> None:
    text = "".join(str(value) for row in feeds.read(kind) for value in row.values())
    text.encode()
    assert not set(text) & {"\0", "\x1b", "\ufeff"}


@pytest.mark.slow
def test_special_characters_survive(feeds: Feeds) -> None:
    [row] = [row for row in feeds.read("parquet") if row["url"] == f"{feeds.url}/zh"]
    assert row["description"].split() == ["Line", "1,", '"and"', "Line", "2"]
    assert row["title"].startswith('港口 "大桥", ')
    assert CHINESE in row["text"]


@pytest.mark.slow
def test_parquet_columns_have_types(feeds: Feeds) -> None:
    schema = pq.read_schema(feeds.folder / "pages.parquet")
    assert schema.field("depth").type == pa.int64()
    assert schema.field("fetched").type == pa.timestamp("us", tz="UTC")
    assert {schema.field(name).type for name in ("url", "title", "author", "date", "text")} == {pa.string()}


@pytest.mark.slow
def test_every_feed_is_mentioned_as_stored(feeds: Feeds) -> None:
    for kind in KINDS:
        assert feeds.crawl.says("Stored", f"pages.{kind}", "4 items")


@pytest.mark.slow
def test_feeds_of_a_crawl_that_keeps_nothing_are_valid(tmp_path: Path) -> None:
    with LocalSite({"/": article("front", head='<meta name="robots" content="noindex">')}) as site:
        feeds = {str(tmp_path / f"pages.{kind}"): {"format": kind, "store_empty": True} for kind in ("parquet", "csv")}
        crawl_site_here(tmp_path / "crawl.db", {"FEEDS": feeds}, url=f"{site.url}/")
    table = pq.read_table(tmp_path / "pages.parquet")
    assert (table.num_rows, table.column_names) == (0, site_settings.FEED_EXPORT_FIELDS)


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
    file = export([page(number) for number in range(count)], fields_to_export=["url", "depth", "fetched"])
    assert file.read().column("depth").to_pylist() == list(range(count))
    groups = [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
    assert [rows for rows in groups if rows] == [10] * (count // 10) + [count % 10] * (count % 10 > 0)


def test_memory_holds_one_group_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporters, "ROWS_A_GROUP", 10)
    exporter = ParquetItemExporter(BytesIO(), fields_to_export=["url"])
    for number in range(25):
        exporter.export_item(page(number))
    assert len(exporter._rows) == 5
    exporter.finish_exporting()


def test_times_are_kept_to_the_microsecond() -> None:
    assert export([page(0)], fields_to_export=["fetched"]).read().to_pylist() == [{"fetched": NOW}]


def test_column_that_is_empty_in_the_first_group_may_be_filled_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporters, "ROWS_A_GROUP", 2)
    pages = [page(0), page(1), page(2, author="Ada"), page(3)]
    table = export(pages, fields_to_export=["url", "author"]).read()
    assert table.column("author").to_pylist() == [None, None, "Ada", None]


def test_column_that_only_a_later_item_has_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporters, "ROWS_A_GROUP", 2)
    items = [{"a": "1"}, {"a": "2"}, {"a": "3", "b": "4"}]
    table = export(items).read()
    assert table.column("a").to_pylist() == ["1", "2", "3"]


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
