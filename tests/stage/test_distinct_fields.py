"""Which fields of an item tell what thing it is."""

import datetime as dt
import enum
import time
from datetime import UTC, date, datetime
from decimal import Decimal
from email.utils import format_datetime
from pathlib import PurePath
from typing import Any
from uuid import UUID

import pytest

from dedup.rules.other_fields import FOR_ITS_KEY, MEDIUM, ItemFields, have_changed, other_fields
from dedup.stage.distinct_fields import distinct_fields
from dedup.stage.item_settings import ItemSettings, ItemView
from tests.texts import document


class Size(enum.Enum):
    LARGE = "L"


LONG = document(30, "long")
itself: list[Any] = []
itself.append(itself)


def found(item: dict[str, Any], chosen: Any = None) -> dict[str, Any]:
    settings = ItemSettings.read({"DEDUP_DISTINCT_FIELDS": chosen}.get)
    return dict(distinct_fields(ItemView(item), {"url", "title"}, settings.distinct_fields).values)


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("  Town \n Hall", ["town hall"]),
        (["Ann", "Bob", "Ann"], ["ann", "bob", "ann"]),
        ({"b", "a"}, ["a", "b"]),
        (12, ["12"]),
        (12.50, ["12.5"]),
        ("12.50", ["12.50"]),
        ("007", ["007"]),
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
        (True, ["true"]),
        (UUID(int=7), None),
        (PurePath("ab/c"), ["ab/c"]),
        (object(), None),
        ("1/2 litre", ["1/2 litre"]),
        ("/ˈrɛkɔːd/", ["/ˈrɛkɔːd/"]),
        ("https://t.example/1 Room 4", ["https://t.example/1 room 4"]),
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
        ("N/A", None),
        (b"", None),
        (b"<html><body>a page", None),
        ("<!doctype html><html>" + "a page " * 30, None),
        (list("abcdef"), list("abcdef")),
    ],
)
def test_a_value_is_compared_as_people_read_it(value: Any, read: list[str] | None) -> None:
    assert found({"x": value}) == ({} if read is None else {"x": read})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b"bytes", b"Bytes"),
        (bytearray(b"bytes"), bytearray(b"Bytes")),
        ("tel:+41441234567", "tel:+41441234568"),
        ("mailto:ann@city.example", "mailto:bob@city.example"),
        ("https://t.example/1 Room 4", "https://t.example/1 Room 5"),
        ([{"stop": n} for n in range(30)], [{"stop": n + n // 29} for n in range(30)]),
        ({f"part {n}": n for n in range(120)}, {f"part {n}": n + n // 119 for n in range(120)}),
        ({"a": {"b": {"c": {"d": {"e": {"f": 1}}}}}}, {"a": {"b": {"c": {"d": {"e": {"f": 2}}}}}}),
        ({"x" * 200: 1}, {"x" * 200: 2}),
        (list(range(5_000)), [*range(4_999), 0]),
        ([[n] for n in range(5_000)], [*([n] for n in range(4_999)), [0]]),
        ("1 egg, " * 30, "1 egg, " * 29 + "2 eggs, "),
        (["an egg"] * 21, ["an egg"] * 20 + ["a pear"]),
        ("https://cdn.example/ep1.mp3", "https://cdn.example/ep2.mp3"),
        ("data:image/png;base64,AAAA", "data:image/png;base64,AAAB"),
        ([{"path": "full/a", "checksum": "1" * 32}], [{"path": "full/a", "checksum": "2" * 32}]),
    ],
)
def test_any_other_value_makes_another_thing_on_a_site(one: Any, other: Any) -> None:
    ours, theirs = (ItemFields("city.example", found({"x": value})).packed() for value in (one, other))
    assert ours == ItemFields("city.example", found({"x": one})).packed()
    assert other_fields(ours, theirs)


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("image", "https://cdn.example/a/1.jpg?w=300&sig=0123456789abcdef", "//img.example/a/1.jpg"),
        ("image_urls", ["/a/1-300x200.jpg", "/a/2.jpg"], ["/mirror/a/1.jpg"]),
        ("audio_url", "https://a.example/play?id=7&sessionid=0123456789", "https://a.example/play?id=7"),
        (
            "picture",
            "https://a.example/_next/image?url=%2Fa%2F1.jpg&w=640&q=75",
            "/_next/image?url=%2Fa%2F1.jpg&w=48&q=50",
        ),
        ("image", "https://a.example/a.jpg?v=1700000000&q=80", "https://a.example/a.jpg?v=1800000000"),
        ("pdf", f"https://a.example/get.pdf?doc=7&token={'1' * 20}", "https://a.example/get.pdf?doc=7"),
        ("notes", f"  {LONG.upper()}", LONG),
    ],
)
def test_a_copy_has_its_values_in_other_forms(name: str, one: Any, other: Any) -> None:
    ours, theirs = (ItemFields("city.example", found({name: value})).packed() for value in (one, other))
    assert ours
    assert other_fields(ours, theirs) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("video_url", "https://films.example/watch?v={}"),
        ("minutes_pdf", "https://a.example/download.pdf?doc={}"),
        ("audio", "https://a.example/play?sid={}"),
        ("embed", "https://films.example/embed/{}"),
        ("agenda_pdf", "https://a.example/agenda.pdf?meetingId={}"),
        ("document", "https://a.example/get?q={}"),
        ("code", "https://a.example/code.png?q=text{}"),
        ("talk_video", "https://a.example/talk?session={}"),
        ("test_pdf", "https://a.example/get?assessment={}"),
        ("report", "https://a.example/report.pdf?download={}7"),
        ("image", "https://a.example/resize?source=https%3A%2F%2Fb.example%2F{}.jpg&w=3"),
        ("audio", "https://a.example/play.mp3?v={}"),
        ("video", "https://films.example/watch?v={}&poster=/a.jpg"),
        ("document", "https://a.example/get?version={}"),
        ("image", "https://a.example/image?size={}"),
        ("picture", "https://a.example/_next/image?url=https%3A%2F%2Fimg.example%2F{}.jpg&w=640&q=75"),
        ("version", "1.{}0"),
        ("summary", f"Course number {{}}. {LONG}"),
    ],
)
def test_things_are_told_by_numbers_within_a_value(name: str, value: str) -> None:
    ours, theirs = (ItemFields("a.example", found({name: value.format(n)})).packed() for n in (1, 2))
    assert other_fields(ours, theirs) == [name]


