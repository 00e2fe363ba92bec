"""Which fields of an item tell what thing it is."""

import datetime as dt
import enum
import time
from datetime import UTC, date, datetime
from decimal import Decimal
from email.utils import format_datetime
from typing import Any

import pytest

from dedup.rules.other_fields import ItemFields, have_changed, other_fields
from dedup.stage.item_settings import ItemSettings, ItemView
from dedup.stage.short_fields import short_fields


class Size(enum.Enum):
    LARGE = "L"


itself: list[Any] = []
itself.append(itself)


def found(item: dict[str, Any], chosen: Any = None) -> dict[str, Any]:
    settings = ItemSettings.read({"DEDUP_DISTINCT_FIELDS": chosen}.get)
    return dict(short_fields(ItemView(item), {"url", "title"}, settings.distinct_fields).values)


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("  Town \n Hall", ["town hall"]),
        (["Ann", "Bob", "Ann"], ["ann", "bob", "ann"]),
        ({"b", "a"}, ["a", "b"]),
        (12, ["12"]),
        (12.50, ["12.5"]),
        ("12.50", ["12.50"]),
        (Decimal("12.5"), ["12.5"]),
        ("-3", ["-3"]),
        (1e300, None),
        (float("nan"), None),
        (date(2026, 5, 1), ["2026-05-01"]),
        (datetime(2020, 5, 1, 19, 30, tzinfo=UTC), ["2020-05-01 19:30:00+00:00"]),
        ("2020-05-01T19:30:00Z", ["2020-05-01t19:30:00z"]),
        ("19:30", ["19:30"]),
        ("2:1", ["2:1"]),
        ("AB-1234", ["ab-1234"]),
        ("", None),
        (None, None),
        (True, ["?True"]),
        ("€", ["€"]),
        ("★★★", ["★★★"]),
        ("Zu\u0308rich", ["zürich"]),
        (dt.time(19, 30), ["19:30:00"]),
        (dt.timedelta(hours=1), ["1:00:00"]),
        (Size.LARGE, ["l"]),
        ("0001-01-01T00:00:00", ["0001-01-01t00:00:00"]),
        (datetime.max.replace(tzinfo=UTC), ["9999-12-31 23:59:59.999999+00:00"]),
        ("2026-11-25 10:00:00 +9999", ["2026-11-25 10:00:00 +9999"]),
        (10**309, None),
        (Decimal("sNaN"), ["snan"]),
        (itself, None),
        ("N/A", None),
        (b"bytes", None),
        ("word " * 30, None),
        (["x"] * 21, None),
        (list("abcdef"), list("abcdef")),
    ],
)
def test_a_value_is_compared_as_people_read_it(value: Any, read: list[str] | None) -> None:
    assert found({"x": value}) == ({} if read is None else {"x": read})


def test_values_are_found_below_others() -> None:
    item = {
        "offers": [{"price": "4.50", "availability": "InStock"}, {"price": 5}],
        "jobLocation": {"address": {"addressLocality": "Bern"}},
        "author": {"name": "Ann", "url": "https://city.example/ann"},
        "a": {"b": {"c": {"d": {"e": {"f": "too deep"}}}}},
    }
    assert found(item) == {
        "author.name": ["ann"],
        "jobLocation.address.addressLocality": ["bern"],
        "offers.availability": ["instock"],
        "offers.price": ["4.50", "5"],
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


def test_today_tells_things_apart_and_is_no_change_of_one() -> None:
    today, day_before = f"{datetime.now(UTC):%Y-%m-%d}", "2026-01-01"
    seen, before, later = (
        ItemFields("city.example", found({"day": day})).packed() for day in (today, day_before, "2031-01-01")
    )
    assert other_fields(seen, before) == other_fields(seen, later) == ["day"]
    assert other_fields(seen, seen.replace("@", "")) == []
    assert have_changed(before, seen)
    assert not have_changed(seen.replace(today, day_before), seen)


def test_an_item_as_large_as_a_file_is_read_in_part() -> None:
    large = {f"n{n}": {f"m{m}": list("abc") for m in range(100)} for n in range(200)}
    assert 0 < len(found(large)) <= 100
    assert found({"x" * 200: "long"}) == {}
    assert found({"x": [{"a": 1}] * 100_000}) == {}


def test_where_a_thing_stands_and_what_readers_did_with_it_says_nothing() -> None:
    names = ("section", "Tags", "newsCategory", "rubrik", "栏目", "image_urls", "related", "slug")
    assert found(dict.fromkeys(names, "sport")) == {}
    assert found(dict.fromkeys(("view_count", "commentCount", "num_likes", "word_count", "阅读量"), "1,204")) == {}
    others = {"share_price": "3", "tag": "montag", "section": "§ 12", "page_id": "7", "photo": {"place": "bern"}}
    assert found(others) == {
        **{name: [value] for name, value in others.items() if name != "photo"},
        "photo.place": ["bern"],
    }
    assert found({"position": 3, "rank": "4"}) == {}
    assert found({"position": "Gardener", "number": 3}) == {"position": ["gardener"], "number": ["3"]}
    assert found({"view": "the sea", "room_count": 3}) == {"view": ["the sea"], "room_count": ["3"]}
    content = {"url": "https://city.example/1", "title": "T", "html": "<p>" * 99, "name": "N"}
    assert found(content) == {"name": ["n"]}


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (None, {"place": ["bern"], "is_new": ["?True"]}),
        ("*", {"place": ["bern"], "is_new": ["?True"]}),
        ([], {}),
        ("section", {"section": ["sport"]}),
        (["section", "is_new", "missing"], {"section": ["sport"], "is_new": ["true"]}),
        ({"dict": ["title"]}, {"title": ["t"]}),
        ({"dict": None}, {}),
        ({"Other": []}, {"place": ["bern"], "is_new": ["?True"]}),
    ],
)
def test_a_project_may_name_them(chosen: Any, expected: dict[str, Any]) -> None:
    assert found({"title": "T", "section": "sport", "place": "Bern", "is_new": True}, chosen) == expected
