"""Which fields of an item tell what thing it is."""

import time
from datetime import UTC, date, datetime
from decimal import Decimal
from email.utils import format_datetime
from typing import Any

import pytest

from dedup.stage.item_settings import ItemSettings
from dedup.stage.short_fields import short_fields


def found(item: dict[str, Any], chosen: Any = None) -> dict[str, Any]:
    settings = ItemSettings.read({"DEDUP_DISTINCT_FIELDS": chosen}.get)
    return dict(short_fields(item, "city.example", "url", settings.distinct_fields).values)


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("  Town \n Hall", ["town hall"]),
        (["Ann", "Bob", "Ann"], ["ann", "bob"]),
        (12, ["12"]),
        (12.50, ["12.5"]),
        ("12.50", ["12.5"]),
        (Decimal("12.5"), ["12.5"]),
        ("-3", ["-3"]),
        (1e300, None),
        (float("nan"), None),
        (date(2026, 5, 1), ["2026-05-01"]),
        (datetime(2020, 5, 1, 19, 30, tzinfo=UTC), ["2020-05-01t19:30:00+00:00"]),
        ("2020-05-01T19:30:00Z", ["2020-05-01t19:30:00z"]),
        ("19:30", ["19:30"]),
        ("2:1", ["2:1"]),
        ("AB-1234", ["ab-1234"]),
        ("", None),
        (None, None),
        (True, None),
        ("N/A", None),
        (b"bytes", None),
        ("word " * 30, None),
        (list("abcdef"), None),
    ],
)
def test_a_value_is_compared_as_people_read_it(value: Any, read: list[str] | None) -> None:
    expected = {} if read is None else {"x": [each.replace("t19", "T19") if "+00" in each else each for each in read]}
    assert found({"x": value}) == expected


def test_values_are_found_below_others() -> None:
    item = {
        "offers": [{"price": "4.50", "availability": "InStock"}, {"price": 5}],
        "jobLocation": {"address": {"addressLocality": "Bern"}},
        "author": {"name": "Ann", "url": "https://city.example/ann"},
        "a": {"b": {"c": {"d": {"e": "too deep"}}}},
    }
    assert found(item) == {
        "author.name": ["ann"],
        "jobLocation.address.addressLocality": ["bern"],
        "offers.availability": ["instock"],
        "offers.price": ["4.5", "5"],
    }


NOW = time.time()
MOMENT = datetime.fromtimestamp(NOW, UTC)


@pytest.mark.parametrize(
    "value",
    [
        NOW,
        int(NOW),
        int(NOW * 1_000),
        MOMENT,
        MOMENT.replace(tzinfo=None),
        datetime.fromtimestamp(NOW),  # noqa: DTZ006 -- as projects write it
        MOMENT.isoformat(),
        f"{MOMENT:%Y-%m-%d %H:%M:%S}",
        format_datetime(MOMENT),
        time.ctime(NOW),
    ],
    ids=range(10),
)
def test_the_moment_of_a_crawl_says_nothing(value: Any) -> None:
    assert found({"x": value}) == {}


@pytest.mark.parametrize(
    "value",
    [
        "https://city.example/1",
        "//cdn.example/1.png",
        "www.city.example",
        "/events/1",
        "data:image/png;base64,AAAA",
        "d41d8cd98f00b204e9800998ecf8427e",
        "550e8400-e29b-41d4-a716-446655440000",
    ],
)
def test_addresses_and_numbers_of_machines_say_nothing(value: str) -> None:
    assert found({"x": value}) == {}
    assert found({"x": value}, ["x"]) == {"x": [value.casefold()]}


def test_where_a_thing_stands_and_what_readers_did_with_it_says_nothing() -> None:
    names = ("section", "Tags", "newsCategory", "view_count", "commentCount", "image_urls", "related", "word_count")
    assert found(dict.fromkeys(names, "3")) == {}
    assert found({"position": 3, "rank": "4"}) == {}
    assert found({"position": "Gardener", "number": 3}) == {"position": ["gardener"], "number": ["3"]}
    assert found({"view": "the sea", "room_count": 3}) == {"view": ["the sea"], "room_count": ["3"]}
    content = {"url": "https://city.example/1", "Title": "T", "text": "few words", "html": "<p>", "name": "N"}
    assert found(content) == {}


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (None, {"place": ["bern"]}),
        ("*", {"place": ["bern"]}),
        ([], {}),
        ("section", {"section": ["sport"]}),
        (["section", "is_new", "missing"], {"section": ["sport"], "is_new": ["true"]}),
        ({"dict": ["title"]}, {"title": ["t"]}),
        ({"dict": None}, {}),
        ({"Other": []}, {"place": ["bern"]}),
    ],
)
def test_a_project_may_name_them(chosen: Any, expected: dict[str, Any]) -> None:
    assert found({"title": "T", "section": "sport", "place": "Bern", "is_new": True}, chosen) == expected