def test_a_summary_is_edited_beside_a_long_text_and_tells_apart_beside_a_short() -> None:
    def fields(summary: str, text: str) -> str:
        chosen = ItemSettings().distinct_fields
        return distinct_fields(ItemView({"summary": summary}), (), chosen, text).packed()

    cat, dog = (f"A mug with a {name}. {LONG}" for name in ("cat", "dog"))
    assert other_fields(fields(cat, "word " * 400), fields(dog, "word " * 400)) == []
    assert other_fields(fields(cat, "word " * 80), fields(dog, "word " * 80)) == ["summary"]
    assert other_fields(fields(f"{cat} 7", "word " * 400), fields(f"{cat} 8", "word " * 400)) == ["summary"]


def test_what_stands_in_the_text_says_nothing_besides() -> None:
    view, rule = ItemView({"lead": f"{LONG} ..."}), ItemSettings().distinct_fields
    assert distinct_fields(view, (), rule, f"Before.\n{LONG} and more").values == {}
    assert list(distinct_fields(view, (), rule, "Another text").values) == ["lead"]


def test_files_are_told_by_their_checksums_and_not_by_where_they_came_from() -> None:
    files = [{"url": "https://a.example/1.pdf", "path": "full/1.pdf", "checksum": "abc"}]
    assert found({"file_urls": ["https://a.example/1.pdf"], "files": files}) == {"files": [f"{MEDIUM}abc"]}


def test_values_are_found_below_others() -> None:
    item = {
        "offers": [{"price": "4.50", "availability": "InStock"}, {"price": 5}],
        "jobLocation": {"address": {"addressLocality": "Bern"}},
        "author": {"name": "Ann", "url": "https://city.example/ann"},
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
        "www.city.example",
        "/events/1",
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
    assert other_fields(seen, seen.replace("\\u0002", "")) == []
    assert have_changed(before, seen)
    assert not have_changed(seen.replace(today, day_before), seen)


def test_what_tells_an_item_is_small_however_large_it_is() -> None:
    nested: dict[str, Any] = {}
    for _ in range(100_000):
        nested = {"n": nested}
    large = {f"n{n}": {f"m{m}": list("abc") for m in range(100)} for n in range(200)}
    for item in (large, {"x" * 200: "long"}, {"x": nested}, {"x": itself}, {"x": [{"a": 1}] * 100_000}):
        assert len(ItemFields("", found(item)).packed()) < 5_000
    assert len(found({"x": list(map(str, range(100_000)))})["x"]) == 1
    assert len(found({"image": f"/a/{'-100x100' * 500_000}.jpg"})["image"][0]) < 100


def test_an_address_elsewhere_counts_and_one_of_its_site_may_be_its_page() -> None:
    def at(site: str, **item: Any) -> Any:
        view, chosen = ItemView(item), ItemSettings().distinct_fields
        return distinct_fields(view, (), chosen, site=site).values

    assert at("city.example", website="https://shop.example/a?utm_source=x#top") == {"website": ["shop.example/a"]}
    assert at("city.example", website=["http://shop.example"]) == {"website": ["shop.example"]}
    assert at("city.example", website="www.shop.example") == {"website": ["www.shop.example"]}
    assert at("city.example", contact={"tickets": "https://t.example/buy?event=7"}) == {
        "contact.tickets": ["t.example/buy?event=7"]
    }
    assert at("city.example", share="https://t.example/share?u=https%3A%2F%2Fcity.example%2Fa") == {
        "share": ["t.example/share"]
    }
    assert (
        at("city.example", more="https://www.city.example/a", links=["https://a.example/", "https://b.example/"]) == {}
    )
    assert at("", website="https://shop.example/a") == {}
    for query in ("q=47.1,8.2", "source=7", "ref=a-12", "version=2", "w=7", "u=https://shop.example/a"):
        assert at("city.example", website=f"https://maps.example/at?{query}") == {
            "website": [f"maps.example/at?{query}"]
        }
    shown = "https://viewer.example/show?url=https%3A%2F%2Fcity.example%2F1.pdf"
    assert at("city.example", menu=shown) == {"menu": [shown.removeprefix("https://").casefold()]}
    for clicked in ("fbclid=x", "gclid=x", "utm_source=x"):
        assert at("city.example", website=f"https://shop.example/a?{clicked}") == {"website": ["shop.example/a"]}
    for shared in ("https://city.example/a", "https%3A%2F%2Fwww.city.example%2Fa"):
        assert at("city.example", share=f"https://social.example/share?u={shared}&ts=1790000000") == {
            "share": ["social.example/share"]
        }


def test_what_scrapy_knows_of_a_request_says_nothing() -> None:
    assert found({"meta": {"depth": 3, "download_slot": "a.example"}}) == {}
    assert found({"meta": {"room": 3}}) == {"meta.room": ["3"]}


def test_where_a_thing_stands_and_what_readers_did_with_it_says_nothing() -> None:
    names = ("section", "Tags", "newsCategory", "rubrik", "栏目", "related", "slug", "link", "permalink", "og_title")
    assert found(dict.fromkeys(names, "sport")) == {}
    assert found(dict.fromkeys(("view_count", "commentCount", "num_likes", "word_count", "阅读量"), "1,204")) == {}
    others = {"share_price": "3", "tag": "montag", "section": "§ 12", "page_id": "7", "photo": {"place": "bern"}}
    assert found(others) == {
        **{name: [value] for name, value in others.items() if name != "photo"},
        "photo.place": ["bern"],
    }
    assert found({"position": 3, "rank": "4", "index": 7, "item_index": 8, "crawl_counter": 9}) == {}
    assert found({"position": "Gardener", "number": 3}) == {"position": ["gardener"], "number": ["3"]}
    assert found({"views": "1,204 views", "likes": "7"}) == {}
    assert found({"is_amp": True, "printable": False, "furnished": False}) == {
        "is_amp": [f"{FOR_ITS_KEY}True"],
        "printable": [f"{FOR_ITS_KEY}False"],
        "furnished": ["false"],
    }
    assert found({"search_term": "mug", "page_no": 2, "result_index": 3, "full_time": True}) == {"full_time": ["true"]}
    assert found({"view": "the sea", "room_count": 3}) == {"view": ["the sea"], "room_count": ["3"]}
    content = {"url": "https://city.example/1", "title": "T", "html": "<p>" * 99, "name": "N"}
    assert found(content) == {"name": ["n"]}


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (None, {"place": ["bern"], "is_new": [f"{FOR_ITS_KEY}True"]}),
        ("*", {"place": ["bern"], "is_new": [f"{FOR_ITS_KEY}True"]}),
        ([], {}),
        ("section", {"section": ["sport"]}),
        (["*", "section"], {"place": ["bern"], "is_new": [f"{FOR_ITS_KEY}True"], "section": ["sport"]}),
        (["section", "is_new", "missing"], {"section": ["sport"], "is_new": ["true"]}),
        ({"dict": ["title"]}, {"title": ["t"]}),
        ({"dict": None}, {}),
        ({"Other": []}, {"place": ["bern"], "is_new": [f"{FOR_ITS_KEY}True"]}),
    ],
)
def test_a_project_may_name_them(chosen: Any, expected: dict[str, Any]) -> None:
    assert found({"title": "T", "section": "sport", "place": "Bern", "is_new": True}, chosen) == expected
